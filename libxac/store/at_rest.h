/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_AT_REST_H
#define LIBXAC_STORE_AT_REST_H

/*
 * An environment at rest: nobody has it open, it was closed cleanly, and all of it stands in its files. Who opens it
 * for reading only then writes nothing at all, and may be somebody whom no writer sees. So he looks himself whether it
 * is still as he has found it (docs/models/at_rest.py shows each rule to be needed):
 *
 *      AR3  The bytes that are compared later are read before what they say is judged.
 *      AR4  All bytes of both slots of the manifest are compared: a session with a log writes them before home.
 *      AR7  So are the notes of the checksums: a session without a log writes these before home.
 */

#include <stdint.h>

#include "recovery/manifest.h"

struct at_rest;

/* Keeps what is compared later. The descriptor stays the caller's. -ENOENT: no environment; XAC_CORRUPT, XAC_FORMAT. */
int at_rest_begin(int directory, struct at_rest **out);
void at_rest_end(struct at_rest *at_rest);
/* In a forked child: its descriptors alone. */
void at_rest_forget_in_child(struct at_rest *at_rest);
/* What the manifest says. */
const struct manifest *at_rest_manifest(const struct at_rest *at_rest);
/* 0: it is as it was. -ESTALE: somebody has opened it for writing, or is about to. By any thread. */
int at_rest_check(const struct at_rest *at_rest);

#endif
