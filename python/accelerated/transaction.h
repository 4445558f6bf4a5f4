/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_TRANSACTION_H
#define PYTHON_ACCELERATED_TRANSACTION_H

/*
 * What `with env.transaction():` uses. A `with` statement looks __exit__ up before it calls __enter__(), and gets a
 * statement of its own, to which nothing else refers: where that is gone, nobody will end the level, and it is undone
 * (libxac/transaction.py).
 */

#include "python/accelerated/library.h"

extern PyTypeObject transaction_type, statement_type, exit_type;

/* Both types are ready, and __exit__ is where a `with` statement looks. -1 and an exception, or 0. */
int transaction_prepare(void);
/* Of an environment, an instance of accesses_type. */
PyObject *transaction_make(PyObject *env, int flags);
/* What arguments.flags_of() takes. -1 and an exception. */
int transaction_flags_of(PyObject *value, int *flags);

#endif
