/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_LEVELS_H
#define PYTHON_ACCELERATED_LEVELS_H

/*
 * The levels of transactions that threads have open: libxac/transaction.py in C, with the same rules, whose reasons
 * stand there. No code of Python runs between a call that begins or ends a level and the note of its result, and no
 * signal is delivered then: the interpreter does that between byte codes alone.
 *
 * A thread's levels are in its dictionary of the interpreter's, and end with it. All threads' are in one list.
 */

#include "python/accelerated/handle.h"

/* A transaction, or a level nested in one, from its begin to its end. */
struct level {
        PyObject_HEAD struct handle
                *handle;             /* of the environment, which stays open until the end; NULL: it has ended */
        PyObject *task;              /* a weak reference to asyncio's; NULL: it may be around a whole loop of tasks */
        struct level *by_hand;       /* the level that ends if this one does not begin */
        struct statement *statement; /* what its `with` statement ends with, not counted; NULL: none, or gone */
        unsigned long thread_id;
        int begun, ended; /* what xbegin(), and what xend() or xabort() returned */
        bool has_begun, has_ended;
        bool has_statement; /* or had one */
        bool is_undone;     /* by an exception */
        bool is_refused;    /* its end came too early, and there will be no other */
};

extern PyTypeObject level_type, levels_type;

struct level *level_make(struct handle *handle, struct level *by_hand);
bool level_is_open(const struct level *level);
/* All of these: -1 and an exception, or 0. */
int level_begin(struct level *level, int flags);
/* By xend() or xabort(); *code: what that returned. */
int level_end(struct level *level, int (*function)(void *), int *code);
/* Ends the levels of this thread that an interrupt has left open. */
int levels_undo_what_was_left(void);

/* For environment.py: as in transaction.py. */
PyObject *levels_undo_left(PyObject *module, PyObject *nothing);
PyObject *levels_is_open_elsewhere(PyObject *module, PyObject *handle);
PyObject *levels_from(PyObject *module, PyObject *handle);
PyObject *levels_undo(PyObject *module, PyObject *arguments);

#endif
