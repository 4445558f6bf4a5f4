/* SPDX-License-Identifier: MIT */
#ifndef LABS_RECOVERY_ENGINE_H
#define LABS_RECOVERY_ENGINE_H

/*
 * Lets a story happen (story.h), and the power fail at each write and each acknowledgement, and recovers from every
 * disk that this can leave (images.h). What is found must be the state after some commit: at least after the last one
 * that was acknowledged, at most after the last one that was begun.
 *
 * One disk of four has garbage, too, in whatever area or page at home the manifest says that nobody needs: where a page
 * lies is in the manifest alone.
 *
 * Each cut has its share of what can be tried, so that no answer keeps the test from the later ones by writing a lot.
 *
 * The first disk that is recovered wrongly is the shortest: of the earliest cut, with the fewest lost sectors. It is
 * printed with what had happened until then.
 */

#include <stdbool.h>
#include <stdint.h>

struct tally {
        uint64_t cuts, images;
        uint64_t second_images; /* of the power cuts after the first */
        bool is_complete;       /* no cut had more disks than were tried */
};

enum engine_where { ENGINE_EVERYWHERE, ENGINE_IN_CHECKPOINTS };

/* Or grader_fail(). The power fails everywhere, or only while log_checkpoint() runs. `second`, if not NULL, happens
 * after a recovery: of one disk for each cut and each commit that was found to be the last, and of every sixteenth. The
 * power then fails a second time, in the recovery and in the story, everywhere. */
void engine_judge(const char *story, const char *second, enum engine_where where, struct tally *tally);

/* The events of a story without a power cut, a line each, for `make show`. */
void engine_tell(const char *story);

#endif
