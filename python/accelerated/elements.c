/* SPDX-License-Identifier: MIT */
#include "python/accelerated/elements.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <string.h>

#include "python/accelerated/numbers.h"

enum { UNIT = 4096 }; /* what the library shows of a page reaches to a multiple of this at least */

static PyObject *nothing; /* an empty tuple */

int elements_prepare(void)
{
        nothing = PyTuple_New(0);
        return nothing ? _import_array() : -1;
}

/* ---- where it lies ---- */

struct places {
        Py_ssize_t count;
        npy_intp number[NPY_MAXDIMS];
};

static int refuse(PyArrayObject *array)
{
        PyObject *type = (PyObject *)PyArray_DESCR(array);
        PyErr_Format(PyExc_TypeError,
                     "array: get() and put() are for numbers, times and texts of a fixed size, and not %R%s", type,
                     PyDataType_HASFIELDS(PyArray_DESCR(array)) ? ": take a field, as array['x']" : "");
        return -1;
}

/* An index is an object that may run anything, also what changes the array. So all of them become numbers first. */
static int count_of(PyObject *index, npy_intp *number)
{
        if (!PyIndex_Check(index)) {
                PyErr_Format(PyExc_TypeError, "index: an integer for each dimension, not %R", index);
                return -1;
        }
        *number = PyNumber_AsSsize_t(index, NULL); /* cut off where it does not fit */
        return *number == -1 && PyErr_Occurred() ? -1 : 0;
}

static int places_of(PyObject *index, struct places *places)
{
        bool is_tuple = PyTuple_Check(index);
        places->count = is_tuple ? PyTuple_GET_SIZE(index) : 1;
        for (Py_ssize_t i = 0; i < places->count && i < NPY_MAXDIMS; i++)
                if (count_of(is_tuple ? PyTuple_GET_ITEM(index, i) : index, &places->number[i]))
                        return -1;
        return 0;
}

static int find_place(PyArrayObject *array, const struct places *places, char **address)
{
        const int dimensions = PyArray_NDIM(array);
        *address = PyArray_BYTES(array);
        if (places->count != dimensions) {
                PyErr_Format(PyExc_IndexError, "index: %zd numbers for an array of %d dimensions", places->count,
                             dimensions);
                return -1;
        }
        for (int axis = 0; axis < dimensions; axis++) {
                const npy_intp count = PyArray_DIM(array, axis), place = places->number[axis];
                if (place < -count || place >= count) {
                        PyErr_Format(PyExc_IndexError, "index: %zd is out of bounds for axis %d with size %zd",
                                     (Py_ssize_t)place, axis, (Py_ssize_t)count);
                        return -1;
                }
                *address += (place < 0 ? place + count : place) * PyArray_STRIDE(array, axis);
        }
        return 0;
}

/* numpy's own: one element of the array's type. */
static int make_one(struct element *element)
{
        PyArray_Descr *type = PyArray_DESCR((PyArrayObject *)element->array);
        Py_INCREF(type); /* which the next call takes */
        element->one = PyArray_NewFromDescr(&PyArray_Type, type, 0, NULL, NULL, NULL, 0, NULL);
        if (!element->one)
                return -1;
        element->bytes = PyArray_BYTES((PyArrayObject *)element->one);
        return 0;
}

int element_find(struct element *element, PyObject *array, PyObject *index)
{
        if (!PyArray_Check(array)) {
                PyErr_Format(PyExc_TypeError, "array: an array of numpy, not %s", Py_TYPE(array)->tp_name);
                return -1;
        }
        PyArrayObject *known = (PyArrayObject *)array;
        struct places places;
        if (places_of(index, &places))
                return -1;
        if (PyDataType_HASFIELDS(PyArray_DESCR(known)) || PyDataType_REFCHK(PyArray_DESCR(known)))
                return refuse(known);
        element->array = array;
        element->byte_len = (size_t)PyArray_ITEMSIZE(known);
        element->is_snapshot = !PyArray_ISWRITEABLE(known);
        element->one = NULL;
        element->bytes = element->number;
        element->type = PyArray_TYPE(known);
        if (!numbers_know(element->type) || !PyArray_ISNOTSWAPPED(known))
                element->type = -1;
        if (find_place(known, &places, &element->address))
                return -1;
        return element->type < 0 ? make_one(element) : 0;
}

void element_drop(struct element *element)
{
        Py_CLEAR(element->one);
}

/* ---- its value ---- */

PyObject *element_value(const struct element *element)
{
        if (element->type >= 0)
                return numbers_read(element->type, element->bytes);
        return PyArray_GETITEM((PyArrayObject *)element->one, element->bytes);
}

/* What is no plain number of Python's, or does not fit, is numpy's to convert, or to refuse. */
int element_set(struct element *element, PyObject *value)
{
        if (element->type >= 0 && numbers_write(element->type, value, element->bytes))
                return 0;
        if (!element->one && make_one(element))
                return -1;
        return PyObject_SetItem(element->one, nothing, value);
}

/* ---- its bytes ---- */

static int complain(int code)
{
        return library_raise(code, "array: no memory of a data file");
}

static size_t part_of(const char *address, size_t byte_len)
{
        size_t part = UNIT - (uintptr_t)address % UNIT;
        return part < byte_len ? part : byte_len;
}

/* It may be read as it is, and needs no transaction. */
static int read_snapshot(struct element *element, void *env)
{
        int code = library.xac_advise(env, element->address, element->byte_len, XAC_READ);
        if (code)
                return complain(code);
        memcpy(element->bytes, element->address, element->byte_len);
        return 0;
}

int element_read(struct element *element, void *env)
{
        const char *from = element->address;
        char *to = element->bytes;
        if (element->is_snapshot)
                return read_snapshot(element, env);
        int code = library.xac_advise(env, from, 0, XAC_READ);
        if (code)
                return complain(code);
        for (size_t left = element->byte_len, part; left; left -= part, from += part, to += part) {
                part = part_of(from, left);
                const void *page = library.xac_page_read(env, from);
                code = page ? 0 : library.xac_advise(env, from, part, XAC_READ);
                if (code)
                        return complain(code);
                memcpy(to, page ? page : from, part);
        }
        return 0;
}

int element_write(struct element *element, void *env)
{
        char *to = element->address;
        const char *from = element->bytes;
        if (element->is_snapshot) {
                PyErr_SetString(PyExc_ValueError, "array: it is read-only");
                return -1;
        }
        int code = library.xac_advise(env, to, 0, XAC_WRITE);
        if (code)
                return complain(code);
        for (size_t left = element->byte_len, part; left; left -= part, from += part, to += part) {
                part = part_of(to, left);
                void *page = library.xac_page_write(env, to);
                code = page ? 0 : library.xac_advise(env, to, part, XAC_WRITE);
                if (code)
                        return complain(code);
                memcpy(page ? page : to, from, part);
        }
        return 0;
}
