/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_TASK_H
#define PYTHON_ACCELERATED_TASK_H

/* Tasks of asyncio, which take turns in one thread. */

#include "python/accelerated/library.h"

/* A new weak reference to the one that runs in this thread, or NULL. -1 and an exception. */
int task_now(PyObject **task);
bool task_is_gone(PyObject *task);

#endif
