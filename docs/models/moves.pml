/* SPDX-License-Identifier: MIT */
/* Moved pages: versions that are aliases of another slot's content, the slots that are kept for them, and deaths
   (libxac/store/pool_aliases.c, pool_rebuild.c, txn_pages_move.c, publish.c, reclaim.c, takeover.c).

   Workers each run ROUNDS transactions: one writes a page into a slot of its own, or moves one page to the other (which gets
   an alias of what the page shows, and the page an alias of zeros), and commits, or gives all of it back; then it looks
   at what its commit displaced. A reader holds snapshots. Up to DEATHS of the workers and of the first heir die
   between any two steps; heirs take over. Two pages, SLOTS slots, ALIASES aliases behind them, 0 is zeros or home. The
   snapshots are read at once (as if R1 were one step), and the chains left out (unlink.pml).

   Asserted: whatever is taken anew is in nobody's sight, and neither is anything that shows its content; nothing is in two
   lists; at the end of each hold of the pool lock, shares are right; when all is quiet each descriptor is
   free in one list, or its page's newest, or kept for some that are.

   The rules (each left out by a switch, each then gives a counterexample):
   NOSHARES    A1  a slot that has shares is not given back when its own version is gone ...
   NOKEPT      A2  ... but kept, and free with the last alias
   FREELAST    A3  with the last alias only if its own version is gone
   NOSIGHT     A4  an alias is taken while a version with that content is visible to the taker's snapshot
   UNLOCKED    A5  aliases are given back under the pool lock
   NORECOUNT   A6  whoever inherits the pool lock counts shares anew ...
   COUNTZERO   A7  ... without a moment in which there are too few
   HELDKEPT    A8  what is kept is in no list, also when the lists are rebuilt
   NOLISTS     R7  whoever inherits the pool lock rebuilds the lists
   ROWSFIRST   R5  a dead one's decided commit is finished before its slots are looked at
   NOSKIP      R5  heads that are new already are skipped
   EARLY       R1  what a snapshot sees waits */
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef READS
#define READS 0
#endif
#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef ALIASES
#define ALIASES 3
#endif
#define ALL (SLOTS + ALIASES)

/* Participants: workers, then the reader, an heir that may die, and one that does not. */
#define READER (WORKERS + 1)
#define HEIR (WORKERS + 2)
#define LAST (WORKERS + 3)

/* State and owner are one word. */
#define FREE 0
#define PRIVATE 1
#define PUBLISHED 2
#define RETIRED 3
#define USE(state, owner) ((owner) * 4 + (state))
#define STATE(no) (use[no] & 3)
#define OWNER(no) (use[no] >> 2)
byte use[ALL + 1], tag[ALL + 1], superseded[ALL + 1], page[ALL + 1], content[ALL + 1];
#define KEPT 128
byte shares[ALL + 1];
#define IS_ALIAS(no) ((no) > SLOTS)

/* Lists: a bit for each member. */
#define BIT(no) (1 << (no))
byte list_free, list_alias, list_held, cache[LAST + 1], displaced[LAST + 1];

byte head[2]; /* 0: home */
byte sequence = 1, decided = 1, committer;
byte snapshot[LAST + 1];
byte intent1[LAST + 1], intent2[LAST + 1];
byte pool_lock, commit_lock, row_lock;
bool dead[LAST + 1], gone[LAST + 1];
byte deaths;

#define ALIVE(owner) ((owner) && !dead[owner])

/* ---- What must hold ---- */

inline check_not_listed(no)
{
        assert(!((list_free | list_alias | list_held) & BIT(no)));
        assert(!((cache[1] | displaced[1] | cache[2] | displaced[2]) & BIT(no)))
}

inline check_unseen(no)
{
        k = 1;
        do
        :: k <= LAST ->
                assert(!snapshot[k] || !tag[no] || snapshot[k] < tag[no] || (superseded[no] && snapshot[k] >= superseded[no]));
                k++
        :: else -> break
        od
}

