/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/snapshot.h"

/*
 * A child process has the snapshot. It waits in a pipe: for a question after the sum, or for its end. The parent does
 * not wait for that end before the snapshot after the next, so the child's memory is taken apart by another processor,
 * if there is one. The array is private memory, in huge pages or in small ones; as much was touched and given back
 * before, so that the pages which the kernel takes for copies have been used.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int snapshot_fork_open(struct snapshot_run *run, uint64_t **words)
{
        rearrange_memory_warm(3 * run->byte_len);
        rearrange_memory_open(&run->array, run->byte_len, run->way->is_huge);
        rearrange_memory_touch(&run->array);
        *words = (uint64_t *)run->array.bytes;
        return 0;
}

static _Noreturn void be_snapshot(const struct snapshot_run *run, int questions, int answers)
{
        char question;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (read(questions, &question, 1) == 1 && question == '?') {
                const uint64_t sum = snapshot_sum((const uint64_t *)run->array.bytes, run->updates.words);
                if (write(answers, &sum, sizeof(sum)) != sizeof(sum))
                        break;
        }
        _exit(EXIT_SUCCESS);
}

/* It ends by itself from now on. */
static void dismiss(struct snapshot_run *run)
{
        if (run->leaving)
                waitpid(run->leaving, NULL, 0);
        run->leaving = run->child;
        run->child = 0;
        if (run->leaving) {
                close(run->to_child);
                close(run->from_child);
        }
}

int snapshot_fork_take(struct snapshot_run *run)
{
        int questions[2], answers[2];

        dismiss(run);
        if (pipe(questions) != 0)
                return -errno;
        if (pipe(answers) != 0) {
                close(questions[0]);
                close(questions[1]);
                return -errno;
        }
        run->child = fork();
        if (run->child == 0) {
                close(questions[1]);
                be_snapshot(run, questions[0], answers[1]);
        }
        close(questions[0]);
        close(answers[1]);
        run->to_child = questions[1];
        run->from_child = answers[0];
        return run->child < 0 ? -EAGAIN : 0;
}

int snapshot_fork_update(struct snapshot_run *run, uint64_t count)
{
        snapshot_update_words(&run->updates, (uint64_t *)run->array.bytes, count);
        return 0;
}

int snapshot_fork_read(struct snapshot_run *run, uint64_t *sum)
{
        if (write(run->to_child, "?", 1) != 1 || read(run->from_child, sum, sizeof(*sum)) != sizeof(*sum))
                return -EPIPE;
        return 0;
}

void snapshot_fork_close(struct snapshot_run *run)
{
        dismiss(run);
        dismiss(run);
        rearrange_memory_close(&run->array);
}
