/* SPDX-License-Identifier: MIT */
/* The backlog: commits that do not wait for the disk are logged together, later; with deaths and power cuts
   (libxac/txn/backlog.c, publish.c, commit.c, redo.c, checkpoint.c, takeover.c; DESIGN.md R19).

   One participant makes PLAIN commits without a record, WAITING others make LOGGED each with one, and wait for the disk. A
   logger logs the backlog and takes over from the dead, the log's writer closes groups and makes them durable, a
   reclaimer looks LOOKS times for what nobody needs, a checkpointer takes a checkpoint. Exclusiveness lapses LAPSES times.
   Up to DEATHS of them die between any two steps, whatever they hold, and come back knowing nothing. Commit n writes one of
   PAGES pages and so makes version n of it. Left out are chains, heads and rows (unlink.pml, moves.pml), and home; comparing
   pages is one step.

   A power cut leaves the log up to any record from `durable` on. `logged` is what replay makes of the log up to its end; each
   record is checked when the end comes to cover it, so that whatever log a power cut leaves has been checked.

   Asserted: a record begins with what the log has before it, and brings something; what it, a checkpoint or a durable reader
   reads has not been freed; the log's end never goes back; a mark names no commit that the log lacks; what was waited for is
   durable; a checkpoint is what replay has come to at its position; nobody waits for ever; in the end everything is logged and
   durable, and next pins nothing.

   The rules (each left out by a switch, each then gives a counterexample):
   BASELATE        B1   base is stored before the first commit of the backlog is decided
   NOBASE          B2   base is a pin ...
   NONEXT          B3   ... and so is next
   UNLOCKED        B4   next is stored under the commit lock that the sequence was read under ...
   NEXTEARLY       B5   ... and stays until base has it
   BASEFIRST       B6   reclaimers read next before base ...
   NEXTFIRST       B7   ... and base before durable_next ...
   CHECKPOINTFIRST B7   ... and before the checkpoint's snapshot, which have their value from it
   DURABLELATE     B8   durable_next is stored under the commit lock, too
   CEILINGLATE     R1   reclaimers read the sequence before all of them
   NOLOOK          B9   a commit has a record only while there is no backlog
   NOEXCLUSION     B10  who waits keeps other committers out the second time
   ADMITTED        B11  who logs the backlog is not kept out
   NOLOCK          B12  one at a time logs it
   ZERO            B13  base becomes 0 only if nothing was committed since
   EMPTY           B14  there is no backlog if base is the sequence (its first committer has died)
   MARKSEQUENCE    B15  while there is one, base is the mark of a group that is closed ...
   CSEQUENCE       B15  ... and what a checkpoint is of
   STALEEND        B16  a commit without a record decides that the log ends where it does
   NOFORWARD       B17  whoever inherits the commit lock finishes a merged record that was decided
   CLEAREND        B18  `backlog_end` is cleared last
   CLEARFIRST      B19  whoever inherits the lock of the backlog goes through the commit lock before it clears next */
#ifndef PLAIN
#define PLAIN 2
#endif
#ifndef WAITING
#define WAITING 1
#endif
#ifndef LOGGED
#define LOGGED 1
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef LOOKS
#define LOOKS 0
#endif
#ifndef CHECKPOINTS
#define CHECKPOINTS 0
#endif
#ifndef PAGES
#define PAGES 1
#endif
#ifndef LAPSES
#define LAPSES 0
#endif
#define SEQUENCES (1 + PLAIN + WAITING * LOGGED)

/* Locks. */
#define NOBODY 0
#define DEAD 9
byte commit_lock, backlog_lock, exclusive;

byte sequence = 1, decided = 1, decided_end;
byte base, next, backlog_end;
byte checkpoint_snapshot, durable_next, durable_sequence = 1;
byte end, durable;                 /* of the log, in records */
byte logged = 1;                   /* what replay makes of it */
byte staged_base, staged_sequence; /* the record behind its end */

byte written[SEQUENCES + 2]; /* the page that each commit writes */
byte freed[PAGES];           /* versions of each page, a bit for each */
#define BIT(no) (1 << (no))