/* A slot or an alias is taken to be used anew. */
inline check_taken(no)
{
        check_unseen(no);
        j = SLOTS + 1;
        do
        :: j <= ALL ->
                if
                :: !IS_ALIAS(no) && content[j] == no && STATE(j) != FREE ->
                        assert(STATE(j) != PUBLISHED);
                        assert(STATE(j) != PRIVATE ||
                               (dead[OWNER(j)] && !(decided == sequence + 1 && committer == OWNER(j))));
                        if :: STATE(j) == RETIRED -> check_unseen(j) :: else fi
                :: else
                fi;
                j++
        :: else -> break
        od;
        j = 0; k = 0
}

/* k = aliases that show the slot's content. */
inline count_shares(no)
{
        k = 0; j = SLOTS + 1;
        do
        :: j <= ALL -> if :: STATE(j) != FREE && content[j] == no -> k++ :: else fi; j++
        :: else -> break
        od
}

inline check_shares()
{
        i = 1;
        do
        :: i <= SLOTS -> count_shares(i); assert((shares[i] & ~KEPT) == k); i++
        :: else -> break
        od;
        i = 0; j = 0; k = 0
}

/* ---- The pool ---- */

inline push_free(no)
{
        d_step { check_not_listed(no); use[no] = USE(FREE, 0); list_free = list_free | BIT(no) }
}

inline hold(no)
{
        d_step { check_not_listed(no); use[no] = USE(RETIRED, 0); list_held = list_held | BIT(no) }
}

inline settle_kept(no)
{
        if
        :: shares[no] == KEPT -> shares[no] = 0; push_free(no)
        :: else -> use[no] = USE(RETIRED, 0)
        fi
}

inline free_alias(no)
{
        d_step { c = content[no]; check_not_listed(no); use[no] = USE(FREE, 0); list_alias = list_alias | BIT(no) };
        if
        :: c ->
                shares[c]--;
#ifdef NOKEPT
                skip
#elif defined(FREELAST)
                if :: !(shares[c] & ~KEPT) -> shares[c] = KEPT; settle_kept(c) :: else fi
#else
                if :: shares[c] & KEPT -> settle_kept(c) :: else fi
#endif
        :: else
        fi;
        c = 0
}

#ifdef NOSHARES
#define IS_SIMPLE(no) (!IS_ALIAS(no))
#else
#define IS_SIMPLE(no) (!IS_ALIAS(no) && shares[no] == 0)
#endif

inline pool_free(no)
{
        if
        :: IS_ALIAS(no) -> free_alias(no)
        :: IS_SIMPLE(no) -> push_free(no)
        :: else ->
#ifdef NOKEPT
                use[no] = USE(RETIRED, 0)
#else
                shares[no] = shares[no] | KEPT;
                settle_kept(no)
#endif
        fi
}

inline recount()
{
#ifdef COUNTZERO
        i = 1;
        do :: i <= SLOTS -> shares[i] = shares[i] & KEPT; i++ :: else -> break od;
#endif
        i = 1;
        do
        :: i <= SLOTS ->
                d_step { count_shares(i); shares[i] = (shares[i] & KEPT) | k; j = 0; k = 0; i++ }
        :: else -> i = 0; break
        od
}

inline sort_in(no)
{
        if
        :: OWNER(no) -> skip
        :: !OWNER(no) && STATE(no) == FREE && IS_ALIAS(no) -> d_step { list_alias = list_alias | BIT(no) }
        :: !OWNER(no) && STATE(no) == FREE && !IS_ALIAS(no) -> push_free(no)
#ifndef HELDKEPT
        :: !OWNER(no) && STATE(no) != FREE && !IS_ALIAS(no) && (shares[no] & KEPT) -> settle_kept(no)
        :: !OWNER(no) && STATE(no) != FREE && (IS_ALIAS(no) || !(shares[no] & KEPT)) -> hold(no)
#else
        :: !OWNER(no) && STATE(no) != FREE -> hold(no)
#endif
        fi
}

inline rebuild()
{
#ifndef NORECOUNT
        recount();
#endif
#ifndef NOLISTS
        skip; /* a loop may not end before a d_step */
        d_step { list_free = 0; list_alias = 0; list_held = 0 };
        i = ALL;
        do :: i -> d_step { sort_in(i); i-- } :: else -> break od;
#endif
        skip
}

