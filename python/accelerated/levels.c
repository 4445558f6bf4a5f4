/* SPDX-License-Identifier: MIT */
#include "python/accelerated/levels.h"

#include "python/accelerated/task.h"

/* Of a thread: those that may be open, from the outermost. */
struct levels {
        PyObject_HEAD struct level **level;
        size_t count, room;
        struct levels *next; /* of another thread */
};

enum { LEVELS_AT_FIRST = 8 };

static struct levels *all;

static const char not_begun[] =
        "flags: a transaction has RDONLY, SNAPSHOT_ISOLATION, NOSYNC and DURABLE; DURABLE goes with "
        "RDONLY, in an environment with "
        "a log, and not inside a transaction without it";

/* ---- a thread's ---- */

static void levels_free(PyObject *self)
{
        struct levels *levels = (struct levels *)self, **place = &all;
        while (*place && *place != levels)
                place = &(*place)->next;
        if (*place)
                *place = levels->next;
        while (levels->count)
                Py_DECREF(levels->level[--levels->count]);
        PyMem_Free(levels->level);
        Py_TYPE(self)->tp_free(self);
}

static struct levels *levels_make(PyObject *dictionary, PyObject *name)
{
        struct levels *levels = (struct levels *)levels_type.tp_alloc(&levels_type, 0);
        if (!levels || PyDict_SetItem(dictionary, name, (PyObject *)levels)) {
                Py_XDECREF(levels);
                return NULL;
        }
        levels->next = all;
        all = levels;
        Py_DECREF(levels); /* the dictionary has it */
        return levels;
}

/* This thread's, not counted; NULL and an exception. */
static struct levels *levels_here(void)
{
        static PyObject *name;
        PyObject *dictionary = PyThreadState_GetDict();
        if (!dictionary)
                return (struct levels *)PyErr_NoMemory();
        if (!name && !(name = PyUnicode_InternFromString("libxac.levels")))
                return NULL;
        PyObject *found = PyDict_GetItemWithError(dictionary, name);
        if (found || PyErr_Occurred())
                return (struct levels *)found;
        return levels_make(dictionary, name);
}

static int levels_append(struct levels *levels, struct level *level)
{
        if (levels->count == levels->room) {
                size_t room = levels->room ? 2 * levels->room : LEVELS_AT_FIRST;
                struct level **more = PyMem_Realloc(levels->level, room * sizeof(void *));
                if (!more) {
                        PyErr_NoMemory();
                        return -1;
                }
                levels->level = more;
                levels->room = room;
        }
        Py_INCREF(level);
        levels->level[levels->count++] = level;
        return 0;
}

/* ---- what is open ---- */

bool level_is_open(const struct level *level)
{
        return level->has_begun && !level->begun && !level->has_ended;
}

static bool is_open_in(const struct level *level, const struct handle *handle)
{
        return level_is_open(level) && level->handle &&
               (level->handle == handle || handle_address(level->handle) == handle_address(handle));
}

/* Or its task, which nobody can go on with then. */
static bool has_lost_its_statement(const struct level *level)
{
        return level->is_refused || (level->has_statement && !level->statement) ||
               (level->task && task_is_gone(level->task));
}

static bool is_another_open(const struct levels *levels, const struct level *level)
{
        for (size_t i = 0; i < levels->count; i++)
                if (levels->level[i] != level && is_open_in(levels->level[i], level->handle))
                        return true;
        return false;
}

/* Has another task than this level's one a transaction open in this thread? -1 and an exception. */
static int is_another_tasks(const struct levels *levels, const struct level *level)
{
        for (size_t i = 0; i < levels->count; i++) {
                const struct level *other = levels->level[i];
                if (!other->task || !is_open_in(other, level->handle))
                        continue;
                if (!level->task)
                        return 1;
                int is_other = PyObject_RichCompareBool(other->task, level->task, Py_NE);
                if (is_other)
                        return is_other;
        }
        return 0;
}

/* ---- begin ---- */

