/* SPDX-License-Identifier: MIT */
#include "trees/leaf.h"

/*
 * The innermost loops of scans. Each is a function of its own, which the compiler is kept from inlining: it then has
 * all it needs in registers across the calls of the visitor. Inlined into its caller, a record took 2.5 ns, so 1.4,
 * as the same loop over an array.
 *
 * With each record the same place of the leaf that comes next is fetched: when its turn comes it is in the cache, and
 * at no moment is more asked for than memory delivers meanwhile. Lines are fetched more than once; to look whether
 * that is needed costs more. No line is fetched that has no record: that alone made 1.7 ns of 2.1 where segments are
 * differently full.
 *
 * `ahead` is the distance to the next leaf; 0: there is nothing to fetch, and what is fetched is there already.
 */

typedef int leaf_visit(void *arg, const xac_tree_record *record);

enum { LINE_BYTES = 64, RUN_BYTES = 2048 };

/* Records side by side: key, value, key, value. */
static __attribute__((noinline, aligned(64))) int scan_fixed(const char *at, const char *behind, size_t stride,
                                                             ptrdiff_t ahead, leaf_visit *visit, void *arg)
{
        xac_tree_record record = { .key_len = 8, .value_len = stride - 8 };
        for (; at < behind; at += stride) {
                __builtin_prefetch(at + ahead);
                record.key = at;
                record.value = at + 8;
                int result = visit(arg, &record);
                if (result)
                        return result;
        }
        return 0;
}

static __attribute__((noinline, aligned(64))) int scan_variable(const struct bpnode *leaf, unsigned i, unsigned end,
                                                                ptrdiff_t ahead, leaf_visit *visit, void *arg)
{
        const struct bpnode_shape shape = { .is_fixed = false }; /* so that nobody asks for each record */
        xac_tree_record record;
        for (; i < end; i++) {
                struct bpnode_record stored = bpnode_record_at(&shape, leaf, i);
                __builtin_prefetch((const char *)stored.key.bytes + ahead);
                __builtin_prefetch((const char *)&bpnode_slots(leaf)[i] + ahead);
                leaf_show(&stored, &record);
                int result = visit(arg, &record);
                if (result)
                        return result;
        }
        return 0;
}

static int scan_some_fixed(const struct bpnode_shape *shape, const struct bpnode *leaf, unsigned i, unsigned end,
                           ptrdiff_t ahead, leaf_visit *visit, void *arg)
{
        const size_t stride = bpnode_fixed_stride(shape, 0);
        const char *records = (const char *)(leaf + 1);
        return scan_fixed(records + i * stride, records + end * stride, stride, ahead, visit, arg);
}

/* The records that are in both leaves by their numbers, then what one of them has more. */
static int scan_fixed_ahead(const struct bpnode_shape *shape, const struct bpnode *leaf, unsigned i, unsigned end,
                            const struct bpnode *ahead, leaf_visit *visit, void *arg)
{
        const ptrdiff_t distance = (const char *)ahead - (const char *)leaf;
        const unsigned in_both = ahead->count < i ? i : ahead->count < end ? ahead->count : end;
        const size_t stride = bpnode_fixed_stride(shape, 0), behind = ahead->count * stride;
        int result = scan_some_fixed(shape, leaf, i, in_both, distance, visit, arg);
        if (!result)
                result = scan_some_fixed(shape, leaf, in_both, end, 0, visit, arg);
        for (size_t at = end * stride; !result && at < behind && behind <= shape->page_bytes; at += LINE_BYTES)
                __builtin_prefetch((const char *)(ahead + 1) + at);
        return result;
}

/* So many bytes at a time; and behind each as many of what comes next are fetched. All of it behind the last record
 * took an eighth longer (pages of 4 KiB), and nothing but the header, or what is further ahead, half as long again. */
static int scan_runs(const struct bpnode_shape *shape, const struct bpnode *leaf, unsigned i, unsigned end,
                     const struct bpnode *ahead, const struct leaf_visitor *visitor)
{
        const unsigned most = ahead ? RUN_BYTES / (unsigned)bpnode_fixed_stride(shape, 0) : end;
        int result = 0;
        for (size_t at = 0; i < end && !result;) {
                const unsigned count = end - i < most ? end - i : most;
                result = visitor->visit_run(visitor->arg, bpnode_fixed_at(shape, leaf, i), count);
                i += count;
                for (size_t stop = at + RUN_BYTES; ahead && at < stop && at < shape->page_bytes; at += LINE_BYTES)
                        __builtin_prefetch((const char *)ahead + at);
        }
        return result;
}

int leaf_scan(const struct bpnode_shape *shape, const struct bpnode *leaf, unsigned i, unsigned end,
              const struct bpnode *ahead, const struct leaf_visitor *visitor)
{
        const ptrdiff_t distance = ahead ? (const char *)ahead - (const char *)leaf : 0;
        if (visitor->visit_run)
                return scan_runs(shape, leaf, i, end, ahead, visitor);
        if (!shape->is_fixed)
                return scan_variable(leaf, i, end, distance, visitor->visit, visitor->arg);
        if (ahead)
                return scan_fixed_ahead(shape, leaf, i, end, ahead, visitor->visit, visitor->arg);
        return scan_some_fixed(shape, leaf, i, end, 0, visitor->visit, visitor->arg);
}
