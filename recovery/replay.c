/* SPDX-License-Identifier: MIT */
#include "recovery/replay.h"

/*
 * The fragments of an attempt (attempts.h) are applied when the commit record comes. An attempt that was aborted, or
 * whose process died, has no commit; it is kept to the end, for nothing tells it from one that is still to commit.
 *
 * Reading begins at the oldest fragment of a transaction that was undecided at the checkpoint. So fragments
 * may come whose attempt began before: it was decided by then, and they are passed over like commits up to
 * the base.
 *
 * Merged commits are one step: their entries lead from the state at their base to that at their sequence. So either
 * all of them are home already or none; a checkpoint's base is never in between.
 *
 * Moves read the state before their record. So a commit is gone through twice: first the contents that its
 * moves want are put aside, then its entries are applied.
 */

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "recovery/attempts.h"
#include "recovery/diff.h"
#include "recovery/replay_pages.h"

struct replay {
        struct replay_pages pages;
        uint64_t base;
        replay_home read_home;
        replay_need need; /* NULL: nobody asks */
        void *arg;
        unsigned char *scratch;
        struct vector sources;      /* contents of page_bytes each: what the commit's moves read, in their order */
        struct vector sources_lost; /* of bool: is it a page that is lost? */
        uint32_t sources_used;      /* by the entries applied so far */
        struct vector moves;        /* of struct batches_move */
        struct vector lost;         /* of uint64_t, in the end; with room for all that ever were */
        uint32_t ever_lost;

        uint64_t target; /* commits up to this one are passed over for the pages that are listed */
        const uint64_t *listed;
        uint32_t listed_count;

        uint64_t begin;    /* position of the first record; 0: none came yet */
        uint64_t seen;     /* newest commit of the log, applied or passed over; 0: none */
        uint64_t sequence; /* newest commit applied */
        uint64_t commits;
        bool is_finished;
        struct attempts attempts;
};

/* ---- Fragments ---- */

static int take_fragment(struct replay *replay, const struct log_record *record, const unsigned char *payload)
{
        struct attempt *attempt = attempts_find(&replay->attempts, record->transaction);
        bool is_first = record->transaction == record->position;

        if (record->sequence != 0 || record->transaction == 0 || record->transaction > record->position)
                return XAC_CORRUPT;
        if (is_first != (attempt == NULL))
                return !is_first && record->transaction < replay->begin ? 0 : XAC_CORRUPT;
        int err = is_first ? attempts_begin(&replay->attempts, record->transaction, &attempt) : 0;

        return err ? err : attempt_add(attempt, payload, record->payload_len);
}

/* ---- Commits ---- */

/* One commit, or several merged. */
struct commit {
        uint64_t before; /* the newest commit before */
        uint64_t sequence;
        const struct attempt *attempt; /* its fragments; NULL: none */
        const unsigned char *entries;  /* that are not in fragments */
        size_t entries_len;
};

static unsigned char *source_at(const struct replay *replay, uint32_t i)
{
        return (unsigned char *)replay->sources.items + (size_t)i * replay->pages.page_bytes;
}

/* What a moved page was before the record, or REPLAY_LOST. */
static int read_source(const struct replay *replay, uint64_t from, unsigned char *source)
{
        const struct replay_page *page = replay_pages_find(&replay->pages, from);

        if (!page)
                return replay->read_home(replay->arg, from, source);
        memcpy(source, page->bytes, replay->pages.page_bytes);
        return page->is_lost ? REPLAY_LOST : 0;
}

/* Puts it aside. */
static int keep_source(struct replay *replay, const struct log_entry *entry)
{
        if (entry->kind != LOG_MOVED)
                return 0;
        const uint32_t i = replay->sources.count;
        int err = vector_reserve(&replay->sources, i + 1, replay->pages.page_bytes);
        if (!err)
                err = vector_reserve(&replay->sources_lost, i + 1, sizeof(bool));
        if (err)
                return err;
        err = read_source(replay, entry->from, source_at(replay, replay->sources.count++));
        ((bool *)replay->sources_lost.items)[i] = err == REPLAY_LOST;
        return err == REPLAY_LOST ? 0 : err;
}

/* Makes the page's bytes those that the entry's changes begin with; or REPLAY_LOST. */
static int take_base(struct replay *replay, const struct log_entry *entry, struct replay_page *page, bool is_new)
{
        if (entry->kind == LOG_MOVED) {
                const uint32_t i = replay->sources_used++;

                memcpy(page->bytes, source_at(replay, i), replay->pages.page_bytes);
                return ((const bool *)replay->sources_lost.items)[i] ? REPLAY_LOST : 0;
        }
        if (entry->kind == LOG_CLEARED) {
                memset(page->bytes, 0, replay->pages.page_bytes);
                return 0;
        }
        if (is_new)
                return replay->read_home(replay->arg, entry->page, page->bytes);
        return page->is_lost ? REPLAY_LOST : 0;
}

