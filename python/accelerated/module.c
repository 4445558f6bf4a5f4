/* SPDX-License-Identifier: MIT */
/*
 * libxac._accelerated: transactions and single elements, in C. The package does without it where it was not compiled,
 * by ctypes, and with the same results. Each part has the rules of the module in Python that it stands for:
 *
 *      levels.c, transaction.c, task.c     libxac/transaction.py
 *      calls.c, elements.c, numbers.c      libxac/accesses.py
 *      handle.c, accesses.c                what these share with libxac/environment.py
 *      library.c                           libxac/_library.py, which finds the library
 */
#include "python/accelerated/accesses.h"
#include "python/accelerated/calls.h"
#include "python/accelerated/elements.h"
#include "python/accelerated/levels.h"
#include "python/accelerated/transaction.h"

static PyMethodDef functions[] = {
        { "use", library_use, METH_VARARGS, "use(addresses, stats, check, flags_of, modules): what all else calls." },
        { "undo_what_was_left", levels_undo_left, METH_NOARGS, NULL },
        { "is_open_elsewhere", levels_is_open_elsewhere, METH_O, NULL },
        { "levels_from", levels_from, METH_O, NULL },
        { "undo", levels_undo, METH_VARARGS, NULL },
        { NULL },
};

static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, .m_name = "_accelerated", .m_doc = "Transactions and single elements, in C.",
        .m_size = -1,          .m_methods = functions,
};

static int add_type(PyObject *module, const char *name, PyTypeObject *type)
{
        Py_INCREF(type);
        if (!PyModule_AddObject(module, name, (PyObject *)type))
                return 0;
        Py_DECREF(type);
        return -1;
}

PyMODINIT_FUNC PyInit__accelerated(void)
{
        accesses_type.tp_methods = calls_of_environment;
        if (elements_prepare() || transaction_prepare() || PyType_Ready(&handle_type) || PyType_Ready(&accesses_type) ||
            PyType_Ready(&level_type) || PyType_Ready(&levels_type))
                return NULL;
        PyObject *module = PyModule_Create(&definition);
        if (!module)
                return NULL;
        if (add_type(module, "Lent", &handle_type) || add_type(module, "Accesses", &accesses_type) ||
            add_type(module, "Transaction", &transaction_type)) {
                Py_DECREF(module);
                return NULL;
        }
        return module;
}
