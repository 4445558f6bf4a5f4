/* SPDX-License-Identifier: MIT */
#include "libxac/process/wait.h"

#include <errno.h>
#include <time.h>
#include <xac/xac.h>

#include "base/sys.h"
#include "libxac/ground/waiters.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/tracing.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"
#include "libxac/view/view_sync.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define NEVER         UINT64_MAX
#define SLEEP_MAX_NS  (3600 * NS_PER_SECOND)
#define SALT_FIRST    UINT64_C(0x9E3779B97F4A7C15) /* Fibonacci hashing: neighbours share no bit */

static bool is_right(const struct timespec *timeout)
{
        return !timeout || (timeout->tv_sec >= 0 && timeout->tv_nsec >= 0 && timeout->tv_nsec < (long)NS_PER_SECOND);
}

/* By the monotonic clock. What is later than anybody's life is never. */
static uint64_t deadline_of(const struct timespec *timeout)
{
        if (!timeout || (uint64_t)timeout->tv_sec > NEVER / NS_PER_SECOND / 4)
                return NEVER;
        return sys_monotonic_ns() + (uint64_t)timeout->tv_sec * NS_PER_SECOND + (uint64_t)timeout->tv_nsec;
}

/* ---- what it had read ---- */

static int add_page(struct vector *awaited, uint64_t page)
{
        int err = vector_reserve(awaited, awaited->count + 1, sizeof(uint64_t));
        if (!err)
                ((uint64_t *)awaited->items)[awaited->count++] = page;
        return err;
}

/* M, of a view in which only that is known (R4). */
static int add_m(struct vector *awaited, const struct view *view)
{
        const uint32_t *listed = view->listed.items;
        int err = 0;
        for (uint32_t i = 0; i < view->listed.count && !err; i++)
                if (view_in_m(view, listed[i]))
                        err = add_page(awaited, page_id(view->file_no, listed[i]));
        return err;
}

static int note_read_pages(struct txn *txn)
{
        struct view *const *by_file = txn->views->by_file;
        int err = 0;
        txn->awaited.count = 0;
        for (uint32_t i = 0; i < txn->pages.entries.count && !err; i++)
                err = add_page(&txn->awaited, txn_pages_entry(&txn->pages, i)->page);
        for (uint32_t i = 0; i < FILES_MAX && !err; i++)
                if (by_file[i] && !by_file[i]->is_exact)
                        err = add_m(&txn->awaited, by_file[i]);
        return err;
}

static bool is_any_changed(const struct txn *txn, uint64_t snapshot)
{
        const uint64_t *pages = txn->awaited.items;
        for (uint32_t i = 0; i < txn->awaited.count; i++)
                if (!version_is_seen_by(version_newest(txn->self->shared, pages[i]), snapshot))
                        return true;
        return false;
}

/* ---- sleeping ---- */

static int poison_of(const struct shared *shared)
{
        return shared_is_durable(shared) ? log_poison(&shared->log) : 0;
}

static int enter(struct participant *self)
{
        int err = publish_lock(self->shared, self->owner);
        if (err)
                return err;
        waiters_enter_locked(self);
        publish_unlock(self->shared);
        return 0;
}

/* Without a background thread it looks around itself. */
static void sleep_until(struct thread *thread, uint64_t deadline_ns)
{
        struct shared *shared = thread->self.shared;
        const bool is_tended = thread->env->has_duty_thread;
        while (waiters_is_waiting(thread->self.row) && !poison_of(shared)) {
                uint64_t now_ns = sys_monotonic_ns();
                if (now_ns >= deadline_ns)
                        return;
                uint64_t most_ns = is_tended ? SLEEP_MAX_NS : NS_PER_SECOND;
                waiters_sleep(thread->self.row, deadline_ns - now_ns < most_ns ? deadline_ns - now_ns : most_ns);
                if (!is_tended)
                        takeover_tend_waiters(shared);
        }
}

/* R21: the row is entered under the commit lock, and only then are the pages compared. Commits before are seen in the
 * heads, and those after find the row. */
static int sleep_until_changed(struct thread *thread, uint64_t snapshot, uint64_t deadline_ns)
{
        struct txn *txn = &thread->txn;
        struct participant *self = &thread->self;
        uint64_t salt = SALT_FIRST;
        for (;;) {
                waiters_fill(self, txn->awaited.items, txn->awaited.count, salt);
                int err = enter(self);
                if (err)
                        return err;
                bool is_changed = is_any_changed(txn, snapshot);
                if (!is_changed)
                        sleep_until(thread, deadline_ns);
                bool is_marked = waiters_leave(self->row);
                if (is_changed || is_any_changed(txn, snapshot))
                        return XAC_CONFLICT;
                if (poison_of(self->shared))
                        return XAC_POISONED;
                if (!is_marked)
                        return -ETIMEDOUT;
                salt = salt * UINT64_C(6364136223846793005) + 1; /* a page of another commit had the same bit */
        }
}

/* A thread that is cancelled leaves in good order, and unwinds on in the program's code. */
struct sleep {
        struct thread *thread;
        bool is_over; /* in good order */
};

static void end_if_cancelled(const struct sleep *sleep)
{
        struct thread *thread = sleep->thread;
        if (sleep->is_over)
                return;
        waiters_leave(thread->self.row);
        atomic_store(&thread->is_asleep, false);
        thread->is_in_library = false;
}

static int sleep_cancellably(struct thread *thread, uint64_t snapshot, uint64_t deadline_ns)
{
        __attribute__((cleanup(end_if_cancelled))) struct sleep sleep = { thread, false };
        int err = sleep_until_changed(thread, snapshot, deadline_ns);
        /* cppcheck-suppress unreadVariable ; end_if_cancelled() reads it */
        sleep.is_over = true;
        return err;
}

int wait_for_change(struct thread *thread, const struct timespec *timeout)
{
        struct txn *txn = &thread->txn;
        if (!txn_is_open(txn))
                return XAC_NOTXN;
        if (txn->is_read_only || !is_right(timeout))
                return -EINVAL;
        const uint64_t deadline_ns = deadline_of(timeout);
        const uint64_t snapshot = txn->pages.snapshot;
        int err = txn->doom;
        if (!err)
                err = waiters_prepare(txn->self);
        if (!err)
                err = note_read_pages(txn);
        atomic_store(&thread->is_asleep, true); /* before it is in no transaction: nobody may close the environment */
        txn_abort_all(txn);                     /* as the program would: this is no loss, and keeps nobody out */
        const uint64_t begin_ticks = tracing_ticks(txn->self);
        if (!err)
                err = sleep_cancellably(thread, snapshot, deadline_ns);
        tracing_wait(txn->self, begin_ticks);
        atomic_store(&thread->is_asleep, false);
        return err;
}
