/* SPDX-License-Identifier: MIT */
#ifndef TESTS_KILL_AUDIT_H
#define TESTS_KILL_AUDIT_H

/*
 * A look at the whole shared memory of an environment after somebody died: does it add up?
 *
 * Nobody may be inside a call or a transaction meanwhile, but for those that only hold a
 * snapshot. Others may have the environment open: then slots may be free or retired in their
 * caches, which are theirs alone to see.
 */

#include <stdbool.h>
#include <xac/xac.h>

/* Takes back what the dead held, then looks at every row, slot, list, head and chain. Prints
 * each contradiction on stderr and returns their number. With is_alone nobody else has the
 * environment open, and nothing may be left retired or in anybody's cache. */
unsigned audit_shared(xac_env *env, bool is_alone);

/* As if the machine had gone down: `dir`'s shared memory is removed, quietly. Nobody has it open. */
void audit_remove_shared_memory(const char *dir);

/* Who holds which lock, and what each row says: to explain a hang. Looks, takes nothing. */
void audit_print(xac_env *env);

#endif