inline lock_pool()
{
        atomic { !ALIVE(pool_lock) -> inherits = (pool_lock != 0); pool_lock = me };
        if :: inherits -> inherits = 0; rebuild() :: else fi
}

inline unlock_pool()
{
        atomic { d_step { check_shares() }; pool_lock = 0 }
}

inline give_back(no)
{
        if
        :: IS_SIMPLE(no) -> d_step { check_not_listed(no); use[no] = USE(FREE, me); cache[me] = cache[me] | BIT(no) }
        :: !IS_SIMPLE(no) ->
#ifdef UNLOCKED
                pool_free(no)
#else
                lock_pool();
                pool_free(no);
                unlock_pool()
#endif
        fi
}

/* The first member. */
inline pop(list, no)
{
        no = 1;
        do :: list & BIT(no) -> break :: else -> no++ od;
        list = list & ~BIT(no)
}

/* The last one: aliases before slots. */
inline pop_last(list, no)
{
        no = ALL;
        do :: list & BIT(no) -> break :: else -> no-- od;
        list = list & ~BIT(no)
}

/* no = 0: there is none. */
inline take(no)
{
        no = 0;
        if
        :: !cache[me] && list_free ->
                lock_pool();
                if
                :: list_free -> d_step { pop(list_free, no); use[no] = USE(FREE, me); cache[me] = cache[me] | BIT(no); no = 0 }
                :: else
                fi;
                unlock_pool()
        :: else
        fi;
        if
        :: cache[me] -> d_step { pop(cache[me], no); check_taken(no); use[no] = USE(PRIVATE, me); tag[no] = 0 }
        :: else
        fi
}

/* no = 0: there is none. */
inline share(what, no)
{
        if
        :: list_alias ->
                d_step {
                        assert(!(what) || STATE(what) >= PUBLISHED);
                        pop(list_alias, no); check_taken(no); tag[no] = 0
                };
                content[no] = what;
                use[no] = USE(PRIVATE, me);
                if :: what -> shares[what]++ :: else fi
        :: else -> no = 0
        fi
}

/* ---- Commit ---- */

inline publish(no, owner)
{
        d_step { before = head[page[no]] };
        if
#ifndef NOSKIP
        :: before == no -> skip
        :: before != no ->
#else
        :: true ->
#endif
                if
                :: before -> d_step { superseded[before] = decided; use[before] = USE(RETIRED, owner) }
                :: else
                fi;
                d_step { assert(before != no) /* its link */; superseded[no] = 0; tag[no] = decided; use[no] = USE(PUBLISHED, owner) };
                d_step {
                        head[page[no]] = no;
                        if
                        :: before && owner == me -> check_not_listed(before); displaced[me] = displaced[me] | BIT(before)
                        :: else
                        fi
                }
        fi;
        before = 0
}

inline finish_commit(owner)
{
        if :: intent1[owner] -> publish(intent1[owner], owner) :: else fi;
        if :: intent2[owner] -> publish(intent2[owner], owner) :: else fi;
        sequence = decided
}

inline lock_commit()
{
        atomic { !ALIVE(commit_lock) -> inherits = (commit_lock != 0); commit_lock = me };
        if
        :: inherits && decided == sequence + 1 -> inherits = 0; finish_commit(committer)
        :: else -> inherits = 0
        fi
}

/* ---- Reclaim ---- */

/* Of the members of `list`, those which nobody sees. */
inline judge(list, chosen)
{
        d_step {
                chosen = 0; i = 1;
                do
                :: i <= ALL ->
                        if
                        :: list & BIT(i) ->
                                j = (superseded[i] && superseded[i] <= sequence);
                                k = 1;
                                do
                                :: k <= LAST ->
#ifndef EARLY
                                        if
                                        :: snapshot[k] && snapshot[k] >= tag[i] && snapshot[k] < superseded[i] -> j = 0
                                        :: else
                                        fi;
#endif
                                        k++
                                :: else -> break
                                od;
                                if :: j -> chosen = chosen | BIT(i) :: else fi
                        :: else
                        fi;
                        i++
                :: else -> break
                od;
                i = 0; j = 0; k = 0
        }
}

