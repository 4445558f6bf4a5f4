/* SPDX-License-Identifier: MIT */
/* What readers see through a region (libxac/store/regions.c): the data file itself, or a chunk with copies. Two pages, one region.

   Versions: commit v makes version v of one page; 0 is what home has in the beginning. A committer, a home writer that turns
   heads to home, and a reclaimer behave as everywhere else; looks at all rows are one step for each row. Slots and chunks
   that nobody needs have another content at once.

   Without MAPS: one thread with a view. It runs TXNS transactions, each of them read-only, read-only and durable (so it may go
   back), or one that is validated and goes page by page. Read-only ones show the region, or single pages. What is shown
   stays from one transaction to the next; rings say what has changed, or have lapped. Copying may fail in its middle (FAILS).
   Chunks are taken away for another region (EVICTS). GROWS: the file has one page at first.
   MAPS: two users have TXNS snapshots each, one after the other. Each has a map of its own, which lies on the shelf in
   between; they share chunks. Other threads touch other regions of the maps, and take the chunks away for these (EVICTS).

   Asserted: what is read through a region, or from a single page, is what the snapshot sees; a commit that was validated has
   read what is still the newest; nothing that a map shows is written.

   The rules (each left out by a switch, each then gives a counterexample):
   ANYHOME         RG1   the file itself is shown only if all visible versions are at home
   SLOTSMAPPED     RG2   else copies are, and no slot of the pool
   COPYLATE        RG3   copying happens while the snapshot is published
   ASOFEARLY       RG4   as_of says so only when all is copied ...
   ASOFKEPT        RG4   ... and is 0 until then
   OLDERKEPT       RG5   as_of is 0, too, when the snapshot is an older one
   OWNSKIPPED      RG6   newer is what the heads say, also of what the thread itself has committed
   NOLENGTH        RG7   and what the file has grown by since
   NORINGS         RG8   what others changed hides the region at begin ...
   NOLAPS          RG8   ... and so does a ring that has lapped
   FORWARDONLY     RG9   also what changed behind a snapshot that goes back ...
   OWNRING         RG9   ... by commits of one's own
   NOHIDE          RG10  it is hidden before an attempt that is validated ...
   SHOWNALWAYS     RG10  ... and not shown in one
   EVICTSHOWN      RG11  it is hidden before its chunk is given away ...
   DROPFIRST       RG11  ... (MAPS) by another thread ...
   ASOFSTAYS       RG11  ... and as_of goes with the chunk
   WRITESHARED     RG12  (MAPS) a chunk that two show is not written
   NOCARRY         RG13  (MAPS) a chunk of one's own begins with what was shared ...
   GIVEFIRST       RG13  ... which is given back after that
   SHAREUNLOCKED   RG14  (MAPS) a chunk is shared under the lock of the region that has it
   UNLOCKED        RG14  and so is it taken away
   SHELFSHOWN      RG15  (MAPS) what goes on the shelf is hidden ...
   HIDELATE        RG15  ... before the row ends
   EARLYHOME       I3    home is written when every snapshot is at least as new
   FLIPEARLY       R13   and heads turn to it afterwards
   NOEPOCH         R14   a slot that home displaced waits for rows of its epoch ...
   EPOCHEARLY      R14   ... and views look at the epoch after the snapshot is published
   NORECHECK       R1    after a snapshot is published the sequence is read again
   No rule, and no error: KEPTATFLIPS: the region stays shown when heads have turned to home. */
#ifndef N
#define N 3 /* the newest commit; 1 is the beginning */
#endif
#ifndef TXNS
#define TXNS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef FLIPS
#define FLIPS 1
#endif
#ifndef LOOKS
#define LOOKS 2
#endif
#ifndef FAILS
#define FAILS 0
#endif
#ifdef MAPS
#define USERS 2
#ifndef CHUNKS
#define CHUNKS 2
#endif
#else
#define USERS  1
#define CHUNKS 1
#endif
#ifndef EVICTS
#define EVICTS 0
#endif

#define CONTENT(p, v) (1 + 2 * (v) + (p))
#define GARBAGE       0

