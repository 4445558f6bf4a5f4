/* SPDX-License-Identifier: MIT */
/* Joining a snapshot that somebody else holds (xac_snapshot_open_at; libxac/ground/participant.c, takeover.c; DESIGN.md R26).

   Each of ROWS participants has a row. ROUNDS times it opens the newest snapshot, or adopts one of any number there has
   been, whoever may hold it; it uses what it got, and closes it. One committer commits COMMITS times; each commit displaces
   the version before, which is then visible in [v, v + 1). One reclaimer looks LOOKS times, and frees what it may.

   A death needs no step of its own: the takeover does to the row what closing does, in the same order, and it may come between
   any two steps. Then the row is used again by the next round, as another participant.

   Asserted: whoever has opened or adopted a snapshot finds the version that is visible there until it closes.

   The rules (each left out by a switch, each then gives a counterexample):
   COUNTEARLY      AD1  who adopts raises the count of joinings after its snapshot is in its row ...
   COUNTLATE       AD2  ... and before it looks for who holds the snapshot
   NOREPEAT        AD3  a reclaimer that finds another count after the rows than before begins anew
   LOOKATSNAPSHOT  AD4  `held` is looked at, not `snapshot`: who has not been confirmed confirms nobody ...
   OFFEREARLY      AD4  ... so that it is stored after one has been confirmed
   HELDEARLY       AD5  who opens stores it when its snapshot is stable
   HELDLATE        AD6  who closes clears it before its snapshot ...
   TAKEOVERLATE    AD6  ... and so does who takes over
   NORECHECK       R1   after a snapshot is published the sequence is read again
   CEILINGLATE     R1   reclaimers read the sequence before the rows */
#ifndef ROWS
#define ROWS 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef OPENS
#define OPENS 1
#endif
#ifndef COMMITS
#define COMMITS 1
#endif
#ifndef LOOKS
#define LOOKS 1
#endif
#define NEWEST (COMMITS + 1)

byte sequence = 1;
bool is_counted; /* the count is no more what the reclaimer has read */
byte opened;
byte snapshot[ROWS], held[ROWS];
byte uses[ROWS];           /* only for the assertions: the snapshot that a participant has for sure */
bool is_freed[NEWEST + 1]; /* by version, which is the commit that made it */

/* A step, before which it may die. */
#define STEP(what) if :: what :: goto die fi

#define GOT(number) assert(!is_freed[number]); uses[me] = number

inline open_newest()
{
        do
        ::
                q = sequence;
                STEP(snapshot[me] = q);
#ifdef HELDEARLY
                STEP(held[me] = q);
#endif
#ifdef NORECHECK
                GOT(q); break
#else
                if
                :: atomic { sequence == q -> GOT(q) }; break
                :: sequence != q
                fi
#endif
        od;
        STEP(held[me] = q)
}

#ifdef LOOKATSNAPSHOT
#define OFFERED(row) snapshot[row]
#else
#define OFFERED(row) held[row]
#endif

/* The rows, one after the other. */
inline look_for_holder()
{
        no = 0;
        do
        :: atomic { no < ROWS && no != me && OFFERED(no) == q -> GOT(q) }; break
        :: atomic { no < ROWS && (no == me || OFFERED(no) != q) -> no++ }
        :: no == ROWS -> break
        od
}

inline adopt()
{
        atomic { q = 1; do :: q < sequence -> q++ :: break od };
#ifdef COUNTEARLY
        STEP(is_counted = 1);
#endif
        STEP(snapshot[me] = q);
#ifdef OFFEREARLY
        STEP(held[me] = q);
#endif
#if !defined(COUNTEARLY) && !defined(COUNTLATE)
        STEP(is_counted = 1);
#endif
        look_for_holder();
#ifdef COUNTLATE
        STEP(is_counted = 1);
#endif
        if
        :: uses[me] -> STEP(held[me] = q)
        :: else
        fi
}

proctype participant(byte me)
{
        byte q, no, rounds;
        do
        :: rounds < ROUNDS ->
                if
                :: atomic { opened < OPENS -> opened++ }; open_newest()
                :: adopt()
                fi;
#ifdef TAKEOVERLATE
                STEP(skip); /* in use */
                goto close;
die:
                uses[me] = 0;
                snapshot[me] = 0;
                held[me] = 0;
                goto next;
close:
#else
die:
#endif
                uses[me] = 0;
#ifdef HELDLATE
                snapshot[me] = 0;
                held[me] = 0;
#else
                held[me] = 0;
                snapshot[me] = 0;
#endif
next:
                atomic { rounds++; q = 0; no = 0 }
        :: rounds == ROUNDS -> break
        od
}

active proctype committer()
{
        do
        :: sequence < NEWEST -> sequence++
        :: sequence == NEWEST -> break
        od
}

/* May `v`, which commit v + 1 displaces, be freed? A reclaimer looks at all that was displaced at once; what it may free does
   not depend on the others. */
inline look_at_rows()
{
        no = 0;
        do
        :: no < ROWS && snapshot[no] != v -> no++
        :: no < ROWS && snapshot[no] == v -> goto next
        :: no == ROWS -> break
        od
}

inline free_version()
{
        d_step {
                is_freed[v] = 1;
                no = 0;
                do
                :: no < ROWS -> assert(uses[no] != v); no++
                :: else -> break
                od
        }
}

active proctype reclaimer()
{
        byte looks, v, no;
        do
        :: looks < LOOKS ->
                atomic { v = 1; do :: v < NEWEST - 1 -> v++ :: break od };
again:
#ifndef CEILINGLATE
                if :: sequence > v :: sequence <= v -> goto next fi;
#endif
                is_counted = 0;
                look_at_rows();
#ifdef CEILINGLATE
                if :: sequence > v :: sequence <= v -> goto next fi;
#endif
#ifndef NOREPEAT
                if
                :: is_counted -> goto again
                :: !is_counted
                fi;
#endif
                free_version();
next:
                atomic { looks++; v = 0; no = 0 }
        :: looks == LOOKS -> break
        od
}

init {
        byte no;
        atomic {
                do
                :: no < ROWS -> run participant(no); no++
                :: else -> break
                od
        }
}
