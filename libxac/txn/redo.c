/* SPDX-License-Identifier: MIT */
#include "libxac/txn/redo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xac/xac.h>

#include "base/hook.h"
#include "base/say.h"
#include "base/sys.h"
#include "libxac/ground/probe.h"
#include "libxac/txn/tracing.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"

enum {
        SAMPLES = 16,         /* words of a page */
        LIKELY_GAIN = 4,      /* so many more of them must be equal in another page */
        LIKELY_PAGES_MAX = 8, /* written by the transaction; more are too many to compare */
        LAPSE_LOGS = 4        /* fragments lapse when so many times log_bytes were logged after the last of them */
};

/* ---- the log's host ---- */

static int host_lock(void *arg, uint32_t owner)
{
        return publish_lock(arg, owner);
}

static void host_unlock(void *arg)
{
        publish_unlock(arg);
}

/* R9: the commits of the group that is now written can be read durably once it is on disk: until then their
 * versions are pinned by `next`. Under the commit lock sequence and backlog stand still (R1). */
static uint64_t host_closing(void *arg)
{
        struct control *control = ((struct shared *)arg)->control;
        uint64_t logged = control_logged_locked(control);
        if (hook_has_bug(HOOK_BUG_MARK_BEYOND_LOG))
                logged = atomic_load(&control->sequence);
        atomic_store(&control->durable_next, logged);
        tracing_group_begins();
        return logged;
}

static void host_durable(void *arg, uint64_t mark)
{
        struct control *control = ((struct shared *)arg)->control;
        uint64_t before = atomic_load(&control->durable_sequence);
        uint64_t pin = mark;
        PROBE1(group, mark);
        while (before < mark && !atomic_compare_exchange_weak(&control->durable_sequence, &before, mark))
                ;
        atomic_compare_exchange_strong(&control->durable_next, &pin, 0); /* if it is of this group */
        tracing_group_ends(before < mark ? mark - before : 0, mark);
}

static int host_give_memory(void *arg, uint64_t from, uint64_t to)
{
        const struct shared *shared = arg;
        return sys_allocate(shared->control_fd, shared->layout.log_ring + from, to - from);
}

void redo_attach(struct shared *shared, int directory)
{
        struct log_host host = { host_lock, host_unlock, host_closing, host_durable, host_give_memory, shared };
        if (shared_is_durable(shared))
                log_init(&shared->log, shared_log(shared), (char *)shared->control + shared->layout.log_ring, directory,
                         shared->control->mode, &host, &shared->liveness);
}

void redo_detach(struct shared *shared)
{
        if (shared_is_durable(shared))
                log_close(&shared->log);
}

/* ---- a transaction's record ---- */

/* What stood in a page before the transaction. */
static const char *bytes_before(const struct txn_pages *pages, const struct page_entry *entry)
{
        if (entry->visible_slot != SLOT_HOME)
                return shared_slot_bytes(pages->self->shared, entry->visible_slot);
        uint64_t word = version_visible(pages->self->shared, entry->page, pages->snapshot);
        return files_word_bytes(pages->files, entry->page, word);
}

/* How many words of two pages are equal, of SAMPLES that are looked at. */
static uint32_t likeness(const char *a, const char *b, uint32_t page_bytes)
{
        uint32_t equal = 0;
        for (uint32_t i = 0; i < SAMPLES; i++) {
                uint32_t at = page_bytes / SAMPLES * i + page_bytes / SAMPLES / 2;
                equal += memcmp(a + at, b + at, sizeof(uint64_t)) == 0;
        }
        return equal;
}

/* A page that is quite another one now may have got what stood beside it, as in a split: the written page that it
 * was most like before, or NULL. */
static const struct page_entry *likely_base(const struct txn_pages *pages, const struct page_entry *entry,
                                            const char *before, const char *now)
{
        const uint32_t page_bytes = pages->self->shared->page_bytes;
        const struct page_entry *best = NULL;
        uint32_t best_likeness = likeness(before, now, page_bytes) + LIKELY_GAIN;
        if (best_likeness > SAMPLES)
                return NULL;
        for (uint32_t i = 0; i < pages->writes.count; i++) {
                const struct page_entry *other = txn_pages_write_at(pages, i);
                if (other == entry || page_id_file(other->page) != page_id_file(entry->page))
                        continue;
                uint32_t other_likeness = likeness(bytes_before(pages, other), now, page_bytes);
                if (other_likeness < best_likeness)
                        continue;
                best = other;
                best_likeness = other_likeness;
        }
        return best;
}

