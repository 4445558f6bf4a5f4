/* SPDX-License-Identifier: MIT */
#include "python/accelerated/transaction.h"

#include <limits.h>
#include <stddef.h>

#include "python/accelerated/accesses.h"
#include "python/accelerated/levels.h"

struct transaction {
        PyObject_HEAD PyObject *env;
        struct level *level; /* the last one that it began */
        struct level *next;  /* for which a statement has looked __exit__ up */
        int flags;
};

struct statement {
        PyObject_HEAD vectorcallfunc call;
        struct level *level;
};

/* ---- the end ---- */

static int undo(struct level *level)
{
        int code; /* the exception says more */
        level->is_undone = true;
        return level->has_ended ? 0 : level_end(level, library.xabort, &code);
}

static int take_effect(struct level *level)
{
        int code;
        if (level->has_ended) /* by a close() in the block */
                return library_raise(XAC_NOTXN, NULL);
        struct handle *handle = level->handle;
        Py_XINCREF(handle);
        int err = level_end(level, library.xend, &code);
        if (!err && code) {
                void *address = handle_address(handle);
                /* The transaction around it is lost, and its own end says so. */
                bool is_said_later = code == XAC_CONFLICT && address && library.xac_txn_id(address);
                err = is_said_later ? 0 : library_raise(code, NULL);
        }
        Py_XDECREF(handle);
        return err;
}

static PyObject *leave(struct level *level, PyObject *kind)
{
        if (level->by_hand)
                level = level->by_hand;
        Py_INCREF(level);
        int err = kind == Py_None ? take_effect(level) : undo(level);
        Py_DECREF(level);
        if (err)
                return NULL;
        return library_none();
}

static PyObject *statement_call(PyObject *self, PyObject *const *arguments, size_t count, PyObject *names)
{
        if (PyVectorcall_NARGS(count) != 3 || (names && PyTuple_GET_SIZE(names)))
                return PyErr_Format(PyExc_TypeError,
                                    "__exit__() takes the kind of an exception, it, and its traceback");
        return leave(((struct statement *)self)->level, arguments[0]);
}

static void statement_free(PyObject *self)
{
        struct statement *statement = (struct statement *)self;
        if (statement->level->statement == statement)
                statement->level->statement = NULL;
        Py_DECREF(statement->level);
        PyObject_Free(self);
}

static PyObject *statement_make(struct level *level)
{
        struct statement *statement = PyObject_New(struct statement, &statement_type);
        if (!statement)
                return NULL;
        Py_INCREF(level);
        statement->call = statement_call;
        statement->level = level;
        level->statement = statement;
        level->has_statement = true;
        return (PyObject *)statement;
}

/* ---- the begin ---- */

static struct level *next_level(struct transaction *transaction)
{
        if (levels_undo_what_was_left())
                return NULL;
        struct level *before = transaction->level;
        bool is_by_hand = before && !before->has_statement && level_is_open(before);
        struct handle *handle = accesses_handle(transaction->env);
        if (!handle)
                return NULL;
        Py_INCREF(handle);
        PyObject *lease = handle_lend(handle);
        if (lease)
                library_look_at_handlers(handle_address(handle));
        struct level *level = lease ? level_make(handle, is_by_hand ? before : NULL) : NULL;
        Py_XDECREF(lease);
        Py_DECREF(handle);
        if (level) {
                Py_INCREF(level);
                Py_XSETREF(transaction->next, level);
        }
        return level;
}

/* Nothing has begun yet, so that handlers of signals may run first. The interpreter does not look by itself before the
 * next time that it gives its lock up, if the kernel has given the signal to a thread that is none of Python's, as
 * those of numpy are: a loop of transactions would not be interrupted. */
static PyObject *transaction_enter(PyObject *self, PyObject *nothing)
{
        struct transaction *transaction = (struct transaction *)self;
        (void)nothing;
        if (PyErr_CheckSignals())
                return NULL;
        struct level *level = transaction->next;
        transaction->next = NULL;
        if (!level || !level->statement) {
                Py_XDECREF(level);
                level = next_level(transaction);
                if (!level)
                        return NULL;
                Py_CLEAR(transaction->next);
        }
        Py_INCREF(level); /* who enters again meanwhile gives up the other one */
        Py_XSETREF(transaction->level, level);
        int err = level_begin(level, transaction->flags);
        Py_DECREF(level);
        if (err)
                return NULL;
        Py_INCREF(self);
        return self;
}

/* ---- __exit__ ---- */

static PyObject *exit_get(PyObject *self, PyObject *transaction, PyObject *kind)
{
        (void)kind;
        if (!transaction || transaction == Py_None) { /* contextlib.ExitStack asks the class */
                Py_INCREF(self);
                return self;
        }
        if (!PyObject_TypeCheck(transaction, &transaction_type)) {
                PyErr_Format(PyExc_TypeError, "__exit__: a Transaction, not %s", Py_TYPE(transaction)->tp_name);
                return NULL;
        }
        struct level *level = next_level((struct transaction *)transaction);
        PyObject *statement = level ? statement_make(level) : NULL;
        Py_XDECREF(level);
        return statement;
}

