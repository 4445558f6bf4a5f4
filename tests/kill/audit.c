/* SPDX-License-Identifier: MIT */
#include "tests/kill/audit.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "libxac/ground/ring.h"
#include "libxac/process/thread.h"
#include "libxac/store/env.h"
#include "libxac/store/pool.h"
#include "libxac/store/reclaim.h"
#include "libxac/store/takeover.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"
#include "tests/support/check.h"
#include "tests/support/scratch.h"

/*
 * What must hold when nobody moves (all of it from control.h):
 *
 *      slot    FREE or RETIRED without an owner  <=>  in exactly one shared list, or kept for aliases
 *              shares                            =  aliases that are not free and show its content
 *              PRIVATE                           as many as the rows have frames
 *              PUBLISHED                         <=>  the head of its page names it
 *              with an owner                     the owner's row is used and its process lives
 *      page    its chain leads home, from newer to older, through retired slots only
 *      row     used <=> its process lives; a free one has no snapshot, no views and no frames
 *      lock    nobody dead holds one
 */

enum { COMPLAINTS_SHOWN = 20 };

struct audit {
        struct shared *shared;
        bool is_alone;
        uint8_t *is_listed;   /* by slot: some shared list has it */
        uint32_t end;         /* of the slots that have memory, */
        uint32_t aliases_end; /* and of the aliases, which begin at pool_slots */
        uint32_t awaited;     /* of the slots: their memory does not stand yet */
        uint64_t pages_in_pool;
        uint64_t frames; /* that views keep, of all who live */
        struct pool_census census;
        unsigned complaints;
};

__attribute__((format(printf, 2, 3))) static void complain(struct audit *audit, const char *format, ...)
{
        va_list args;

        if (audit->complaints++ >= COMPLAINTS_SHOWN)
                return;
        fputs("audit: ", stderr);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
}

static const char *state_name(enum slot_state state)
{
        static const char *const names[] = { "free", "private", "published", "retired" };

        return names[state];
}

/* ---- rows, processes, locks ---- */

static void check_lock(struct audit *audit, const char *name, const struct shlock *lock)
{
        uint32_t owner = shlock_owner(lock);

        if (owner && !shared_is_alive(audit->shared, owner))
                complain(audit, "the %s is held by owner %u, who is dead", name, owner);
}

static void check_control(struct audit *audit)
{
        struct control *control = audit->shared->control;
        uint32_t exclusive = control_exclusive_owner(atomic_load(&control->exclusive));

        check_lock(audit, "commit lock", &control->commit_lock);
        check_lock(audit, "pool lock", &control->pool_lock);
        check_lock(audit, "participant lock", &control->participant_lock);
        check_lock(audit, "file lock", &control->file_lock);
        check_lock(audit, "checkpoint lock", &control->checkpoint_lock);
        check_lock(audit, "backlog lock", &control->backlog_lock);
        if (exclusive && !shared_is_alive(audit->shared, exclusive))
                complain(audit, "owner %u is exclusive and dead", exclusive);
        if (atomic_load(&control->decided) > atomic_load(&control->sequence))
                complain(audit, "commit %llu was decided and not finished",
                         (unsigned long long)atomic_load(&control->decided));
}

/* R19, with its lock held. */
static void check_backlog(struct audit *audit)
{
        struct control *control = audit->shared->control;

        if (atomic_load(&control->backlog_base) > atomic_load(&control->sequence))
                complain(audit, "the backlog begins at %llu, behind the newest commit",
                         (unsigned long long)atomic_load(&control->backlog_base));
        if (atomic_load(&control->backlog_next))
                complain(audit, "the backlog is pinned at %llu, and nobody logs it",
                         (unsigned long long)atomic_load(&control->backlog_next));
        if (atomic_load(&control->backlog_end))
                complain(audit, "a merged record was decided and not finished");
}

