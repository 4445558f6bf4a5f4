/* SPDX-License-Identifier: MIT */
/* Sleeping until a page changes (libxac/ground/waiters.c, wait.c; DESIGN.md R21): no wake-up is lost, whoever dies.

   Two waiters want page 0 to change. Two commits change it or another page, each in any order with them; a last one, by
   somebody who lives, changes it if nobody has. A waiter takes a snapshot, and if page 0 is as ever enters its row,
   compares the page once more, and sleeps. A committer marks the rows that wait for a page of his (and, as the filter may
   be wrong, perhaps others), and wakes them when he has given up the lock. The background thread takes over from the
   dead, and wakes whoever is marked. Committers and waiters may die between any two steps, DEATHS in all. Waiters who
   live see page 0 change: one who sleeps for ever is a deadlock.

   The rules (each left out by a switch, each then gives a counterexample):
   NOLOCK    W1  a row is entered under the commit lock
   NOCOMPARE W2  the page is compared with the snapshot after that
   MARKLATE  W3  rows are marked before the sequence is stored, so that who finishes a dead one's commit does it, too
   FLAGEARLY W4  the flag that somebody waits is cleared only when no row waits or is marked: the background thread, too,
                 goes by it
   NOWAKE    W5  the background thread wakes who is marked: the committer may have died before it did
   NOLOOK    W6  it looks for the dead while somebody waits: perhaps nobody else comes for the lock */
#ifndef DEATHS
#define DEATHS 1
#endif
#define WAITERS 2
#define COMMITS 2
#define HEIR (WAITERS + COMMITS)
#define LAST (HEIR + 1)
#define NOBODY 255

mtype = { AWAKE, WAITING, MARKED };

byte lock = NOBODY; /* the owner's number; committers come after the waiters */
bool is_dead[LAST + 1];
byte sequence, decided, head; /* head: the commit that changed page 0 last */
bool changes;                 /* does the commit that is decided change page 0? */
bool is_awaited;              /* the flag: some row may wait */
mtype row[WAITERS] = AWAKE;
bool sleeps[WAITERS];
byte deaths, finished, ended;
byte wanted; /* how many want the lock */

/* A step, before which it may die. */
#define STEP(what) if :: what :: atomic { deaths < DEATHS && me < HEIR -> deaths++; is_dead[me] = 1; goto dead } fi

#define MAY_MARK(no) (row[no] == WAITING && (changes || is_wrong))

/* For each waiting row whose filter has the page, or seems to. Under the lock. */
#define MARK                                                             \
        if                                                               \
        :: is_awaited ->                                                 \
                if :: is_wrong = 0 :: is_wrong = 1 fi;                   \
                STEP(d_step { if :: MAY_MARK(0) -> row[0] = MARKED :: else fi }); \
                STEP(d_step { if :: MAY_MARK(1) -> row[1] = MARKED :: else fi }); \
                if                                                       \
                :: NONE_WAITS -> STEP(is_awaited = 0)                    \
                :: else                                                  \
                fi                                                       \
        :: else                                                          \
        fi

#ifdef FLAGEARLY
#define NONE_WAITS (row[0] != WAITING && row[1] != WAITING)
#else
#define NONE_WAITS (row[0] == AWAKE && row[1] == AWAKE)
#endif

inline wake_marked()
{
        d_step {
                if :: row[0] == MARKED -> sleeps[0] = 0 :: else fi;
                if :: row[1] == MARKED -> sleeps[1] = 0 :: else fi
        }
}

proctype waiter(byte me)
{
        byte snapshot;
again:
        snapshot = sequence;
        if
        :: head && head <= snapshot -> goto done /* the body sees it */
        :: else
        fi;
#ifndef NOLOCK
        wanted++;
        atomic { lock == NOBODY -> lock = me; wanted-- };
#endif
        STEP(row[me] = WAITING);
        STEP(is_awaited = 1);
#ifndef NOLOCK
        STEP(lock = NOBODY);
#endif
#ifndef NOCOMPARE
        if
        :: head > snapshot -> row[me] = AWAKE; goto again
        :: else
        fi;
#endif
        if
        :: atomic { row[me] == WAITING -> sleeps[me] = 1 }; STEP(!sleeps[me])
        :: row[me] != WAITING
        fi;
        row[me] = AWAKE;
        goto again; /* also if the filter was wrong: the snapshot only moves */
dead:
done:
        ended++
}

proctype committer(byte me; bool is_page_0)
{
        bool is_wrong;
        wanted++;
        atomic { lock == NOBODY -> lock = me; wanted-- };
        changes = is_page_0;
        STEP(decided = sequence + 1);
        STEP(if :: changes -> head = decided :: else fi);
#ifndef MARKLATE
        MARK;
#endif
        STEP(sequence = decided);
#ifdef MARKLATE
        MARK;
#endif
        STEP(lock = NOBODY);
        STEP(wake_marked());
dead:
        finished++
}

#ifdef NOLOOK
#define MAY_INHERIT (wanted > 0) /* only who wants the lock takes over */
#else
#define MAY_INHERIT (wanted > 0 || is_awaited)
#endif

active proctype background()
{
        byte me = HEIR;
        bool is_wrong;
end:
        do
        :: atomic { lock != NOBODY && is_dead[lock] && MAY_INHERIT -> lock = HEIR };
                if
                :: decided == sequence + 1 ->
                        if :: changes -> head = decided :: else fi;
#ifndef MARKLATE
                        MARK;
#endif
                        sequence = decided
                :: else
                fi;
                lock = NOBODY;
                wake_marked()
#ifndef NOWAKE
        :: is_awaited && ((row[0] == MARKED && sleeps[0]) || (row[1] == MARKED && sleeps[1])) -> wake_marked()
#endif
        od;
dead:
        skip
}

/* It does not die. Where the change is decided, if only by a dead one, there is no need of it. */
active proctype last()
{
        byte me = LAST;
        finished == COMMITS;
        if
        :: head || (changes && decided == sequence + 1)
        :: else ->
                wanted++;
                atomic { lock == NOBODY -> lock = LAST; wanted-- };
                changes = 1;
                decided = sequence + 1;
                head = decided;
                if
                :: is_awaited ->
                        d_step {
                                if :: row[0] == WAITING -> row[0] = MARKED :: else fi;
                                if :: row[1] == WAITING -> row[1] = MARKED :: else fi
                        }
                :: else
                fi;
                sequence = decided;
                lock = NOBODY;
                wake_marked()
        fi;
        ended == WAITERS
}

init {
        atomic {
                run waiter(0);
                run waiter(1);
                if :: run committer(WAITERS, 0) :: run committer(WAITERS, 1) fi;
                if :: run committer(WAITERS + 1, 0) :: run committer(WAITERS + 1, 1) fi
        }
}
