/* SPDX-License-Identifier: MIT */
/* What tracks record goes through a ring of shared memory into a file, and whoever does it may die (trace/rings.h: TR1 to
   TR3).

   A ring has room for CELLS events. Two tracks use it, one after the other: each records EVENTS, or dies between any two
   steps, or leaves. A collector brings them to the file, round by round; up to DEATHS collectors die between any two steps,
   and another goes on. In the end the file is read: it must have all that either track has recorded, in order and once,
   and whether it left or died.

   The rules (each left out by a switch, each then gives a counterexample):
   NOROOM      TR1  an event is overwritten only when `drained` has passed it
   COUNTEARLY  TR1  an event is counted after it stands in the ring
   LENEARLY    TR2  the file's blocks come before their end
   DRAINEARLY  TR2  `drained` moves last
   ONCEMORE    TR2  the reader drops what it has read already, by its number
   FREEEARLY   TR3  a ring is free when the track's end is in the file
   STATELATE   TR3  whether a track has ended is looked at before how much it has recorded
   BYTEFIRST        who leaves says so, and then gives up the byte that says that it is alive
   NOSECOND         who has no byte and had not left is looked at again before it is taken for dead */
#ifndef EVENTS
#define EVENTS 3
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#define CELLS  2
#define FILE   14
#define END    15 /* number of an entry that says how the track ended */

mtype = { FREE, USED, LEFT };
mtype state = FREE;
bool byte_held, collector_byte;
byte cell[CELLS], written, drained, owner, deaths;
byte recorded[3];    /* by each track */
byte over;           /* processes */
byte ended[3];       /* 1: it left, 2: it died */
byte f_track[FILE], f_number[FILE], f_value[FILE], f_len;

#define MAY_DIE if :: true :: goto dying fi

proctype track(byte no)
{
        byte i;
        atomic { state == FREE && !byte_held -> byte_held = true }
        d_step { owner = no; written = 0; drained = 0 }
        state = USED;
        do
        :: i < EVENTS ->
                MAY_DIE;
                if
#ifdef NOROOM
                :: true ->
#else
                :: written - drained < CELLS ->
#endif
#ifdef COUNTEARLY
                        d_step { written++; recorded[no]++ }
                        cell[(written - 1) % CELLS] = no * 16 + written - 1
#else
                        cell[written % CELLS] = no * 16 + written;
                        d_step { written++; recorded[no]++ }
#endif
                :: else /* it is lost */
                fi;
                i++
        :: else -> break
        od;
        MAY_DIE;
#ifdef BYTEFIRST
        byte_held = false;
        d_step { state = LEFT; ended[no] = 1 }
#else
        d_step { state = LEFT; ended[no] = 1 }
        byte_held = false;
#endif
        goto done;
dying:
        atomic { byte_held = false; ended[no] = 2 }
done:   over++
}

inline put(at, number, value)
{
        d_step { assert(at < FILE); f_track[at] = owner; f_number[at] = number; f_value[at] = value }
}

/* 0: it has not ended. */
inline look_how()
{
        how = 0;
        if
        :: state == LEFT -> how = 1
        :: else ->
                if
                :: state == USED ->
                        if
                        :: !byte_held ->
#ifdef NOSECOND
                                how = 2
#else
                                if
                                :: state == USED -> how = 2
                                :: else
                                fi
#endif
                        :: else
                        fi
                :: else
                fi
        fi
}

#define MAY_FALL if :: true :: atomic { deaths < DEATHS -> deaths++; goto falling } fi

proctype collector()
{
        byte how, until, at, number;
begin:  atomic { !collector_byte -> collector_byte = true }
        do
        :: state != FREE ->
#ifdef STATELATE
                until = written;
                look_how();
#else
                look_how();
                until = written;
#endif
                at = f_len;
                number = drained;
#ifdef DRAINEARLY
                drained = until;
                MAY_FALL;
#endif
#ifdef LENEARLY
                f_len = f_len + until - number + (how -> 1 : 0);
                MAY_FALL;
#endif
#ifdef FREEEARLY
                if :: how -> state = FREE; MAY_FALL :: else fi;
#endif
                do
                :: number < until -> put(at, number, cell[number % CELLS]); number++; at++
                :: else -> break
                od;
                MAY_FALL;
                if :: how -> put(at, END, how); at++; MAY_FALL :: else fi;
#ifndef LENEARLY
                f_len = at;
                MAY_FALL;
#endif
#ifndef DRAINEARLY
                drained = until;
                MAY_FALL;
#endif
#ifndef FREEEARLY
                if :: how -> state = FREE :: else fi
#endif
        :: atomic { state == FREE && ended[1] && ended[2] -> break }
        od;
        goto done;
falling:
        atomic { collector_byte = false; how = 0; until = 0; at = 0; number = 0 }
        goto begin;
done:   collector_byte = false;
        over++
}

byte seen[3], how_seen[3];

/* When all is in the file, or should be. */
proctype reader()
{
        byte i;
        (over == 3);
        d_step {
                do
                :: i < f_len ->
                        assert(f_track[i]); /* it was written */
                        if
                        :: f_number[i] == END -> how_seen[f_track[i]] = f_value[i]
#ifndef ONCEMORE
                        :: f_number[i] != END && f_number[i] < seen[f_track[i]] -> skip
#endif
                        :: else ->
                                assert(f_number[i] == seen[f_track[i]]);
                                assert(f_value[i] == f_track[i] * 16 + f_number[i]);
                                seen[f_track[i]]++
                        fi;
                        i++
                :: else -> break
                od;
                assert(seen[1] == recorded[1] && seen[2] == recorded[2]);
                assert(how_seen[1] == ended[1] && how_seen[2] == ended[2]);
        }
}

init
{
        atomic { run track(1); run track(2); run collector(); run reader() }
}
