/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_WARD_H
#define LABS_ISOLATION_WARD_H

/*
 * The doctors of a ward, in a view of libxac. At least one of them must always be on call. (After M. J. Cahill, U.
 * Röhm, A. Fekete, "Serializable isolation for snapshot databases", SIGMOD 2008.)
 *
 * Each item lies in a page of its own, since libxac finds conflicts by page. What a transaction reads and writes is
 * noted, and when it has committed its notes become part of the history.
 */

#include <xac/xac.h>

#include "labs/isolation/history.h"

enum {
        DOCTORS = 4, /* items 0 to 3: 1 on call, 0 not. The other items are free for use, and hold anything at first */
        REFUSED = -1,
        ITEM_BYTES = 4096
};

struct item {
        long value;
        long version;
        char rest[ITEM_BYTES - 2 * sizeof(long)];
};

struct ward {
        struct item item[ITEMS];
};

/* ------------------------------------------------------------------ yours, in duty.c: bodies of transactions */

/* The doctor, who is on call, goes off call. REFUSED, and nothing has changed, if no other one is on call. */
int duty_leave(struct ward *ward, int doctor);

/* The doctor is on call from now on. */
int duty_return(struct ward *ward, int doctor);

/* Like duty_leave(), but right also under XAC_SNAPSHOT_ISOLATION, where transactions conflict if they *write* the same
 * page. All who leave do it in this way, and rely on the next doctor who is on call: after the last one comes doctor 0.
 */
int duty_leave_promoted(struct ward *ward, int doctor);

/* ------------------------------------------------------------------ given */

/* Who has read or written what, in the transaction that runs. note_write() returns the version that it makes. */
void note_read(int item, long version);
long note_write(int item, long version);

static inline long ward_read(struct ward *ward, int item)
{
        note_read(item, ward->item[item].version);
        return ward->item[item].value;
}

static inline void ward_write(struct ward *ward, int item, long value)
{
        ward->item[item].version = note_write(item, ward->item[item].version);
        ward->item[item].value = value;
}

#endif