/* Transaction.__exit__(transaction, kind, value, traceback) */
static PyObject *exit_call(PyObject *self, PyObject *arguments, PyObject *names)
{
        PyObject *transaction, *kind, *value, *traceback;
        (void)self;
        if (names && PyDict_GET_SIZE(names))
                return PyErr_Format(PyExc_TypeError, "__exit__() takes no names");
        if (!PyArg_UnpackTuple(arguments, "__exit__", 4, 4, &transaction, &kind, &value, &traceback))
                return NULL;
        if (!PyObject_TypeCheck(transaction, &transaction_type) || !((struct transaction *)transaction)->level)
                return PyErr_Format(PyExc_RuntimeError, "a transaction is ended that was not begun");
        return leave(((struct transaction *)transaction)->level, kind);
}

/* ---- the object ---- */

int transaction_flags_of(PyObject *value, int *flags)
{
        int overflow = 0;
        long number = PyLong_Check(value) ? PyLong_AsLongAndOverflow(value, &overflow) : -1;
        if (number < 0 || overflow || number > INT_MAX) {
                PyObject *known = PyObject_CallFunctionObjArgs(library.flags_of, value, NULL);
                if (!known)
                        return -1;
                number = PyLong_AsLong(known);
                Py_DECREF(known);
                if (number == -1 && PyErr_Occurred())
                        return -1;
        }
        *flags = (int)number;
        return 0;
}

PyObject *transaction_make(PyObject *env, int flags)
{
        struct transaction *transaction = PyObject_GC_New(struct transaction, &transaction_type);
        if (!transaction)
                return NULL;
        Py_INCREF(env);
        transaction->env = env;
        transaction->level = transaction->next = NULL;
        transaction->flags = flags | XAC_NESTED; /* an end cannot be forgotten here */
        PyObject_GC_Track((PyObject *)transaction);
        return (PyObject *)transaction;
}

static PyObject *transaction_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
        static char *known[] = { "env", "flags", NULL };
        PyObject *env, *value = NULL;
        int flags = 0;
        (void)type;
        if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!|O", known, &accesses_type, &env, &value) ||
            (value && transaction_flags_of(value, &flags)))
                return NULL;
        return transaction_make(env, flags);
}

/* A circle by way of the environment is broken there. */
static int transaction_traverse(PyObject *self, visitproc visit, void *arg)
{
        Py_VISIT(((struct transaction *)self)->env);
        return 0;
}

static void transaction_free(PyObject *self)
{
        struct transaction *transaction = (struct transaction *)self;
        PyObject_GC_UnTrack(self);
        Py_CLEAR(transaction->env);
        Py_CLEAR(transaction->next);
        Py_CLEAR(transaction->level);
        PyObject_GC_Del(self);
}

static PyObject *transaction_repr(PyObject *self)
{
        const struct transaction *transaction = (const struct transaction *)self;
        bool is_open = transaction->level && level_is_open(transaction->level);
        return PyUnicode_FromFormat("<libxac.Transaction of %R %s>", transaction->env, is_open ? "open" : "not open");
}

static PyObject *was_undone(PyObject *self, void *nothing)
{
        const struct level *level = ((const struct transaction *)self)->level;
        (void)nothing;
        return PyBool_FromLong(level && level->is_undone);
}

static PyObject *transaction_reduce(PyObject *self, PyObject *protocol)
{
        (void)self, (void)protocol;
        return PyErr_Format(PyExc_TypeError, "Transaction cannot be pickled or copied: it belongs to the thread that "
                                             "begins it; pickle the Environment");
}

static PyMethodDef transaction_methods[] = {
        { "__enter__", transaction_enter, METH_NOARGS, NULL },
        { "__reduce_ex__", transaction_reduce, METH_O, NULL },
        { NULL },
};

static PyGetSetDef transaction_figures[] = {
        { "was_undone", was_undone, NULL, "Did an exception leave its block?", NULL },
        { NULL },
};

PyTypeObject transaction_type = {
        PyVarObject_HEAD_INIT(NULL, 0) /* and a comma */
                .tp_name = "libxac.Transaction",
        .tp_doc = "Transaction(env, flags=0)\n--\n\n`with env.transaction():`, as libxac/transaction.py explains it.",
        .tp_basicsize = sizeof(struct transaction),
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
        .tp_new = transaction_new,
        .tp_dealloc = transaction_free,
        .tp_traverse = transaction_traverse,
        .tp_repr = transaction_repr,
        .tp_methods = transaction_methods,
        .tp_getset = transaction_figures,
};

PyTypeObject statement_type = {
        PyVarObject_HEAD_INIT(NULL, 0) /* and a comma */
                .tp_name = "libxac._accelerated.Statement",
        .tp_doc = "What a `with` statement ends with.",
        .tp_basicsize = sizeof(struct statement),
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
        .tp_vectorcall_offset = offsetof(struct statement, call),
        .tp_call = PyVectorcall_Call,
        .tp_dealloc = statement_free,
};

PyTypeObject exit_type = {
        PyVarObject_HEAD_INIT(NULL, 0) /* and a comma */
                .tp_name = "libxac._accelerated.Exit",
        .tp_doc = "Transaction.__exit__",
        .tp_basicsize = sizeof(PyObject),
        .tp_flags = Py_TPFLAGS_DEFAULT,
        .tp_descr_get = exit_get,
        .tp_call = exit_call,
};

int transaction_prepare(void)
{
        if (PyType_Ready(&transaction_type) || PyType_Ready(&statement_type) || PyType_Ready(&exit_type))
                return -1;
        PyObject *leaves = PyObject_New(PyObject, &exit_type);
        if (!leaves)
                return -1;
        int err = PyDict_SetItemString(transaction_type.tp_dict, "__exit__", leaves);
        Py_DECREF(leaves);
        PyType_Modified(&transaction_type);
        return err;
}
