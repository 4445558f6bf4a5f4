/* SPDX-License-Identifier: MIT */
#include "examples/demo/lexicon_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "examples/demo/play.h"

/* ---- worker ---- */

struct work {
        struct lexicon lexicon;
        int worker;
        struct step step;
        uint64_t done, attempts;
};

/* The body of the transaction: serial code. `attempts` is no record: it also counts lost races. */
static int enter_body(void *arg)
{
        struct work *work = arg;

        work->attempts++;
        return lexicon_enter(&work->lexicon, work->worker, &work->step, &work->done);
}

/* When xac_run returns 0 the step is on disk. */
static int enter(struct work *work, int acks_fd, struct tally *tally)
{
        work->attempts = 0;
        int err = xac_run(work->lexicon.env, 0, enter_body, work);
        if (err)
                return err;
        if (work->attempts > 1)
                atomic_fetch_add(&tally->conflicts, work->attempts - 1);
        return acks_note(acks_fd, work->worker, work->done);
}

/* After a crash a worker is not at the beginning. */
static int skip(struct work *work, struct steps *steps)
{
        uint64_t done[WORKERS_MAX];
        int err = lexicon_done(&work->lexicon, done);
        for (uint64_t i = 0; !err && i < done[work->worker]; i++)
                if (steps_next(steps, &work->step) != 1)
                        err = -ENODATA;
        return err;
}

int lexicon_work(const char *directory, const struct sources *sources, int worker, int workers, int acks_fd,
                 struct tally *tally)
{
        struct work work = { .worker = worker };
        struct steps steps;
        int more = 0;

        int err = lexicon_open(&work.lexicon, directory, 0, NULL, workers);
        if (err)
                return play_complain("worker", "cannot open the dictionary", err);
        steps_begin(&steps, sources, worker, workers);
        err = skip(&work, &steps);
        while (!err && (more = steps_next(&steps, &work.step)) > 0)
                err = enter(&work, acks_fd, tally);
        if (err || more < 0)
                return play_complain("worker", "a transaction failed", err ? err : more);
        steps_end(&steps);
        err = lexicon_close(&work.lexicon);
        return err ? play_complain("worker", "cannot close the dictionary", err) : EXIT_SUCCESS;
}

/* ---- auditor ---- */

struct look {
        struct lexicon *lexicon;
        uint64_t files; /* of all entries together: as many as steps */
        uint64_t done;  /* by all workers together */
};

static int add_entry(void *arg, const xac_tree_record *record)
{
        struct look *look = arg;
        look->files += lexicon_entry(record).files;
        return 0;
}

/* A transaction that is XAC_RDONLY: however long it reads, it is as of one moment, and hinders nobody. */
static int look_body(void *arg)
{
        struct look *look = arg;
        uint64_t done[WORKERS_MAX];

        int err = lexicon_done(look->lexicon, done);
        for (int i = 0; i < WORKERS_MAX; i++)
                look->done += done[i];
        return err ? err : xac_tree_scan(look->lexicon->entries, NULL, 0, NULL, 0, add_entry, look);
}

/* *before, what was done at the last look: it never goes back. */
static int look_once(struct lexicon *lexicon, uint64_t *before)
{
        struct look look = { .lexicon = lexicon };

        int err = xac_run(lexicon->env, XAC_RDONLY, look_body, &look);
        if (err)
                return play_complain("auditor", "cannot read the dictionary", err);
        if (look.files == look.done && look.done >= *before) {
                *before = look.done;
                return EXIT_SUCCESS;
        }
        fprintf(stderr,
                "auditor: the dictionary has %" PRIu64 " entries of files, the workers did %" PRIu64
                ", before that %" PRIu64 "\n",
                look.files, look.done, *before);
        return EXIT_FAILURE;
}

int lexicon_audit(const char *directory, int workers, struct tally *tally)
{
        const struct timespec pause = { .tv_nsec = 10000000 };
        struct lexicon lexicon;
        uint64_t before = 0;
        int is_last_look, status;

        int err = lexicon_open(&lexicon, directory, 0, NULL, workers);
        if (err)
                return play_complain("auditor", "cannot open the dictionary", err);
        do {
                is_last_look = atomic_load(&tally->is_over);
                status = look_once(&lexicon, &before);
                if (status == EXIT_SUCCESS)
                        atomic_fetch_add(&tally->looks, 1);
                nanosleep(&pause, NULL);
        } while (status == EXIT_SUCCESS && !is_last_look);
        err = lexicon_close(&lexicon);
        return err ? play_complain("auditor", "cannot close the dictionary", err) : status;
}
