/* SPDX-License-Identifier: MIT */
#include "python/accelerated/numbers.h"

#include <float.h>
#include <math.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NO_IMPORT_ARRAY
#include <numpy/ndarraytypes.h>
#include <string.h>

bool numbers_know(int type)
{
        return type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_BOOL || PyTypeNum_ISINTEGER(type);
}

/* ---- integers ---- */

static const unsigned char byte_lens[] = {
        [NPY_BYTE] = sizeof(npy_byte),           [NPY_UBYTE] = sizeof(npy_ubyte), [NPY_SHORT] = sizeof(npy_short),
        [NPY_USHORT] = sizeof(npy_ushort),       [NPY_INT] = sizeof(npy_int),     [NPY_UINT] = sizeof(npy_uint),
        [NPY_LONG] = sizeof(npy_long),           [NPY_ULONG] = sizeof(npy_ulong), [NPY_LONGLONG] = sizeof(npy_longlong),
        [NPY_ULONGLONG] = sizeof(npy_ulonglong),
};

#define COPY_OF(kind, bytes)                         \
        __extension__({                              \
                kind copy;                           \
                memcpy(&copy, (bytes), sizeof copy); \
                copy;                                \
        })

static PyObject *read_signed(int type, const char *bytes)
{
        switch (byte_lens[type]) {
        case 1:
                return PyLong_FromLong(COPY_OF(int8_t, bytes));
        case 2:
                return PyLong_FromLong(COPY_OF(int16_t, bytes));
        case 4:
                return PyLong_FromLong(COPY_OF(int32_t, bytes));
        default:
                return PyLong_FromLongLong(COPY_OF(int64_t, bytes));
        }
}

static PyObject *read_unsigned(int type, const char *bytes)
{
        switch (byte_lens[type]) {
        case 1:
                return PyLong_FromLong(COPY_OF(uint8_t, bytes));
        case 2:
                return PyLong_FromLong(COPY_OF(uint16_t, bytes));
        case 4:
                return PyLong_FromUnsignedLong(COPY_OF(uint32_t, bytes));
        default:
                return PyLong_FromUnsignedLongLong(COPY_OF(uint64_t, bytes));
        }
}

#define STORE_IF_IT_FITS(kind, number, bytes)      \
        do {                                       \
                kind copy = (kind)(number);        \
                if (copy != (number))              \
                        return false;              \
                memcpy(bytes, &copy, sizeof copy); \
                return true;                       \
        } while (0)

static bool write_signed(int type, PyObject *value, char *bytes)
{
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow)
                return false;
        switch (byte_lens[type]) {
        case 1:
                STORE_IF_IT_FITS(int8_t, number, bytes);
        case 2:
                STORE_IF_IT_FITS(int16_t, number, bytes);
        case 4:
                STORE_IF_IT_FITS(int32_t, number, bytes);
        default:
                STORE_IF_IT_FITS(int64_t, number, bytes);
        }
}

static bool write_unsigned(int type, PyObject *value, char *bytes)
{
        int overflow;
        long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
        unsigned long long number = (unsigned long long)small;
        if (overflow > 0) {
                number = PyLong_AsUnsignedLongLong(value);
                if (PyErr_Occurred()) {
                        PyErr_Clear();
                        return false;
                }
        } else if (overflow || small < 0) {
                return false;
        }
        switch (byte_lens[type]) {
        case 1:
                STORE_IF_IT_FITS(uint8_t, number, bytes);
        case 2:
                STORE_IF_IT_FITS(uint16_t, number, bytes);
        case 4:
                STORE_IF_IT_FITS(uint32_t, number, bytes);
        default:
                STORE_IF_IT_FITS(uint64_t, number, bytes);
        }
}

/* ---- all ---- */

PyObject *numbers_read(int type, const char *bytes)
{
        switch (type) {
        case NPY_DOUBLE:
                return PyFloat_FromDouble(COPY_OF(double, bytes));
        case NPY_FLOAT:
                return PyFloat_FromDouble((double)COPY_OF(float, bytes));
        case NPY_BOOL:
                return PyBool_FromLong(*bytes);
        default:
                return PyTypeNum_ISSIGNED(type) ? read_signed(type, bytes) : read_unsigned(type, bytes);
        }
}

static bool write_float(int type, double number, char *bytes)
{
        float narrow = (float)number;
        if (type == NPY_DOUBLE)
                memcpy(bytes, &number, sizeof number);
        else if (isfinite(number) && !isfinite(narrow))
                return false; /* of which numpy warns */
        else
                memcpy(bytes, &narrow, sizeof narrow);
        return true;
}

bool numbers_write(int type, PyObject *value, char *bytes)
{
        if (type == NPY_DOUBLE || type == NPY_FLOAT)
                return PyFloat_Check(value) && write_float(type, PyFloat_AS_DOUBLE(value), bytes);
        if (type == NPY_BOOL) {
                *bytes = value == Py_True;
                return PyBool_Check(value);
        }
        if (!PyLong_Check(value))
                return false;
        return PyTypeNum_ISSIGNED(type) ? write_signed(type, value, bytes) : write_unsigned(type, value, bytes);
}