/* log_writer.h, log_segments.h. Others may be at work on the log: each pair is read in the order that makes it true. */
static void check_log(struct audit *audit)
{
        struct log_shared *log = shared_log(audit->shared);
        uint32_t leader = log_leader(log);
        uint64_t durable = atomic_load(&log->durable);
        uint64_t written = atomic_load(&log->written);
        uint64_t end = atomic_load(&log->end);
        uint64_t redo = atomic_load(&audit->shared->control->redo_position);

        check_lock(audit, "log table's lock", &log->table.lock);
        if (leader && !shared_is_alive(audit->shared, leader))
                complain(audit, "owner %u leads the log and is dead", leader);
        if (durable > written || written > end || end > log_segments_limit(&log->table))
                complain(audit, "the log is durable to %llu, written to %llu, ends at %llu, has room to %llu",
                         (unsigned long long)durable, (unsigned long long)written, (unsigned long long)end,
                         (unsigned long long)log_segments_limit(&log->table));
        if (redo > end || redo < atomic_load(&log->table.low))
                complain(audit, "replay would begin at %llu, the log begins at %llu and ends at %llu",
                         (unsigned long long)redo, (unsigned long long)atomic_load(&log->table.low),
                         (unsigned long long)end);
        if (atomic_load(&audit->shared->control->durable_sequence) > atomic_load(&audit->shared->control->sequence))
                complain(audit, "more is durable than was committed");
        if (atomic_load(&log->poison))
                complain(audit, "the log is poisoned (%d)", atomic_load(&log->poison));
}

static void check_row(struct audit *audit, uint32_t row_no, bool *is_read)
{
        struct row *row = &audit->shared->rows[row_no];

        *is_read = *is_read || atomic_load(&row->reads_rings);
        audit->frames += atomic_load(&row->frames);
        if (atomic_load(&row->state) == ROW_USED) {
                uint32_t process_no =
                        atomic_load(&row->process_no); /* later: one of the library's threads may join just now */

                if (!shared_is_process_alive(audit->shared, process_no))
                        complain(audit, "row %u is used by process %u, which is dead", row_no, process_no);
                if (audit->is_alone && process_no != audit->shared->process_no)
                        complain(audit, "row %u belongs to process %u, but I am alone", row_no, process_no);
        } else if (atomic_load(&row->snapshot) || atomic_load(&row->reads_rings) || atomic_load(&row->fragment_start) ||
                   atomic_load(&row->frames)) {
                complain(audit,
                         "row %u is free, but has snapshot %llu, reads rings: %u, fragments from %llu on, %u frames",
                         row_no, (unsigned long long)atomic_load(&row->snapshot), atomic_load(&row->reads_rings),
                         (unsigned long long)atomic_load(&row->fragment_start), atomic_load(&row->frames));
        }
}

static void check_rows(struct audit *audit)
{
        struct shared *shared = audit->shared;
        bool is_read = false;
        uint32_t processes = control_processes_max(shared->control->max_participants);

        for (uint32_t i = 0; i < shared->control->max_participants; i++)
                check_row(audit, i, &is_read);
        if (is_read != ring_is_read(shared->control))
                complain(audit, "that somebody reads rings is %u, by the rows %u", ring_is_read(shared->control),
                         is_read);
        for (uint32_t i = 0; i < processes; i++)
                if (atomic_load(&shared->processes[i].is_used) && !shared_is_process_alive(shared, i))
                        complain(audit, "process row %u is in use, but dead", i);
}

/* ---- lists ---- */

static bool exists(const struct audit *audit, uint32_t no)
{
        return no < audit->end || (shared_is_alias(audit->shared, no) && no < audit->aliases_end);
}

/* Marks and counts a list's slots; all of them must be in `state` and nobody's. */
static uint32_t walk_list(struct audit *audit, uint32_t first, enum slot_state state)
{
        uint32_t count = 0;

        for (uint32_t no = first; no; no = atomic_load(&audit->shared->slots[no].next)) {
                struct slot *slot = &audit->shared->slots[no];

                if (!exists(audit, no) || audit->is_listed[no]) {
                        complain(audit, "slot %u is in two lists, in one twice, or does not exist", no);
                        return count;
                }
                audit->is_listed[no] = 1;
                count++;
                if (slot_state(slot) != state || slot_owner(slot))
                        complain(audit, "slot %u is in a list of %s ones, but %s and owner %u's", no, state_name(state),
                                 state_name(slot_state(slot)), slot_owner(slot));
        }
        return count;
}

static void check_lists(struct audit *audit)
{
        struct control *control = audit->shared->control;
        uint32_t held = 0;
        uint32_t free_count = walk_list(audit, control->free_first, SLOT_FREE);

        if (free_count != atomic_load(&control->free_count))
                complain(audit, "the free list has %u slots, its count says %u", free_count,
                         atomic_load(&control->free_count));
        walk_list(audit, control->alias_free, SLOT_FREE);
        for (uint32_t i = 0; i < HELD_LISTS; i++) {
                uint32_t count = walk_list(audit, control->held[i].first, SLOT_RETIRED);

                if (count != control->held[i].count)
                        complain(audit, "held list %u has %u slots, its count says %u", i, count,
                                 control->held[i].count);
                held += count;
        }
        if (held != atomic_load(&control->held_count))
                complain(audit, "the held lists have %u slots, their count says %u", held,
                         atomic_load(&control->held_count));
}