byte plain_left = PLAIN, logged_left[2], deaths, lapses, ended;

/* A step, before which it may die. */
#define STEP(what) if :: what :: atomic { deaths < DEATHS -> deaths++; goto dying } fi

#define LEAVE_TO_HEIR(lock) if :: lock == me -> lock = DEAD :: else fi

/* ---- What must hold ---- */

/* visible(page, at) is still there. The first version of each page is 1. */
inline check_kept(at)
{
        i = 0;
        do
        :: i < PAGES ->
                j = at;
                do :: j > 1 && written[j] != i -> j-- :: else -> break od;
                assert(!(freed[i] & BIT(j)));
                i++
        :: else -> break
        od;
        i = 0; j = 0
}

/* The log's end comes to stand behind the staged record, or stands there already. */
inline log_publish(to)
{
        d_step {
                assert(to >= end);
                if
                :: to > end ->
                        assert(to == end + 1 && staged_base == logged && staged_sequence > logged);
                        logged = staged_sequence; end = to
                :: else
                fi;
                staged_base = 0; staged_sequence = 0
        }
}

/* ---- The commit lock ---- */

#ifdef ZERO
#define BASE_AFTER 0
#else
#define BASE_AFTER (next == sequence -> 0 : next)
#endif
#ifdef NEXTEARLY
byte early;
#endif

/* The last step leaves the lock to `heir`. */
inline finish_merge(heir)
{
        STEP(log_publish(backlog_end));
#ifdef NEXTEARLY
        d_step { early = BASE_AFTER; next = 0 };
        d_step { base = early; early = 0; backlog_end = 0; commit_lock = heir }
#elif defined(CLEAREND)
        STEP(backlog_end = 0);
        STEP(d_step { base = BASE_AFTER; commit_lock = heir })
#else
        STEP(base = BASE_AFTER);
        STEP(d_step { backlog_end = 0; commit_lock = heir })
#endif
}

inline finish_commit(heir)
{
        STEP(log_publish(decided_end));
        STEP(d_step { sequence = decided; commit_lock = heir })
}

inline lock_commit_when(is_admitted)
{
        atomic {
                (is_admitted) && (commit_lock == NOBODY || commit_lock == DEAD) ->
                inherits = (commit_lock == DEAD); commit_lock = me
        };
        if
        :: inherits ->
#ifdef NOFORWARD
                backlog_end = 0;
#else
                if :: backlog_end -> finish_merge(me) :: else fi;
#endif
                if :: decided == sequence + 1 -> finish_commit(me) :: else fi;
                inherits = 0
        :: else
        fi
}

#define IS_ADMITTED (!exclusive || exclusive == me)
#define lock_commit() lock_commit_when(true)
#define lock_when_admitted() lock_commit_when(IS_ADMITTED)

/* ---- Logging the backlog ---- */

#ifdef ADMITTED
#define lock_to_log() lock_when_admitted()
#else
#define lock_to_log() lock_commit()
#endif
#ifdef EMPTY
#define IS_EMPTY false
#else
#define IS_EMPTY (base == sequence)
#endif

inline log_backlog()
{
#ifndef NOLOCK
        atomic { backlog_lock == NOBODY || backlog_lock == DEAD -> backlog_lock = me };
#endif
#ifdef CLEARFIRST
        STEP(next = 0);
#endif
        lock_to_log();
        if
        :: !base -> commit_lock = NOBODY
        :: base && IS_EMPTY -> STEP(d_step { base = 0; commit_lock = NOBODY })
        :: base && !IS_EMPTY ->
#ifdef UNLOCKED
                d_step { now = sequence; commit_lock = NOBODY };
                STEP(d_step { next = now; now = 0 });
#else
                STEP(d_step { next = sequence; commit_lock = NOBODY });
#endif
                STEP(d_step { check_kept(base); check_kept(next) });
                lock_to_log();
                STEP(d_step { staged_base = base; staged_sequence = next; backlog_end = end + 1 });
                finish_merge(NOBODY)
        fi;
        STEP(d_step { next = 0; backlog_lock = NOBODY })
}

