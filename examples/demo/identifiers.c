/* SPDX-License-Identifier: MIT */

/*
 * identifiers LIST ENTRIES DIRECTORY [WORKERS]
 *
 * Several processes make a dictionary of the identifiers in the C headers that LIST names: B+-trees (lexicon.h) in
 * the new environment DIRECTORY. One transaction per identifier of a file, each on disk before its worker goes
 * on; meanwhile an auditor reads the whole dictionary again and again. Half-way the machine goes down (play.h).
 * At the end the entries go to the file ENTRIES. tools/demo.sh provides the list and checks the entries.
 */

#include <stdio.h>
#include <stdlib.h>

#include "examples/demo/lexicon_check.h"
#include "examples/demo/lexicon_jobs.h"
#include "examples/demo/lexicon_report.h"
#include "examples/demo/play.h"
#include "examples/demo/show.h"

enum { WORKERS = 4 };

struct demo {
        struct play play;
        struct sources sources;
        const char *entries_path;
};

static int complain(const char *what, int err)
{
        return play_complain("identifiers", what, err);
}

static int count_steps(const struct sources *sources, uint64_t *count)
{
        struct steps steps;
        struct step step;
        int more;

        *count = 0;
        steps_begin(&steps, sources, 0, 1);
        while ((more = steps_next(&steps, &step)) > 0)
                ++*count;
        steps_end(&steps);
        return more;
}

static int job(void *demo_, int number)
{
        const struct demo *demo = demo_;
        const struct children *children = &demo->play.children;

        if (number == children->workers)
                return lexicon_audit(demo->play.directory, children->workers, children->tally);
        return lexicon_work(demo->play.directory, &demo->sources, number, children->workers, demo->play.acks_fd,
                            children->tally);
}

/* What was in the workers' hands may have been committed without their knowing: from here on they are told. */
static int note_recovered(const struct play *play, struct lexicon *lexicon)
{
        uint64_t done[WORKERS_MAX];
        int err = lexicon_done(lexicon, done);
        for (int i = 0; !err && i < play->children.workers; i++)
                err = acks_note(play->acks_fd, i, done[i]);
        return err;
}

static int reopen(void *demo_, const struct acks *acks)
{
        struct demo *demo = demo_;
        uint64_t replayed_bytes = 0;
        const xac_options options = { .progress = show_recovery, .progress_arg = &replayed_bytes };
        struct survival survival;
        struct lexicon lexicon;
        const double start = play_now();

        int err = lexicon_open(&lexicon, demo->play.directory, 0, &options, demo->play.children.workers);
        if (err)
                return complain("cannot open the dictionary again", err);
        const double seconds = play_now() - start;
        err = lexicon_check(&lexicon, acks, &demo->sources, &survival);
        if (!err)
                err = note_recovered(&demo->play, &lexicon);
        int is_well = !err && show_survival("steps", "dictionary", &survival, replayed_bytes, seconds);
        int close_err = lexicon_close(&lexicon);
        if (err || close_err)
                return complain("cannot check the dictionary", err ? err : close_err);
        return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int finish(void *demo_, double seconds, int is_complete)
{
        struct demo *demo = demo_;
        const struct lexicon_report report = { .steps = demo->play.all,
                                               .seconds = seconds,
                                               .tally = demo->play.children.tally };
        struct lexicon lexicon;

        int err = lexicon_open(&lexicon, demo->play.directory, 0, NULL, demo->play.children.workers);
        if (err)
                return complain("cannot open the dictionary", err);
        if (is_complete)
                err = lexicon_write(&lexicon, demo->entries_path);
        if (!err && is_complete)
                err = lexicon_summary(&lexicon, &report);
        int close_err = lexicon_close(&lexicon);
        return err || close_err ? complain("cannot report", err ? err : close_err) : EXIT_SUCCESS;
}

static int create_dictionary(const struct play *play)
{
        struct lexicon lexicon;
        int err = lexicon_open(&lexicon, play->directory, XAC_CREATE | XAC_EXCL, NULL, play->children.workers);
        return err ? err : lexicon_close(&lexicon);
}

/* The whole; the list of headers is read. */
static int run(struct demo *demo)
{
        int err = count_steps(&demo->sources, &demo->play.all);
        if (err)
                return complain("cannot read the headers", err);
        err = create_dictionary(&demo->play);
        if (err)
                return complain(demo->play.directory, err);
        err = play_prepare(&demo->play);
        return err ? complain("cannot prepare", err) : play_run(&demo->play);
}

int main(int argc, char **argv)
{
        struct demo demo = { .play = {
                                     .program = "identifiers", .unit = "steps", .reopen = reopen, .finish = finish } };
        struct children *children = &demo.play.children;

        children->workers = argc == 5 ? atoi(argv[4]) : WORKERS;
        if (argc < 4 || argc > 5 || children->workers < 1 || children->workers > WORKERS_MAX) {
                fprintf(stderr, "usage: identifiers LIST ENTRIES DIRECTORY [WORKERS]\n");
                return 2;
        }
        demo.play.demo = children->demo = &demo;
        children->job = job;
        demo.entries_path = argv[2];
        demo.play.directory = argv[3];
        int err = sources_read(argv[1], &demo.sources);
        int status = err ? complain(argv[1], err) : run(&demo);
        sources_free(&demo.sources);
        return status;
}