inline reclaim()
{
        judge(displaced[me], bits);
        do
        :: bits -> d_step { pop(bits, n); displaced[me] = displaced[me] & ~BIT(n) }; give_back(n); n = 0
        :: else -> break
        od
}

inline reclaim_held()
{
        lock_pool();
        judge(list_held, bits);
        do
        :: bits -> d_step { pop_last(bits, n); list_held = list_held & ~BIT(n) }; pool_free(n); n = 0
        :: else -> break
        od;
        unlock_pool()
}

/* ---- A transaction ---- */

/* no = the version that the snapshot sees. */
inline look(which, no)
{
        d_step {
                no = 0; i = 1;
                do
                :: i <= ALL ->
                        if
                        :: STATE(i) >= PUBLISHED && page[i] == which && tag[i] && tag[i] <= snap &&
                                (!superseded[i] || superseded[i] > snap) -> no = i
                        :: else
                        fi;
                        i++
                :: else -> break
                od;
                i = 0
        }
}

inline write_page(which)
{
        take(a);
        if :: a -> d_step { page[a] = which; intent1[me] = a; intent2[me] = 0 } :: else fi
}

inline move_page(from)
{
        look(from, n);
        if
        :: n ->
                if :: IS_ALIAS(n) -> what = content[n] :: else -> what = n fi;
                n = 0;
#ifdef NOSIGHT
                snapshot[me] = 0;
#endif
                lock_pool();
                share(what, a);
                share(0, z);
                unlock_pool();
                what = 0;
                if
                :: a && z -> d_step { page[a] = 1 - from; page[z] = from; intent1[me] = a; intent2[me] = z }
                :: else ->
                        if :: a -> give_back(a) :: else fi;
                        a = 0
                fi
        :: else
        fi
}

inline commit()
{
        lock_commit();
        if
        :: (!head[page[a]] || tag[head[page[a]]] <= snap) && (!z || !head[page[z]] || tag[head[page[z]]] <= snap) ->
                d_step { committer = me; decided = sequence + 1 };
                finish_commit(me);
                commit_lock = 0
        :: else ->
                commit_lock = 0;
                give_back(a);
                if :: z -> give_back(z) :: else fi
        fi
}

/* The first of two moves the one page that is not at home, and the second writes one. ONE_DEED: one worker, that moves. */
#define MOVES (me == 1)
#ifdef ONE_DEED
#define WRITES 0
#else
#define WRITES (WORKERS == 1 || me == 2)
#endif

proctype worker(byte me)
{
        byte i, j, k, c, n, a, z, what, before, bits, snap, rounds;
        bool inherits;
        {
                do
                :: rounds < ROUNDS ->
                        rounds++;
                        d_step { snap = sequence; snapshot[me] = snap };
                        if
                        :: WRITES -> write_page(0)
                        :: WRITES -> write_page(1)
                        :: MOVES -> move_page(0)
                        :: MOVES && WRITES -> move_page(1)
                        fi;
                        if
                        :: a -> commit()
                        :: a && WORKERS == 1 && WRITES -> give_back(a); if :: z -> give_back(z) :: else fi
                        :: !a
                        fi;
                        d_step { a = 0; z = 0; snap = 0; snapshot[me] = 0 };
                        reclaim();
                        if :: list_held -> reclaim_held() :: skip fi
                :: else -> break
                od;
                /* It leaves: what it has is everybody's. */
                lock_pool();
                d_step {
                        i = 1;
                        do
                        :: i <= ALL ->
                                if
                                :: (cache[me] | displaced[me]) & BIT(i) -> use[i] = USE(STATE(i), 0)
                                :: else
                                fi;
                                i++
                        :: else -> break
                        od;
                        list_free = list_free | cache[me];
                        list_held = list_held | displaced[me];
                        cache[me] = 0; displaced[me] = 0; i = 0
                };
                unlock_pool();
                d_step { gone[me] = 1; rounds = 0 }
        } unless { dead[me] };
        skip;
        d_step { i = 0; j = 0; k = 0; c = 0; n = 0; a = 0; z = 0; what = 0; before = 0; bits = 0; snap = 0; rounds = 0; inherits = 0 }
}