struct level *level_make(struct handle *handle, struct level *by_hand)
{
        PyObject *task = NULL;
        if (task_now(&task))
                return NULL;
        struct level *level = PyObject_New(struct level, &level_type);
        if (!level) {
                Py_XDECREF(task);
                return NULL;
        }
        Py_INCREF(handle);
        Py_XINCREF(by_hand);
        level->handle = handle;
        level->task = task;
        level->by_hand = by_hand;
        level->statement = NULL;
        level->thread_id = PyThread_get_thread_ident();
        level->begun = level->ended = 0;
        level->has_begun = level->has_ended = level->has_statement = level->is_undone = level->is_refused = false;
        return level;
}

static void level_free(PyObject *self)
{
        struct level *level = (struct level *)self;
        Py_CLEAR(level->handle);
        Py_CLEAR(level->task);
        Py_CLEAR(level->by_hand);
        PyObject_Free(self);
}

/* The outermost may wait, for others that could not get through; a nested one does not. */
static int begin_in(struct level *level, void *address, int flags, bool is_nested)
{
        PyThreadState *state = is_nested ? NULL : library_let_others();
        int begun = library.xbegin(address, flags);
        library_go_on(state);
        level->begun = begun;
        level->has_begun = true;
        return begun;
}

int level_begin(struct level *level, int flags)
{
        struct levels *levels = levels_here();
        int is_refused = levels && levels->count ? is_another_tasks(levels, level) : 0;
        if (!levels || is_refused < 0)
                return -1;
        if (is_refused) {
                PyErr_SetString(PyExc_RuntimeError,
                                "another task has a transaction open in this thread: do not await in one");
                return -1;
        }
        Py_CLEAR(level->by_hand);
        PyObject *lease = handle_lend(level->handle);
        void *address = lease ? handle_address(level->handle) : NULL;
        if (lease && !address)
                handle_refuse();
        if (!address || levels_append(levels, level)) {
                Py_XDECREF(lease);
                return -1;
        }
        int begun = begin_in(level, address, flags, is_another_open(levels, level));
        Py_DECREF(lease);
        return begun ? library_raise(begun, not_begun) : 0;
}

/* ---- end ---- */

static int refuse_end(struct level *level)
{
        level->is_refused = true;
        PyErr_SetString(PyExc_RuntimeError,
                        "a transaction is left before one that began inside it, by another task or "
                        "generator perhaps; both are undone: do not await or yield in a transaction");
        return -1;
}

/* Will a level around this one be undone? It is the innermost, or its end is refused: -1 and an exception. */
static int is_inside_what_is_lost(struct levels *levels, struct level *level)
{
        bool is_lost = false;
        if (levels->level[levels->count - 1] != level && levels_undo_what_was_left())
                return -1;
        for (size_t i = 0; i < levels->count; i++) {
                if (levels->level[i] == level) {
                        for (size_t k = i + 1; k < levels->count; k++)
                                if (is_open_in(levels->level[k], level->handle))
                                        return refuse_end(level);
                        break;
                }
                if (is_open_in(levels->level[i], level->handle) && has_lost_its_statement(levels->level[i]))
                        is_lost = true;
        }
        return is_lost;
}

/* The end of the outermost may wait, for the disk or for room. */
static int end_in(struct level *level, int (*function)(void *), bool is_nested)
{
        PyObject *lease = NULL;
        if (handle_address(level->handle)) {
                lease = handle_lend(level->handle);
                if (!lease)
                        return -1;
        }
        void *address = handle_address(level->handle);
        PyThreadState *state = is_nested ? NULL : library_let_others();
        int ended = function(address);
        library_go_on(state);
        level->ended = ended;
        level->has_ended = true;
        Py_XDECREF(lease);
        return 0;
}

int level_end(struct level *level, int (*function)(void *), int *code)
{
        if (level->thread_id != PyThread_get_thread_ident()) {
                PyErr_SetString(PyExc_RuntimeError, "a transaction is ended by another thread than began it");
                return -1;
        }
        if (!level->has_begun || level->begun || !level->handle) {
                PyErr_SetString(PyExc_RuntimeError, "a transaction is ended that was not begun");
                return -1;
        }
        struct levels *levels = levels_here();
        int is_lost = levels && levels->count > 1 ? is_inside_what_is_lost(levels, level) : 0;
        if (!levels || is_lost < 0 ||
            end_in(level, is_lost ? library.xabort : function, is_another_open(levels, level)))
                return -1;
        *code = level->ended;
        Py_CLEAR(level->task);
        Py_CLEAR(level->handle);
        if (!is_lost || function == library.xabort)
                return 0;
        level->is_undone = true;
        PyErr_SetString(PyExc_RuntimeError,
                        "undone, as the transaction around it was left before: do not await or yield in one");
        return -1;
}

