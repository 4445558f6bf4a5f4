/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SEND_SENT_MODEL_H
#define TESTS_SEND_SENT_MODEL_H

/*
 * A sender that is none: what a tree has, as a table of numbered keys; random changes of it; and random responses,
 * which are all right, about what a client has of it. Pages are those of real trees.
 */

#include <stdbool.h>

#include "tests/send/stream.h"
#include "tests/support/chance.h"

enum { MODEL_KEYS = 2000, MODEL_KEY_ROOM = 64, MODEL_VALUE_ROOM = 4000 };

/* A segment of the client's list: the keys from `low` on, up to where the next one begins. */
struct model_segment {
        unsigned low;
        unsigned deltas;
};

struct sent_model {
        struct chance *chance;
        xac_tree_options options;
        uint32_t page_bytes;
        uint64_t sequence;        /* as of which the client has it; 0: it has nothing */
        unsigned from, to;        /* the range: [from, to) */
        uint8_t now[MODEL_KEYS];  /* version of each key's value; 0: there is none */
        uint8_t sent[MODEL_KEYS]; /* what the client has */
        struct model_segment segments[MODEL_KEYS * 2];
        unsigned count;
        bool is_rows; /* all it has came as records in one response */
};

void model_start(struct sent_model *model, struct chance *chance, const xac_tree_options *options, uint32_t page_bytes);
/* Another range, of which the client has nothing. */
void model_aim(struct sent_model *model, unsigned from, unsigned to);
/* Puts and deletes some of the keys in a part of the range. */
void model_change(struct sent_model *model);
/* The next response: all (true), or what is needed to change what the client has. */
void model_respond(struct sent_model *model, bool all, struct stream *stream);

/* Bytes of a key; of the record as it is now, which is there if its version is not 0. Good until as many others were
 * asked for. */
size_t model_key(const struct sent_model *model, unsigned number, unsigned char *key);
xac_tree_record model_record(const struct sent_model *model, unsigned number, unsigned version);

#endif
