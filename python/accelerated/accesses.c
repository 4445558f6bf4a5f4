/* SPDX-License-Identifier: MIT */
#include "python/accelerated/accesses.h"

#include <structmember.h>

struct accesses {
        PyObject_HEAD PyObject *handle; /* NULL or None: it is closed */
};

struct handle *accesses_handle(PyObject *env)
{
        PyObject *handle = ((struct accesses *)env)->handle;
        if (!handle || !PyObject_TypeCheck(handle, &handle_type))
                return handle_refuse();
        return (struct handle *)handle;
}

void *accesses_address(PyObject *env)
{
        struct handle *handle = accesses_handle(env);
        void *address = handle ? handle_address(handle) : NULL;
        return handle && !address ? handle_refuse() : address;
}

static int accesses_traverse(PyObject *self, visitproc visit, void *arg)
{
        Py_VISIT(((struct accesses *)self)->handle);
        return 0;
}

static int accesses_clear(PyObject *self)
{
        Py_CLEAR(((struct accesses *)self)->handle);
        return 0;
}

static void accesses_free(PyObject *self)
{
        PyObject_GC_UnTrack(self);
        accesses_clear(self);
        Py_TYPE(self)->tp_free(self);
}

static PyMemberDef accesses_members[] = {
        { "_handle", T_OBJECT, offsetof(struct accesses, handle), 0, NULL },
        { NULL },
};

PyTypeObject accesses_type = {
        PyVarObject_HEAD_INIT(NULL, 0) /* and a comma */
                .tp_name = "libxac._accelerated.Accesses",
        .tp_doc = "Transactions and elements of an environment.",
        .tp_basicsize = sizeof(struct accesses),
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
        .tp_new = PyType_GenericNew,
        .tp_dealloc = accesses_free,
        .tp_traverse = accesses_traverse,
        .tp_clear = accesses_clear,
        .tp_members = accesses_members,
};
