# SPDX-License-Identifier: MIT
"""A program for test_ending.py: interpreters end with something left. Each is a child of this one, so that imports are
paid for once.

at_end.py DIR: prints KIND FLAGS STATUS SUM for each, the status as of os.waitstatus_to_exitcode() and the sum of what
is in the data file afterwards: 5000.
"""

import atexit
import codecs
import contextlib
import contextvars
import copy
import hashlib
import os
import sys
import threading
import time

import numpy as np

import libxac
from libxac import ending

try:
    import pyarrow
except ImportError:
    pyarrow = None

ROWS = 1000
LARGE = 1 << 22


def snapshot_array(env):
    with env.snapshot() as snapshot:
        return snapshot.array("a", "i8", ROWS)


def nothing(env, array):
    return None


def array_of_snapshot(env, array):
    return snapshot_array(env)


def arrow_table(env, array):
    with env.snapshot() as snapshot:
        return snapshot.table({"a": ("a", "i8")}, rows=ROWS)


def arrow_table_of_closed(env, array):
    table = arrow_table(env, array)
    env.close()
    return table


def arrow_slice(env, array):
    return arrow_table(env, array)["a"].slice(3, 1)


def arrow_on_a_view(env, array):
    return pyarrow.py_buffer(array)


def generator_in_a_transaction(env, array):
    def block():
        with env.transaction():
            array[:] = 7
            yield

    generator = block()
    next(generator)
    return generator


def generator_and_closed(env, array):
    generator = generator_in_a_transaction(env, array)
    with contextlib.suppress(libxac.Unended):
        env.close()
    return generator


def begun_by_hand(env, array):
    transaction = env.transaction()
    transaction.__enter__()
    array[:] = 7
    return transaction


class Begins:
    def __init__(self, env, array):
        self.env, self.array, self.itself = env, array, self

    def __del__(self):
        with self.env.transaction():
            self.array[:] = 5


def del_that_begins(env, array):
    begins = Begins(env, array)
    begins.itself = None
    return begins


def del_that_begins_in_a_circle(env, array):
    return Begins(env, array)


class BeginsTooLate:
    """It is not told that its arguments are wrong."""

    def __init__(self, env, array):
        self.env, self.array = env, array

    def __del__(self, errors=Exception, text=str, write=os.write):
        try:
            with self.env.transaction():
                self.array[:] = 5
        except errors as error:
            if "flags" in text(error):
                write(2, b"del: a wrong reason\n")


def del_that_begins_behind_all_modules(env, array):
    sys.excepthook = BeginsTooLate(env, array).__init__


class Reads:
    """Reads when it dies. Without names: they are None by then."""

    def __init__(self, env):
        self.kept, self.write = snapshot_array(env), os.write

    def __call__(self, *arguments):
        return None

    def __del__(self):
        if self.kept[-1] != 5:
            self.write(2, b"del: read something else\n")


def del_of_a_context(env, array):
    contextvars.ContextVar("reads").set(Reads(env))


def del_of_a_hook(env, array):
    sys.excepthook = Reads(env)


def del_of_a_codec(env, array):
    codecs.register_error("reads", Reads(env))


def del_of_a_callback(env, array):
    os.register_at_fork(before=Reads(env), after_in_parent=Reads(env), after_in_child=Reads(env))


def handler_that_reads(env, array):
    kept = snapshot_array(env)
    atexit.register(lambda: os._exit(9) if kept.sum() != 5 * ROWS else None)


def handler_that_begins(env, array):
    def change():
        with env.transaction():
            array[:] = 5

    atexit.register(change)


def child_of_fork(env, array):
    """It ends with what is its parent's."""
    kept = [snapshot_array(env), generator_in_a_transaction(env, array)] + ([arrow_table(env, array)] if pyarrow else [])
    child = os.fork()
    if child == 0:
        sys.exit(0)
    if os.waitpid(child, 0)[1]:
        os._exit(9)
    kept.pop(1).close()
    return kept


def exit_in_a_transaction(env, array):
    with env.transaction():
        array[:] = 7
        sys.exit(0)


def several_environments(env, array):
    """One of them opened twice, copied, and closed once."""
    kept = [copy.copy(env), libxac.Environment(env.path + "2", libxac.CREATE | libxac.VOLATILE), snapshot_array(env)]
    env.close()
    return kept + ([kept[0].snapshot().table({"a": ("a", "i8")})] if pyarrow else [])


def thread_that_sleeps(env, array):
    def stay():
        kept = snapshot_array(env)
        has_begun.set()
        time.sleep(3600)
        return kept

    has_begun = threading.Event()
    threading.Thread(target=stay, daemon=True).start()
    has_begun.wait()


def thread_that_has_an_address(env, array):
    """Of an array that dies with its module."""
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    return snapshot_array(env)


