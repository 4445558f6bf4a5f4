/* SPDX-License-Identifier: MIT */
#ifndef LABS_STRUCTURE_SERIAL_H
#define LABS_STRUCTURE_SERIAL_H

/* Operations of one process alone, by the serial code, and what each must come to: collected, and then done together.
 */

#include <stdbool.h>
#include <stdint.h>

/* A new table, and nothing to be done. */
void serial_begin(void);

/* Each as it must come out; `what`, in an error message, says when that was. */
void serial_put(uint64_t key, uint64_t value, const char *what);
void serial_get(uint64_t key, bool is_there, uint64_t value, const char *what);
void serial_delete(uint64_t key, bool was_there, const char *what);
void serial_count(uint64_t number, const char *what);

/* Puts so many keys, of which not all fit in: whatever is refused has changed nothing. */
void serial_fill_up(int keys);

/* Does what is still to be done; or grader_fail(). Called now and then by those above. */
void serial_do(void);

#endif
