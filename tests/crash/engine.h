/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_ENGINE_H
#define TESTS_CRASH_ENGINE_H

/*
 * Goes through a trace, stops after each event, and has the states of the disk that a crash could leave just there
 * judged: what stands in them must be at least what was required so far and at most what was allowed.
 * It knows nothing of what is being tested: that is the judge's.
 *
 * A crash may hit recovery, too: the judge records what it does to an image, and that trace is gone through in turn
 * (the second generation), and sometimes so is the recovery in there (the third).
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/crash/image.h"
#include "tests/crash/seen.h"
#include "tests/crash/trace.h"

struct verdict {
        bool is_sound;
        uint64_t found[TRACE_CHANNELS];
        char text[1024]; /* what is wrong */
};

struct judge {
        void *arg;
        /* Opens the image, looks at what is in it, uses it. */
        void (*judge)(void *arg, const struct trace *trace, const struct image *image, struct verdict *verdict);
        /* Does so once more, with everything recorded: from the image on, as the base, to a crash of its own. It
         * was sound before. NULL: no further generations. */
        void (*record)(void *arg, const struct trace *trace, const struct image *image, const struct verdict *verdict,
                       struct trace *deeper);
};

/* When only some of the cuts are tried (stride), so many new images of each, at most. */
enum { ENGINE_PER_CUT = 6 };

struct engine_tally {
        _Atomic uint64_t cuts;
        _Atomic uint64_t tried; /* images made, equal ones included */
        _Atomic uint64_t judged;
        _Atomic uint64_t deeper[3]; /* judged, by generation */
        _Atomic uint32_t violations;
};

struct engine {
        const struct judge *judge;
        struct seen *judged;        /* by content and history */
        struct seen *distinct;      /* by content alone */
        struct engine_tally *tally; /* shared by the workers */
        uint64_t seed;
        unsigned worker, workers;
        unsigned stride;       /* of the workload's events one in so many is a cut */
        unsigned deeper_every; /* one image in so many is recorded; 0: none */
        const char *keep_in;   /* where the trace of a violation is put */
        const char *command;   /* that replays one */
};

/* Goes through the trace once. Pass 0 tries structured choices, and all where they are few; later ones draw.
 * False: there was a violation, which has been printed. */
bool engine_pass(struct engine *engine, const struct trace *trace, unsigned pass);

/* Judges one image again: after `cut` events, with the choice written as text. Prints what it is and what is wrong. */
bool engine_replay(struct engine *engine, const struct trace *trace, uint64_t cut, const char *choice);

#endif