/* What is shared. */
byte sequence = 1, durable = 1, flip_epoch = 1;
byte home[2];
byte head[2], head_slot[2]; /* sequence; slot, 0: home */
byte slot_page[SLOTS + 1];  /* 1 + page; 0: the slot is free */
byte slot_version[SLOTS + 1], superseded[SLOTS + 1], displaced[SLOTS + 1]; /* by a version; in an epoch */
byte slot_content[SLOTS + 1];
byte row[USERS], row_epoch[USERS];
byte made[N + 1]; /* which page a commit changed: 1 + page */
bool is_own[N + 1];
#ifdef GROWS
byte file_pages = 1;
#else
#define file_pages 2
#endif

/* The region, of the view or of each map. */
#define NOTHING 0
#define FILE    1
#define CHUNK   2
byte shown[USERS], shown_pages[USERS], chunk[USERS], as_of[USERS], filled[USERS];
bool is_locked[USERS];
byte uses[CHUNKS + 1];
byte chunk_content[2 * (CHUNKS + 1)];
byte failed; /* copyings, so far */
#ifdef MAPS
#define FORGET_SINGLES skip
#else
byte single[2]; /* a page that the view shows by itself: 0: it does not; 1: home; 1 + slot. All of these are M */
#define FORGET_SINGLES single[0] = 0; single[1] = 0
#endif
#define AT(c, p) chunk_content[2 * (c) + (p)]

#ifdef SLOTSMAPPED
#define PUT(c, p, k)  AT(c, p) = k
#define IN_CHUNK(c, p) (AT(c, p) -> slot_content[AT(c, p)] : home[p])
#else
#define PUT(c, p, k)  AT(c, p) = (k -> slot_content[k] : home[p])
#define IN_CHUNK(c, p) AT(c, p)
#endif

/* ---- versions; each of these inside of an atomic step ---- */

/* The version of page p that snapshot s sees. */
inline find_visible(p, s, v)
{
        v = s;
        do
        :: v && made[v] != (p) + 1 -> v--
        :: else -> break
        od
}

/* Where it is: a slot, or 0. */
inline find_place(p, s, v, k)
{
        find_visible(p, s, v);
        if
        :: !head_slot[p] -> k = 0
        :: head_slot[p] && head[p] <= s -> k = head_slot[p]
        :: else ->
                k = SLOTS;
                do
                :: k && !(slot_page[k] == (p) + 1 && slot_version[k] == v && superseded[k]) -> k--
                :: else -> break
                od
        fi
}

#if SLOTS == 2
#define HAS_SLOT (!slot_page[1] || !slot_page[2])
#else
#define HAS_SLOT (!slot_page[1] || !slot_page[2] || !slot_page[3])
#endif

inline publish(p, own, k)
{
        k = 1;
        do
        :: slot_page[k] -> k++
        :: else -> break
        od;
        sequence++;
        slot_page[k] = (p) + 1;
        slot_version[k] = sequence;
        slot_content[k] = CONTENT(p, sequence);
        if
        :: head_slot[p] -> superseded[head_slot[p]] = sequence
        :: else
        fi;
        head[p] = sequence;
        head_slot[p] = k;
        made[sequence] = (p) + 1;
        is_own[sequence] = own
}

/* ---- the others ---- */

proctype committer()
{
        byte k;
end:    do
        :: d_step { sequence < N && HAS_SLOT -> publish(0, false, k); k = 0 }
        :: d_step { sequence < N && HAS_SLOT && file_pages == 2 -> publish(1, false, k); k = 0 }
        :: atomic { durable < sequence -> durable = sequence }
#ifdef GROWS
        :: atomic { file_pages == 1 -> file_pages = 2 }
#endif
        od
}

#define LEAST(a, b) ((a) < (b) -> (a) : (b))
#define SEES(s, v, w) ((s) >= (v) && (s) < (w))

inline flip()
{
        d_step {
                if
                :: head_slot[p] && head[p] == v -> displaced[head_slot[p]] = flip_epoch; head_slot[p] = 0
                :: else
                fi
        };
        flip_epoch++
}

#ifdef MAPS
#define NO_MAP_SHOWS_FILE (shown[0] != FILE && shown[1] != FILE)
#else
#define NO_MAP_SHOWS_FILE true
#endif