proctype reader()
{
        byte reads;
        do
        :: reads < READS -> reads++; snapshot[READER] = sequence; snapshot[READER] = 0
        :: break
        od;
        skip;
        d_step { gone[READER] = 1; reads = 0 }
}

/* ---- Takeover ---- */

inline take_back(no, owner)
{
        if
        :: OWNER(no) != owner || STATE(no) == PUBLISHED -> skip
        :: else ->
                if
                :: !IS_ALIAS(no) && (shares[no] & KEPT) -> settle_kept(no)
                :: STATE(no) == RETIRED && (IS_ALIAS(no) || !(shares[no] & KEPT)) -> hold(no)
                :: STATE(no) != RETIRED && (IS_ALIAS(no) || !(shares[no] & KEPT)) -> pool_free(no)
                fi
        fi
}

inline take_over(owner)
{
        atomic { !ALIVE(row_lock) -> row_lock = me };
        if
        :: dead[owner] && !gone[owner] ->
#ifndef ROWSFIRST
                lock_commit();
                commit_lock = 0;
#endif
                snapshot[owner] = 0;
                lock_pool();
                d_step { cache[owner] = 0; displaced[owner] = 0 }; /* they went with it */
                n = ALL;
                do :: n -> take_back(n, owner); n-- :: else -> break od;
                unlock_pool();
#ifdef ROWSFIRST
                lock_commit();
                commit_lock = 0;
#endif
                gone[owner] = 1
        :: else
        fi;
        row_lock = 0
}

inline check_all()
{
        d_step {
                i = 1;
                do
                :: i <= ALL ->
                        j = 0;
                        if :: list_free & BIT(i) -> j++ :: else fi;
                        if :: list_alias & BIT(i) -> j++ :: else fi;
                        assert(j == (STATE(i) == FREE));
                        assert(!(list_held & BIT(i)));
                        if
                        :: STATE(i) == FREE -> assert(OWNER(i) == 0); assert(IS_ALIAS(i) || !shares[i])
                        :: STATE(i) == PUBLISHED -> assert(head[page[i]] == i); assert(IS_ALIAS(i) || !(shares[i] & KEPT))
                        :: else -> assert(!IS_ALIAS(i)); assert(shares[i] > KEPT)
                        fi;
                        i++
                :: else -> break
                od;
                check_shares()
        }
}

proctype heir(byte me)
{
        byte i, j, k, c, n, o, before, bits;
        bool inherits;
        {
                me == HEIR || dead[HEIR] || gone[HEIR];
                do
                :: atomic { dead[1] && !gone[1] -> o = 1 }; take_over(o)
                :: atomic { dead[2] && !gone[2] -> o = 2 }; take_over(o)
                :: atomic { me == LAST && dead[HEIR] && !gone[HEIR] -> o = HEIR }; take_over(o)
                :: gone[1] && gone[2] && gone[READER] && (me == HEIR || gone[HEIR]) -> break
                od;
                if
                :: me == LAST -> reclaim_held(); check_all()
                :: else -> gone[me] = 1
                fi
        } unless { dead[me] };
        skip;
        d_step { i = 0; j = 0; k = 0; c = 0; n = 0; o = 0; before = 0; bits = 0; inherits = 0 }
}

active proctype death()
{
        byte who;
        do
        :: deaths < DEATHS ->
                who = 1;
                do :: who < HEIR -> who++ :: break od;
                if
                :: d_step { who != READER && !gone[who] -> dead[who] = 1; deaths++; who = 0 }
                :: who = 0; break
                fi
        :: break
        od
}

init {
        atomic {
                use[1] = USE(PUBLISHED, 1); tag[1] = 1; page[1] = 0; head[0] = 1;
                list_free = BIT(SLOTS + 1) - 1 - BIT(1) - BIT(0);
                list_alias = BIT(ALL + 1) - BIT(SLOTS + 1);
                run worker(1);
#if WORKERS > 1
                run worker(2);
#endif
                run reader();
#if DEATHS > 1
                run heir(HEIR);
#else
                gone[HEIR] = 1;
#endif
                run heir(LAST)
        }
}