def thread_in_a_transaction(env, array):
    """It has to be undone, which the next one to open the environment does."""

    def stay():
        own = env.array("a", "i8", ROWS)
        with env.transaction():
            own[:] = 7
            has_begun.set()
            time.sleep(3600)

    has_begun = threading.Event()
    threading.Thread(target=stay, daemon=True).start()
    has_begun.wait()


def thread_that_reads(env, array):
    def read():
        with env.snapshot() as snapshot:
            kept = snapshot.array("large", "i8", LARGE)
        while True:
            np.add(kept, 1, out=sums)  # without the interpreter's lock
            has_begun.set()

    env.array("large", "i8", LARGE)
    has_begun, sums = threading.Event(), np.zeros(LARGE, "i8")
    threading.Thread(target=read, daemon=True).start()
    has_begun.wait()


def thread_that_stays_in_c(env, array):
    """It might be a reader: nothing is taken from it."""
    ending._Threads.looks = range(2)
    work = ("sha256", b"", b"", (1 << 31) - 1)
    threading.Thread(target=hashlib.pbkdf2_hmac, args=work, daemon=True).start()
    return arrow_table(env, array)


def thread_that_computes_without_a_snapshot(env, array):
    """It is not waited for."""
    kept = thread_that_stays_in_c(env, array)
    del kept
    return arrow_on_a_view(env, array)


def parts_of(env):
    """Of what has parts: a tree with an iteration, a heap, a table, each after a call."""
    tree, heap, table = env.btree("trees"), env.heap("heap"), env.table("table", {"a": "i8"})
    tree.update({number: b"%d" % number for number in range(100)})
    table.append({"a": range(100)})
    records = iter(tree.items())
    next(records)
    old = tree.snapshot()
    next(old.range(5))
    records_of_old = iter(old.items())
    next(records_of_old)
    return tree, records, heap, heap.root("root", 8), table, table["a"], table.snapshot(), old, records_of_old


def parts_that_are_left(env, array):
    return parts_of(env)


def parts_in_a_transaction(env, array):
    parts = parts_of(env)
    transaction = begun_by_hand(env, array)
    parts[0][1] = b"undone"
    return parts, transaction


class UsesParts:
    def __init__(self, env):
        self.env, self.parts, self.itself = env, parts_of(env), self

    def __call__(self):
        tree, records, heap, root, table, _, rows, _, records_of_old = self.parts
        next(records)
        next(records_of_old)
        with self.env.transaction():
            tree[len(tree)] = b"one more"
            root[0] += 1
            table.append({"a": [heap.offset(heap.allocate(10)) + len(rows)]})

    def __del__(self):
        self()


def parts_in_a_handler(env, array):
    uses = UsesParts(env)
    uses.itself = None
    atexit.register(uses)
    return uses


def parts_in_a_circle(env, array):
    return UsesParts(env)


def thread_that_has_a_tree(env, array):
    """Nobody else can close it."""

    def stay():
        tree = env.btree("trees")
        tree[1] = b"one"
        has_begun.set()
        time.sleep(3600)
        return tree

    has_begun = threading.Event()
    threading.Thread(target=stay, daemon=True).start()
    has_begun.wait()


KINDS = [nothing, array_of_snapshot]
KINDS += [arrow_table, arrow_table_of_closed, arrow_slice, arrow_on_a_view] if pyarrow else []
KINDS += [generator_in_a_transaction, generator_and_closed, begun_by_hand]
KINDS += [del_that_begins, del_that_begins_in_a_circle, del_that_begins_behind_all_modules]
KINDS += [del_of_a_context, del_of_a_hook, del_of_a_codec, del_of_a_callback, handler_that_reads, handler_that_begins]
KINDS += [child_of_fork, exit_in_a_transaction, several_environments]
KINDS += [thread_that_sleeps, thread_that_has_an_address, thread_in_a_transaction, thread_that_reads]
KINDS += [thread_that_stays_in_c, thread_that_computes_without_a_snapshot] if pyarrow else []
KINDS += [parts_that_are_left, parts_in_a_transaction, parts_in_a_handler, parts_in_a_circle, thread_that_has_a_tree]
WITH_A_LOG = KINDS[2:4]


def run(kind, path, flags):
    """In the child, which goes on to the end of the program."""
    global env, array, left
    env = libxac.Environment(path, libxac.CREATE | flags)
    array = env.array("a", "i8", ROWS)
    with env.transaction():
        array[:] = 5
    left = kind(env, array)


def main():
    for kind in KINDS:
        for flags in (libxac.VOLATILE, libxac.Flag(0)) if kind in WITH_A_LOG else (libxac.VOLATILE,):
            path = os.path.join(sys.argv[1], f"{kind.__name__}{int(flags)}")
            child = os.fork()
            if child == 0:
                run(kind, path, flags)
                return
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            print(kind.__name__, int(flags), status, np.fromfile(os.path.join(path, "a"), "i8").sum(), flush=True)


main()
