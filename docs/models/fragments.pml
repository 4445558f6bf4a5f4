/* SPDX-License-Identifier: MIT */
/* Fragments of a large commit hold the log, and lapse (libxac/txn/redo_record.c, redo.c, commit.c, backlog.c; DESIGN.md R35).

   WRITERS participants commit ROUNDS times each. A commit puts FRAGMENTS into the log, each under the commit lock, then its
   record, which names the first of them. Between the fragments and the record it may log a backlog, which has fragments and
   a record of its own; both are held by the one word of the row. A checkpointer pins CHECKPOINTS times: base is the end of
   the log; replay would begin at redo. It may let the fragments of any row lapse, at most LAPSES times; being slow or
   stopped needs no step of its own. Whose fragments have lapsed logs them again.

   Asserted whenever a checkpoint names its base, and for every record that comes after: the fragments of all records behind
   the base are behind redo, too. (Those before the base are home.) In the end all have committed, and hold nothing.

   The rules (each left out by a switch, each then gives a counterexample):
   HOLDLATE  FG1 the word is there before the log's end covers the first fragment
   REDOLATE  FG2 redo is read with the base, under the commit lock
   CLEARLATE FG3 so is the word of what lapses cleared
   NOLOOK    FG4 who has fragments and stages its record sees that they are held still ...
   LOOKEARLY FG5 ... under the commit lock */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef MERGES
#define MERGES 1
#endif
#ifndef FRAGMENTS
#define FRAGMENTS 2
#endif
#ifndef CHECKPOINTS
#define CHECKPOINTS 2
#endif
#ifndef LAPSES
#define LAPSES 2
#endif
#define RECORDS 40

byte commit_lock;
byte end = 1;             /* of the log; a fragment or a record takes one place */
byte first[RECORDS];      /* of the record at this place; 0: a fragment */
byte fragment_start[WRITERS + 1];
byte base = 1, redo = 1;  /* as named by the last checkpoint */
byte finished, lapses;

#define LOCK   atomic { commit_lock == 0 -> commit_lock = me }
#define UNLOCK commit_lock = 0

inline check_all()
{
        d_step {
                at = base;
                do
                :: at < end -> assert(!first[at] || first[at] >= redo); at++
                :: else -> break
                od;
                at = 0
        }
}

inline hold(own)
{
        if
        :: !fragment_start[me] -> fragment_start[me] = own
        :: else
        fi
}

/* FRAGMENTS of one commit or merge; `own` is the first. */
inline log_fragments(own)
{
        own = 0;
        left = FRAGMENTS;
        do
        :: left ->
                LOCK;
                atomic {
                        if
                        :: !own -> own = end; starts = 1
                        :: else
                        fi;
#ifndef HOLDLATE
                        if :: starts -> hold(own) :: else fi;
#endif
                        end++;
                        left--
                };
                UNLOCK;
#ifdef HOLDLATE
                if :: starts -> hold(own) :: else fi;
#endif
                starts = 0
        :: else -> break
        od
}

/* The record, if the fragments are held still; else all over. */
inline log_record(own)
{
        do
        ::
#ifdef LOOKEARLY
                held = fragment_start[me];
#endif
                LOCK;
#ifdef NOLOOK
                held = 1;
#elif !defined(LOOKEARLY)
                held = fragment_start[me];
#endif
                if
                :: held ->
                        atomic { first[end] = own; end++; check_all(); held = 0 };
                        UNLOCK;
                        break
                :: else -> UNLOCK
                fi;
                log_fragments(own)
        od;
        if
        :: fragment_start[me] == own -> fragment_start[me] = 0
        :: else
        fi;
        own = 0
}

proctype writer(byte me)
{
        byte mine, merged, left, starts, held, at, round;
        do
        :: round < ROUNDS ->
                log_fragments(mine);
                if
                :: MERGES -> log_fragments(merged); log_record(merged)
                :: skip
                fi;
                log_record(mine);
                round++
        :: else -> break
        od;
        assert(!fragment_start[me]);
        finished++
}

/* Any of those that hold: `lapsed` is who. */
inline choose_lapsed()
{
        if
        :: lapses < LAPSES && fragment_start[1] -> lapsed = 1; lapses++
#if WRITERS > 1
        :: lapses < LAPSES && fragment_start[2] -> lapsed = 2; lapses++
#endif
        :: lapsed = 0
        fi
}

inline read_redo()
{
        d_step {
                new_redo = end;
                at = 1;
                do
                :: at <= WRITERS ->
                        if
                        :: at != lapsed && fragment_start[at] && fragment_start[at] < new_redo ->
                                new_redo = fragment_start[at]
                        :: else
                        fi;
                        at++
                :: else -> break
                od;
                at = 0
        }
}

proctype checkpointer(byte me)
{
        byte new_base, new_redo, lapsed, at, i;
        do
        :: i < CHECKPOINTS ->
                LOCK;
                atomic {
                        choose_lapsed();
                        new_base = end;
#ifndef REDOLATE
                        read_redo();
#endif
#ifndef CLEARLATE
                        if :: lapsed -> fragment_start[lapsed] = 0 :: else fi
#endif
                };
                UNLOCK;
#ifdef REDOLATE
                read_redo();
#endif
                atomic { base = new_base; redo = new_redo; check_all() };
#ifdef CLEARLATE
                if :: lapsed -> fragment_start[lapsed] = 0 :: else fi;
#endif
                i++
        :: else -> break
        od
}

init
{
        byte i = 1;
        atomic {
                do
                :: i <= WRITERS -> run writer(i); i++
                :: else -> break
                od;
                run checkpointer(WRITERS + 1)
        }
        finished == WRITERS
}