/* ---- slots ---- */

static void check_owner(struct audit *audit, uint32_t no)
{
        struct slot *slot = &audit->shared->slots[no];
        uint32_t owner = slot_owner(slot);

        if (slot_state(slot) == SLOT_PUBLISHED) /* who published it may be gone */
                return;
        if (owner == SLOT_NOBODY) {
                audit->awaited++;
                if (audit->is_listed[no] || slot_state(slot) != SLOT_FREE)
                        complain(audit, "slot %u awaits memory, and yet is %s or in a list", no,
                                 state_name(slot_state(slot)));
                return;
        }
        if (slot_is_kept(slot)) {
                if (owner || audit->is_listed[no] || slot_state(slot) != SLOT_RETIRED)
                        complain(audit, "slot %u is kept, and yet %s, owner %u's, or in a list", no,
                                 state_name(slot_state(slot)), owner);
                return;
        }
        if (!owner && !audit->is_listed[no])
                complain(audit, "slot %u is %s, nobody's and in no list: leaked", no, state_name(slot_state(slot)));
        if (!owner)
                return;
        if (atomic_load(&audit->shared->rows[owner - 1].state) != ROW_USED || !shared_is_alive(audit->shared, owner))
                complain(audit, "slot %u is %s and of owner %u, who is gone: leaked", no, state_name(slot_state(slot)),
                         owner);
}

static void check_published(struct audit *audit, uint32_t no)
{
        struct slot *slot = &audit->shared->slots[no];
        uint64_t tag = atomic_load(&slot->tag);
        uint64_t page = atomic_load(&slot->page);

        if (!shared_map_heads(audit->shared, page_id_file(page)))
                complain(audit, "no memory for the heads of file %u", page_id_file(page));
        else if (version_newest(audit->shared, page) != version_word(tag, no))
                complain(audit, "slot %u is published as version %llu of page %llx, whose head says %llx", no,
                         (unsigned long long)tag, (unsigned long long)page,
                         (unsigned long long)version_newest(audit->shared, page));
        if (atomic_load(&slot->superseded) || atomic_load(&slot->home_epoch))
                complain(audit, "slot %u is published, but superseded %llu, home epoch %llu", no,
                         (unsigned long long)atomic_load(&slot->superseded),
                         (unsigned long long)atomic_load(&slot->home_epoch));
}

/* Counts for each slot the aliases that show its content. */
static void check_shares(struct audit *audit)
{
        struct shared *shared = audit->shared;
        uint32_t *shares = calloc(audit->end, sizeof(*shares));

        check(shares != NULL);
        for (uint32_t no = shared->pool_slots; no < audit->aliases_end; no++) {
                uint32_t content = shared_content(shared, no);

                if (slot_state(&shared->slots[no]) == SLOT_FREE)
                        continue;
                if (content < audit->end)
                        shares[content]++;
                else
                        complain(audit, "alias %u shows slot %u, which does not exist", no, content);
        }
        for (uint32_t no = 1; no < audit->end; no++) {
                uint32_t counted = atomic_load(&shared->slots[no].shares);

                if ((counted & ~SHARES_KEPT) != shares[no] || (counted == SHARES_KEPT))
                        complain(audit, "slot %u is shown by %u aliases, its shares are %#x", no, shares[no], counted);
        }
        free(shares);
}

static void check_slots(struct audit *audit)
{
        check_shares(audit);
        for (uint32_t no = 0; (no = shared_next_slot(audit->shared, no));) {
                enum slot_state state = slot_state(&audit->shared->slots[no]);

                check_owner(audit, no);
                if (state == SLOT_PUBLISHED)
                        check_published(audit, no);
                /* A checkpoint that is home in batches keeps its pin until somebody finishes it. */
                if (state == SLOT_RETIRED && !slot_is_kept(&audit->shared->slots[no]) && audit->is_alone &&
                    !atomic_load(&audit->shared->control->checkpoint_target))
                        complain(audit, "slot %u waits, retired, for nobody", no);
        }
        if (audit->awaited != atomic_load(&audit->shared->control->slots_awaited))
                complain(audit, "%u slots await memory, their count says %u", audit->awaited,
                         atomic_load(&audit->shared->control->slots_awaited));
}

