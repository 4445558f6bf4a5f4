/* SPDX-License-Identifier: MIT */
#include "recovery/attempts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/scatter.h"
#include "base/sys.h"

enum { BITS_MIN = 8, BITS_MAX = 31 };

static struct attempt **list_of(const struct attempts *attempts, uint64_t transaction)
{
        return &attempts->lists[scatter(transaction, attempts->secret, attempts->bits)];
}

/* ---- All of them ---- */

int attempts_init(struct attempts *attempts)
{
        *attempts = (struct attempts){ .bits = BITS_MIN };
        attempts->lists = calloc((size_t)1 << BITS_MIN, sizeof(struct attempt *));
        return attempts->lists ? sys_random(&attempts->secret, sizeof(attempts->secret)) : -ENOMEM;
}

static void attempt_free(struct attempt *attempt)
{
        while (attempt->first) {
                struct fragment *fragment = attempt->first;

                attempt->first = fragment->next;
                free(fragment);
        }
        free(attempt);
}

void attempts_free(struct attempts *attempts)
{
        for (size_t i = 0; attempts->lists && i < (size_t)1 << attempts->bits; i++)
                while (attempts->lists[i]) {
                        struct attempt *attempt = attempts->lists[i];

                        attempts->lists[i] = attempt->next;
                        attempt_free(attempt);
                }
        free(attempts->lists);
        *attempts = (struct attempts){ .lists = NULL };
}

static void enter(struct attempts *attempts, struct attempt *attempt)
{
        struct attempt **list = list_of(attempts, attempt->transaction);

        attempt->next = *list;
        *list = attempt;
}

/* Twice as many lists. */
static int grow(struct attempts *attempts)
{
        const size_t before = (size_t)1 << attempts->bits;
        struct attempt **lists = attempts->lists;
        struct attempt **more = attempts->bits < BITS_MAX ? calloc(2 * before, sizeof(struct attempt *)) : NULL;

        if (!more)
                return -ENOMEM;
        attempts->lists = more;
        attempts->bits++;
        for (size_t i = 0; i < before; i++)
                for (struct attempt *attempt = lists[i], *next; attempt; attempt = next) {
                        next = attempt->next;
                        enter(attempts, attempt);
                }
        free(lists);
        return 0;
}

/* ---- One of them ---- */

struct attempt *attempts_find(const struct attempts *attempts, uint64_t transaction)
{
        struct attempt *attempt = *list_of(attempts, transaction);

        while (attempt && attempt->transaction != transaction)
                attempt = attempt->next;
        return attempt;
}

int attempts_begin(struct attempts *attempts, uint64_t transaction, struct attempt **begun)
{
        int err = attempts->count >> attempts->bits ? grow(attempts) : 0;

        *begun = err ? NULL : calloc(1, sizeof(**begun));
        if (!*begun)
                return -ENOMEM;
        (*begun)->transaction = transaction;
        enter(attempts, *begun);
        attempts->count++;
        return 0;
}

int attempt_add(struct attempt *attempt, const unsigned char *payload, size_t payload_len)
{
        struct fragment *fragment = malloc(sizeof(*fragment) + payload_len);

        if (!fragment)
                return -ENOMEM;
        fragment->next = NULL;
        fragment->payload_len = payload_len;
        memcpy(fragment->payload, payload, payload_len);
        if (attempt->last)
                attempt->last->next = fragment;
        else
                attempt->first = fragment;
        attempt->last = fragment;
        return 0;
}

void attempts_forget(struct attempts *attempts, struct attempt *attempt)
{
        struct attempt **link;

        if (!attempt)
                return;
        for (link = list_of(attempts, attempt->transaction); *link != attempt;)
                link = &(*link)->next;
        *link = attempt->next;
        attempts->count--;
        attempt_free(attempt);
}