inline go_home()
{
#ifndef EARLYHOME
        do
        :: atomic { i < USERS && v -> v = (row[i] && row[i] < v -> 0 : v); i++ }
        :: i == USERS || !v -> break
        od;
#endif
        if
        :: v ->
#ifdef FLIPEARLY
                flip();
#endif
                d_step { assert(NO_MAP_SHOWS_FILE); home[p] = CONTENT(p, v) };
#ifndef FLIPEARLY
                flip()
#endif
        :: else
        fi;
        atomic { p = 0; v = 0; i = 0 }
}

/* Takes a page whose newest version is no newer than the ceiling; then the rows must be as new. */
proctype home_writer()
{
        byte flips, i, p, v;
end:    do
        :: atomic { flips < FLIPS && head_slot[0] && head[0] <= LEAST(sequence, durable) -> p = 0; v = head[0]; flips++ }
                go_home()
        :: atomic { flips < FLIPS && head_slot[1] && head[1] <= LEAST(sequence, durable) -> p = 1; v = head[1]; flips++ }
                go_home()
        od
}

#ifdef NOEPOCH
#define NEEDS_DISPLACED(s, e, k) false
#else
#define NEEDS_DISPLACED(s, e, k) ((s) >= slot_version[k] && (e) <= displaced[k])
#endif
#define IS_NEEDED_BY(s, e, k)                                                                                          \
        ((s) && (displaced[k] -> NEEDS_DISPLACED(s, e, k) : SEES(s, slot_version[k], superseded[k])))
#define IS_LISTED(k) ((displaced[k] && displaced[k] < flip_epoch) || (superseded[k] && !SEES(durable, slot_version[k], superseded[k])))

/* What home displaced is its writer's, and judged when the epoch has changed. What is retired when it begins is superseded up to the sequence of then (R1). Pins need nothing that home displaced. */
proctype reclaimer()
{
        byte looks, i, k;
        bool may_go[SLOTS + 1];
end:    do
        :: atomic { looks < LOOKS && (IS_LISTED(1) || IS_LISTED(2)) -> looks++ }
                d_step {
                        for (k : 1 .. SLOTS) {
                                may_go[k] = IS_LISTED(k)
                        }
                        i = 0
                };
                do
                :: d_step {
                        i < USERS ->
                                for (k : 1 .. SLOTS) {
                                        may_go[k] = may_go[k] && !IS_NEEDED_BY(row[i], row_epoch[i], k)
                                }
                                i++
                   }
                :: i == USERS -> break
                od;
                i = 0;
                d_step {
                        for (k : 1 .. SLOTS) {
                                if
                                :: may_go[k] ->
                                        slot_page[k] = 0;
                                        slot_version[k] = 0;
                                        slot_content[k] = GARBAGE;
                                        superseded[k] = 0;
                                        displaced[k] = 0;
                                        may_go[k] = false
                                :: else
                                fi
                        }
                        k = 0
                }
        od
}

/* ---- regions ---- */

#ifdef OWNSKIPPED
#define SKIPPED(v) is_own[v]
#else
#define SKIPPED(v) false
#endif
#ifdef NOLENGTH
#define IS_NEWER(p, v) (!right || ((v) > right && !SKIPPED(v)))
#else
#define IS_NEWER(p, v) (!right || (p) >= right_pages || ((v) > right && !SKIPPED(v)))
#endif

/* What nobody shows is used for something else. */
inline give_back(c)
{
        uses[c]--;
        if
        :: !uses[c] -> AT(c, 0) = GARBAGE; AT(c, 1) = GARBAGE
        :: else
        fi
}

inline take_chunk()
{
        atomic {
                c = CHUNKS;
                do
                :: c && uses[c] -> c--
                :: else -> break
                od;
                if :: c -> uses[c] = 1 :: else fi
        }
}