/* ---- pages ---- */

static void check_chain(struct audit *audit, uint64_t page)
{
        uint64_t word = version_newest(audit->shared, page);
        uint32_t steps = 0;

        audit->pages_in_pool += version_slot(word) != SLOT_HOME;
        while (version_slot(word) != SLOT_HOME) {
                uint32_t no = version_slot(word);
                struct slot *slot = &audit->shared->slots[no];
                uint64_t older = atomic_load(&slot->older);

                if (!exists(audit, no) || steps++ > audit->aliases_end) {
                        complain(audit, "the chain of page %llx goes astray at slot %u", (unsigned long long)page, no);
                        return;
                }
                if (!version_is_of(word, atomic_load(&slot->tag))) {
                        if (steps == 1)
                                complain(audit, "the head of page %llx names slot %u, which has another version",
                                         (unsigned long long)page, no);
                        return; /* given back and used again (R3) */
                }
                if (slot_state(slot) == SLOT_FREE && steps > 1)
                        return; /* given back: no snapshot is old enough to come by here */
                if (atomic_load(&slot->page) != page ||
                    slot_state(slot) != (steps == 1 ? SLOT_PUBLISHED : SLOT_RETIRED))
                        complain(audit, "slot %u in the chain of page %llx is %s, of page %llx", no,
                                 (unsigned long long)page, state_name(slot_state(slot)),
                                 (unsigned long long)atomic_load(&slot->page));
                if (version_slot(older) != SLOT_HOME && older >= word)
                        complain(audit, "slot %u in the chain of page %llx links to something newer", no,
                                 (unsigned long long)page);
                word = older;
        }
}

static void check_pages(struct audit *audit)
{
        struct shared *shared = audit->shared;

        for (uint32_t file_no = 0; file_no < atomic_load(&shared->control->file_count); file_no++) {
                uint64_t pages = atomic_load(&shared->control->file[file_no].byte_len) >> shared->page_shift;

                if (!shared_map_heads(shared, file_no)) {
                        complain(audit, "no memory for the heads of file %u", file_no);
                        continue;
                }
                for (uint64_t page_no = 0; page_no < pages; page_no++)
                        check_chain(audit, page_id(file_no, page_no));
        }
}

/* ---- all of it ---- */

static void check_census(struct audit *audit)
{
        struct pool_census *census = &audit->census;

        pool_count(audit->shared, census);
        if (census->private != audit->frames)
                complain(audit, "%llu slots are private, views have %llu frames", (unsigned long long)census->private,
                         (unsigned long long)audit->frames);
        if (census->published != audit->pages_in_pool)
                complain(audit, "%llu slots are published, %llu pages are in the pool",
                         (unsigned long long)census->published, (unsigned long long)audit->pages_in_pool);
        if (census->published + census->free + census->retired + census->kept + census->private !=
            census->allocated + census->aliases)
                complain(audit,
                         "%llu published, %llu free, %llu retired, %llu kept, %llu private: not the %llu and %llu "
                         "there are",
                         (unsigned long long)census->published, (unsigned long long)census->free,
                         (unsigned long long)census->retired, (unsigned long long)census->kept,
                         (unsigned long long)census->private, (unsigned long long)census->allocated,
                         (unsigned long long)census->aliases);
        if (pool_used(audit->shared) != census->allocated - census->free)
                complain(audit, "%llu slots are said to be used, %llu of %llu are free",
                         (unsigned long long)pool_used(audit->shared), (unsigned long long)census->free,
                         (unsigned long long)census->allocated);
}

/* The library's own threads must stand still as well, and nothing be held back for the sake of what is durable. */
static void lock_all(struct audit *audit, xac_env *env, struct participant *self)
{
        struct shlock *checkpoint_lock = &audit->shared->control->checkpoint_lock;

        if (shared_is_durable(audit->shared) && !log_poison(&audit->shared->log))
                check_ok(xac_sync(env));
        takeover_dead(audit->shared, control_owner_of_process(audit->shared->process_no));
        shlock_lock(checkpoint_lock, self->owner, &audit->shared->liveness);
        shlock_lock(&audit->shared->control->backlog_lock, self->owner, &audit->shared->liveness);
        reclaim_everything(self);
        pool_lock(audit->shared, self->owner);
        check_ok(publish_lock(audit->shared, self->owner));
}