/* ---- Those who commit ---- */

#if PAGES > 1
#define CHOOSE_PAGE if :: written[sequence + 1] = 0 :: written[sequence + 1] = 1 fi
#else
#define CHOOSE_PAGE skip
#endif
#ifdef STALEEND
#define PLAIN_END decided_end
#else
#define PLAIN_END end
#endif

inline join_backlog()
{
        if :: !base -> STEP(base = sequence) :: else fi
}

inline commit_plain()
{
        lock_when_admitted();
#ifndef BASELATE
        join_backlog();
#endif
        STEP(atomic { CHOOSE_PAGE; decided_end = PLAIN_END; plain_left--; decided = sequence + 1 });
#ifdef BASELATE
        join_backlog();
#endif
        finish_commit(NOBODY)
}

proctype plain(byte me)
{
        bool inherits;
again:
        do
        :: plain_left -> commit_plain()
        :: !plain_left -> break
        od;
        goto out;
dying:
        atomic { LEAVE_TO_HEIR(commit_lock); inherits = 0 };
        goto again;
out:    ended++
}

#ifdef NOLOOK
#define MEETS_BACKLOG false
#else
#define MEETS_BACKLOG base
#endif

/* It has the commit lock, and there is a backlog. */
inline clear_backlog()
{
        d_step { commit_lock = NOBODY; tries++; assert(tries < 3 + lapses) };
#ifndef NOEXCLUSION
        if
        :: tries > 1 && exclusive != me -> lock_when_admitted(); STEP(d_step { exclusive = me; commit_lock = NOBODY })
        :: else
        fi;
#endif
        log_backlog()
}

inline commit_logged()
{
        STEP(atomic {
                CHOOSE_PAGE;
                staged_base = sequence; staged_sequence = sequence + 1;
                mine = sequence + 1; mine_end = end + 1;
                decided_end = mine_end; logged_left[me - 2]--; decided = mine
        });
        finish_commit(NOBODY);
        if :: exclusive == me -> exclusive = NOBODY :: else fi;
        STEP(d_step {
                durable >= mine_end -> assert(durable_sequence >= mine);
                mine = 0; mine_end = 0; tries = 0
        })
}

/* 2 and 3. */
proctype waiting(byte me)
{
        byte tries, mine, mine_end, i, j, now;
        bool inherits;
again:
        do
        :: logged_left[me - 2] ->
                lock_when_admitted();
                if
                :: MEETS_BACKLOG -> clear_backlog()
                :: !MEETS_BACKLOG -> commit_logged()
                fi
        :: !logged_left[me - 2] -> break
        od;
        goto out;
dying:
        atomic {
                LEAVE_TO_HEIR(commit_lock);
                LEAVE_TO_HEIR(backlog_lock);
                if :: exclusive == me -> exclusive = NOBODY :: else fi;
                tries = 0; mine = 0; mine_end = 0; now = 0; inherits = 0
        };
        goto again;
out:    ended++
}

/* Whoever waits for the exclusive one lets it lapse in the end (exclusion.pml). */
proctype impatient()
{
end_of_patience:
        do :: d_step { exclusive && lapses < LAPSES -> lapses++; exclusive = NOBODY } od
}

/* ---- In the background ---- */

#define COMMITTERS (1 + WAITING)

proctype logger(byte me)
{
        byte i, j, now;
        bool inherits;
again:
        do
        :: base || backlog_lock == DEAD -> log_backlog()
        :: commit_lock == DEAD -> lock_commit(); commit_lock = NOBODY
        :: atomic { ended == COMMITTERS && !base && backlog_lock == NOBODY && commit_lock == NOBODY -> break }
        od;
        assert(logged == sequence && decided == sequence && !next && !backlog_end);
        goto out;
dying:
        atomic { LEAVE_TO_HEIR(commit_lock); LEAVE_TO_HEIR(backlog_lock); now = 0; inherits = 0 };
        goto again;
out:    ended++
}

