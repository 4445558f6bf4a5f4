/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_ACCESSES_H
#define PYTHON_ACCELERATED_ACCESSES_H

/* What Environment is derived from: it has the handle, for the calls that transactions are made of (calls.h). */

#include "python/accelerated/handle.h"

extern PyTypeObject accesses_type;

/* Not counted. NULL and an exception: it is closed. */
struct handle *accesses_handle(PyObject *env);
void *accesses_address(PyObject *env);

#endif
