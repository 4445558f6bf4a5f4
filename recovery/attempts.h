/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ATTEMPTS_H
#define RECOVERY_ATTEMPTS_H

/*
 * Fragments that replay keeps until the commit record that names them comes. They belong to an attempt: one run of a
 * transaction, named by the position of its first fragment.
 *
 * How many attempts there are is what the log says, and so are their names. So they are found by a hash table that
 * grows with them, whose places nobody can foresee.
 */

#include <stddef.h>
#include <stdint.h>

struct fragment {
        struct fragment *next;
        size_t payload_len;
        unsigned char payload[];
};

struct attempt {
        struct attempt *next; /* of those at the same place */
        uint64_t transaction;
        struct fragment *first;
        struct fragment *last;
};

struct attempts {
        struct attempt **lists; /* 2^bits of them */
        uint32_t bits;
        uint64_t count;
        uint64_t secret;
};

/* 0, -ENOMEM, or why there is no random number. Free them in any case. */
int attempts_init(struct attempts *attempts);
void attempts_free(struct attempts *attempts);

/* NULL: there is none. */
struct attempt *attempts_find(const struct attempts *attempts, uint64_t transaction);
/* One that is not there yet, without fragments. 0 or -ENOMEM. */
int attempts_begin(struct attempts *attempts, uint64_t transaction, struct attempt **begun);
/* Copies the payload: the reader's bytes do not last. 0 or -ENOMEM. */
int attempt_add(struct attempt *attempt, const unsigned char *payload, size_t payload_len);
/* With its fragments. NULL is none. */
void attempts_forget(struct attempts *attempts, struct attempt *attempt);

#endif
