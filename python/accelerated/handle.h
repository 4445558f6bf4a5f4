/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_HANDLE_H
#define PYTHON_ACCELERATED_HANDLE_H

/*
 * The library's environment, as environment._Handle has it: its address, and the lease. The class in Python is derived
 * from this one, so that both can look. Who closes takes the lease away, and waits until no call has it.
 */

#include "python/accelerated/library.h"

struct handle {
        PyObject_HEAD PyObject *address; /* an int; NULL or None: it is closed */
        PyObject *lease;                 /* NULL or None: somebody is closing it */
};

extern PyTypeObject handle_type;

/* NULL: it is closed; no exception is set. */
void *handle_address(const struct handle *handle);
/* As handle.refuse() does. Always NULL. */
void *handle_refuse(void);
/* A new reference. Waits while somebody tries to close. NULL and an exception: it is closed. */
PyObject *handle_lend(struct handle *handle);

#endif
