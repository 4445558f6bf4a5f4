/* SPDX-License-Identifier: MIT */
#ifndef PYTHON_ACCELERATED_LIBRARY_H
#define PYTHON_ACCELERATED_LIBRARY_H

/*
 * What the extension calls. ctypes has found libxac.so, and hands over the addresses of its functions: so both call the
 * same library, wherever it lies, and there is never a second one in the process. The extension is linked to none, and
 * needs no header of it. What stands here of <xac/xac.h> is compared with it by tests/test_library.py.
 *
 * The interpreter's lock is held in all functions of the extension. It is given up around calls of the library that may
 * wait, if there is another thread of Python's: nobody else can wait for it.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

enum { XAC_CONFLICT = -5001, XAC_NOTXN = -5008, XAC_UNENDED = -5011, XAC_NESTED = 0x1000, XAC_READ = 1, XAC_WRITE = 2 };

struct library {
        int (*xbegin)(void *env, int flags);
        int (*xend)(void *env);
        int (*xabort)(void *env);
        int (*xac_advise)(void *env, const void *address, size_t byte_len, int access);
        const void *(*xac_page_read)(void *env, const void *address);
        void *(*xac_page_write)(void *env, void *address);
        uint64_t (*xac_txn_id)(void *env);
        int (*xac_stat)(void *env, void *stats);
        void *stats;        /* memory for what xac_stat() writes, which nobody reads */
        PyObject *check;    /* errors.check() */
        PyObject *flags_of; /* arguments.flags_of() */
        PyObject *modules;  /* sys.modules */
};

extern struct library library;

/* _accelerated.use(addresses, stats, check, flags_of, modules) */
PyObject *library_use(PyObject *module, PyObject *arguments);

static inline PyObject *library_none(void)
{
        Py_INCREF(Py_None);
        return Py_None;
}

/* Raises what a function of the library returned; `invalid` says what -EINVAL is about, or is NULL. Always -1. */
int library_raise(int code, const char *invalid);

/* The interpreter's lock, around a call that may wait. NULL: it is held on. */
PyThreadState *library_let_others(void);
void library_go_on(PyThreadState *state);

/* libxac's handler of SIGSEGV is in front again of one that was installed since. One system call, mostly. */
void library_look_at_handlers(void *env);

#endif
