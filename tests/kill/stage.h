/* SPDX-License-Identifier: MIT */
#ifndef TESTS_KILL_STAGE_H
#define TESTS_KILL_STAGE_H

/*
 * The scene on which steps.c and single_step.c let a victim die: one environment, and survivors
 * that have it open all the time and are asked afterwards whether all is well.
 *
 * Three pages in two files each hold two numbers, the victims' and the survivors'. Whoever
 * commits adds one to its number in all three pages at once, so a commit that is there in
 * part shows; and what victims were told stands in memory outside. A page of south is moved to and fro by victims,
 * and their number says where it must be. The actors:
 *
 *      survivor   through its views (so that rings are written): commits
 *      holder     by declared access: holds a snapshot while others commit
 *      auditor    by declared access: takes back, counts slots (audit.h)
 *      watcher    by declared access, where it is asked for: sleeps until the victims' number changes (xac_wait)
 *
 * The process that directs them opens nothing itself.
 *
 * The environment is volatile, or durable with a small log. Then the scene ends with the machine going down, and
 * a new process must find everything after recovery.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <xac/xac.h>

#include "tests/support/actor.h"

enum {
        STAGE_PAGE_BYTES = 4096,
        STAGE_PAGES = 3,         /* that hold the numbers: two in "north", one in "south" */
        STAGE_FILE_PAGES = 32,   /* of north and south */
        STAGE_PATIENCE_MS = 1000 /* of an idle machine (leeway.h) */
};

/* Which number. */
enum stage_whose { STAGE_VICTIMS, STAGE_SURVIVORS };

struct stage {
        struct actor *survivor;
        struct actor *holder;
        struct actor *auditor;
        struct actor *watcher; /* NULL: nobody watches */
        unsigned longest_ms;   /* that a survivor's commit took */
};

/* In memory that outlives everybody: how many commits victims and survivors were told of, how many of the victims' were
 * promised to be on disk, and how many of stage_survivor_scatters there were. */
struct stage_told {
        _Atomic uint64_t count[2];
        _Atomic uint64_t durable;
        _Atomic uint64_t scattered;
        _Atomic uint64_t watched; /* what the watcher saw of the victims' number */
        _Atomic bool is_watch_over;
};
extern struct stage_told *stage_told;

/* One process' and thread's way into the environment. */
struct stage_seat {
        xac_env *env;
        char *north;
        char *south;
        bool is_declared;
};
extern _Thread_local struct stage_seat stage_seat;

/* From the next scene on. */
void stage_make_durable(bool is_durable);
bool stage_is_durable(void);

/* A fresh environment of that name, and its survivors. */
void stage_set(struct stage *stage, const char *name);
/* The survivors leave, and the last of them must leave nothing behind; or, if it is durable, they go down with the
 * machine, and a new one recovers it, finds what was told, and leaves nothing behind. */
void stage_strike(struct stage *stage);
/* The same, right after a death: recovery finds what victims were promised, and at most `untold` commits more than they
 * were told of. */
void stage_fall(struct stage *stage, uint64_t untold);

/* Opens, and maps north and south (stage_map: for another thread of the process); leaves. */
void stage_enter(bool is_declared);
void stage_map(void);
void stage_leave(void);

/* In the open transaction of stage_seat: adds one, three times. 0, or -1 if access was refused. */
int stage_add(enum stage_whose whose);
/* The number, which must be the same on all three pages. */
uint64_t stage_number(enum stage_whose whose);
/* A whole transaction, repeated until it is committed; then it has been told. */
void stage_commit(enum stage_whose whose);
/* Victims are told of one commit more; all they were told of is on disk. */
void stage_tell(void);
void stage_promise(void);

/* After a death: a survivor commits within a second (of an idle machine), the numbers hold, a newcomer can open and
 * commit, the audit finds nothing; then pages go home, and all is still the same. `turn` varies
 * who comes first: the survivor, on one page or another, a new process, the audit, a new thread
 * of the survivor. Victims have `untold` commits at most more than they were told; they have been
 * told afterwards. */
void stage_check(struct stage *stage, unsigned turn, uint64_t untold);

/* From now on somebody sleeps until the victims' number changes, again and again. */
void stage_watch(struct stage *stage);
/* After a death, before anybody else does anything: the watcher learns of all that is committed. */
void stage_check_watcher(struct stage *stage);

/* The survivors' library leaves the log to those who wait for it, from now on. */
void stage_rest(struct stage *stage);
/* The holder's snapshot, from one to the other; what it shows must not change. */
void stage_hold(struct stage *stage);
void stage_release(struct stage *stage);
/* One commit of the survivor: to the numbers, or to eight pages that victims leave alone, which
 * are then to be written home whoever holds a later snapshot. */
void stage_survivor_commits(struct stage *stage);
void stage_survivor_scatters(struct stage *stage);

/* A process dies between the deciding store of a commit and the first head (R5), and holds the
 * checkpoint lock as well. As the commit was decided, victims are told of it. */
void stage_die_decided(void);

#endif
