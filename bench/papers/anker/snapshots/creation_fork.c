/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/creation.h"

/*
 * By fork(): the child has the snapshot. What the parent writes while the child is there is copied by the kernel.
 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/papers/anker/snapshots/columns.h"
#include "bench/support/memory.h"
#include "bench/support/page_order.h"

enum { ROUNDS_MAX = 1000 };

/* What one round has come to, seen by all. */
struct forked_round {
        uint64_t start_ns, returned_ns, running_ns;
        _Atomic uint64_t scanned_ns;
        _Atomic bool may_end;
        uint64_t sum;
        double write_us;
};

static _Noreturn void be_snapshot(const struct creation *creation, const char *columns, struct forked_round *round)
{
        round->running_ns = measure_now_ns();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        round->sum = memory_sum(columns, creation->pages * PAGE);
        atomic_store(&round->scanned_ns, measure_now_ns());
        while (!atomic_load(&round->may_end))
                sched_yield();
        _exit(EXIT_SUCCESS);
}

static double write_pages(const struct creation *creation, char *columns, struct page_order *order)
{
        const uint64_t pages = creation_written(creation);
        const uint64_t start = measure_now_ns();

        for (uint64_t i = 0; i < pages; i++) {
                const uint64_t page = page_order_take(order);
                for (int c = 0; c < creation->columns; c++) {
                        uint64_t *word = (uint64_t *)(columns + ((uint64_t)c * creation->pages + page) * PAGE);
                        *(volatile uint64_t *)word = page;
                }
        }
        return (double)(measure_now_ns() - start) / 1e3 / (double)pages / creation->columns;
}

static void run_round(const struct creation *creation, char *columns, struct page_order *order,
                      struct forked_round *round)
{
        round->start_ns = measure_now_ns();
        const pid_t child = fork();
        if (child == 0)
                be_snapshot(creation, columns, round);
        round->returned_ns = measure_now_ns();
        must(child < 0 ? -errno : 0, "fork");
        while (!atomic_load(&round->scanned_ns))
                sched_yield();
        round->write_us = write_pages(creation, columns, order);
        atomic_store(&round->may_end, true);
        waitpid(child, NULL, 0);
}

static _Noreturn void be_parent(const struct creation *creation, struct forked_round *rounds)
{
        char *columns = memory_make(creation_all_pages(creation) * PAGE);
        struct page_order order;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        creation_fill(creation, columns);
        page_order_make(&order, creation->pages, creation->seed);
        for (uint64_t r = 0; r < creation->rounds; r++)
                run_round(creation, columns, &order, &rounds[r]);
        _exit(EXIT_SUCCESS);
}

static void note(const struct creation *creation, const struct forked_round *round, struct creation_figures *figures)
{
        const uint64_t created_ns = round->running_ns > round->returned_ns ? round->running_ns : round->returned_ns;

        creation_check(creation, 0, round->sum);
        samples_add(&figures->create_us, (double)(created_ns - round->start_ns) / 1e3);
        samples_add(&figures->with_scan_us, (double)(atomic_load(&round->scanned_ns) - round->start_ns) / 1e3);
        samples_add(&figures->write_us, round->write_us);
}

void creation_by_fork(const struct creation *creation, struct creation_figures *figures)
{
        const size_t byte_len = ROUNDS_MAX * sizeof(struct forked_round);
        struct forked_round *rounds = memory_share(byte_len);
        int status;

        must(creation->rounds > ROUNDS_MAX ? -EINVAL : 0, "--rounds");
        const pid_t parent = fork();
        if (parent == 0)
                be_parent(creation, rounds);
        if (parent < 0 || waitpid(parent, &status, 0) != parent || status != 0)
                scratch_fail(-ECHILD, "the process that forks");
        figures->mappings = 1;
        for (uint64_t r = 0; r < creation->rounds; r++)
                note(creation, &rounds[r], figures);
        memory_free(rounds, byte_len);
}
