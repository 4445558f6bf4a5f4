/* SPDX-License-Identifier: MIT */
#include "libxac/txn/backlog.h"

#include <sys/mman.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/txn/redo.h"
#include "libxac/version/dirty.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"

enum {
        PAUSE_COMMITS = 65536, /* of all kinds */
        LAPSED = 1
};

/* In memory of its own: this may run in the fault handler, on a small stack. */
struct merge {
        struct participant *self;
        struct shared *shared;
        struct files *files;
        uint64_t base, until; /* commits in (base, until] are logged */
        struct dirty dirty;   /* the pages' versions as of `until` */
        struct redo redo;
        char home[PAGE_BYTES_MAX];
};

void backlog_join_locked(struct shared *shared)
{
        shlock_assert_held(&shared->control->commit_lock);
        struct control *control = shared->control;
        if (atomic_load_explicit(&control->backlog_base, memory_order_relaxed))
                return;
        atomic_store(&control->backlog_base, atomic_load_explicit(&control->sequence, memory_order_relaxed));
        hook_step(HOOK_BACKLOG_BEGUN);
}

void backlog_pause(struct shared *shared)
{
        struct control *control = shared->control;
        atomic_store_explicit(&control->backlog_pause, atomic_load(&control->sequence) + PAUSE_COMMITS,
                              memory_order_relaxed);
}

/* ---- What is in it ---- */

/* The sequence stands still under the commit lock, so that the pin needs no second look (R1). Who began a backlog may
 * have died before its first commit was decided: then there is none. */
static int pin(struct merge *merge)
{
        struct control *control = merge->shared->control;
        int err = publish_lock(merge->shared, merge->self->owner);
        if (err)
                return err;
        merge->base = atomic_load(&control->backlog_base);
        merge->until = atomic_load(&control->sequence);
        invariant(merge->base <= merge->until);
        if (merge->base == merge->until) {
                merge->base = 0;
                atomic_store(&control->backlog_base, 0);
        }
        if (merge->base)
                atomic_store(&control->backlog_next, merge->until);
        publish_unlock(merge->shared);
        hook_step(HOOK_BACKLOG_PINNED);
        return 0;
}

static int is_in_it(void *arg, uint32_t no)
{
        const struct merge *merge = arg;
        return version_seen_in_slot(merge->shared, no, merge->base, merge->until) != 0;
}

/* Home as of the base: it stays so while it is pinned, as no newer version goes home before the log has it (I2). Read,
 * not mapped: a fault on a file that somebody has cut would end the background thread. NULL: it cannot be read. */
static const char *read_home(struct merge *merge, uint64_t page)
{
        const uint32_t file_no = page_id_file(page);
        int err = files_attach(merge->files, file_no);
        if (!err)
                err = sys_read_all(merge->files->file[file_no].fd, merge->home, merge->shared->page_bytes,
                                   page_id_no(page) << merge->shared->page_shift);
        if (!err)
                err = files_verify_home(merge->files, page, merge->home);
        return err ? NULL : merge->home;
}

/* What the log takes the page for; NULL: the whole page is logged. */
static const char *bytes_at_base(struct merge *merge, uint64_t page)
{
        uint64_t word = version_visible(merge->shared, page, merge->base);
        if (version_slot(word) != SLOT_HOME)
                return shared_slot_bytes(merge->shared, version_slot(word));
        if (!word && files_has_only_grown(merge->files, page))
                return shared_zeros(merge->shared);
        return read_home(merge, page);
}

static int log_pages(struct merge *merge)
{
        struct redo *redo = &merge->redo;
        int err = redo_begin_merged(redo, merge->shared, merge->base);
        for (uint32_t i = 0; i < merge->dirty.slots.count && !err; i++) {
                const uint64_t page = dirty_page(&merge->dirty, i);
                struct redo_page change = { .page = page,
                                            .kind = LOG_CHANGES,
                                            .from = page,
                                            .now = shared_slot_bytes(merge->shared, dirty_slot(&merge->dirty, i)) };
                if (!shared_map_heads(merge->shared, page_id_file(page)))
                        err = -ENOMEM;
                if (!err)
                        err = redo_reserve(redo, merge->self);
                if (err)
                        break;
                change.before = bytes_at_base(merge, page);
                redo_add(redo, merge->shared, &change);
        }
        return err;
}

/* ---- Logging it ---- */

/* LAPSED: its fragments have (R35), and all is to be logged again. */
static int decide(struct merge *merge)
{
        struct redo *redo = &merge->redo;
        redo_sum_up(redo);
        int err = redo_lock_with_room(redo, merge->self);
        if (err)
                return err;
        if (redo_has_lapsed_locked(redo, merge->self)) {
                publish_unlock(merge->shared);
                return LAPSED;
        }
        uint64_t end = redo_stage_merged_locked(redo, merge->self, merge->until);
        hook_step(HOOK_MERGE_STAGED);
        publish_merge_locked(merge->shared, end);
        publish_unlock(merge->shared);
        return 0;
}

static int log_pinned(struct merge *merge)
{
        int err = dirty_collect(&merge->dirty, is_in_it, merge);
        if (err)
                return err;
        dirty_sort(&merge->dirty);
        do {
                err = log_pages(merge);
                if (!err)
                        err = decide(merge);
        } while (err == LAPSED);
        redo_finish(&merge->redo, merge->self);
        return err;
}

static int run(struct merge *merge)
{
        struct control *control = merge->shared->control;
        shlock_lock(&control->backlog_lock, merge->self->owner, &merge->shared->liveness);
        int err = pin(merge);
        if (!err && merge->base)
                err = log_pinned(merge);
        atomic_store(&control->backlog_next, 0); /* a dead one's too */
        shlock_unlock(&control->backlog_lock);
        return err;
}

int backlog_log(struct participant *self, struct files *files)
{
        void *memory;
        if (!backlog_exists(self->shared))
                return 0;
        if (sys_mmap(NULL, sizeof(struct merge), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &memory))
                return -ENOMEM;
        struct merge *merge = memory;
        merge->self = self;
        merge->shared = self->shared;
        merge->files = files;
        merge->dirty.shared = self->shared;
        int err = run(merge);
        redo_free(&merge->redo);
        dirty_free(&merge->dirty);
        sys_munmap(merge, sizeof(*merge));
        return err;
}
