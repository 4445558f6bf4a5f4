/* SPDX-License-Identifier: MIT
 *
 * The shortcut of a hash table's directory, as trees/ehash_shortcut.c keeps it. The owner changes the directory, of one slot or
 * two, and makes a request for each change: one slot, or the whole directory. The mapper notes what has been asked for, maps one
 * slot after another, in a new area if the directory has another size, and publishes. Between any two steps the owner looks a
 * slot up.
 *
 * Asserted: who finds a base finds an area that is there, and in it the page that the directory has; whoever waits is woken; in
 * the end the shortcut is in step.
 *
 * The rules (each left out by a switch, each then gives a counterexample):
 * LOOKFIRST     SQ1   the owner asks before it looks again ...
 * WANTLATE      SQ1   ... and wants what it has asked for
 * SHOWNFIRST    SQ2, SQ4   `shown` is stored when all is mapped ...
 * BASELAST      SQ2   ... and after the base
 * SHOWNALL      SQ2   it is the number of the requests that were noted, not of those that are queued by now
 * KEEPBASE      SQ3   a base is used until the next request at most
 * NOWANT        SQ3   it is taken only if the last request is done
 * OLDLATER      SM1   what was asked for before the whole directory is not carried out after it
 * DROPALL       SM2   what was asked for after it is
 * NOLOOK        SM3   who goes to sleep looks once more after he has said so
 * WAKEFIRST     SM3   who asks stores that first, and then looks whether somebody sleeps
 * ANSWERFIRST   SM4   who answers stores `shown` first, and then looks whether somebody waits */
#ifndef REQUESTS
#define REQUESTS 4
#endif
#ifndef LOOKS
#define LOOKS 3
#endif
#define AREAS (REQUESTS + 1)
#define NONE 0
#define PAGES 3
#define SLOT(area, slot) shows[(area) * 2 + (slot)]

/* The directory, and the queue: request n is the n-th, and has no place before it is made. */
byte directory[2], slots;
bool whole[AREAS];
byte at[AREAS], page[AREAS], other[AREAS], size[AREAS];
byte queued;

/* Areas: is it there, and what does it show? The n-th is made for the n-th request at the earliest. */
bool is_there[AREAS + 1];
byte shows[2 * (AREAS + 1)];
byte made;

byte base, shown, wanted;
bool is_asleep, is_awaited, stops;
byte bell, answered;

/* ---- The owner ---- */

inline look_up()
{
        d_step { found = NONE; looks++ };
#ifdef NOWANT
        found = base;
#else
        d_step { if :: shown == wanted -> found = base :: else fi };
#endif
        if
        :: found ->
                if
                :: true -> slot = 0
                :: slots == 2 -> slot = 1
                fi;
                d_step { assert(is_there[found] && SLOT(found, slot) == directory[slot]); slot = 0 }
        :: else
        fi;
        found = NONE
}

inline may_look_up()
{
        do
        :: looks < LOOKS -> look_up()
        :: break
        od
}

/* The next request is filled in, and the directory is so already. */
inline change()
{
        if
        :: made_requests == 0 || made_requests > 0 ->
                if :: slots = 1 :: slots = 2 fi;
                d_step {
                        directory[0] = made_requests % PAGES;
                        directory[1] = (slots == 2 -> (made_requests + 1) % PAGES : 0);
                        whole[next] = true; size[next] = slots; page[next] = directory[0]; other[next] = directory[1]
                }
        :: made_requests > 0 ->
                if
                :: true -> at[next] = 0
                :: slots == 2 -> at[next] = 1
                fi;
                d_step {
                        whole[next] = false; page[next] = (directory[at[next]] + 1) % PAGES;
                        directory[at[next]] = page[next]
                }
        fi
}

inline wake()
{
        d_step { if :: is_asleep -> is_asleep = false; bell++ :: else fi }
}

inline ask()
{
        next = made_requests + 1;
#ifdef KEEPBASE
        d_step { if :: shown == wanted -> kept = base :: else kept = NONE fi };
#endif
        change();
#ifdef LOOKFIRST
        may_look_up();
        skip;
#endif
#ifdef WAKEFIRST
        wake();
#endif
        d_step { queued = next; made_requests = next };
#ifdef WANTLATE
        may_look_up();
#endif
        wanted = next;
#ifndef WAKEFIRST
        wake();
#endif
#ifdef KEEPBASE
        if
        :: kept -> d_step { assert(is_there[kept] && SLOT(kept, 0) == directory[0]) }
        :: else
        fi;
        kept = NONE;
#endif
        next = 0
}

inline wait_until_in_step()
{
        do
        :: is_awaited = true;
           if
           :: shown == queued -> break
           :: else
           fi;
           answered > 0 -> answered--
        od
}

proctype owner()
{
        byte looks, found, slot, made_requests, next, kept;
        do
        :: made_requests < REQUESTS -> ask(); may_look_up()
        :: made_requests == REQUESTS -> break
        od;
        wait_until_in_step();
        looks = 0;
        look_up();
        assert(base);
        stops = true; bell++
}

/* ---- The mapper ---- */

/* What is asked for, of the n-th request. */
inline note_one(n)
{
        if
        :: whole[n] -> wants[0] = page[n]; wants[1] = other[n]; wanted_slots = size[n]
        :: !whole[n] && at[n] < wanted_slots -> wants[at[n]] = page[n]
        :: else
        fi
}

inline note_all()
{
        d_step {
                upto = queued;
                n = noted + 1;
                last = 0;
                do
                :: n <= upto -> if :: whole[n] -> last = n :: else fi; n++
                :: else -> break
                od;
                n = noted + 1;
#ifdef DROPALL
                if :: last -> note_one(last); n = upto + 1 :: else fi;
#endif
#ifdef OLDLATER
                if :: last -> note_one(last) :: else fi;
                do
                :: n <= upto -> if :: !whole[n] -> note_one(n) :: else fi; n++
                :: else -> break
                od;
#else
                do
                :: n <= upto -> note_one(n); n++
                :: else -> break
                od;
#endif
                noted = upto; n = 0; last = 0; upto = 0
        }
}

inline show_all()
{
        if
        :: area == NONE || area_slots != wanted_slots ->
                is_there[area] = false;
                d_step { made++; area = made; is_there[area] = true; area_slots = wanted_slots; SLOT(area, 0) = PAGES; SLOT(area, 1) = PAGES }
        :: else
        fi;
        SLOT(area, 0) = wants[0];
        if :: wanted_slots == 2 -> SLOT(area, 1) = wants[1] :: else fi
}

#ifdef SHOWNALL
#define DONE queued
#else
#define DONE noted
#endif

inline answer()
{
        d_step { if :: is_awaited -> is_awaited = false; answered++ :: else fi }
}

proctype mapper()
{
        byte noted, area, area_slots, wants[2], wanted_slots, n, last, upto;
        do
        :: stops -> break
        :: !stops && queued == noted ->
                is_asleep = true;
                if
#ifdef NOLOOK
                :: true -> bell > 0 -> bell--
#else
                :: queued == noted && !stops -> bell > 0 -> bell--
#endif
                :: queued != noted || stops
                fi;
                is_asleep = false
        :: !stops && queued != noted ->
                note_all();
#ifdef SHOWNFIRST
                shown = DONE;
#endif
                show_all();
#ifdef BASELAST
                shown = DONE; base = area;
#else
                base = area;
#ifdef ANSWERFIRST
                answer();
#endif
                shown = DONE;
#endif
#ifndef ANSWERFIRST
                answer()
#endif
        od
}

init { atomic { run owner(); run mapper() } }