/* What a page's content began as, and how an entry says so: *from is another page, or the page itself. */
static const char *base_of(const struct txn_pages *pages, const struct page_entry *entry, enum log_entry_kind *kind,
                           uint64_t *from)
{
        *from = entry->page;
        if (entry->base == BASE_ZEROS) {
                *kind = LOG_CLEARED;
                return shared_zeros(pages->self->shared);
        }
        const struct page_entry *base = txn_pages_entry(pages, entry->base);
        const char *before = bytes_before(pages, base);
        if (base == entry && pages->writes.count > 1 && pages->writes.count <= LIKELY_PAGES_MAX) {
                const char *now = shared_slot_bytes(pages->self->shared, entry->slot);
                const struct page_entry *likely = likely_base(pages, entry, before, now);
                if (likely) {
                        base = likely;
                        before = bytes_before(pages, base);
                }
        }
        *from = base->page;
        *kind = base == entry ? LOG_CHANGES : LOG_MOVED;
        return before;
}

int redo_prepare(struct redo *redo, const struct txn_pages *pages)
{
        struct participant *self = pages->self;
        struct shared *shared = self->shared;
        if (!shared_is_durable(shared))
                return 0;
        int err = redo_begin(redo, shared);
        for (uint32_t i = 0; i < pages->writes.count && !err; i++) {
                const struct page_entry *entry = txn_pages_write_at(pages, i);
                struct redo_page page = { .page = entry->page, .now = shared_slot_bytes(shared, entry->slot) };
                page.before = base_of(pages, entry, &page.kind, &page.from);
                err = redo_reserve(redo, self);
                if (!err)
                        redo_add(redo, shared, &page);
        }
        redo_sum_up(redo);
        return err;
}

/* ---- on disk ---- */

int redo_wait(struct participant *self, uint64_t position)
{
        tracing_lead(self->recorder);
        int err = log_wait(&self->shared->log, self->owner, position);
        tracing_lead(NULL);
        return err;
}

/* Nothing has been written: the log is as it was. */
static bool is_lack(int err)
{
        return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EAGAIN;
}

/* After R38 only by bad luck: another thread of the program took a number that was to be used again. */
static void tell_of_lack(int err)
{
        say(stderr,
            "libxac: a commit waits for what it needs to write the log (%s): close files of this program, or "
            "raise its limit (ulimit -n)\n",
            xac_strerror(err));
}

int redo_wait_published(struct participant *self, uint64_t position)
{
        int err = redo_wait(self, position);
        int lacks = 0, others = 0; /* the latter one after another */
        while (err && err != XAC_POISONED) {
                others = is_lack(err) ? 0 : others + 1;
                if (is_lack(err) && lacks++ == REDO_RETRIES)
                        tell_of_lack(err);
                if (others > REDO_RETRIES)
                        log_set_poison(&self->shared->log, err);
                sys_sleep_ns(REDO_RETRY_NS);
                err = redo_wait(self, position);
        }
        return err;
}

static bool is_filled(const struct shared *shared, uint64_t eighths)
{
        const struct log *log = &shared->log;
        uint64_t waiting = log_end(log) - atomic_load_explicit(&log->shared->written, memory_order_relaxed);
        return waiting >= log->shared->ring_bytes / 8 * eighths;
}

bool redo_wants_push(const struct shared *shared)
{
        return is_filled(shared, 4);
}

void redo_push(struct participant *self)
{
        if (is_filled(self->shared, 6))
                log_push(&self->shared->log, self->owner);
}

/* R35. He may be stopped; or he is slow, and logs them again when he goes on. */
static bool has_lapsed(const struct shared *shared, const struct row *row)
{
        return log_end(&shared->log) - atomic_load(&row->fragment_last) > LAPSE_LOGS * shared->control->log_bytes;
}

/* 0: nothing. */
static uint64_t held_from_locked(const struct shared *shared, struct row *row)
{
        uint64_t start = atomic_load(&row->fragment_start);
        if (!start || !has_lapsed(shared, row))
                return start;
        atomic_store(&row->fragment_start, 0);
        return 0;
}

uint64_t redo_point_locked(const struct shared *shared)
{
        shlock_assert_held(&shared->control->commit_lock);
        uint64_t point = log_end(&shared->log);
        uint32_t rows_used = atomic_load(&shared->control->rows_used);
        for (uint32_t i = 0; i < rows_used; i++) {
                uint64_t start = held_from_locked(shared, &shared->rows[i]);
                if (start && start < point)
                        point = start;
        }
        return point;
}
