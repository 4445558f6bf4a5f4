/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_ELEMENTS_H
#define PYTHON_ACCELERATED_ELEMENTS_H

/*
 * One element of an array of numpy's, read and written by declared access (xac_page_read(3)): no page faults. Its bytes
 * are copied at once, so that no code of Python runs while there are pointers into pages.
 *
 * Integers, floats and truth values are converted here, all other types by numpy.
 */

#include "python/accelerated/library.h"

enum { ELEMENT_BYTES = 16 }; /* of a number that is converted here, at most */

struct element {
        PyObject *array; /* not counted */
        char *address;   /* in the array's memory */
        size_t byte_len;
        int type;         /* of numpy; a negative number: numpy converts it */
        bool is_snapshot; /* or another array that may not be written */
        PyObject *one;    /* an array of one element, for numpy; NULL: it is not needed */
        char *bytes;      /* its value, in `number` or in `one` */
        char number[ELEMENT_BYTES];
};

/* -1 and an exception, or 0. */
int elements_prepare(void);
int element_find(struct element *element, PyObject *array, PyObject *index);
void element_drop(struct element *element);
int element_read(struct element *element, void *env);
int element_write(struct element *element, void *env);
PyObject *element_value(const struct element *element);
int element_set(struct element *element, PyObject *value);

#endif
