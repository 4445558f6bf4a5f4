/* Standing snapshots: a participant T keeps the snapshot of its last commit, revocably, and begins with
   it without looking at the sequence.

   A writer W commits x, y or both; T commits x once, and then runs TT transactions that read x and y in
   either order; there are up to N sequences, the first of which is the beginning.  A reclaimer looks at the
   row RR times.  Version v of a page is superseded by w: it may be freed when w <= G0 and no snapshot lies
   in [v, w).  T's row: 2 * snapshot + idle, and `next` (R8).

   The rules (each left out by a switch, each then gives a counterexample):
   UNCHECKED   ST1  each page is current when it is first touched, else the snapshot is moved to the newest
   PLAINBEGIN  ST2  idle becomes active by compare-and-swap ...
   IGNORE      ST3  ... and who does not respect an idle row revokes it by compare-and-swap
   LATE        ST4  the standing snapshot is stored before the sequence of its commit, under the lock
   NOVALIDATE  ST5  the snapshot is moved only if nothing read has changed in between
   NODOOM      ST6  where it cannot be moved the transaction is lost, even if it writes nothing
   STALEHEAD   ST7  after it was moved the head is read again
   ONEFIELD    ST8  it is moved through `next` (R8); BADORDER: reclaimers read `next` first
   NORECHECK   R1  after publishing the newest sequence it is read again
   NOFENCE     ST9  the store that makes the row active is ordered before the first look at a head */
#ifndef N
#define N 4
#endif
#ifndef RR
#define RR 2
#endif
#ifndef TT
#define TT 1
#endif
byte gseq = 1, returned = 1, row = 0, nxt = 0;
bool lock = 0;
byte head[2];
byte super[2 * (N + 2)]; /* of version v of page p: what superseded it; 0: nothing has */
bool freed[2 * (N + 2)];
#define AT(p, v) ((p) * (N + 2) + (v))
#ifdef NOFENCE
bool buffered = 0;
byte buffer = 0;
#define FLUSHED (!buffered)
#else
#define FLUSHED 1
#endif

#define PUBLISH(p, n) super[AT(p, head[p])] = n; head[p] = n

proctype writer()
{
        byte n, what;
        do
        :: atomic { lock == 0 && gseq < N -> lock = 1; n = gseq + 1 }
                if :: what = 1 :: what = 2 :: what = 3 fi;
                if :: what & 1 -> atomic { PUBLISH(0, n) } :: else fi;
                if :: what & 2 -> atomic { PUBLISH(1, n) } :: else fi;
                gseq = n;
                atomic { lock = 0; returned = n; n = 0; what = 0 }
        :: break
        od
}

#define HIDES(s, v, w) ((s) >= (v) && (s) < (w))

proctype reclaimer()
{
        byte g0, a, b, r = 0, seen, i, v, w;
        do
        :: r < RR ->
                r++;
                g0 = gseq;
#ifdef BADORDER
                seen = row;
#else
                b = nxt;
                seen = row;
#endif
                if
                :: seen & 1 -> /* idle: respect it, or revoke it */
                        if
                        :: a = seen / 2
#ifdef IGNORE
                        :: a = 0
#else
                        :: atomic {
                                if
                                :: row == seen -> row = 0; a = 0
                                :: else -> a = seen / 2 /* active by now, or a newer one */
                                fi
                           }
#endif
                        fi
                :: else -> a = seen / 2
                fi;
#ifdef BADORDER
                b = nxt;
#endif
                d_step {
                        i = 0;
                        do
                        :: i < 2 ->
                                v = 1;
                                do
                                :: v <= N ->
                                        w = super[AT(i, v)];
                                        if
                                        :: w && w <= g0 && !HIDES(a, v, w) && !HIDES(b, v, w) -> freed[AT(i, v)] = 1
                                        :: else
                                        fi;
                                        v++
                                :: else -> break
                                od;
                                i++
                        :: else -> break
                        od;
                        i = 0; v = 0; w = 0; g0 = 0; a = 0; b = 0; seen = 0
                }
        :: else -> break
        od
}

#ifdef NOFENCE
proctype drain()
{
end:    do :: atomic { buffered -> row = buffer; buffered = 0 } od
}
#endif

byte s, got[2]; /* T's snapshot, and the versions it has read */
bool standing, doomed;

/* The version of page p visible at s. */
inline visible(p, result)
{
        d_step {
                result = s;
                do
                :: result && !(result <= head[p] && (result == 1 || result == head[p] || super[AT(p, result)])) -> result--
                :: else -> break
                od
        }
}

