/* SPDX-License-Identifier: MIT */
#ifndef LABS_RECOVERY_TELL_H
#define LABS_RECOVERY_TELL_H

/* A power cut in words: what had happened, which sectors are lost, and what was found. */

#include <stdbool.h>
#include <stddef.h>

#include "labs/recovery/images.h"
#include "labs/recovery/log.h"
#include "labs/recovery/story.h"

enum { TOLD_BYTES = 3600 };

struct text {
        char bytes[TOLD_BYTES];
        size_t used;
};

/* One power cut: what had happened, what may be found, and the disk that is judged now. */
struct generation {
        struct trace trace;
        struct history history;
        int cut; /* so many events have happened */
        int appended, acknowledged;
        const struct image *image;
        int found;     /* from that disk */
        bool is_fresh; /* whoever recovers has seen no disk of a generation before */
};

void tell(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first `cut` events, a line each; of many the last. */
void tell_events(struct text *text, const struct trace *trace, int cut);

/* The events until the cut, and the disk. */
void tell_cut(struct text *text, const struct generation *generation);

/* What a recovery must find. */
void tell_demand(struct text *text, const struct generation *generation);

/* The first words that differ from the nearest state that it may find. */
void tell_pages(struct text *text, struct generation *generation, struct log *log);

#endif
