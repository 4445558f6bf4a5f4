/* SPDX-License-Identifier: MIT */
#include "python/accelerated/task.h"

/* sys.modules has it once somebody has imported it. Not counted; NULL: nobody has. */
static PyObject *asyncio_module(void)
{
        static PyObject *name;
        if (!name && !(name = PyUnicode_InternFromString("asyncio")))
                return NULL;
        return PyDict_Check(library.modules) ? PyDict_GetItemWithError(library.modules, name) : NULL;
}

/* Is a loop running in this thread? -1 and an exception. A module that is half imported has no loop. */
static int is_loop_running(PyObject *asyncio)
{
        PyObject *running_loop = PyObject_GetAttrString(asyncio, "_get_running_loop");
        if (!running_loop) {
                PyErr_Clear();
                return 0;
        }
        PyObject *loop = PyObject_CallObject(running_loop, NULL);
        Py_DECREF(running_loop);
        if (!loop)
                return -1;
        Py_DECREF(loop);
        return loop != Py_None;
}

int task_now(PyObject **task)
{
        *task = NULL;
        PyObject *asyncio = asyncio_module();
        if (!asyncio)
                return PyErr_Occurred() ? -1 : 0;
        int is_running = is_loop_running(asyncio);
        if (is_running <= 0)
                return is_running;
        PyObject *current = PyObject_CallMethod(asyncio, "current_task", NULL);
        if (!current)
                return -1;
        if (current != Py_None)
                *task = PyWeakref_NewRef(current, NULL);
        bool has_failed = current != Py_None && !*task;
        Py_DECREF(current);
        return has_failed ? -1 : 0;
}

bool task_is_gone(PyObject *task)
{
        PyObject *found = PyObject_CallObject(task, NULL);
        bool is_gone = found == Py_None;
        if (!found)
                PyErr_Clear();
        Py_XDECREF(found);
        return is_gone;
}