/* The region has a chunk, which nobody else shows; or c is 0. */
inline make_own(m)
{
        c = chunk[m];
        if
#ifdef WRITESHARED
        :: c
#else
        :: c && uses[c] == 1
#endif
        :: else ->
                take_chunk();
                if
                :: c ->
                        i = chunk[m]; /* the one before */
#ifdef GIVEFIRST
                        d_step { if :: i -> give_back(i) :: else fi };
#endif
#ifndef NOCARRY
                        if
                        :: i && right -> AT(c, 0) = AT(i, 0); AT(c, 1) = AT(i, 1)
                        :: else
                        fi;
#endif
#ifdef GIVEFIRST
                        chunk[m] = c; i = 0
#else
                        d_step { if :: i -> give_back(i) :: else fi; chunk[m] = c; i = 0 }
#endif
                :: else
                fi
        fi
}

/* is_done: the chunk is right already. Else all that is newer than right is to be copied. */
inline look(m)
{
#ifndef OLDERKEPT
        if :: as_of[m] > snapshot -> as_of[m] = 0 :: else fi;
#endif
        right = as_of[m];
        right_pages = filled[m];
        is_done = chunk[m];
        i = 0;
        do
        :: i < pages -> find_visible(i, snapshot, v); is_done = is_done && !IS_NEWER(i, v); i++
        :: else -> break
        od;
        i = 0;
        v = 0
}

#define NO_OTHER_SHOWS(m, c) !(USERS == 2 && shown[USERS - 1 - m] == CHUNK && chunk[USERS - 1 - m] == c)

/* is_done: all of it. */
inline copy_newer(m)
{
        is_done = true;
        do
        :: d_step {
                i < pages && is_done ->
                        find_place(i, snapshot, v, k);
                        k = (IS_NEWER(i, v) -> k : SLOTS + 1);
                        v = 0
           };
           atomic {
                if
                :: k <= SLOTS -> assert(NO_OTHER_SHOWS(m, c)); PUT(c, i, k)
                :: else
                fi;
                i++;
                k = 0;
                if
                :: i < pages && failed < FAILS -> failed++; is_done = false
                :: true
                fi
           }
        :: atomic { i == pages || !is_done -> i = 0; break }
        od
}

inline copy(m)
{
#ifdef MAPS
        make_own(m);
#else
        atomic { make_own(m) };
#endif
        if
        :: c ->
#ifdef ASOFEARLY
                d_step { as_of[m] = snapshot; filled[m] = pages };
#endif
#if !defined(ASOFEARLY) && !defined(ASOFKEPT)
                as_of[m] = 0;
#endif
                copy_newer(m)
        :: else
        fi;
        atomic {
                if :: is_done -> as_of[m] = snapshot; filled[m] = pages :: else fi;
                c = 0
        }
}

inline map(m)
{
        atomic {
                if
                :: is_done ->
                        shown[m] = (chunk[m] -> CHUNK : FILE);
                        shown_pages[m] = pages;
                        FORGET_SINGLES
                :: else
                fi;
                is_locked[m] = false;
                pages = 0;
                is_done = false;
                right = 0;
                right_pages = 0
        }
}

inline show_region(m)
{
        d_step {
                !is_locked[m] ->
                        is_locked[m] = true;
                        pages = file_pages;
                        find_place(0, snapshot, v, k);
                        is_done = !k;
                        find_place(1, snapshot, v, k);
                        is_done = is_done && !k && !chunk[m];
#ifdef ANYHOME
                        is_done = !chunk[m];
#endif
                        k = 0;
                        if
                        :: !is_done -> look(m)
                        :: else
                        fi;
                        v = 0
        };
        if
        :: !is_done -> copy(m)
        :: else
        fi;
        map(m)
}

#define IN_REGION(m, p)   (shown[m] && (p) < shown_pages[m])
#define READ_REGION(m, p) (shown[m] == FILE -> home[p] : IN_CHUNK(chunk[m], p))

/* R14, R1. */
inline publish_snapshot(m, word)
{
        row_epoch[m] = flip_epoch;
        snapshot = word;
        do
        :: row[m] = snapshot;
                if
                :: atomic { word == snapshot -> break }
#ifdef NORECHECK
                :: break
#else
                :: atomic { word != snapshot -> snapshot = word }
#endif
                fi
        od
}

#ifndef MAPS
/* ---- a thread with a view ---- */

#define READ_SINGLE(p) (single[p] == 1 -> home[p] : slot_content[single[p] - 1])
#define IS_SHOWN(p)    (IN_REGION(0, p) || single[p])
#define READ(p)        (IN_REGION(0, p) -> READ_REGION(0, p) : READ_SINGLE(p))

