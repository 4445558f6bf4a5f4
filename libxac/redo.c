/* SPDX-License-Identifier: MIT */
#include "libxac/redo.h"

#include <errno.h>
#include <string.h>
#include <xac/xac.h>

#include "base/checksum.h"
#include "base/hook.h"
#include "base/sys.h"
#include "libxac/publish.h"
#include "libxac/version.h"
#include "recovery/diff.h"

enum {
        RETRY_NS = 10000000, /* after a local failure that keeps everybody from writing the log, */
        RETRIES = 200,       /* such as a lack of descriptors; then nothing can be promised any more */
        SAMPLES = 16,        /* words of a page */
        LIKELY_GAIN = 4,     /* so many more of them must be equal in another page */
        LIKELY_PAGES_MAX = 8 /* written by the transaction; more are too many to compare */
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
 * versions are pinned by `next`. Under the commit lock the sequence stands still (R1). */
static uint64_t host_closing(void *arg)
{
        struct control *control = ((struct shared *)arg)->control;
        uint64_t sequence = atomic_load(&control->sequence);
        atomic_store(&control->durable_next, sequence);
        return sequence;
}

static void host_durable(void *arg, uint64_t mark)
{
        struct control *control = ((struct shared *)arg)->control;
        atomic_store(&control->durable_sequence, mark);
        atomic_store(&control->durable_next, 0);
}

void redo_attach(struct shared *shared, int directory)
{
        struct log_host host = { host_lock, host_unlock, host_closing, host_durable, shared };
        if (shared_is_durable(shared))
                log_init(&shared->log, shared_log(shared), (char *)shared->control + shared->layout.log_ring, directory,
                         shared->control->mode, &host, &shared->liveness);
}

void redo_detach(struct shared *shared)
{
        if (shared_is_durable(shared))
                log_close(&shared->log);
}

/* ---- building the record ---- */

/* A longer payload goes out in fragments of about this length. */
static uint32_t fragment_len(const struct shared *shared)
{
        uint64_t eighth = shared->control->log_ring_bytes / 8;
        uint32_t most = LOG_RECORD_MAX / 4;
        return eighth < most ? (uint32_t)eighth : most;
}

static uint32_t record_len(const struct redo *redo)
{
        return log_record_len(redo->payload.count);
}

static int make_room(struct participant *self, uint32_t byte_len)
{
        int err = log_make_room(&self->shared->log, self->owner, byte_len);
        for (int i = 0; err == -EMFILE && i < RETRIES; i++) {
                sys_sleep_ns(RETRY_NS);
                err = log_make_room(&self->shared->log, self->owner, byte_len);
        }
        return err;
}

/* The commit lock, with room for the record. */
static int lock_with_room(const struct redo *redo, struct participant *self)
{
        for (;;) {
                int err = publish_lock(self->shared, self->owner);
                if (err || redo_has_room_locked(redo, self->shared))
                        return err;
                publish_unlock(self->shared);
                err = make_room(self, record_len(redo));
                if (err)
                        return err;
        }
}

static uint64_t stage_locked(const struct redo *redo, struct participant *self, enum log_record_kind kind,
                             uint64_t sequence)
{
        struct log_record record = { .sequence = sequence,
                                     .transaction = redo->first_fragment,
                                     .kind = kind,
                                     .payload_crc = redo->payload_crc,
                                     .payload_len = redo->payload.count };
        return log_stage_locked(&self->shared->log, &record, redo->payload.items);
}

static void sum_up(struct redo *redo)
{
        redo->payload_crc = checksum_crc32c(0, redo->payload.items, redo->payload.count);
}

/* What has been collected goes into the log ahead of the commit. A checkpoint that begins now must
 * leave it there: fragment_start is stored before the log covers the fragment. */
static int append_fragment(struct redo *redo, struct participant *self)
{
        sum_up(redo);
        int err = lock_with_room(redo, self);
        if (err)
                return err;
        if (!redo->first_fragment) {
                redo->first_fragment = log_end(&self->shared->log);
                atomic_store(&self->row->fragment_start, redo->first_fragment);
        }
        log_publish_locked(&self->shared->log, stage_locked(redo, self, LOG_FRAGMENT, 0));
        publish_unlock(self->shared);
        hook_step(HOOK_FRAGMENT_APPENDED);
        redo->payload.count = 0;
        return 0;
}

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

/* One page: what changed, or the whole of it when that is shorter. The payload has room. */
static void add_entry(struct redo *redo, const struct txn_pages *pages, const struct page_entry *entry)
{
        const struct shared *shared = pages->self->shared;
        const uint32_t page_bytes = shared->page_bytes;
        enum log_entry_kind kind;
        uint64_t from;
        const char *before = base_of(pages, entry, &kind, &from);
        const char *now = shared_slot_bytes(shared, entry->slot);
        unsigned char *at = (unsigned char *)redo->payload.items + redo->payload.count;
        unsigned char *body = at + LOG_ENTRY_HEADER;
        size_t byte_len = 0;
        if (kind == LOG_MOVED) {
                log_entry_encode_from(body, from);
                byte_len = LOG_ENTRY_FROM;
        }
        if (now != before) /* an alias is its base */
                byte_len += diff_build((const unsigned char *)before, (const unsigned char *)now, page_bytes,
                                       body + byte_len, page_bytes - byte_len);
        if (byte_len > page_bytes) {
                kind = LOG_IMAGE;
                byte_len = page_bytes;
                memcpy(body, now, page_bytes);
        }
        log_entry_encode(at, entry->page, kind, (uint32_t)byte_len);
        redo->payload.count += LOG_ENTRY_HEADER + (uint32_t)byte_len;
}

int redo_prepare(struct redo *redo, const struct txn_pages *pages)
{
        struct participant *self = pages->self;
        struct shared *shared = self->shared;
        if (!shared_is_durable(shared))
                return 0;
        const uint32_t entry_max = LOG_ENTRY_HEADER + shared->page_bytes;
        const uint32_t limit = fragment_len(shared) > entry_max ? fragment_len(shared) : entry_max;
        int err = log_poison(&shared->log);
        redo->payload.count = 0;
        redo->first_fragment = 0;
        for (uint32_t i = 0; i < pages->writes.count && !err; i++) {
                if (redo->payload.count + entry_max > limit && redo->payload.count)
                        err = append_fragment(redo, self);
                if (!err)
                        err = vector_reserve(&redo->payload, redo->payload.count + entry_max, 1);
                if (!err)
                        add_entry(redo, pages, txn_pages_write_at(pages, i));
        }
        sum_up(redo);
        return err;
}

/* ---- the commit ---- */

bool redo_has_room_locked(const struct redo *redo, const struct shared *shared)
{
        return !shared_is_durable(shared) || log_has_room_locked(&shared->log, record_len(redo));
}

int redo_make_room(const struct redo *redo, struct participant *self)
{
        return make_room(self, record_len(redo));
}

uint64_t redo_stage_locked(const struct redo *redo, struct participant *self, uint64_t sequence)
{
        if (!shared_is_durable(self->shared))
                return 0;
        uint64_t end = stage_locked(redo, self, LOG_COMMIT, sequence);
        hook_step(HOOK_RECORD_STAGED);
        return end;
}

void redo_finish(struct redo *redo, struct participant *self)
{
        if (redo->first_fragment)
                atomic_store(&self->row->fragment_start, 0);
        redo->first_fragment = 0;
}

void redo_free(struct redo *redo)
{
        vector_free(&redo->payload, 1);
}

/* The commit is visible by now, so that a lack of descriptors or memory is no way out. */
int redo_wait(struct participant *self, uint64_t position)
{
        struct log *log = &self->shared->log;
        int err = log_wait(log, self->owner, position);
        for (int i = 0; err && err != XAC_POISONED; i++) {
                if (i == RETRIES)
                        log_set_poison(log, err);
                sys_sleep_ns(RETRY_NS);
                err = log_wait(log, self->owner, position);
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

uint64_t redo_point_locked(const struct shared *shared)
{
        uint64_t point = log_end(&shared->log);
        uint32_t rows_used = atomic_load(&shared->control->rows_used);
        for (uint32_t i = 0; i < rows_used; i++) {
                uint64_t start = atomic_load(&shared->rows[i].fragment_start);
                if (start && start < point)
                        point = start;
        }
        return point;
}
