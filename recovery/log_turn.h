/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_TURN_H
#define RECOVERY_LOG_TURN_H

/*
 * Who leads the writing of the log: one word, which only compare-and-swap changes.
 *
 *      | number : 40 | unfenced : 1 | finishing : 1 | owner : 22 |
 *
 * The number grows with each turn, so that a word that stands for long is one turn that takes long. Owner 0: nobody
 * leads. Finishing: the group is on disk, and anybody may say so in its leader's place (R30). Unfenced: somebody from
 * whom a turn was taken while he lived may still write to the files that the log has now; it stays until they are
 * replaced, whoever dies or fails meanwhile (R31).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOG_OWNER_BITS = 22, LOG_NUMBER_SHIFT = LOG_OWNER_BITS + 2 };

#define LOG_OWNER_MASK     ((UINT64_C(1) << LOG_OWNER_BITS) - 1)
#define LOG_TURN_FINISHING (UINT64_C(1) << LOG_OWNER_BITS)
#define LOG_TURN_UNFENCED  (UINT64_C(2) << LOG_OWNER_BITS)

/* Not an error: others have taken the turn, and what was begun in it is theirs. */
enum { LOG_OVERTAKEN = 1 };

static inline uint32_t log_turn_owner(uint64_t turn)
{
        return (uint32_t)(turn & LOG_OWNER_MASK);
}

static inline uint64_t log_turn_number(uint64_t turn)
{
        return turn >> LOG_NUMBER_SHIFT;
}

/* The turn after this one; unfenced if that one is. */
static inline uint64_t log_turn_next(uint64_t turn, uint32_t owner)
{
        return (log_turn_number(turn) + 1) << LOG_NUMBER_SHIFT | (turn & LOG_TURN_UNFENCED) | owner;
}

/* The same when nobody leads any more. */
static inline uint64_t log_turn_free(uint64_t turn)
{
        return turn & ~(LOG_TURN_FINISHING | LOG_OWNER_MASK);
}

static inline bool log_turn_replace(_Atomic uint64_t *word, uint64_t expected, uint64_t desired)
{
        return atomic_compare_exchange_strong(word, &expected, desired);
}

#endif
