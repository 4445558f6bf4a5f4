/* SPDX-License-Identifier: MIT */
#include "examples/demo/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "examples/demo/acks.h"
#include "examples/demo/play.h"

/* Worker. */

enum { TABLE_IS_FULL = 1 };

struct step {
        struct index index;
        struct progress *progress;
        char word[TABLE_WORD_BYTES];
        uint64_t text_bytes, words, attempts;
};

/* The body of the transaction. `attempts` is no view memory: it also counts lost races. */
static int add_word(void *arg)
{
        struct step *step = arg;

        step->attempts++;
        if (table_add(step->index.table, step->word) != 0)
                return TABLE_IS_FULL;
        step->words = ++step->progress->words;
        step->progress->text_bytes = step->text_bytes;
        return 0;
}

/* Where the worker stands, which after a crash is not at the beginning. */
static int find_place(struct step *step)
{
        int err = xbegin(step->index.env, XAC_RDONLY);
        if (err)
                return err;
        step->text_bytes = step->progress->text_bytes;
        return xend(step->index.env);
}

/* When xac_run returns 0 the word is on disk. */
static int index_word(struct step *step, int worker, int acks_fd, struct tally *tally)
{
        step->attempts = 0;
        int err = xac_run(step->index.env, 0, add_word, step);
        if (err)
                return err;
        if (step->attempts > 1)
                atomic_fetch_add(&tally->conflicts, step->attempts - 1);
        return acks_note(acks_fd, worker, step->words);
}

int job_work(const char *directory, int worker, struct text part, int acks_fd, struct tally *tally)
{
        struct step step = { .attempts = 0 };
        const char *start = part.next;

        int err = index_open(&step.index, directory, 0, NULL);
        if (err)
                return play_complain("worker", "cannot open the index", err);
        step.progress = &step.index.progress[worker];
        err = find_place(&step);
        part.next += step.text_bytes;
        while (!err && text_next_word(&part, step.word)) {
                step.text_bytes = (uint64_t)(part.next - start);
                err = index_word(&step, worker, acks_fd, tally);
        }
        if (err == TABLE_IS_FULL) {
                fprintf(stderr, "worker: the table is full\n");
                return EXIT_FAILURE;
        }
        if (err)
                return play_complain("worker", "a transaction failed", err);
        err = index_close(&step.index);
        return err ? play_complain("worker", "cannot close the index", err) : EXIT_SUCCESS;
}

/* Auditor. */

static uint64_t add_up_words(const struct index *index)
{
        uint64_t words = 0;
        for (int i = 0; i < WORKERS_MAX; i++)
                words += index->progress[i].words;
        return words;
}

/* One look at the whole index as of one moment; *words never goes back. */
static int look(struct index *index, uint64_t *words)
{
        uint64_t total, before = *words;

        int err = xbegin(index->env, XAC_RDONLY);
        if (err)
                return play_complain("auditor", "xbegin", err);
        int wrong_pages = table_audit(index->table, &total);
        *words = add_up_words(index);
        err = xend(index->env);
        if (err)
                return play_complain("auditor", "xend", err);
        if (wrong_pages == 0 && total == *words && *words >= before)
                return EXIT_SUCCESS;
        fprintf(stderr,
                "auditor: %d wrong pages; the table holds %" PRIu64 " words, the workers did %" PRIu64
                ", before that %" PRIu64 "\n",
                wrong_pages, total, *words, before);
        return EXIT_FAILURE;
}

int job_audit(const char *directory, struct tally *tally)
{
        const struct timespec pause = { .tv_nsec = 10000000 };
        struct index index;
        uint64_t words = 0;
        int is_last_look, status;

        int err = index_open(&index, directory, 0, NULL);
        if (err)
                return play_complain("auditor", "cannot open the index", err);
        do {
                is_last_look = atomic_load(&tally->is_over);
                status = look(&index, &words);
                if (status == EXIT_SUCCESS)
                        atomic_fetch_add(&tally->looks, 1);
                nanosleep(&pause, NULL);
        } while (status == EXIT_SUCCESS && !is_last_look);
        err = index_close(&index);
        return err ? play_complain("auditor", "cannot close the index", err) : status;
}

int job_progress(struct index *index, uint64_t words[WORKERS_MAX])
{
        int err = xbegin(index->env, XAC_RDONLY);
        if (err)
                return err;
        for (int i = 0; i < WORKERS_MAX; i++)
                words[i] = index->progress[i].words;
        return xend(index->env);
}
