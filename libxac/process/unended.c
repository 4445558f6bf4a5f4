/* SPDX-License-Identifier: MIT */
#include "libxac/process/unended.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <xac/xac.h>

#include "base/say.h"
#include "libxac/ground/place.h"

/* True the first time. */
static bool is_first(atomic_flag *told)
{
        return !atomic_flag_test_and_set(told);
}

static void tell_of_nesting(const struct txn *txn, const void *from, const char *what)
{
        static atomic_flag told = ATOMIC_FLAG_INIT;
        char inner[PLACE_BYTES], outer[PLACE_BYTES];

        if (is_first(&told))
                say(stderr, "libxac: %s (level %u begins at %s, level %u began at %s): is an xend or xabort missing?\n",
                    what, txn->depth + 1, place_name(from, inner), txn->depth, place_name(txn->from, outer));
}

static int refuse(struct txn *txn)
{
        txn_doom(txn, XAC_UNENDED);
        return XAC_UNENDED;
}

int unended_check(struct txn *txn, int flags, const void *from)
{
        if (txn->is_strict && !(flags & XAC_NESTED)) {
                tell_of_nesting(txn, from, "xbegin inside a transaction, without XAC_NESTED");
                return refuse(txn);
        }
        if (txn->depth < UNENDED_DEPTH)
                return 0;
        tell_of_nesting(txn, from, "more than 64 nested levels");
        return txn->is_strict ? refuse(txn) : 0;
}

void unended_tell_of_body(const struct txn *txn, const void *body)
{
        static atomic_flag told = ATOMIC_FLAG_INIT;
        char place[PLACE_BYTES], name[PLACE_BYTES];

        if (is_first(&told))
                say(stderr,
                    "libxac: the body %s of xac_run has returned without ending the level that began at %s: "
                    "all of it is undone\n",
                    place_name(body, name), place_name(txn->from, place));
}

void unended_check_scope(const struct txn *txn, uint32_t depth)
{
        static atomic_flag told = ATOMIC_FLAG_INIT;
        char inner[PLACE_BYTES], outer[PLACE_BYTES];

        if (txn->depth == depth && txn->last_turn == txn->turn && txn->is_last_kept && is_first(&told))
                say(stderr,
                    "libxac: XAC_SCOPE undoes its level, which began at %s, right after the xend of an inner one, "
                    "which "
                    "began at %s: is an xend or xabort missing in there?\n",
                    place_name(txn->from, outer), place_name(txn->last_from, inner));
}

static void tell_of_end(const struct txn *txn, const char *who, atomic_flag *told)
{
        char place[PLACE_BYTES];

        if (is_first(told))
                say(stderr, "libxac: %s inside a transaction, whose innermost level began at %s: it is undone\n", who,
                    place_name(txn->from, place));
}

void unended_tell_of_thread(const struct txn *txn)
{
        static atomic_flag told = ATOMIC_FLAG_INIT;

        tell_of_end(txn, "a thread has ended", &told);
}

void unended_tell_of_program(const struct txn *txn)
{
        static atomic_flag told = ATOMIC_FLAG_INIT;

        tell_of_end(txn, "the program has ended", &told);
}

void unended_tell_of_close(const struct txn *txn)
{
        static atomic_flag told = ATOMIC_FLAG_INIT;

        tell_of_end(txn, "xac_close was called", &told);
}