/* What is mapped by itself takes the region's place. */
inline show_single(p)
{
        d_step { find_place(p, snapshot, v, k); v = 0 }
        d_step { single[p] = k + 1; shown[0] = NOTHING; k = 0 }
}

inline read_page(p)
{
        d_step { find_visible(p, snapshot, v); assert(READ(p) == CONTENT(p, v)); v = 0; is_read[p] = is_validated }
}

/* views_begin. The rings say what changed between two sequences. */
inline sync_view()
{
        d_step {
                is_behind = snapshot < newest || synced < newest;
                v = LEAST(synced, snapshot);
                until = (synced < snapshot -> snapshot : synced);
                until = (until < newest -> newest : until);
#ifdef FORWARDONLY
                until = (snapshot < synced -> v : until);
#endif
#ifdef OWNRING
                is_behind = false;
#endif
#ifdef EPOCHEARLY
#define EPOCH row_epoch[0]
#else
#define EPOCH flip_epoch
#endif
                if
                :: EPOCH != view_epoch ->
                        FORGET_SINGLES;
#ifndef KEPTATFLIPS
                        shown[0] = NOTHING;
                        v = until
#endif
                :: else
                fi;
                if
                :: v < until && has_lapped ->
                        v = until;
#ifndef NOLAPS
                        shown[0] = NOTHING;
                        FORGET_SINGLES
#endif
                :: else
                fi;
                do
                :: v < until ->
                        v++;
                        if
                        :: made[v] && (is_behind || !is_own[v]) ->
                                single[made[v] - 1] = 0;
#ifndef NORINGS
                                shown[0] = NOTHING
#endif
                        :: else
                        fi
                :: else -> break
                od;
#ifndef NOHIDE
                if :: is_validated -> shown[0] = NOTHING :: else fi;
#endif
                view_epoch = EPOCH;
                synced = snapshot;
                newest = (newest < snapshot -> snapshot : newest);
                v = 0; until = 0; is_behind = false; has_lapped = false
        }
}

/* A commit that writes page p, which is private until then: validated by M, and by itself. */
inline commit(p)
{
        d_step {
                if
                :: sequence < N && HAS_SLOT && p < file_pages && head[p] <= snapshot &&
                   !(single[0] && head[0] > snapshot) && !(single[1] && head[1] > snapshot) ->
                        assert(!(is_read[0] && head[0] > snapshot) && !(is_read[1] && head[1] > snapshot));
                        publish(p, true, k);
                        single[p] = k + 1;
                        synced = sequence;
                        newest = sequence;
                        k = 0
                :: else
                fi
        }
}

#ifdef SHOWNALWAYS
#define MAY_SHOW true
#else
#define MAY_SHOW !is_validated
#endif

inline use_pages()
{
        do
        :: IS_SHOWN(0) -> read_page(0)
        :: IS_SHOWN(1) -> read_page(1)
        :: !IS_SHOWN(0) -> show_single(0)
        :: !IS_SHOWN(1) && file_pages == 2 -> show_single(1)
        :: MAY_SHOW && (!IN_REGION(0, 0) || (!IN_REGION(0, 1) && file_pages == 2)) -> show_region(0)
        :: d_step { /* for another region */
                !is_validated && chunk[0] && evicted < EVICTS -> evicted++;
#ifndef EVICTSHOWN
                shown[0] = NOTHING;
                chunk[0] = 0;
                uses[1] = 0;
#endif
#ifndef ASOFSTAYS
                as_of[0] = 0;
                filled[0] = 0;
#endif
                AT(1, 0) = GARBAGE; AT(1, 1) = GARBAGE
           }
        :: break
        od
}

