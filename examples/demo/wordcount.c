/* SPDX-License-Identifier: MIT */

/*
 * wordcount TEXT WORDS DIRECTORY [WORKERS]
 *
 * Several processes index the words of TEXT, one transaction per word, in a hash table that
 * was written as serial code (table.c) and lies in a mapped file of the new environment
 * DIRECTORY; meanwhile an auditor looks at the whole table again and again. Each word is on disk
 * before its worker takes the next one. Half-way the machine goes down (play.h). At the end
 * the counts go to the file WORDS. tools/demo.sh provides the text and checks the counts.
 */

#include <stdio.h>
#include <stdlib.h>

#include "examples/demo/index_check.h"
#include "examples/demo/jobs.h"
#include "examples/demo/play.h"
#include "examples/demo/report.h"
#include "examples/demo/show.h"

enum { WORKERS = 4 };

struct demo {
        struct play play;
        struct text text;
        const char *words_path;
};

static int complain(const char *what, int err)
{
        return play_complain("wordcount", what, err);
}

static uint64_t count_words(struct text text)
{
        char word[TABLE_WORD_BYTES];
        uint64_t words = 0;
        while (text_next_word(&text, word))
                words++;
        return words;
}

static int job(void *demo_, int number)
{
        const struct demo *demo = demo_;
        const int workers = demo->play.children.workers;
        struct tally *tally = demo->play.children.tally;

        if (number == workers)
                return job_audit(demo->play.directory, tally);
        return job_work(demo->play.directory, number, text_part(demo->text, number, workers), demo->play.acks_fd,
                        tally);
}

/* What was in the workers' hands may have been committed without their knowing: from here on they are told. */
static int note_recovered(const struct play *play, struct index *index)
{
        uint64_t words[WORKERS_MAX];
        int err = job_progress(index, words);
        for (int i = 0; !err && i < play->children.workers; i++)
                err = acks_note(play->acks_fd, i, words[i]);
        return err;
}

static int reopen(void *demo_, const struct acks *acks)
{
        struct demo *demo = demo_;
        uint64_t replayed_bytes = 0;
        const xac_options options = { .progress = show_recovery, .progress_arg = &replayed_bytes };
        struct survival survival;
        struct index index;
        const double start = play_now();

        int err = index_open(&index, demo->play.directory, 0, &options);
        if (err)
                return complain("cannot open the index again", err);
        const double seconds = play_now() - start;
        err = index_check(&index, acks, demo->text, demo->play.children.workers, &survival);
        if (!err)
                err = note_recovered(&demo->play, &index);
        int is_well = !err && show_survival("words", "table", &survival, replayed_bytes, seconds);
        int close_err = index_close(&index);
        if (err || close_err)
                return complain("cannot check the index", err ? err : close_err);
        return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int finish(void *demo_, double seconds, int is_complete)
{
        struct demo *demo = demo_;
        struct report report = { .seconds = seconds,
                                 .workers = demo->play.children.workers,
                                 .tally = demo->play.children.tally };
        struct index index;

        int err = index_open(&index, demo->play.directory, 0, NULL);
        if (err)
                return complain("cannot open the index", err);
        if (is_complete)
                err = report_gather(&report, &index);
        if (!err && is_complete)
                err = report_write_words(&report, demo->words_path);
        if (!err && is_complete)
                report_summary(&report);
        free(report.entries);
        int close_err = index_close(&index);
        return err || close_err ? complain("cannot report", err ? err : close_err) : EXIT_SUCCESS;
}

static int create_index(const char *directory)
{
        struct index index;
        int err = index_open(&index, directory, XAC_CREATE | XAC_EXCL, NULL);
        return err ? err : index_close(&index);
}

int main(int argc, char **argv)
{
        struct demo demo = { .play = { .program = "wordcount", .unit = "words", .reopen = reopen, .finish = finish } };
        struct children *children = &demo.play.children;

        children->workers = argc == 5 ? atoi(argv[4]) : WORKERS;
        if (argc < 4 || argc > 5 || children->workers < 1 || children->workers > WORKERS_MAX) {
                fprintf(stderr, "usage: wordcount TEXT WORDS DIRECTORY [WORKERS]\n");
                return 2;
        }
        demo.play.demo = children->demo = &demo;
        children->job = job;
        int err = text_map(argv[1], &demo.text);
        if (err)
                return complain(argv[1], err);
        demo.play.all = count_words(demo.text);
        demo.words_path = argv[2];
        demo.play.directory = argv[3];
        err = create_index(argv[3]);
        if (err)
                return complain(argv[3], err);
        err = play_prepare(&demo.play);
        return err ? complain("cannot prepare", err) : play_run(&demo.play);
}
