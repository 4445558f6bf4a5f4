/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_SAMPLER_H
#define TOOLS_XAC_SAMPLER_H

/*
 * What `xac top` shows: an environment looked at again and again, and what happened between two looks, per second.
 *
 * Participants are told apart by row and pid. One that has come since the look before is counted from its beginning.
 * What one did that has left is in the totals alone. How long a snapshot is held is as of the look that saw it first.
 */

#include <stdint.h>

#include "tools/xac/hot_pages.h"
#include "tools/xac/live.h"
#include "tools/xac/place.h"

enum sample_state {
        SAMPLE_AT_REST,   /* there is no shared memory */
        SAMPLE_UNSEEN,    /* somebody uses it, whose shared memory is not to be seen from here */
        SAMPLE_ABANDONED, /* its processes ended without xac_close */
        SAMPLE_IN_USE
};

/* All per second. */
struct rates {
        double commits;
        double conflicts;
        double read_faults;
        double write_faults;
};

struct sample_participant {
        struct inspect_participant now;
        struct rates rates;
        uint64_t snapshot_ns; /* when its snapshot was first seen */
};

enum { SAMPLE_PAGES = 32 };

/* But for state, pages and seconds it is what `now` says. */
struct sample {
        enum sample_state state;
        uint64_t at_ns;
        double seconds;         /* since the look before; 0: there was none, so there are no rates */
        struct inspection *now; /* NULL at rest, and unseen */
        struct rates total;
        double groups; /* per second */
        double log_bytes;
        uint32_t processes;                      /* alive */
        uint32_t participant_count;              /* without the library's own */
        struct sample_participant *participant;  /* those that do most come first */
        const struct sample_participant *oldest; /* who holds the oldest snapshot; NULL: nobody does */
        uint32_t page_count;
        struct hot_page page[SAMPLE_PAGES];
};

struct sampler {
        struct place *place;
        struct hot_pages *hot;
        struct sample sample; /* the newest */
        uint64_t looking_ns;  /* that looks at pages took since then */
};

/* Returns 0, -ENOMEM. */
int sampler_open(struct sampler *sampler, struct place *place);
void sampler_close(struct sampler *sampler);

/* Makes sampler->sample the next one. On errors there is no sample any more. */
int sampler_take(struct sampler *sampler);
/* Looks at the pages alone, as often as possible between two samples. */
void sampler_look(struct sampler *sampler);

#endif
