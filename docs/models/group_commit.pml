/* SPDX-License-Identifier: MIT */
/* Group commit with two words to sleep on, by the parity of groups (recovery/log_writer.c). W committers each append one
   record and wait for it. PUSHES: so many more processes write once without a sync. FAIL: one leader fails locally after
   closing and hands on. DIE: one leader dies at any step; TIMED: waits also end when nobody leads or the leader is dead.
   Left out: NOLEAD: nobody of the next group is woken to lead; NOREPEAT: where a closed group was never finished, only
   one of the other word's sleepers is woken. Both end in a sleep that nobody ends. */
#ifndef W
#define W 3
#endif
#ifndef PUSHES
#define PUSHES 0
#endif
#define N (W+PUSHES)
byte tail=0, written=0, dur=0, disk=0, closed=0, leader=0, ndead=0, nfail=0; bit par=0; bool dead[N+1];
byte word[2], cnt[2], slp[2], tok[2];
#ifdef DIE
#define STEP if :: skip :: ndead<1 -> atomic{ ndead++; dead[id]=1; goto dying } fi
#else
#define STEP skip
#endif
#ifdef TIMED
#define TMO (leader==0 || dead[leader])
#define ISDEAD dead[leader]
#else
#define ISDEAD 0
#define TMO 0
#endif
#ifdef FAIL
#define MAYFAIL nfail<1
#else
#define MAYFAIL 0
#endif
#define WAKE(c,all) word[c]++; STEP; if :: cnt[c]>0 -> atomic{ if :: (all) -> tok[c]=slp[c] :: else -> if :: slp[c]>tok[c] -> tok[c]++ :: else fi fi } :: else fi
proctype committer(byte id; bool pushes){ byte my,T,s[2]; bit c; bool rep=0, sync, ok; byte from;
  if :: pushes -> sync=0; my=0 :: else -> sync=1; atomic{ tail++; my=tail } fi;
  do
  :: if :: sync && dur>=my -> break :: else fi;
     s[0]=word[0]; s[1]=word[1];
     if :: sync && dur>=my -> break :: else fi;
     if :: atomic{ leader==0 -> leader=id }
        :: atomic{ sync && leader!=0 && ISDEAD -> leader=id }
        :: atomic{ leader!=0 && !pushes && !(ISDEAD) -> goto tosleep }
        :: atomic{ leader!=0 && pushes -> goto out }
     fi;
     /* lead */
     from=written; rep=(closed>dur); ok=1; T=tail;
     if :: (sync && T==dur) || (!sync && T==from) -> skip
        :: else -> STEP;
          if :: sync -> atomic{ closed=T; par=1-par } :: else fi; STEP;
          if :: sync && MAYFAIL -> nfail++; ok=0
             :: true -> if :: sync -> disk=T :: else fi; STEP; written=T; STEP; if :: sync -> assert(disk>=T); dur=T :: else fi; STEP
          fi
     fi;
     c=par;
     leader=0; STEP;
#ifndef NOLEAD
#ifdef NOREPEAT
     WAKE(1-c, 0);
#else
     WAKE(1-c, sync && ok && rep);
#endif
#endif
     STEP;
     WAKE(c, sync && ok); 
     if :: pushes -> break :: else fi;
     goto again;
tosleep:
     atomic{ if :: closed>=my -> c=par :: else -> c=1-par fi };
     cnt[c]++;
     if :: atomic{ word[c]==s[c] -> slp[c]++ };
           if :: atomic{ tok[c]>0 -> tok[c]--; slp[c]-- }
              :: atomic{ TMO -> slp[c]--; if :: tok[c]>slp[c] -> tok[c]=slp[c] :: else fi }
           fi
        :: else
     fi;
     cnt[c]--;
again: skip
  od;
  if :: sync -> assert(disk>=my) :: else fi;
out: skip;
dying: skip }
init{ atomic{ byte i=1; do :: i<=W -> run committer(i,0); i++ :: i>W && i<=N -> run committer(i,1); i++ :: i>N -> break od } }