proctype thread()
{
        byte txns, snapshot, synced, newest, view_epoch = 1, until, right, right_pages, pages, i, v, k, c, evicted;
        bool is_validated, is_durable, is_behind, has_lapped, is_done, is_read[2];
        do
        :: txns < TXNS ->
                atomic {
                        txns++;
                        if
                        :: true
                        :: is_durable = true
                        :: is_validated = true
                        fi
                }
                if
                :: is_durable -> publish_snapshot(0, durable)
                :: else -> publish_snapshot(0, sequence)
                fi;
                atomic { if :: has_lapped = true :: true fi };
                sync_view();
                use_pages();
                if
                :: is_validated -> commit(0)
                :: is_validated -> commit(1)
                :: true
                fi;
                d_step { row[0] = 0; row_epoch[0] = 0 };
#ifdef COPYLATE
                if
                :: !is_validated && !shown[0] -> show_region(0)
                :: true
                fi;
#endif
                d_step { snapshot = 0; is_validated = false; is_durable = false; is_read[0] = false; is_read[1] = false }
        :: else -> break
        od
}

init {
        atomic {
                home[0] = CONTENT(0, 0);
                home[1] = CONTENT(1, 0);
                run committer();
                run home_writer();
                run reclaimer();
                run thread()
        }
}

#else
/* ---- maps of snapshots ---- */

bool is_mapped[USERS];
byte mapped_as[USERS];

/* What an open snapshot has that is no newer. */
inline share(m, other)
{
#ifdef SHAREUNLOCKED
        if
        :: atomic { !chunk[m] && is_mapped[other] && mapped_as[other] <= snapshot && as_of[other] -> c = chunk[other] };
                if
                :: c -> uses[c]++; d_step { chunk[m] = c; as_of[m] = as_of[other]; filled[m] = filled[other]; c = 0 }
                :: else
                fi
        :: else
        fi
#else
        d_step {
                if
                :: !chunk[m] && is_mapped[other] && mapped_as[other] <= snapshot && !is_locked[other] && chunk[other] &&
                   as_of[other] ->
                        uses[chunk[other]]++;
                        chunk[m] = chunk[other];
                        as_of[m] = as_of[other];
                        filled[m] = filled[other]
                :: else
                fi
        }
#endif
}

inline read_map(m, p)
{
        d_step { find_visible(p, snapshot, v); assert(READ_REGION(m, p) == CONTENT(p, v)); v = 0 }
}

inline shelve(m)
{
        d_step {
                is_mapped[m] = false;
                mapped_as[m] = 0;
#ifndef SHELFSHOWN
                shown[m] = NOTHING
#endif
        }
}

proctype user(byte me)
{
        byte txns, snapshot, right, right_pages, pages, i, v, k, c;
        bool is_done;
        do
        :: txns < TXNS ->
                txns++;
                if
                :: publish_snapshot(me, sequence)
                :: durable < sequence -> publish_snapshot(me, durable)
                fi;
                share(me, 1 - me);
                d_step { is_mapped[me] = true; mapped_as[me] = snapshot };
                do
                :: atomic { shown[me] -> read_map(me, 0) }
                :: atomic { shown[me] -> read_map(me, 1) }
                :: !shown[me] -> show_region(me)
                :: break
                od;
#ifdef HIDELATE
                atomic { row[me] = 0; row_epoch[me] = 0 };
                shelve(me);
#else
                shelve(me);
                atomic { row[me] = 0; row_epoch[me] = 0 };
#endif
                snapshot = 0
        :: else -> break
        od
}

/* A thread that takes the chunk of map m for another region. */
inline evict(m)
{
#ifdef UNLOCKED
        chunk[m];
#else
        atomic { !is_locked[m] && chunk[m] -> is_locked[m] = true };
#endif
#ifndef DROPFIRST
        shown[m] = NOTHING;
#endif
        c = chunk[m];
        d_step { if :: c -> give_back(c) :: else fi; chunk[m] = 0; as_of[m] = 0; filled[m] = 0 };
#ifdef DROPFIRST
        shown[m] = NOTHING;
#endif
#ifndef UNLOCKED
        is_locked[m] = false;
#endif
        c = 0
}

proctype others()
{
        byte evicted, c;
end:    do
        :: evicted < EVICTS && chunk[0] -> evicted++; evict(0)
        :: evicted < EVICTS && chunk[1] -> evicted++; evict(1)
        od
}

init {
        atomic {
                home[0] = CONTENT(0, 0);
                home[1] = CONTENT(1, 0);
                run committer();
                run home_writer();
                run reclaimer();
                run user(0);
                run user(1);
                run others()
        }
}
#endif
