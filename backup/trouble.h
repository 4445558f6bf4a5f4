/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_TROUBLE_H
#define BACKUP_TROUBLE_H

/* Why a backup or a restore failed, as a sentence for people: the first thing that went wrong. */

#include "base/say.h"

struct trouble {
        char text[SAY_SENTENCE_BYTES]; /* "": nothing is known beyond the code */
};

/* Returns err. */
int trouble_say(struct trouble *trouble, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "NAME: what the code means". */
int trouble_with(struct trouble *trouble, int err, const char *name);

#endif
