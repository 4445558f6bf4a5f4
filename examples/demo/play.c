/* SPDX-License-Identifier: MIT */
#include "examples/demo/play.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <xac/xac.h>

#include "examples/demo/show.h"

enum { INTERRUPTED = 130, LOOK_NS = 2000000 };

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int signal_number)
{
        (void)signal_number;
        is_interrupted = 1;
}

static void catch_interrupts(void)
{
        struct sigaction action = { .sa_handler = note_interrupt, .sa_flags = SA_RESTART };
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
}

double play_now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int play_complain(const char *who, const char *what, int err)
{
        fprintf(stderr, "%s: %s: %s\n", who, what, xac_strerror(err));
        return EXIT_FAILURE;
}

int play_prepare(struct play *play)
{
        char path[4096];
        if (snprintf(path, sizeof(path), "%s.acks", play->directory) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        play->acks_fd = acks_create(path);
        if (play->acks_fd < 0)
                return play->acks_fd;
        play->children.tally =
                mmap(NULL, sizeof(*play->children.tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return play->children.tally == MAP_FAILED ? -errno : 0;
}

/* ---- the workers at work ---- */

/* Shows progress until the workers have ended, or so much is acknowledged. Returns the exit status so far. */
static int watch(struct play *play, uint64_t until)
{
        const struct timespec pause = { .tv_nsec = LOOK_NS };
        const double start = play_now();
        struct acks acks;
        int running;

        int err = acks_read(play->acks_fd, &acks);
        const uint64_t before = acks_total(&acks);
        do {
                nanosleep(&pause, NULL);
                running = children_running(&play->children);
                if (!err)
                        err = acks_read(play->acks_fd, &acks);
                if (err)
                        return play_complain(play->program, "cannot read the acknowledgements", err);
                show_progress(play->unit, acks_total(&acks), play->all, acks_total(&acks) - before, play_now() - start);
        } while (running > 0 && !is_interrupted && acks_total(&acks) < until);
        show_progress_end();
        if (is_interrupted)
                fprintf(stderr, "%s: interrupted\n", play->program);
        return is_interrupted ? INTERRUPTED : running < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* *seconds grows by the time it took. */
static int work(struct play *play, uint64_t until, double *seconds)
{
        const double start = play_now();
        int err = children_start(&play->children);
        if (err)
                return play_complain(play->program, "cannot start the workers", err);
        int status = watch(play, until);
        *seconds += play_now() - start;
        return status;
}

/* ---- half-way ---- */

static int crash(struct play *play, struct acks *acks)
{
        uint64_t lost_bytes;

        children_kill(&play->children, SIGKILL);
        int err = acks_read(play->acks_fd, acks);
        if (err)
                return play_complain(play->program, "cannot read the acknowledgements", err);
        err = crash_lose_memory(play->directory, &lost_bytes);
        if (err)
                return play_complain(play->program, "no shared memory to remove", err);
        show_crash(play->unit, play->children.workers, acks, lost_bytes);
        return EXIT_SUCCESS;
}

/* ---- the whole ---- */

int play_run(struct play *play)
{
        struct acks acks;
        double seconds = 0;

        catch_interrupts();
        int status = work(play, play->all / 2, &seconds);
        if (status == EXIT_SUCCESS)
                status = crash(play, &acks);
        if (status == EXIT_SUCCESS)
                status = play->reopen(play->demo, &acks);
        if (status == EXIT_SUCCESS)
                status = work(play, UINT64_MAX, &seconds);
        if (status == EXIT_SUCCESS)
                status = children_end_audit(&play->children);
        children_kill(&play->children, SIGTERM);
        /* Also removes the shared memory that killed children have left. */
        int end_status = play->finish(play->demo, seconds, status == EXIT_SUCCESS);
        return status == EXIT_SUCCESS ? end_status : status;
}