unsigned audit_shared(xac_env *env, bool is_alone)
{
        struct thread *thread;
        struct audit audit = { .shared = &env->shared, .is_alone = is_alone };

        check_ok(thread_of(env, &thread));
        lock_all(&audit, env, &thread->self);
        audit.end = atomic_load(&env->shared.control->slots_allocated);
        audit.aliases_end = atomic_load(&env->shared.control->aliases_end);
        audit.is_listed = calloc(audit.aliases_end, 1);
        check(audit.is_listed != NULL);

        check_control(&audit);
        check_backlog(&audit);
        if (shared_is_durable(audit.shared))
                check_log(&audit);
        check_rows(&audit);
        check_lists(&audit);
        check_slots(&audit);
        check_pages(&audit);
        check_census(&audit);

        publish_unlock(&env->shared);
        pool_unlock(&env->shared);
        shlock_unlock(&env->shared.control->backlog_lock);
        shlock_unlock(&env->shared.control->checkpoint_lock);
        free(audit.is_listed);
        return audit.complaints;
}

void audit_remove_shared_memory(const char *dir)
{
        struct stat st;
        struct shared_identity identity = { 0 };

        check_equal(stat(dir, &st), 0);
        identity.device = st.st_dev;
        identity.inode = st.st_ino;
        shared_remove(&identity);
        check_equal(scratch_shared_memory_of(dir), 0);
}

static void print_lock(struct shared *shared, const char *name, const struct shlock *lock)
{
        uint32_t owner = shlock_owner(lock);

        fprintf(stderr, "  %-16s word %08x, owner %u %s\n", name, atomic_load(&lock->word), owner,
                !owner                           ? "(free)"
                : shared_is_alive(shared, owner) ? "(alive)"
                                                 : "(dead)");
}

static void print_log(struct shared *shared)
{
        struct log_shared *log = shared_log(shared);
        uint32_t leader = log_leader(log);

        print_lock(shared, "log table's lock", &log->table.lock);
        fprintf(stderr,
                "  log: durable %llu, written %llu, closed %llu, end %llu, room to %llu, leader %u %s, poison %d, "
                "asleep %u %u, for room %u\n",
                (unsigned long long)atomic_load(&log->durable), (unsigned long long)atomic_load(&log->written),
                (unsigned long long)atomic_load(&log->closed), (unsigned long long)atomic_load(&log->end),
                (unsigned long long)log_segments_limit(&log->table), leader,
                leader && !shared_is_alive(shared, leader) ? "(dead)" : "", atomic_load(&log->poison),
                atomic_load(&log->sleepers[0]), atomic_load(&log->sleepers[1]), atomic_load(&log->room_sleepers));
}

void audit_print(xac_env *env)
{
        struct shared *shared = &env->shared;
        struct control *control = shared->control;

        print_lock(shared, "commit lock", &control->commit_lock);
        print_lock(shared, "pool lock", &control->pool_lock);
        print_lock(shared, "participant lock", &control->participant_lock);
        print_lock(shared, "file lock", &control->file_lock);
        print_lock(shared, "checkpoint lock", &control->checkpoint_lock);
        print_lock(shared, "backlog lock", &control->backlog_lock);
        if (shared_is_durable(shared))
                print_log(shared);
        fprintf(stderr,
                "  sequence %llu, decided %llu, committer %u, exclusive %u, ring readers %#x, slots %u, free %u, "
                "held %u\n",
                (unsigned long long)atomic_load(&control->sequence), (unsigned long long)atomic_load(&control->decided),
                atomic_load(&control->committer), control_exclusive_owner(atomic_load(&control->exclusive)),
                atomic_load(&control->ring_readers), atomic_load(&control->slots_allocated),
                atomic_load(&control->free_count), atomic_load(&control->held_count));
        fprintf(stderr, "  backlog: base %llu, next %llu, end %llu\n",
                (unsigned long long)atomic_load(&control->backlog_base),
                (unsigned long long)atomic_load(&control->backlog_next),
                (unsigned long long)atomic_load(&control->backlog_end));
        for (uint32_t i = 0; i < atomic_load(&control->rows_used); i++) {
                struct row *row = &shared->rows[i];
                uint32_t process_no = atomic_load(&row->process_no);

                fprintf(stderr, "  row %u: state %u, process %u (pid %u, %s), snapshot %llu\n", i,
                        atomic_load(&row->state), process_no, atomic_load(&shared->processes[process_no].pid),
                        shared_is_process_alive(shared, process_no) ? "alive" : "dead",
                        (unsigned long long)atomic_load(&row->snapshot));
        }
}
