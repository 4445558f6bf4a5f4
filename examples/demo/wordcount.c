/* SPDX-License-Identifier: MIT */

/*
 * wordcount TEXT WORDS DIRECTORY [WORKERS]
 *
 * Several processes index the words of TEXT, one transaction per word, in a hash table that
 * was written as serial code (table.c) and lies in a mapped file of the environment
 * DIRECTORY; meanwhile an auditor looks at the whole table again and again. At the end
 * the counts go to the file WORDS. tools/demo.sh provides the text and checks the counts.
 *
 * Interrupted, it stops its children, leaves the environment properly and says so in its
 * exit status; the environment survives the death of processes in mid-transaction.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "examples/demo/jobs.h"
#include "examples/demo/report.h"

enum { WORKERS = 4, INTERRUPTED = 130 };

struct demo {
        const char *directory;
        struct text text;
        struct tally *tally;
        int workers;
        pid_t child[INDEX_WORKERS_MAX + 1]; /* the last one is the auditor */
};

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

/* In the child: ends with the parent, and leaves Ctrl-C to the parent. */
static void run_child(const struct demo *demo, int number)
{
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (number == demo->workers)
                _exit(job_audit(demo->directory, demo->tally));
        _exit(job_work(demo->directory, number, text_part(demo->text, number, demo->workers), demo->tally));
}

static int start_children(struct demo *demo)
{
        for (int i = 0; i <= demo->workers; i++) {
                demo->child[i] = fork();
                if (demo->child[i] < 0)
                        return -errno;
                if (demo->child[i] == 0)
                        run_child(demo, i);
        }
        return 0;
}

static void stop_children(struct demo *demo)
{
        for (int i = 0; i <= demo->workers; i++)
                if (demo->child[i] > 0)
                        kill(demo->child[i], SIGTERM);
        while (wait(NULL) > 0)
                continue;
}

/* Collects the children that have ended. Returns how many workers still run, or -1 when a
 * child has failed. */
static int count_running(struct demo *demo)
{
        int running = 0, status;

        for (int i = 0; i <= demo->workers; i++) {
                if (demo->child[i] > 0 && waitpid(demo->child[i], &status, WNOHANG) == demo->child[i]) {
                        demo->child[i] = 0;
                        if (status != 0)
                                return -1;
                }
                running += i < demo->workers && demo->child[i] > 0;
        }
        return running;
}

/* Shows progress until the workers have ended. Returns the exit status so far. */
static int watch(struct demo *demo, struct index *index, double start)
{
        const struct timespec pause = { .tv_nsec = 100000000 };
        const double text_bytes = (double)(demo->text.end - demo->text.next);
        uint64_t words, done_bytes;
        int running;

        do {
                nanosleep(&pause, NULL);
                running = count_running(demo);
                int err = job_progress(index, &words, &done_bytes);
                if (err)
                        return complain("cannot read the progress", err);
                report_progress(words, (double)done_bytes / text_bytes, now() - start);
        } while (running > 0 && !is_interrupted);
        report_progress_end();
        if (is_interrupted)
                fprintf(stderr, "wordcount: interrupted\n");
        return is_interrupted ? INTERRUPTED : running < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int wait_for_auditor(struct demo *demo)
{
        int status = 0;
        atomic_store(&demo->tally->is_over, 1);
        pid_t auditor = demo->child[demo->workers];
        if (auditor > 0 && waitpid(auditor, &status, 0) != auditor)
                status = -1;
        demo->child[demo->workers] = 0;
        return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int summarise(struct demo *demo, struct index *index, double seconds, const char *path)
{
        struct report report = { .seconds = seconds, .workers = demo->workers, .tally = demo->tally };
        uint64_t text_bytes;

        int err = job_progress(index, &report.words, &text_bytes);
        if (!err)
                err = report_gather(&report, index);
        if (!err)
                err = report_write_words(&report, path);
        if (!err)
                report_summary(&report);
        free(report.entries);
        return err ? complain("cannot report", err) : EXIT_SUCCESS;
}

static int run(struct demo *demo, const char *words_path)
{
        struct index index;
        const double start = now();

        int err = start_children(demo);
        if (!err)
                err = index_open(&index, demo->directory);
        if (err) {
                stop_children(demo);
                return complain("cannot start", err);
        }
        int status = watch(demo, &index, start);
        const double seconds = now() - start;
        if (status == EXIT_SUCCESS)
                status = wait_for_auditor(demo);
        if (status == EXIT_SUCCESS)
                status = summarise(demo, &index, seconds, words_path);
        stop_children(demo);
        err = index_close(&index);
        return err ? complain("cannot close the index", err) : status;
}

static void catch_interrupts(void)
{
        struct sigaction action = { .sa_handler = note_interrupt, .sa_flags = SA_RESTART };
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
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
        demo.tally =
                mmap(NULL, sizeof(*demo.tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (demo.tally == MAP_FAILED)
                return complain("shared memory", -errno);
        catch_interrupts();
        return run(&demo, argv[2]);
}
