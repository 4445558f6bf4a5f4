/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_SEAT_H
#define TESTS_SUPPORT_SEAT_H

/*
 * What each participant of a test holds: the environment, its view of one file of words, and
 * the way it looks at them. Thread-local, so that every thread and process takes its own.
 *
 * Functions that return long long and take a number are actor actions (actor.h).
 */

#include <stddef.h>
#include <stdint.h>

#include <xac/xac.h>

#include "tests/support/isolate.h"

enum { SEAT_PAGES = 64, SEAT_PAGE_BYTES = 4096, SEAT_PAGE_WORDS = SEAT_PAGE_BYTES / 8 };

struct seat {
        xac_env *env;
        uint64_t *words; /* SEAT_PAGES pages of the file "words" */
        int way;
};

extern _Thread_local struct seat seat;

/* Opens (creates) the scratch environment "env" and maps its words; leaving undoes both. */
long long seat_take(uint64_t way);
long long seat_leave(uint64_t unused);
/* The flags that `way` opens with: volatile, unless the environment variable XAC_TEST_DURABLE is set. */
int seat_open_flags(int way);
int seat_is_durable(void);

/* The number of the i-th word of a page. */
#define seat_word(page, i) ((size_t)(page)*SEAT_PAGE_WORDS + (i))

/* In the open transaction, the seat's way. */
uint64_t seat_get(size_t word);
void seat_put(size_t word, uint64_t value);
int seat_move(unsigned to, unsigned from, size_t pages); /* xac_page_move's result */
/* The same; -1 when declared access was refused (the transaction is then doomed). */
long long seat_read(uint64_t word);
long long seat_add(uint64_t word); /* word + 1; the new value */

/* Levels of a transaction: the library's result. */
long long seat_begin(uint64_t flags);
long long seat_end(uint64_t unused);
long long seat_abort(uint64_t unused);

/* Whole transactions, run until they are committed. */
long long seat_commit_add(uint64_t word); /* the new value */
long long seat_commit_get(uint64_t word); /* read-only */

/* A counter of xac_stat(). */
#define seat_stat(field) (seat_stats().field)
xac_stats seat_stats(void);

/* Runs the statements after it until they are committed; conflicts only repeat them. */
#define run_until_committed(env, flags)                                                       \
        for (int outcome_ = XAC_CONFLICT; outcome_ == XAC_CONFLICT && seat_began(env, flags); \
             outcome_ = seat_ended(env))
int seat_began(xac_env *env, int flags);
int seat_ended(xac_env *env);

#endif
