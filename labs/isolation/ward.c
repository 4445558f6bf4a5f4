/* SPDX-License-Identifier: MIT */

#include "labs/isolation/ward.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/isolation/recorder.h"

struct ward *ward;
xac_env *ward_env;
struct history *recorded;

static struct txn current; /* the transaction that runs */

static void note(bool is_write, int item, long version)
{
        grader_check(item >= 0 && item < ITEMS, "item %d: there are 0 to %d", item, ITEMS - 1);
        grader_check(current.ops < OPS_MOST, "a transaction reads and writes more than %d times", OPS_MOST);
        current.op[current.ops++] = (struct op){ is_write, item, version };
}

void note_read(int item, long version)
{
        note(false, item, version);
}

long note_write(int item, long version)
{
        for (int i = 0; i < current.ops; i++)
                if (current.op[i].is_write && current.op[i].item == item)
                        return version; /* it has made a version already */
        note(true, item, version + 1);
        return version + 1;
}

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
                ward->item[i].value = i < DOCTORS && (*(unsigned *)on_call >> i & 1);
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

struct call {
        duty_body *duty;
        int doctor;
};

static int run_call(void *arg)
{
        const struct call *call = arg;
        current.ops = 0; /* an attempt before this one never happened */
        return call->duty(ward, call->doctor);
}

int ward_run(int flags, duty_body *duty, int doctor)
{
        int err = xac_run(ward_env, flags, run_call, &(struct call){ duty, doctor });
        if (err)
                return err;
        int number = __atomic_fetch_add(&recorded->txns, 1, __ATOMIC_SEQ_CST);
        grader_check(number < TXNS_MOST, "more than %d transactions", TXNS_MOST);
        recorded->txn[number] = current;
        return 0;
}

void item_name(size_t offset, char *name, size_t name_bytes)
{
        char item = (char)('a' + offset / sizeof(struct item));
        if (offset % sizeof(struct item) == offsetof(struct item, value))
                snprintf(name, name_bytes, "%c", item);
        else
                snprintf(name, name_bytes, "version of %c", item);
}