/* CP14: what a difference makes of a page that nobody has, nobody has. */
static int lose(struct replay *replay, struct replay_page *page)
{
        if (page->is_lost)
                return 0;
        page->is_lost = true;
        return vector_reserve(&replay->lost, ++replay->ever_lost, sizeof(uint64_t));
}

static int note_move(struct replay *replay, const struct log_entry *entry)
{
        int err = vector_reserve(&replay->moves, replay->moves.count + 1, sizeof(struct batches_move));

        if (!err)
                ((struct batches_move *)replay->moves.items)[replay->moves.count++] =
                        (struct batches_move){ .target = entry->page, .source = entry->from };
        return err;
}

/* A page that no commit had changed before. It takes no memory if there is no such page. */
static int add_page(struct replay *replay, uint64_t name, struct replay_page **page)
{
        int err = replay->need ? replay->need(replay->arg, name) : 0;

        return err ? err : replay_pages_add(&replay->pages, name, page);
}

static int apply_entry(struct replay *replay, const struct log_entry *entry, uint64_t sequence)
{
        struct replay_page *page = replay_pages_find(&replay->pages, entry->page);
        const bool is_new = !page;
        int err = is_new ? add_page(replay, entry->page, &page) : 0;

        if (err)
                return err;
        page->sequence = sequence;
        if (entry->kind == LOG_IMAGE) {
                memcpy(page->bytes, entry->bytes, entry->byte_len);
                page->is_lost = false;
                return 0;
        }
        err = take_base(replay, entry, page, is_new);
        if (err == REPLAY_LOST)
                return lose(replay, page);
        if (!err && entry->kind == LOG_MOVED)
                err = note_move(replay, entry);
        if (err)
                return err;
        page->is_lost = false;
        bool is_sound =
                diff_apply(page->bytes, replay->pages.page_bytes, entry->bytes, entry->byte_len, replay->scratch);
        return is_sound ? 0 : XAC_CORRUPT;
}

/* Entries are short and their pages far apart: what rebuild.c does for records is done here within one. */
enum { FAR_ENTRIES = 16, NEAR_ENTRIES = 8 };

struct look_ahead {
        size_t at;   /* the entry in the payload that is looked at next */
        int entries; /* how many it is ahead */
        int wanted;  /* and should be */
        bool is_near;
};

static void look_ahead(const struct replay *replay, const unsigned char *payload, size_t payload_len,
                       struct look_ahead *ahead)
{
        struct log_entry entry;
        size_t at = ahead->at;

        while (ahead->entries < ahead->wanted &&
               log_entry_next(payload, payload_len, &ahead->at, replay->pages.page_bytes, &entry) == 1) {
                if (entry.byte_len >= LOG_CHANGE_HEADER)
                        replay_expect(replay, payload + at, ahead->is_near);
                at = ahead->at;
                ahead->entries++;
        }
        ahead->entries--; /* the next one is applied */
}

/* CP3 */
static bool is_passed_over(const struct replay *replay, uint64_t page, uint64_t sequence)
{
        return sequence <= replay->target && batches_have(replay->listed, replay->listed_count, page);
}

/* Keeps the sources of its moves; or applies it. */
static int visit_payload(struct replay *replay, const unsigned char *payload, size_t payload_len, uint64_t sequence,
                         bool is_applied)
{
        struct look_ahead far = { .wanted = FAR_ENTRIES };
        struct look_ahead near = { .wanted = NEAR_ENTRIES, .is_near = true };
        struct log_entry entry;
        size_t at = 0;
        int found;

        while ((found = log_entry_next(payload, payload_len, &at, replay->pages.page_bytes, &entry)) == 1) {
                if (is_applied) {
                        look_ahead(replay, payload, payload_len, &far);
                        look_ahead(replay, payload, payload_len, &near);
                }
                if (is_passed_over(replay, entry.page, sequence))
                        continue;
                int err = is_applied ? apply_entry(replay, &entry, sequence) : keep_source(replay, &entry);

                if (err)
                        return err;
        }
        return found;
}

/* All entries of a commit, those in its fragments first. */
static int visit_commit(struct replay *replay, const struct commit *commit, bool is_applied)
{
        int err = 0;

        if (commit->attempt)
                for (const struct fragment *part = commit->attempt->first; part && !err; part = part->next)
                        err = visit_payload(replay, part->payload, part->payload_len, commit->sequence, is_applied);
        return err ? err : visit_payload(replay, commit->entries, commit->entries_len, commit->sequence, is_applied);
}

static int apply_commit(struct replay *replay, const struct commit *commit)
{
        replay->sources.count = 0;
        replay->sources_lost.count = 0;
        replay->sources_used = 0;
        int err = visit_commit(replay, commit, false);

        if (!err)
                err = visit_commit(replay, commit, true);
        if (err)
                return err;
        replay->sequence = commit->sequence;
        replay->commits += commit->sequence - commit->before;
        return 0;
}

