/* SPDX-License-Identifier: MIT */
/* Versions are taken out of the middle of a chain, by whoever has the commit lock, and somebody dies doing it
   (libxac/version/version.c, DESIGN.md R3).

   Page P has versions 1 to TOP, in the slots of these numbers; snapshot 1 is active, so that those between the first and
   the newest are unlinked, in any order, and their slots used again for page Q. Up to DEATHS unlinkers die between any two
   steps, each succeeded by the next; what they had is taken back and tried again, or waits until the walker has gone if
   its tag has (reclaim.c). The walker goes from P's head to version 1 while all this happens, and once more when all
   of it is unlinked. In the end Q's versions are all in its chain.

   The rules (each left out by a switch, each then gives a counterexample):
   NOWORD    U1  who unlinks leaves the version's word in `unlinking`, and the next one finishes it first
   WORDLATE  U2  the word is there before the link is changed
   WORDEARLY U3  ... and until the tag is gone
   KEEPTAG   U4  what is unlinked has no tag any more, so that its link does not count
   NORETAG   U5  ... also when a successor finds it unlinked
   ANYTAG    U6  the successor leaves alone what has been used again meanwhile
   ANYNEWER  U7  a link is changed in a slot only while that holds the version after
   NOCHECK   R3  a walker asks for the tag of the slot it has left, after reading its link */
#ifndef TOP
#define TOP 4
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#define Q (TOP + 1) /* the slot of Q's first version, 1 */
#define END (TOP + 2)

byte tag[END], older_slot[END], older_tag[END]; /* a link is one word: slot, tag */
byte newer[END], superseded[END];
bool is_q[END];
byte head = TOP, qhead = Q, sequence = TOP;
byte word_slot, word_tag; /* `unlinking` */
bool lock, snapshot = 1, is_free[END];
bool todo[END]; /* superseded, in somebody's list */
byte deaths, published = 1, ended;
bool is_quiet;

/* A step, before which it may die. */
#define STEP(what) if :: what :: atomic { deaths < DEATHS -> deaths++; goto dying } fi

inline link_past(at, no, its_tag)
{
#ifndef NOWORD
#ifndef WORDLATE
        STEP(d_step { word_slot = no; word_tag = its_tag });
#endif
#endif
        STEP(d_step { older_slot[at] = older_slot[no]; older_tag[at] = older_tag[no] });
#ifdef WORDLATE
        STEP(d_step { word_slot = no; word_tag = its_tag });
#endif
#ifdef WORDEARLY
        STEP(word_tag = 0);
#endif
#ifndef KEEPTAG
        STEP(tag[no] = 0);
#endif
        STEP(word_tag = 0)
}

/* From the version after it, or from wherever the chain links to it. The walk is one step: chains change under the lock
   only, and the tags of slots that are given back go with a link that is not looked for. */
inline take_out(no)
{
        d_step {
                t = tag[no];
                at = newer[no];
                if
#ifdef ANYNEWER
                :: true
#else
                :: tag[at] == superseded[no] && older_slot[at] == no && older_tag[at] == t
#endif
                :: else ->
                        if :: is_q[no] -> at = qhead :: else -> at = head fi;
                        do
                        :: older_slot[at] == no && older_tag[at] == t && tag[at] -> break
                        :: else ->
                                if
                                :: !older_tag[at] || !tag[at] || tag[older_slot[at]] != older_tag[at] -> at = 0; break
                                :: else -> at = older_slot[at]
                                fi
                        od
                fi
        };
        if
        :: at -> link_past(at, no, t)
        :: else
        fi
}

inline finish_unlinking()
{
        if
        :: word_tag ->
                d_step { w = word_slot; v = word_tag };
                if
#ifdef ANYTAG
                :: true ->
#else
                :: tag[w] == v ->
#endif
                        take_out(w);
#ifndef NORETAG
                        STEP(tag[w] = 0)
#endif
                :: else
                fi;
                STEP(word_tag = 0);
                d_step { w = 0; v = 0 }
        :: else
        fi
}


