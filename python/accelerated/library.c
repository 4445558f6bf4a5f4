/* SPDX-License-Identifier: MIT */
#include "python/accelerated/library.h"

#include <signal.h>
#include <string.h>

struct library library;

static int take_address(PyObject *addresses, const char *name, void *function)
{
        PyObject *address = PyDict_GetItemString(addresses, name);
        void *found = address ? PyLong_AsVoidPtr(address) : NULL;
        if (!found) {
                if (!PyErr_Occurred())
                        PyErr_Format(PyExc_TypeError, "addresses: %s is not among them", name);
                return -1;
        }
        memcpy(function, &found, sizeof found);
        return 0;
}

PyObject *library_use(PyObject *module, PyObject *arguments)
{
        PyObject *addresses, *stats, *check, *flags_of, *modules;
        (void)module;
        if (!PyArg_ParseTuple(arguments, "O!OOOO", &PyDict_Type, &addresses, &stats, &check, &flags_of, &modules))
                return NULL;
        if (take_address(addresses, "xbegin", &library.xbegin) || take_address(addresses, "xend", &library.xend) ||
            take_address(addresses, "xabort", &library.xabort) ||
            take_address(addresses, "xac_advise", &library.xac_advise) ||
            take_address(addresses, "xac_page_read", &library.xac_page_read) ||
            take_address(addresses, "xac_page_write", &library.xac_page_write) ||
            take_address(addresses, "xac_txn_id", &library.xac_txn_id) ||
            take_address(addresses, "xac_stat", &library.xac_stat))
                return NULL;
        library.stats = PyLong_AsVoidPtr(stats);
        if (!library.stats)
                return NULL;
        Py_INCREF(check);
        Py_XSETREF(library.check, check);
        Py_INCREF(flags_of);
        Py_XSETREF(library.flags_of, flags_of);
        Py_INCREF(modules);
        Py_XSETREF(library.modules, modules);
        return library_none();
}

int library_raise(int code, const char *invalid)
{
        PyObject *none = PyObject_CallFunction(library.check, "iOz", code, Py_None, invalid);
        if (none) {
                Py_DECREF(none);
                PyErr_Format(PyExc_SystemError, "libxac: %d is no error", code);
        }
        return -1;
}

static bool is_only_thread(void)
{
        PyThreadState *own = PyThreadState_Get();
        return PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(own)) == own && !PyThreadState_Next(own);
}

PyThreadState *library_let_others(void)
{
        return is_only_thread() ? NULL : PyEval_SaveThread();
}

void library_go_on(PyThreadState *state)
{
        if (state)
                PyEval_RestoreThread(state);
}

static void (*handler_seen(void))(int, siginfo_t *, void *)
{
        struct sigaction action;
        return sigaction(SIGSEGV, NULL, &action) ? NULL : action.sa_sigaction;
}

void library_look_at_handlers(void *env)
{
        static void (*ours)(int, siginfo_t *, void *); /* what was there after the last look */
        if (ours && handler_seen() == ours)
                return;
        if (!library.xac_stat(env, library.stats))
                ours = handler_seen();
}
