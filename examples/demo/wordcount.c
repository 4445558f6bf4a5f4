/* SPDX-License-Identifier: MIT */

/*
 * wordcount TEXT WORDS DIRECTORY [WORKERS]
 *
 * Several processes index the words of TEXT, one transaction per word, in a hash table that
 * was written as serial code (table.c) and lies in a mapped file of the new environment
 * DIRECTORY; meanwhile an auditor looks at the whole table again and again. Each word is on disk
 * before its worker takes the next one.
 *
 * Half-way the machine goes down: all of them are killed, and the shared memory is removed.
 * Then the environment is opened again, held to what was acknowledged (which each worker writes into
 * the plain file DIRECTORY.acks), and new workers go on where the old ones were. At the end
 * the counts go to the file WORDS. tools/demo.sh provides the text and checks the counts.
 *
 * Interrupted, it stops its children, leaves the environment properly and says so in its
 * exit status.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "examples/demo/acks.h"
#include "examples/demo/children.h"
#include "examples/demo/crash.h"
#include "examples/demo/report.h"

enum { WORKERS = 4, INTERRUPTED = 130, LOOK_NS = 2000000 };

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int signal_number)
{
        (void)signal_number;
        is_interrupted = 1;
}

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int complain(const char *what, int err)
{
        fprintf(stderr, "wordcount: %s: %s\n", what, xac_strerror(err));
        return EXIT_FAILURE;
}

static uint64_t count_words(struct text text)
{
        char word[TABLE_WORD_BYTES];
        uint64_t words = 0;
        while (text_next_word(&text, word))
                words++;
        return words;
}

/* ---- the workers at work ---- */

/* Shows progress until the workers have ended, or so many words are acknowledged. The parent itself has
 * the environment not open: all it knows are the acknowledgements. Returns the exit status so far. */
static int watch(struct demo *demo, uint64_t until, uint64_t all_words)
{
        const struct timespec pause = { .tv_nsec = LOOK_NS };
        const double start = now();
        struct acks acks;
        int running;

        int err = acks_read(demo->acks_fd, &acks);
        const uint64_t before = acks_total(&acks);
        do {
                nanosleep(&pause, NULL);
                running = children_running(demo);
                if (!err)
                        err = acks_read(demo->acks_fd, &acks);
                if (err)
                        return complain("cannot read the acknowledgements", err);
                report_progress(acks_total(&acks), all_words, acks_total(&acks) - before, now() - start);
        } while (running > 0 && !is_interrupted && acks_total(&acks) < until);
        report_progress_end();
        if (is_interrupted)
                fprintf(stderr, "wordcount: interrupted\n");
        return is_interrupted ? INTERRUPTED : running < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* *seconds grows by the time it took. */
static int work(struct demo *demo, uint64_t until, uint64_t all_words, double *seconds)
{
        const double start = now();
        int err = children_start(demo);
        if (err)
                return complain("cannot start the workers", err);
        int status = watch(demo, until, all_words);
        *seconds += now() - start;
        return status;
}

/* ---- half-way ---- */

static int crash(struct demo *demo, struct acks *acks)
{
        uint64_t lost_bytes;

        children_kill(demo, SIGKILL);
        int err = acks_read(demo->acks_fd, acks);
        if (err)
                return complain("cannot read the acknowledgements", err);
        err = crash_lose_memory(demo->directory, &lost_bytes);
        if (err)
                return complain("no shared memory to remove", err);
        report_crash(demo->workers, acks, lost_bytes);
        return EXIT_SUCCESS;
}

/* What was in the workers' hands may have been committed without their knowing: from here on they are told. */
static int note_recovered(struct demo *demo, struct index *index)
{
        uint64_t words[INDEX_WORKERS_MAX];
        int err = job_progress(index, words);
        for (int i = 0; !err && i < demo->workers; i++)
                err = acks_note(demo->acks_fd, i, words[i]);
        return err;
}

static int reopen(struct demo *demo, const struct acks *acks)
{
        uint64_t replayed_bytes = 0;
        const xac_options options = { .progress = report_recovery, .progress_arg = &replayed_bytes };
        struct survival survival;
        struct index index;
        const double start = now();

        int err = index_open(&index, demo->directory, 0, &options);
        if (err)
                return complain("cannot open the index again", err);
        const double seconds = now() - start;
        err = crash_check(&index, acks, demo->text, demo->workers, &survival);
        if (!err)
                err = note_recovered(demo, &index);
        int is_well = !err && report_survival(&survival, replayed_bytes, seconds);
        int close_err = index_close(&index);
        if (err || close_err)
                return complain("cannot check the index", err ? err : close_err);
        return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the whole ---- */

static int create_index(struct demo *demo)
{
        struct index index;
        int err = index_open(&index, demo->directory, XAC_CREATE | XAC_EXCL, NULL);
        return err ? err : index_close(&index);
}

/* The last one to leave; also removes the shared memory that killed children have left. */
static int summarise(struct demo *demo, double seconds, const char *path)
{
        struct report report = { .seconds = seconds, .workers = demo->workers, .tally = demo->tally };
        struct index index;

        int err = index_open(&index, demo->directory, 0, NULL);
        if (err)
                return complain("cannot open the index", err);
        if (path)
                err = report_gather(&report, &index);
        if (!err && path)
                err = report_write_words(&report, path);
        if (!err && path)
                report_summary(&report);
        free(report.entries);
        int close_err = index_close(&index);
        return err || close_err ? complain("cannot report", err ? err : close_err) : EXIT_SUCCESS;
}

static int run(struct demo *demo, const char *words_path)
{
        const uint64_t all_words = count_words(demo->text);
        struct acks acks;
        double seconds = 0;

        int status = work(demo, all_words / 2, all_words, &seconds);
        if (status == EXIT_SUCCESS)
                status = crash(demo, &acks);
        if (status == EXIT_SUCCESS)
                status = reopen(demo, &acks);
        if (status == EXIT_SUCCESS)
                status = work(demo, UINT64_MAX, all_words, &seconds);
        if (status == EXIT_SUCCESS)
                status = children_end_audit(demo);
        children_kill(demo, SIGTERM);
        int end_status = summarise(demo, seconds, status == EXIT_SUCCESS ? words_path : NULL);
        return status == EXIT_SUCCESS ? end_status : status;
}

static void catch_interrupts(void)
{
        struct sigaction action = { .sa_handler = note_interrupt, .sa_flags = SA_RESTART };
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
}

/* Acknowledgements beside the environment, and figures that all processes share. */
static int prepare(struct demo *demo)
{
        char path[4096];
        if (snprintf(path, sizeof(path), "%s.acks", demo->directory) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        demo->acks_fd = acks_create(path);
        if (demo->acks_fd < 0)
                return demo->acks_fd;
        demo->tally =
                mmap(NULL, sizeof(*demo->tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return demo->tally == MAP_FAILED ? -errno : 0;
}

int main(int argc, char **argv)
{
        struct demo demo = { .workers = argc == 5 ? atoi(argv[4]) : WORKERS };

        if (argc < 4 || argc > 5 || demo.workers < 1 || demo.workers > INDEX_WORKERS_MAX) {
                fprintf(stderr, "usage: wordcount TEXT WORDS DIRECTORY [WORKERS]\n");
                return 2;
        }
        int err = text_map(argv[1], &demo.text);
        if (err)
                return complain(argv[1], err);
        demo.directory = argv[3];
        err = create_index(&demo);
        if (err)
                return complain(argv[3], err);
        err = prepare(&demo);
        if (err)
                return complain("cannot prepare", err);
        catch_interrupts();
        return run(&demo, argv[2]);
}