int levels_undo_what_was_left(void)
{
        int code;
        struct levels *levels = levels_here();
        if (!levels)
                return -1;
        while (levels->count) {
                struct level *last = levels->level[levels->count - 1];
                if (level_is_open(last)) {
                        if (!has_lost_its_statement(last))
                                return 0;
                        Py_INCREF(last);
                        int err = level_end(last, library.xabort, &code);
                        Py_DECREF(last); /* it is compared below, and no more */
                        if (err)
                                return -1;
                }
                if (levels->count && levels->level[levels->count - 1] == last) {
                        levels->count--;
                        Py_DECREF(last);
                }
        }
        return 0;
}

/* ---- for who closes ---- */

PyObject *levels_undo_left(PyObject *module, PyObject *nothing)
{
        (void)module, (void)nothing;
        if (levels_undo_what_was_left())
                return NULL;
        return library_none();
}

PyObject *levels_is_open_elsewhere(PyObject *module, PyObject *handle)
{
        (void)module;
        const struct levels *own = levels_here();
        if (!own)
                return NULL;
        for (const struct levels *levels = all; levels; levels = levels->next)
                for (size_t i = 0; levels != own && i < levels->count; i++)
                        if ((PyObject *)levels->level[i]->handle == handle && level_is_open(levels->level[i]))
                                return PyBool_FromLong(true);
        return PyBool_FromLong(false);
}

PyObject *levels_from(PyObject *module, PyObject *handle)
{
        (void)module;
        if (!PyObject_TypeCheck(handle, &handle_type))
                return PyErr_Format(PyExc_TypeError, "handle: %R", handle);
        const struct levels *levels = levels_undo_what_was_left() ? NULL : levels_here();
        PyObject *found = levels ? PyList_New(0) : NULL;
        for (size_t i = 0; found && i < levels->count; i++) {
                struct level *level = levels->level[i];
                if (!is_open_in(level, (struct handle *)handle))
                        continue;
                if (!PyList_GET_SIZE(found) && (PyObject *)level->handle != handle)
                        continue;
                if (PyList_Append(found, (PyObject *)level))
                        Py_CLEAR(found);
        }
        return found;
}

PyObject *levels_undo(PyObject *module, PyObject *arguments)
{
        PyObject *list, *address;
        int code;
        (void)module;
        if (!PyArg_ParseTuple(arguments, "O!iO", &PyList_Type, &list, &code, &address))
                return NULL;
        void *env = PyLong_AsVoidPtr(address);
        if (!env && PyErr_Occurred())
                return NULL;
        for (Py_ssize_t i = PyList_GET_SIZE(list) - 1; i >= 0; i--) {
                PyObject *item = PyList_GET_ITEM(list, i);
                if (!Py_IS_TYPE(item, &level_type))
                        return PyErr_Format(PyExc_TypeError, "levels: %R", item);
                struct level *level = (struct level *)item;
                level->ended = code ? code : library.xabort(env);
                level->has_ended = true;
        }
        return PyLong_FromLong(PyList_GET_SIZE(list) && !code ? XAC_UNENDED : code);
}

PyTypeObject level_type = {
        PyVarObject_HEAD_INIT(NULL, 0) /* and a comma */
                .tp_name = "libxac._accelerated.Level",
        .tp_doc = "A transaction, or a level nested in one.",
        .tp_basicsize = sizeof(struct level),
        .tp_flags = Py_TPFLAGS_DEFAULT,
        .tp_dealloc = level_free,
};

PyTypeObject levels_type = {
        PyVarObject_HEAD_INIT(NULL, 0) /* and a comma */
                .tp_name = "libxac._accelerated.Levels",
        .tp_doc = "Those of a thread.",
        .tp_basicsize = sizeof(struct levels),
        .tp_flags = Py_TPFLAGS_DEFAULT,
        .tp_alloc = PyType_GenericAlloc,
        .tp_dealloc = levels_free,
        .tp_free = PyObject_Free,
};
