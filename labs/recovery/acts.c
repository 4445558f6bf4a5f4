/* SPDX-License-Identifier: MIT */

#include "labs/recovery/acts.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>

#include "labs/grader/grader.h"
#include "labs/grader/host.h"

enum { LIMIT_SECONDS = 2 /* for a thousand recoveries */ };

static sigjmp_buf escape;
static volatile sig_atomic_t is_guarded;

static void on_signal(int number)
{
        if (is_guarded)
                siglongjmp(escape, number);
        if (number == SIGVTALRM)
                return;
        signal(number, SIG_DFL);
        raise(number);
}

/* An answer that crashes or goes round and round is judged like one that finds the wrong thing. The limit begins anew
 * now and then, not for each of a million recoveries. */
static void guard(void)
{
        static unsigned count;
        static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM };
        if (count == 0)
                for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
                        sigaction(numbers[i], &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_NODEFER },
                                  NULL);
        if (count++ % 1000 == 0)
                setitimer(ITIMER_VIRTUAL, &(struct itimerval){ .it_value.tv_sec = LIMIT_SECONDS }, NULL);
        is_guarded = true;
}

static int recover_guarded(struct log *log)
{
        int number = sigsetjmp(escape, 0);
        if (number == 0) {
                guard();
                log_recover(log);
        }
        is_guarded = false;
        return number;
}

/* The byte behind the marks of the pages, which is none of them: who takes it for one finds a page that is not there,
 * or changes it. */
static uint8_t *behind_marks(struct log *log)
{
        return (uint8_t *)log + offsetof(struct log, is_dirty) + PAGES * sizeof(log->is_dirty[0]);
}

_Static_assert(offsetof(struct log, end) > offsetof(struct log, is_dirty) + PAGES * sizeof(bool), "it is there");

static int run_call(const struct call *call, struct log *log)
{
        if (call->is_recovery && call->is_guarded)
                return recover_guarded(log);
        if (call->is_recovery)
                log_recover(log);
        else
                log_checkpoint(log);
        return 0;
}

static size_t act_call(const void *in, size_t in_len, void *out, size_t out_most)
{
        static struct disk disk;
        static struct trace trace;
        static struct log log; /* it survives a jump out of the answer */
        const struct call *call = in;
        struct called *called = out;
        (void)in_len;
        (void)out_most;
        memcpy(disk.sector, call->sector, sizeof(disk.sector));
        trace_begin(&trace, &disk);
        log = call->log;
        log.disk = &disk;
        *behind_marks(&log) = 1;
        called->signal = run_call(call, &log);
        grader_check(*behind_marks(&log) == 1, "%s changed is_dirty[%d]; there are %d pages",
                     call->is_recovery ? "log_recover()" : "log_checkpoint()", PAGES, PAGES);
        called->log = log;
        called->count = trace.count;
        memcpy(called->event, trace.event, (size_t)trace.count * sizeof(trace.event[0]));
        return offsetof(struct called, event) + (size_t)trace.count * sizeof(trace.event[0]);
}

static size_t act_recover(const void *in, size_t in_len, void *out, size_t out_most)
{
        static struct disk disk;
        static struct trace trace; /* nobody reads it; a disk without one would tell where it is recovered from */
        static struct log log;
        const uint8_t(*disks)[DISK_SECTORS][SECTOR_BYTES] = in;
        struct recovered *recovered = out;
        int count = (int)(in_len / sizeof(*disks));
        (void)out_most;
        for (int i = 0; i < count; i++) {
                memcpy(disk.sector, disks[i], sizeof(disk.sector));
                trace_begin(&trace, &disk);
                log = (struct log){ .disk = &disk };
                recovered[i].signal = recover_guarded(&log);
                memcpy(recovered[i].page, log.page, sizeof(log.page));
        }
        return (size_t)count * sizeof(*recovered);
}

host_act *const host_acts[] = { [ACT_CALL] = act_call, [ACT_RECOVER] = act_recover, NULL };