#define UNCHANGED(p) (got[p] == 0 || super[AT(p, got[p])] == 0 || super[AT(p, got[p])] > t)

/* R8, or anew if nothing has been read. */
inline move_snapshot()
{
        t = gseq;
        do
#ifdef ONEFIELD
        :: row = 2 * t;
#else
        :: nxt = t;
#endif
                u = gseq;
#ifdef NORECHECK
                break
#else
                if :: u == t -> break :: else -> t = u fi
#endif
        od;
#ifdef NOVALIDATE
        if :: true
#else
        if :: UNCHANGED(0) && UNCHANGED(1)
#endif
                -> s = t; standing = 0; row = 2 * s; nxt = 0
        :: else -> doomed = 1; standing = 0;
#ifdef ONEFIELD
                row = 2 * s;
#endif
                nxt = 0
        fi
}

inline read_page(p)
{
        h = head[p];
#ifndef UNCHECKED
        if
        :: standing && h > s ->
                move_snapshot();
#ifndef STALEHEAD
                h = head[p]
#endif
        :: else
        fi;
#endif
        if :: h <= s -> got[p] = h :: else -> visible(p, got[p]) fi;
        /* It stays there, and so does what was read before. */
        assert(!freed[AT(p, got[p])]);
        assert(got[1 - (p)] == 0 || !freed[AT(1 - (p), got[1 - (p)])]);
        /* P2: both as of one snapshot. */
        assert(got[1 - (p)] == 0 || super[AT(p, got[p])] == 0 || super[AT(p, got[p])] > got[1 - (p)]);
        assert(got[1 - (p)] == 0 || super[AT(1 - (p), got[1 - (p)])] == 0 || super[AT(1 - (p), got[1 - (p)])] > got[p])
}

/* A commit of T: x has a new version, and its row a standing snapshot. */
inline commit_x()
{
        atomic { lock == 0 -> lock = 1; t = gseq + 1 }
        if
        :: t <= N ->
                atomic { PUBLISH(0, t) };
#ifdef LATE
                gseq = t;
                atomic { lock = 0; returned = t };
                row = 2 * t + 1
#else
                row = 2 * t + 1;
                gseq = t;
                atomic { lock = 0; returned = t }
#endif
        :: else -> lock = 0
        fi
}

proctype participant()
{
        byte t, u, h, before, k = 0;
        commit_x();
        do
        :: k < TT ->
                k++;
                doomed = 0;
                d_step { got[0] = 0; got[1] = 0 };
                atomic { before = returned };
                /* begin */
                t = row;
                if
                :: t & 1 ->
#ifdef NOFENCE
                        atomic { s = t / 2; standing = 1; buffer = 2 * s; buffered = 1 }
#elif defined(PLAINBEGIN)
                        row = t - 1; s = t / 2; standing = 1
#else
                        atomic {
                                if :: row == t -> row = t - 1; s = t / 2; standing = 1 :: else -> standing = 0 fi
                        }
#endif
                :: else -> standing = 0
                fi;
                if
                :: !standing ->
                        t = gseq;
                        do
                        :: row = 2 * t;
#ifdef NORECHECK
                                break
#else
                                u = gseq;
                                if :: u == t -> break :: else -> t = u fi
#endif
                        od;
                        s = t
                :: else
                fi;
                if
                :: read_page(0); read_page(1)
                :: read_page(1); read_page(0)
                fi;
                FLUSHED;
                /* end: it wrote nothing.  Strict: what had returned before it began is seen. */
                if
#ifdef NODOOM
                :: true ->
#else
                :: !doomed ->
#endif
                        u = 0;
                        do
                        :: u < 2 ->
                                assert(super[AT(u, got[u])] == 0 || super[AT(u, got[u])] > before);
                                u++
                        :: else -> break
                        od
#ifndef NODOOM
                :: else
#endif
                fi;
                if
                :: !doomed -> row = 2 * s + 1 /* stands on */
                :: row = 0
                fi;
                d_step { t = 0; u = 0; h = 0; before = 0; s = 0; standing = 0; doomed = 0; got[0] = 0; got[1] = 0 }
        :: else -> break
        od
}

init {
        atomic {
                head[0] = 1;
                head[1] = 1;
#ifdef NOFENCE
                run drain();
#endif
                run writer();
                run reclaimer();
                run participant()
        }
}