/* Those who unlink, one after another, under the lock. */
proctype unlinker()
{
        byte no, at, t, w, v;
again:
        do
        :: atomic { no < TOP - 1 -> no++ } /* any of them */
        :: atomic {
                !lock && no && todo[no] && (tag[no] || !snapshot) -> lock = 1; todo[no] = 0
           };
                if
                :: snapshot -> finish_unlinking(); take_out(no)
                :: !snapshot /* nobody walks there any more */
                fi;
                atomic { lock = 0; is_free[no] = 1; no = 0; at = 0; t = 0 }
        :: atomic { !lock && word_tag -> lock = 1; no = 0 }; /* another page's version will be unlinked */
                finish_unlinking();
                atomic { lock = 0; at = 0; t = 0 }
        :: atomic { no -> no = 0 }
        :: atomic { !snapshot && !todo[2] && !todo[3] && (TOP < 5 || !todo[4]) -> break }
        od;
        goto out;
dying:
        atomic {
                if :: no -> todo[no] = 1 :: else fi;
                lock = 0; no = 0; at = 0; t = 0; w = 0; v = 0
        };
        goto again;
out:    ended++
}

inline use_again()
{
        tag[no] = 0;
        atomic { !lock -> lock = 1 };
        d_step { newer[qhead] = no; superseded[qhead] = sequence + 1; older_slot[no] = qhead; older_tag[no] = tag[qhead] };
        d_step { sequence++; tag[no] = sequence; is_q[no] = 1; newer[no] = 0; superseded[no] = 0 };
        atomic { qhead = no; published++; lock = 0; no = 0 }
}

/* Uses slots again, for versions of Q. */
proctype committer()
{
        byte no;
        do
        :: atomic { is_free[2] -> no = 2; is_free[2] = 0 }; use_again()
        :: atomic { is_free[3] -> no = 3; is_free[3] = 0 }; use_again()
        :: break
        od;
        ended++
}

#define IN_CHAIN(no) (todo[no] && tag[no])

proctype walker()
{
        byte s, q, to_s, to_q, rounds;
again:  skip;
        d_step { s = head; q = tag[head] };
        do
        :: q <= 1 -> break
        :: q > 1 ->
                d_step { to_s = older_slot[s]; to_q = older_tag[s] };
#ifndef NOCHECK
                if
                :: tag[s] == q
                :: else -> assert(!is_quiet); goto again
                fi;
#endif
                d_step { s = to_s; q = to_q; to_s = 0; to_q = 0 }
        od;
        assert(s == 1);
        if
        :: atomic { rounds == 0 && !lock && !IN_CHAIN(2) && !IN_CHAIN(3) && (TOP < 5 || !IN_CHAIN(4)) ->
                is_quiet = 1; rounds++ };
                goto again
        :: rounds == 1
        fi;
        atomic { snapshot = 0; s = 0; q = 0; rounds = 0 }

        /* All have ended: Q's chain is whole. */
        ended == 2;
        d_step {
                s = qhead;
                do
                :: s != Q -> assert(tag[s] && tag[older_slot[s]] == older_tag[s]); s = older_slot[s]; published--
                :: else -> break
                od;
                assert(published == 1)
        }
}

init {
        atomic {
                byte i = 1;
                do
                :: i <= TOP ->
                        tag[i] = i; older_slot[i] = i - 1; older_tag[i] = i - 1;
                        if :: i < TOP -> newer[i] = i + 1; superseded[i] = i + 1 :: else fi;
                        if :: i > 1 && i < TOP -> todo[i] = 1 :: else fi;
                        i++
                :: else -> break
                od;
                tag[Q] = 1; is_q[Q] = 1;
                i = 0;
                run unlinker();
                run committer();
                run walker()
        }
}
