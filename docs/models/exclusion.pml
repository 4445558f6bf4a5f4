/* SPDX-License-Identifier: MIT */
/* Exclusion: who has lost too often keeps the other committers out, for a while (libxac/store/exclusion.c, patience.c, takeover.c;
   DESIGN.md R20).

   HOLDERS participants have lost too often: each becomes exclusive, takes its snapshot and commits, ROUNDS times; when it
   loses, it begins again. Others commit COMMITS times, whatever anybody else does. In its body a holder may stop for ever
   (up to STOPS of them) or die (DEATHS); then its row is taken over, and another one begins with its number, knowing
   nothing. Being slow needs no step of its own. The commit lock is held by the living only (backlog.pml has its heirs).

   Who waits watches the word from when it meets it first. Time is left out: an exclusiveness that is met a second time may
   have been met for long enough, or not.

   Asserted: who is exclusive from its snapshot to its commit does not lose; nobody ends another exclusiveness than its own,
   one that it has watched from when it met it first, or one of the dead; nobody waits for ever.

   The rules (each left out by a switch, each then gives a counterexample):
   UNLOCKED      EX1  exclusiveness is taken under the commit lock, when nobody else is exclusive
   LOOKEARLY     EX2  who commits looks at the word under the commit lock
   SNAPSHOTFIRST EX3  the snapshot of who is exclusive is taken afterwards
   PLAINEND      EX4  one ends one's own by compare-and-swap of one's own word ...
   PLAINLAPSE    EX5  ... others let it lapse by compare-and-swap of the word that they have watched ...
   PLAINTAKEOVER EX6  ... and that of the dead by compare-and-swap of the word in which they stand
   NOTURN        EX7  each exclusiveness has a word of its own ...
   OWNTURN       EX7  ... also if its owner's number is another one's by now: turns are counted by all together
   TRUSTFUL      EX8  whose exclusiveness has lapsed asks like everybody else
   NOLAPSE       EX9  who waits lets it lapse */
#ifndef HOLDERS
#define HOLDERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef COMMITS
#define COMMITS 1
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#define OWNERS 4
#define WORD(turn, owner) ((turn) * OWNERS + (owner))
#define OWNER(word) ((word) % OWNERS)

byte commit_lock, exclusive, turns, sequence;
byte stops, deaths;
byte born, number; /* only for the assertions: the number of the exclusiveness in the word; how many there have been */

#define TAKE(lock) atomic { lock == 0 -> lock = me }

/* It is no longer exclusive; `expected` as of a while ago. */
inline end_exclusion(word, expected)
{
        d_step {
                if
                :: exclusive == word -> assert(!born || born == expected); exclusive = 0; born = 0
                :: else
                fi
        }
}

inline end_plainly(expected)
{
        d_step { assert(!born || born == expected); exclusive = 0; born = 0 }
}

inline let_lapse()
{
#ifdef NOLAPSE
        false
#elif defined(PLAINLAPSE)
        end_plainly(met)
#else
        end_exclusion(watched, met)
#endif
}

/* The lock is free again: until the word has changed, or for long enough. */
inline wait_for_exclusive()
{
        if
        :: exclusive != seen
        :: seen == watched -> let_lapse(); watched = 0; met = 0
        fi
}

inline lock_when_admitted()
{
        do
        ::
#ifdef LOOKEARLY
                d_step { seen = exclusive; now_met = born };
                TAKE(commit_lock);
#else
                atomic { commit_lock == 0 -> commit_lock = me; seen = exclusive; now_met = born };
#endif
                if
                :: !seen || seen == own -> break
                :: else
                fi;
                commit_lock = 0;
                d_step {
                        if :: seen != watched -> watched = seen; met = now_met :: else fi
                };
                wait_for_exclusive()
        od;
        atomic { watched = 0; met = 0; seen = 0; now_met = 0 }
}

#ifdef NOTURN
#define NEXT_TURN skip
#define TURN 1
#elif defined(OWNTURN)
#define NEXT_TURN my_turns++
#define TURN my_turns
#else
#define NEXT_TURN turns++
#define TURN turns
#endif

inline begin_exclusion()
{
#ifdef UNLOCKED
        atomic {
                exclusive == 0 ->
                NEXT_TURN; own = WORD(TURN, me); number++; born = number; mine = born; exclusive = own
        }
#else
        lock_when_admitted();
        d_step { NEXT_TURN; own = WORD(TURN, me); number++; born = number; mine = born; exclusive = own; commit_lock = 0 }
#endif
}

/* Of who has died with that number, by anybody; then the number is used again. */
inline take_over()
{
        seen = exclusive;
        if
        :: seen && OWNER(seen) == me ->
#ifdef PLAINTAKEOVER
                end_plainly(mine)
#else
                end_exclusion(seen, mine)
#endif
        :: else
        fi;
        d_step { seen = 0; own = 0; mine = 0; snapshot = 0; my_turns = 0 }
}

proctype holder(byte me)
{
        byte own, mine, seen, watched, met, now_met, snapshot, rounds, my_turns;
        do
        :: rounds < ROUNDS ->
#ifdef SNAPSHOTFIRST
                snapshot = sequence;
                begin_exclusion();
#else
                begin_exclusion();
                snapshot = sequence;
#endif
                if
                :: skip
                :: atomic { stops < STOPS -> stops++ };
end_stopped:            false
                :: atomic { deaths < DEATHS -> deaths++ }; take_over(); goto next
                fi;
#ifdef TRUSTFUL
                TAKE(commit_lock);
#else
                lock_when_admitted();
#endif
                d_step {
                        assert(exclusive != own || sequence == snapshot);
                        if :: sequence == snapshot -> sequence++; rounds++ :: else fi;
                        commit_lock = 0; snapshot = 0
                };
#ifdef PLAINEND
                end_plainly(mine);
#else
                end_exclusion(own, mine);
#endif
                d_step { own = 0; mine = 0 };
next:           skip
        :: rounds == ROUNDS -> break
        od
}

proctype other(byte me)
{
        byte own, seen, watched, met, now_met, commits;
        do
        :: commits < COMMITS -> lock_when_admitted(); d_step { sequence++; commits++; commit_lock = 0 }
        :: commits == COMMITS -> break
        od
}

init {
        atomic {
                run holder(1);
#if HOLDERS > 1
                run holder(2);
#endif
                run other(3)
        }
}
