/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_NUMBERS_H
#define PYTHON_ACCELERATED_NUMBERS_H

/* Numbers of numpy's types, in the byte order of the machine, as numbers of Python's. */

#include "python/accelerated/library.h"

bool numbers_know(int type);
PyObject *numbers_read(int type, const char *bytes);
/* False: it is no such number, or does not fit. No exception is set. */
bool numbers_write(int type, PyObject *value, char *bytes);

#endif
