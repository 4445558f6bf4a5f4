/* SPDX-License-Identifier: MIT */
#include "python/accelerated/calls.h"

#include "python/accelerated/accesses.h"
#include "python/accelerated/elements.h"
#include "python/accelerated/transaction.h"

static PyObject *begin(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
        int flags = 0;
        Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
        bool is_known =
                !named || (named == 1 && !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "flags"));
        if (!is_known || count + named > 1)
                return PyErr_Format(PyExc_TypeError, "transaction() takes flags, and nothing else");
        if (count + named && transaction_flags_of(arguments[0], &flags))
                return NULL;
        return transaction_make(self, flags);
}

static PyObject *get(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
        struct element element;
        PyObject *value = NULL;
        if (count != 2)
                return PyErr_Format(PyExc_TypeError, "get() takes an array and an index");
        if (element_find(&element, arguments[0], arguments[1]))
                return NULL;
        void *address = accesses_address(self);
        if (address && !element_read(&element, address))
                value = element_value(&element);
        element_drop(&element);
        return value;
}

/* The conversion may run code of Python's. So it comes first, and nothing between the questions for addresses and the
 * accesses. */
static PyObject *put(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
        struct element element;
        if (count != 3)
                return PyErr_Format(PyExc_TypeError, "put() takes an array, an index and a value");
        if (element_find(&element, arguments[0], arguments[1]))
                return NULL;
        int err = element_set(&element, arguments[2]);
        void *address = err ? NULL : accesses_address(self);
        if (!address || element_write(&element, address))
                err = -1;
        element_drop(&element);
        if (err)
                return NULL;
        return library_none();
}

PyMethodDef calls_of_environment[] = {
        { "transaction", (PyCFunction)(void (*)(void))begin, METH_FASTCALL | METH_KEYWORDS,
          "transaction($self, flags=0)\n--\n\n"
          "A transaction, for a `with` statement. flags: RDONLY, SNAPSHOT_ISOLATION, NOSYNC, DURABLE (xbegin(3))." },
        { "get", (PyCFunction)(void (*)(void))get, METH_FASTCALL,
          "get($self, array, index, /)\n--\n\n"
          "One element of an array of array(), as array.item(index) gives it, without a page fault." },
        { "put", (PyCFunction)(void (*)(void))put, METH_FASTCALL,
          "put($self, array, index, value, /)\n--\n\n"
          "Stores one element, as array[index] = value does, without a page fault." },
        { NULL },
};
