/* SPDX-License-Identifier: MIT */

#include "labs/isolation/ward.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/isolation/acts.h"
#include "labs/isolation/recorder.h"

struct ward *ward;
xac_env *ward_env;
struct history *recorded;

void ward_open(void)
{
        ward = environment_open("ward.xac", sizeof(*ward), XAC_NOSYNC, &ward_env);
        if (recorded == NULL)
                recorded = mmap(NULL, sizeof(*recorded), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(recorded != MAP_FAILED, "mmap: %s", strerror(errno));
}

void ward_close(void)
{
        environment_close(ward_env);
}

static int fill_body(void *on_call)
{
        for (int i = 0; i < ITEMS; i++) {
                ward->item[i].version = 0;
                ward->item[i].value = i >= DOCTORS || (*(unsigned *)on_call >> i & 1); /* the others are no doctors */
        }
        return 0;
}

void ward_fill(unsigned on_call)
{
        int err = xac_run(ward_env, 0, fill_body, &on_call);
        grader_check(err == 0, "the ward cannot be filled: %s", xac_strerror(err));
        recorded->txns = 0;
}

static int look_body(void *on_call)
{
        *(unsigned *)on_call = 0;
        for (int i = 0; i < DOCTORS; i++)
                *(unsigned *)on_call |= (ward->item[i].value != 0 ? 1U : 0U) << i;
        return 0;
}

unsigned ward_look(void)
{
        unsigned on_call = 0;
        int err = xac_run(ward_env, XAC_RDONLY, look_body, &on_call);
        grader_check(err == 0, "the ward cannot be read: %s", xac_strerror(err));
        return on_call;
}

/* A history has room for so much. */
static void check_txn(const struct txn *txn)
{
        grader_check(txn->ops >= 0 && txn->ops <= OPS_MOST, "a transaction of %d ops", txn->ops);
        for (int i = 0; i < txn->ops; i++)
                grader_check(txn->op[i].item >= 0 && txn->op[i].item < ITEMS, "item %d: there are 0 to %d",
                             txn->op[i].item, ITEMS - 1);
}

/* Itself and one colleague are enough; against each more that it writes, others lose. */
static void check_need(const struct txn *txn)
{
        enum { NEEDED = 2 };
        int writes = 0;
        for (int i = 0; i < txn->ops; i++)
                writes += txn->op[i].is_write;
        grader_check(writes <= NEEDED, "duty_leave_promoted() has written %d items; no more than %d are needed", writes,
                     NEEDED);
}

static int run(enum act act, int flags, enum duty duty, int doctor)
{
        struct duty_call call = { flags, duty, doctor };
        struct duty_result result;
        host_do(act, &call, sizeof(call), &result, sizeof(result));
        if (result.err)
                return result.err;
        check_txn(&result.txn);
        if (duty == DUTY_LEAVE_PROMOTED)
                check_need(&result.txn);
        int number = __atomic_fetch_add(&recorded->txns, 1, __ATOMIC_SEQ_CST);
        grader_check(number < TXNS_MOST, "more than %d transactions", TXNS_MOST);
        recorded->txn[number] = result.txn;
        return 0;
}

int ward_run(int flags, enum duty duty, int doctor)
{
        return run(ACT_DUTY, flags, duty, doctor);
}

int ward_step(int flags, enum duty duty, int doctor)
{
        return run(ACT_LEAVE, flags, duty, doctor);
}

void ward_start(int flags, enum duty duty, int doctor)
{
        host_do(ACT_BEGIN, &(struct duty_call){ flags, duty, doctor }, sizeof(struct duty_call), NULL, 0);
}

int ward_finish(int flags, enum duty duty, int doctor)
{
        return run(ACT_END, flags, duty, doctor);
}

uint64_t ward_conflicts(void)
{
        xac_stats stats;
        int err = xac_stat(ward_env, &stats);
        grader_check(err == 0, "xac_stat: %s", xac_strerror(err));
        return stats.conflicts;
}

void ward_begin(void)
{
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
}

void ward_end(void)
{
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
}

void item_name(size_t offset, char *name, size_t name_bytes)
{
        char item = (char)('a' + offset / sizeof(struct item));
        if (offset % sizeof(struct item) == offsetof(struct item, value))
                snprintf(name, name_bytes, "%c", item);
        else
                snprintf(name, name_bytes, "version of %c", item);
}