/* Each commit of the log is the successor of the one before; the first may be any up to the base's. */
static bool is_next(const struct replay *replay, const struct commit *commit)
{
        if (commit->before >= commit->sequence)
                return false;
        if (replay->seen ? commit->before != replay->seen : commit->before > replay->base)
                return false;
        return commit->sequence <= replay->base || commit->before >= replay->base;
}

static int take_commit(struct replay *replay, const struct log_record *record, struct commit *commit)
{
        struct attempt *attempt = attempts_find(&replay->attempts, record->transaction);
        bool is_new = record->sequence > replay->base;
        int err = 0;

        commit->sequence = record->sequence;
        if (!is_next(replay, commit) || record->transaction >= record->position)
                return XAC_CORRUPT;
        if (is_new && record->transaction && !attempt)
                return XAC_CORRUPT;
        replay->seen = commit->sequence;
        commit->attempt = attempt;
        if (is_new)
                err = apply_commit(replay, commit);
        attempts_forget(&replay->attempts, attempt);
        return err;
}

static int take_single(struct replay *replay, const struct log_record *record, const unsigned char *payload)
{
        struct commit commit = { .before = record->sequence - 1,
                                 .entries = payload,
                                 .entries_len = record->payload_len };

        return take_commit(replay, record, &commit);
}

static int take_merged(struct replay *replay, const struct log_record *record, const unsigned char *payload)
{
        struct commit commit;

        if (!log_merged_base(payload, record->payload_len, &commit.before))
                return XAC_CORRUPT;
        commit.entries = payload + LOG_MERGED_HEADER;
        commit.entries_len = record->payload_len - LOG_MERGED_HEADER;
        return take_commit(replay, record, &commit);
}

int replay_record(struct replay *replay, const struct log_record *record, const unsigned char *payload)
{
        assert(!replay->is_finished);
        if (!replay->begin)
                replay->begin = record->position;
        switch (record->kind) {
        case LOG_COMMIT:
                return take_single(replay, record, payload);
        case LOG_MERGED:
                return take_merged(replay, record, payload);
        case LOG_FRAGMENT:
                return take_fragment(replay, record, payload);
        default:
                return XAC_CORRUPT;
        }
}

/* ---- From beginning to end ---- */

int replay_open(uint32_t page_bytes, uint64_t base, replay_home read_home, void *arg, struct replay **replay)
{
        struct replay *opened = calloc(1, sizeof(*opened));

        *replay = NULL;
        if (!opened)
                return -ENOMEM;
        opened->base = base;
        opened->sequence = base;
        opened->read_home = read_home;
        opened->arg = arg;
        opened->scratch = malloc(page_bytes);
        int err = opened->scratch ? replay_pages_init(&opened->pages, page_bytes) : -ENOMEM;
        if (!err)
                err = attempts_init(&opened->attempts);
        if (err) {
                replay_close(opened);
                return err;
        }
        *replay = opened;
        return 0;
}

void replay_ask(struct replay *replay, replay_need need)
{
        replay->need = need;
}

void replay_pass_over(struct replay *replay, uint64_t target, const uint64_t *listed, uint32_t count)
{
        replay->target = target;
        replay->listed = listed;
        replay->listed_count = count;
}

void replay_close(struct replay *replay)
{
        if (!replay)
                return;
        attempts_free(&replay->attempts);
        vector_free(&replay->sources, replay->pages.page_bytes);
        vector_free(&replay->sources_lost, sizeof(bool));
        vector_free(&replay->lost, sizeof(uint64_t));
        vector_free(&replay->moves, sizeof(struct batches_move));
        replay_pages_free(&replay->pages);
        free(replay->scratch);
        free(replay);
}

uint64_t replay_sequence(const struct replay *replay)
{
        return replay->sequence;
}

uint64_t replay_commits(const struct replay *replay)
{
        return replay->commits;
}

void replay_expect(const struct replay *replay, const unsigned char *entry, bool is_near)
{
        uint32_t at;
        uint64_t page = log_entry_claimed_page(entry, &at);

        if (is_near)
                replay_pages_expect_bytes(&replay->pages, page, at);
        else
                replay_pages_expect(&replay->pages, page);
}

uint64_t replay_finish(struct replay *replay)
{
        replay_pages_sort(&replay->pages, &replay->lost);
        replay->is_finished = true;
        return replay->pages.pages.count;
}

const uint64_t *replay_lost(const struct replay *replay, uint32_t *count)
{
        *count = replay->lost.count;
        return replay->lost.items;
}

const struct batches_move *replay_moves(const struct replay *replay, uint32_t *count)
{
        *count = replay->moves.count;
        return replay->moves.items;
}

struct page_image replay_page(const struct replay *replay, uint64_t i)
{
        const struct replay_page *page = replay_pages_at(&replay->pages, i);

        return (struct page_image){ .page = page->page, .sequence = page->sequence, .bytes = page->bytes };
}
