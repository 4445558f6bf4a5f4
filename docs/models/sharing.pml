/* SPDX-License-Identifier: MIT */

/*
 * Views of several threads in one range of addresses (R25, libxac/store/address.c). Threads come and go under the window's lock;
 * a touch takes no lock, as it is a fault. Where a page is shown, it is shown to all threads of the process: then there
 * must be no view but the one of the thread that shows it.
 *
 *      -DTOUCHLOOKS    a touch looks at the word, and then changes it
 *      -DJOINLOOKS     so does who joins
 *      -DNOBACK        (no error) a range of which all but one have gone stays common: that one may never touch
 *      -DSHOWNJOINS    who joins does not ask whether pages are shown
 */

#define THREADS 3
#define ROUNDS  2

mtype = { SHOWN, ALONE, COMMON };

mtype use;
byte views;  /* how many there are */
byte shown;  /* 1 + the thread whose page is shown; 0: nothing is */
bool locked;

#define LOCK   atomic { !locked -> locked = true }
#define UNLOCK locked = false

proctype thread(byte me)
{
        byte round;
        bool has_view, may_show;
        mtype seen;
        for (round : 1 .. ROUNDS) {
                LOCK;
                if
                :: views == 0 -> use = ALONE; views = 1; has_view = true
                :: views > 0 ->
#ifdef JOINLOOKS
                        seen = use;
                        if
                        :: seen != SHOWN -> use = COMMON; has_view = true; views++
                        :: else -> has_view = false
                        fi
#else
                        atomic {
                                if
#ifdef SHOWNJOINS
                                :: true ->
#else
                                :: use != SHOWN ->
#endif
                                        use = COMMON; has_view = true; views++
                                :: use == SHOWN -> has_view = false
                                fi
                        }
#endif
                fi;
                UNLOCK;
                if
                :: !has_view -> skip
                :: has_view ->
                        /* Perhaps it touches the view. */
                        if
                        :: true ->
                                may_show = false;
#ifdef TOUCHLOOKS
                                seen = use;
                                if :: seen != COMMON -> use = SHOWN; may_show = true :: else fi;
#else
                                atomic { if :: use != COMMON -> use = SHOWN; may_show = true :: else fi };
#endif
                                if :: may_show -> shown = me + 1 :: else fi;
                                assert(!may_show || (views == 1 && shown == me + 1))
                        :: true
                        fi;
                        LOCK;
                        views--;
                        if
                        :: views == 0 -> shown = 0 /* unmapped */
                        :: views == 1 ->
#ifndef NOBACK
                                use = ALONE
#else
                                skip
#endif
                        :: else
                        fi;
                        has_view = false;
                        UNLOCK
                fi
        }
}

/* Of any two: one shows, the other has a view. */
active proctype watch()
{
        assert(!(shown && views > 1))
}

init
{
        byte i;
        atomic { for (i : 0 .. THREADS - 1) { run thread(i) } }
}