#define LOGGED_NOW (base -> base : sequence)
#ifdef MARKSEQUENCE
#define MARK sequence
#else
#define MARK LOGGED_NOW
#endif

/* The leaders of the log, one after another. */
proctype writer(byte me)
{
        byte i, j, mark, to;
        bool inherits;
again:
        do
        :: end > durable ->
                lock_commit();
#ifdef DURABLELATE
                d_step { mark = MARK; to = end; assert(mark <= logged); commit_lock = NOBODY };
                STEP(durable_next = mark);
#else
                STEP(d_step { mark = MARK; to = end; assert(mark <= logged); durable_next = mark; commit_lock = NOBODY });
#endif
                STEP(d_step { check_kept(mark); durable_sequence = mark });
                STEP(d_step { durable_next = 0; durable = to; mark = 0; to = 0 })
        :: ended == COMMITTERS + 1 && end == durable -> break
        od;
        assert(durable_sequence == sequence);
        goto out;
dying:
        atomic { LEAVE_TO_HEIR(commit_lock); mark = 0; to = 0; inherits = 0 };
        goto again;
out:    skip
}

#ifdef CSEQUENCE
#define CHECKPOINT_NOW sequence
#else
#define CHECKPOINT_NOW LOGGED_NOW
#endif

/* Its pin goes when it dies. */
proctype checkpointer(byte me)
{
        byte i, j, position;
        bool inherits;
again:
        lock_commit();
        STEP(d_step {
                checkpoint_snapshot = CHECKPOINT_NOW; position = end; assert(checkpoint_snapshot == logged);
                commit_lock = NOBODY
        });
        STEP(durable >= position);
        STEP(d_step { check_kept(checkpoint_snapshot); checkpoint_snapshot = 0; position = 0 });
        goto out;
dying:
        atomic { LEAVE_TO_HEIR(commit_lock); checkpoint_snapshot = 0; position = 0; inherits = 0 };
        goto again;
out:    skip
}

/* ---- Reclaim ---- */

#define see(pin) pins = pins | BIT(pin)

/* Of each page: v was superseded by w, and no pin is in between. */
inline free_unseen()
{
        p = 0;
        do
        :: p < PAGES ->
                v = 1; w = 2;
                do
                :: w <= ceiling && written[w] == p ->
                        if :: !(pins & (BIT(w) - BIT(v))) -> freed[p] = freed[p] | BIT(v) :: else fi;
                        v = w; w++
                :: w <= ceiling && written[w] != p -> w++
                :: else -> break
                od;
                p++
        :: else -> break
        od;
        p = 0; v = 0; w = 0; pins = 0; ceiling = 0
}

proctype reclaimer()
{
        byte looks, pins, ceiling, p, v, w, i, j;
        do
        :: looks < LOOKS ->
                looks++;
#ifndef CEILINGLATE
                ceiling = sequence;
#endif
#ifdef NEXTFIRST
                see(durable_next);
#endif
#ifdef CHECKPOINTFIRST
                see(checkpoint_snapshot);
#endif
#ifdef BASEFIRST
                see(base);
#endif
#ifndef NONEXT
                see(next);
#endif
#if !defined(BASEFIRST) && !defined(NOBASE)
                see(base);
#endif
#if CHECKPOINTS && !defined(CHECKPOINTFIRST)
                see(checkpoint_snapshot);
#endif
#ifndef NEXTFIRST
                see(durable_next);
#endif
                see(durable_sequence);
#ifdef CEILINGLATE
                ceiling = sequence;
#endif
                d_step { free_unseen(); check_kept(durable_sequence) }
        :: looks == LOOKS -> break
        od;
        looks = 0
}

init {
        atomic {
                logged_left[0] = LOGGED;
                run plain(1);
                run waiting(2);
#if WAITING > 1
                logged_left[1] = LOGGED;
                run waiting(3);
#endif
                run logger(4);
                run writer(5);
#if CHECKPOINTS
                run checkpointer(6);
#endif
#if LAPSES
                run impatient();
#endif
                run reclaimer()
        }
}
