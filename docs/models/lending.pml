/* Pages that the kernel reads by itself, after the call that asked for it (xac_snapshot_lend; libxac/store/lending.c; DESIGN.md
   R28).

   One slot of the pool holds a version, and memory is behind it. SENDERS open a snapshot of it, lend the slot, and tell the
   kernel to send it. Then the kernel reads the memory that was behind the slot at that moment, some time. A sender waits for
   that and takes the slot back; or it gives up, as a slow client's deadline has come; or it dies, at any point. After that,
   or instead, its snapshot is closed. TAKERS, one after the other, wait until no snapshot is open, take the slot, and write
   the next version, which other snapshots see then. One of them may die: the next one begins
   anew with the same slot.

   Asserted: what the kernel reads is what was there when the sender told it.

   The rules (each left out by a switch, each then gives a counterexample):
   NOPUNCH     L1  who takes a slot that is lent gives it other memory first
   FLAGLATE    L2  a sender raises the flag that there are lent slots, which is never lowered, before the slot's count,
   COUNTLATE   L3  and both before it tells the kernel
   LOWEREARLY  L4  it lowers the count when the kernel is done,
   LOWERLATE   L5  while its snapshot is open,
   LOWERTHEN   L6  and not at all if it gives up
   ZEROEARLY   L7  the count becomes 0 when the slot has other memory,
   ZEROLATE    L8  and before others see the slot */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef TAKERS
#define TAKERS 3
#endif
#define MEMORIES (TAKERS + 2)
#define NOTHING 255

byte memory;                /* behind the slot */
byte content[MEMORIES];     /* a version */
byte newest;                /* version, in the slot; NOTHING: superseded */
byte fresh = 1;             /* memory that was never used */
bool flag;
byte count;
bool open[SENDERS];         /* a snapshot */
byte reads[SENDERS];        /* the memory that the kernel is still to read; NOTHING: none */
byte expected[SENDERS];

#define STEP(what) if :: what :: goto gone fi
#define RAISE      d_step { count++ }
#define LOWER      d_step { if :: count > 0 -> count-- :: else fi }
#define DEATH      if :: !has_died -> has_died = true; goto again :: skip fi

proctype sender(byte me)
{
        atomic { open[me] = true }
#ifdef FLAGLATE
        STEP(RAISE);
        STEP(d_step { reads[me] = memory; expected[me] = content[memory] });
        STEP(flag = true);
#else
        STEP(flag = true);
#ifndef COUNTLATE
        STEP(RAISE);
#endif
        STEP(d_step { reads[me] = memory; expected[me] = content[memory] });
#ifdef COUNTLATE
        STEP(RAISE);
#endif
#endif
#ifdef LOWEREARLY
        STEP(LOWER);
#endif
        if
        :: reads[me] == NOTHING ->
#ifdef LOWERLATE
                open[me] = false;
                LOWER
#else
#ifndef LOWEREARLY
                STEP(LOWER)
#endif
#endif
        :: true -> /* gives up */
#ifdef LOWERTHEN
                LOWER
#endif
                skip
        fi;
gone:   open[me] = false /* closed, or by whoever takes over */
}

proctype kernel(byte me)
{
end:    do
        :: atomic { reads[me] != NOTHING -> assert(content[reads[me]] == expected[me]); reads[me] = NOTHING }
        od
}

#define NOBODY (!open[0] && !open[1])

proctype takers()
{
        byte taker = 0;
        bool has_died, lent;
        do
        :: taker == TAKERS -> break
        :: taker < TAKERS ->
                taker++;
                newest = NOTHING; /* superseded, */
                NOBODY;           /* reclaimed: from here on nobody sees the slot until it is published */
again:          lent = flag && count > 0;
                if
                :: lent ->
#ifdef ZEROEARLY
                        count = 0;
                        DEATH;
#endif
#ifndef NOPUNCH
                        d_step { memory = fresh; fresh++ }
                        DEATH;
#endif
#if !defined(ZEROEARLY) && !defined(ZEROLATE)
                        count = 0
#endif
                :: else
                fi;
                content[memory] = taker;
                newest = taker;
#ifdef ZEROLATE
                if :: lent -> count = 0 :: else fi
#endif
        od
}

/* A sender begins when there is a version, and may begin late. */
active proctype beginning()
{
        byte i;
        d_step {
                i = 0;
                do :: i < SENDERS -> reads[i] = NOTHING; i++ :: else -> break od
        }
        run takers();
        for (i : 0 .. SENDERS - 1) {
                run kernel(i);
        }
        for (i : 0 .. SENDERS - 1) {
                atomic { newest != NOTHING -> run sender(i); open[i] = true }
        }
}
