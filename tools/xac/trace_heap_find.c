/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_heap_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/heap.h>

#include "base/sys.h"
#include "recovery/manifest.h"
#include "tools/xac/opening.h"
#include "tools/xac/text.h"

/* ---- Opening ---- */

/* Another one may lie there by now, whose names would be wrong. */
static bool is_traced(const struct trace_file_env *env)
{
        static struct manifest manifest;
        int directory;

        if (sys_open(AT_FDCWD, env->path, O_RDONLY | O_DIRECTORY, 0, &directory))
                return false;
        const bool is_it = !manifest_read(directory, &manifest) && !memcmp(manifest.uuid, env->uuid, sizeof(env->uuid));
        sys_close(directory);
        return is_it;
}

/* To map a file would make it. */
static bool is_file(const char *directory, const char *name)
{
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof(path), "%s/%s", directory, name);

        return length < (int)sizeof(path) && access(path, F_OK) == 0;
}

struct looking {
        const struct trace_file *file;
        const struct trace_sum *sum;
        uint64_t top;
        struct trace_heap *found;
        xac_heap *heap;
};

/* Only what a page of the report shows is kept: a heap may have a million roots. */
static bool is_told(const struct looking *looking, uint64_t offset, uint64_t size)
{
        const uint64_t page_bytes = looking->file->envs[looking->found->env].page_bytes;

        for (uint32_t i = 0; i < looking->sum->page_count && i < looking->top; i++) {
                const struct trace_sum_page *page = &looking->sum->pages[i];
                const uint64_t begin = trace_page_no(page->page) * page_bytes;

                if (page->env == looking->found->env && trace_page_file(page->page) == looking->found->file_no &&
                    offset < begin + page_bytes && begin < offset + size)
                        return true;
        }
        return false;
}

static int keep_root(void *looking_, const xac_heap_root *root)
{
        struct looking *looking = looking_;
        struct trace_heap *found = looking->found;
        const uint64_t offset = xac_heap_offset(looking->heap, root->object);
        struct trace_heap_root *roots;
        char *name;

        if (!is_told(looking, offset, root->size))
                return 0;
        name = text_copy(root->name, sizeof(root->name));
        roots = name ? trace_list_room(found->roots, found->root_count, sizeof(*roots)) : NULL;
        if (!roots) {
                free(name);
                return -ENOMEM;
        }
        found->roots = roots;
        roots[found->root_count++] = (struct trace_heap_root){ name, offset, root->size };
        return 0;
}

/* A file without a heap is no error. */
static int look(xac_env *env, struct looking *looking, const char *name)
{
        int err = xac_heap_open(env, name, 0, &looking->heap);

        if (err == -ENOENT || err == XAC_FORMAT)
                return 0;
        if (err)
                return err;
        looking->found->is_heap = true;
        err = xac_heap_root_list(looking->heap, keep_root, looking);
        xac_heap_close(looking->heap);
        return err;
}

static bool open_and_look(struct looking *looking, const char *name)
{
        const struct trace_file_env *its = &looking->file->envs[looking->found->env];
        const struct opening opening = { .path = its->path, .command = "trace --heap", .may_be_volatile = true };
        xac_env *env;

        if (!is_traced(its)) {
                tool_complain("%s: the environment that was traced is not there: its heaps have no names", its->path);
                return false;
        }
        if (opening_open(&opening, &env) != TOOL_DONE)
                return false;
        const int err = is_file(its->path, name) ? look(env, looking, name) : 0;
        if (err)
                tool_complain("%s in %s: the heap could not be read: %s", name, its->path, tool_explain(err));
        const int close_err = xac_close(env);
        if (close_err)
                tool_complain("%s: closing it: %s", its->path, tool_explain(close_err));
        return !err && !close_err;
}

/* ---- All ---- */

bool trace_heaps_find(struct trace_heaps *heaps, const struct trace_file *file, const struct trace_sum *sum,
                      uint64_t top)
{
        struct looking looking = { .file = file, .sum = sum, .top = top };
        bool is_right = true;

        for (uint32_t i = 0; i < sum->page_count && i < top; i++) {
                const uint32_t env = sum->pages[i].env, file_no = trace_page_file(sum->pages[i].page);
                const char *name = trace_file_name(file, env, file_no);
                struct trace_heap *all;

                if (!name || !file->envs[env].path[0] || trace_heap_at(heaps, env, file_no))
                        continue;
                all = trace_list_room(heaps->all, heaps->count, sizeof(*all));
                if (!all) {
                        tool_complain("%s", tool_explain(-ENOMEM));
                        return false;
                }
                heaps->all = all;
                all[heaps->count] = (struct trace_heap){ .env = env, .file_no = file_no };
                looking.found = &all[heaps->count++];
                is_right &= open_and_look(&looking, name);
        }
        return is_right;
}
