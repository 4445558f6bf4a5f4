/* SPDX-License-Identifier: MIT */
#include "python/accelerated/handle.h"

#include <structmember.h>

void *handle_address(const struct handle *handle)
{
        if (!handle->address || handle->address == Py_None)
                return NULL;
        void *address = PyLong_AsVoidPtr(handle->address);
        if (!address)
                PyErr_Clear();
        return address;
}

void *handle_refuse(void)
{
        PyErr_SetString(PyExc_ValueError, "the environment is closed");
        return NULL;
}

PyObject *handle_lend(struct handle *handle)
{
        if (!handle->lease || handle->lease == Py_None)
                return PyObject_CallMethod((PyObject *)handle, "lend", NULL);
        Py_INCREF(handle->lease);
        return handle->lease;
}

static int handle_traverse(PyObject *self, visitproc visit, void *arg)
{
        struct handle *handle = (struct handle *)self;
        Py_VISIT(handle->address);
        Py_VISIT(handle->lease);
        return 0;
}

/* The address stays: __del__() closes by it. */
static int handle_clear(PyObject *self)
{
        Py_CLEAR(((struct handle *)self)->lease);
        return 0;
}

static void handle_free(PyObject *self)
{
        PyObject_GC_UnTrack(self);
        handle_clear(self);
        Py_CLEAR(((struct handle *)self)->address);
        Py_TYPE(self)->tp_free(self);
}

static PyMemberDef handle_members[] = {
        { "address", T_OBJECT, offsetof(struct handle, address), 0, "None: it is closed" },
        { "lease", T_OBJECT, offsetof(struct handle, lease), 0, "None: somebody is closing it" },
        { NULL },
};

PyTypeObject handle_type = {
        PyVarObject_HEAD_INIT(NULL, 0) /* and a comma */
                .tp_name = "libxac._accelerated.Lent",
        .tp_doc = "What a call of the library takes.",
        .tp_basicsize = sizeof(struct handle),
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
        .tp_new = PyType_GenericNew,
        .tp_dealloc = handle_free,
        .tp_traverse = handle_traverse,
        .tp_clear = handle_clear,
        .tp_members = handle_members,
};
