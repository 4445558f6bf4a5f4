/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_CALLS_H
#define PYTHON_ACCELERATED_CALLS_H

/* The methods that an Environment has from here: transaction(), get() and put(). */

#include "python/accelerated/library.h"

extern PyMethodDef calls_of_environment[];

#endif
