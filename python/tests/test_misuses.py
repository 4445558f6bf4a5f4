# SPDX-License-Identifier: MIT
"""Each public call times what it may wrongly be given, and the states in which it may wrongly be called: an exception
that says what is wrong, or the right answer; never a signal. A table is run in a child of fork(), so that a signal is a
failure that names the cell."""

import collections
import concurrent.futures
import contextlib
import copy
import errno
import multiprocessing
import os
import pickle
import sys
import threading
import time
import traceback

import numpy as np
import pytest

import libxac
import writers

try:
    import pyarrow  # noqa: F401
except ImportError:
    pyarrow = None

MISUSE = (TypeError, ValueError, KeyError, IndexError, OSError, libxac.Error)


def in_child(function, *arguments):
    """It says by tell() where it is. What goes wrong there fails here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 2)
        try:
            function(*arguments)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader) as file:
        said = file.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, said


def tell(*words):
    os.write(2, (" ".join(map(repr, words)) + "\n").encode())


# ---- arguments ----

NAME = ["a\0b", b"a\0b", 5, 1.5, ["a"]]
FILE = [*NAME, None, "", "a/b", "..", "xac.log", "n" * 300]
NUMBER = [-1, 1 << 64, (1 << 64) + 1, 1.5, "1", [1]]
FLAGS = [-1, 1 << 30, libxac.DURABLE | libxac.EXCL, 1 << 31, (1 << 40) + 1, 1.0, "1", None]
DTYPE = [object, "nonsense", "S0", [("x", object)], 7]
SHAPE = [-1, 1.5, "3", 1 << 61, (1 << 62) + 1, (1 << 40, 1 << 40), (0, 1 << 70), 1 << 50, (2, None), {1}]
OFFSET = [-8, 3, 1.5, 1 << 64, "0", None]
COLUMNS = [None, 5, "a", [("a", "i8")], {"a": "a8"}, {"a": ("a",)}, {1: ("a", "i8")}, {"a": ("a\0b", "i8")}]
KEY = ["text", -1, 1 << 64, 1.5, b"k" * 2000]
ELEMENTS = [None, 5, [1], b"x", np.array([None]), np.zeros(8, [("x", "i8")])]
INDEX = [-513, 512, 1 << 64, 1.5, "1", [1], None, (), (1, 2), slice(2)]
SECONDS = [0, -1, "1", float("nan"), [1]]

ARRAY = {"file": FILE, "dtype": DTYPE, "shape": SHAPE, "offset": OFFSET}
RANGE = {
    "address": [*NAME, None, "nowhere.sock", "a" * 300],
    "file": [*NAME, None],
    "tree": [*NAME, None],
    "start": KEY,
    "stop": KEY,
    "max_records": [*NUMBER, None],
    "max_bytes": [*NUMBER, None],
    "way": ["walk", None, 1, ["auto"]],
    "at": NUMBER,
    "timeout": SECONDS,
    "max_memory": [*NUMBER, None],
}


class Place:
    """An environment, where each call works as it is meant."""

    def __init__(self, path):
        self.path = path
        self.env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
        self.array = self.env.array("a", "i8", 512)
        with self.env.transaction():
            self.array[:] = np.arange(512)
        self.snapshot = self.env.snapshot()

    def open(self, **arguments):
        libxac.Environment(**{"path": self.path, "flags": libxac.VOLATILE, **arguments}).close()

    def make_array(self, **arguments):
        self.env.array(**{"file": "a", "dtype": "i8", "shape": 10, "offset": 0, **arguments})

    def begin(self, **arguments):
        with self.env.transaction(**arguments):
            pass

    def run(self, **arguments):
        self.env.run(**{"body": int, **arguments})

    def decorate(self, **arguments):
        self.env.transactional(**{"function": int, **arguments})()

    def advise(self, **arguments):
        with self.env.transaction():
            self.env.advise(**{"array": self.array, **arguments})

    def get(self, **arguments):
        with self.env.transaction():
            self.env.get(*{"array": self.array, "index": 3, **arguments}.values())

    def put(self, **arguments):
        with self.env.transaction():
            self.env.put(*{"array": self.array, "index": 3, "value": 3, **arguments}.values())

    def take_snapshot(self, **arguments):
        self.env.snapshot(**arguments).close()

    def backup(self, **arguments):
        self.env.backup(**{"destination": self.path.with_name("copy"), **arguments})

    def make_snapshot_array(self, **arguments):
        self.snapshot.array(**{"file": "a", "dtype": "i8", "shape": 10, "offset": 0, **arguments})

    def table(self, **arguments):
        self.snapshot.table(**{"columns": {"a": ("a", "i8")}, **arguments})

    def receive(self, **arguments):
        libxac.Range(**{"address": "nowhere.sock", "file": "a", "tree": "b", **arguments})


async def asynchronous():
    pass


def generator():
    yield


async def asynchronous_generator():
    yield


class AsynchronousCall:
    async def __call__(self):
        pass


LATER = [generator, asynchronous, asynchronous_generator, AsynchronousCall()]

TABLE = {
    Place.open: {
        "path": [*NAME, None, "nowhere", ""],
        "flags": FLAGS,
        **dict.fromkeys(["pool_bytes", "page_bytes", "max_participants", "mode", "address"], [*NUMBER, None]),
        "unknown": [1],
    },
    Place.make_array: ARRAY,
    Place.begin: {"flags": FLAGS},
    Place.run: {"flags": FLAGS, "body": [None, 5, "body", *LATER]},
    Place.decorate: {"flags": FLAGS, "function": [5, "function", *LATER]},
    Place.advise: {"array": [None, 5, [1], b"x", np.zeros(4), np.zeros(8)[::2]]},
    Place.get: {"array": ELEMENTS, "index": INDEX},
    Place.put: {"array": ELEMENTS, "index": INDEX},
    Place.take_snapshot: {"at": [*NUMBER, 0, 1 << 63], "durable": [True]},
    Place.backup: {
        "destination": [*NAME, None, "", "nowhere/copy", "env.xac"],
        "since": [*NAME, "", "nowhere"],
        "bytes_per_second": [*NUMBER, None],
    },
    Place.make_snapshot_array: {**ARRAY, "file": [*FILE, "nothing"], "shape": [*SHAPE, 513]},
    Place.receive: RANGE,
}
if pyarrow:
    TABLE[Place.table] = {"columns": COLUMNS, "rows": [*NUMBER, 513]}


BEGINNINGS = {  # other than the argument's name
    "flags": "flags or options: ",
    "unknown": "no such options: unknown; ",
    "array": "the array has gaps",
    "destination": "destination or since: ",
    "rows": "there are no 513 rows ",
}


def names(error, argument):
    """Codes of the library other than EINVAL say what is wrong by themselves."""
    if getattr(error, "code", -errno.EINVAL) != -errno.EINVAL:
        return True
    text = getattr(error, "strerror", None) or str(error.args[0])
    return text.startswith((f"{argument}: ", BEGINNINGS.get(argument, f"{argument}: ")))


def check_cell(place, call, argument, value):
    tell(call.__name__, argument, value)
    try:
        call(place, **{argument: value})
    except MISUSE as error:
        assert names(error, argument), f"{type(error).__name__}: {error} does not name the argument"
    else:
        raise AssertionError("was not refused")
    assert not place.env.in_transaction()


def check_arguments(path):
    place = Place(path)
    there = sorted(os.listdir(path))
    for call, arguments in TABLE.items():
        for argument, values in arguments.items():
            for value in values:
                check_cell(place, call, argument, value)
    assert sorted(os.listdir(path)) == there and (path / "a").stat().st_size == 4096
    for call in (Place.open, Place.make_array, Place.begin, Place.run, Place.make_snapshot_array, Place.backup):
        call(place)
    with place.env.transaction(libxac.RDONLY):
        assert (place.array == np.arange(512)).all()
    place.env.close()


def test_arguments(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    in_child(check_arguments, path)


# ---- states ----

OF_ENVIRONMENT = {
    "array": lambda place: place.env.array("a", "i8", 1),
    "array without a shape": lambda place: place.env.array("a", "i8"),
    "transaction": lambda place: place.begin(),
    "run": lambda place: place.env.run(int),
    "transactional": lambda place: place.env.transactional(int)(),
    "snapshot": lambda place: place.env.snapshot(),
    "snapshot at": lambda place: place.env.snapshot(at=1),
    "advise": lambda place: place.env.advise(place.array),
    "backup": lambda place: place.backup(),
    "get": lambda place: place.env.get(place.array, 0),
    "put": lambda place: place.env.put(place.array, 0, 0),
    "in_transaction": lambda place: place.env.in_transaction(),
    "stat": lambda place: place.env.stat(),
    "sync": lambda place: place.env.sync(),
    "checkpoint": lambda place: place.env.checkpoint(),
    "pickle": lambda place: pickle.dumps(place.env),
    "copy": lambda place: copy.copy(place.env),
}
OF_SNAPSHOT = {
    "Snapshot.array": lambda place: place.snapshot.array("a", "i8"),
    "Snapshot.sequence": lambda place: place.snapshot.sequence,
    "Snapshot.refresh": lambda place: place.snapshot.refresh(),
    "Snapshot.table": lambda place: place.snapshot.table({"a": ("a", "i8")}),
}
WORKS_IN_A_CHILD = {"in_transaction", "Snapshot.sequence", "pickle", "copy", "array without a shape"}


def refuses(place, calls, works=()):
    for name, call in calls.items():
        tell(name)
        try:
            call(place)
            assert name in works, "was not refused"
        except MISUSE as error:
            assert len(str(error)) > 10
    for thing in (place.env, place.snapshot, place.env.transaction):
        assert repr(thing)


def look_when_closed(path):
    place = Place(path)
    transaction = place.env.transaction()
    place.snapshot.close()
    place.env.close()
    refuses(place, {**OF_ENVIRONMENT, **OF_SNAPSHOT})
    with pytest.raises(ValueError, match="closed"):
        with transaction:
            pass
    with pytest.raises(RuntimeError, match="not begun"):
        Place(path).env.transaction().__exit__(None, None, None)


def test_closed(path):
    in_child(look_when_closed, path)


def test_in_a_child_of_fork(path):
    place = Place(path)
    in_child(refuses, place, {**OF_ENVIRONMENT, **OF_SNAPSHOT}, WORKS_IN_A_CHILD)
    with place.env.transaction():
        place.array[0] += 1
    place.env.close()


OF_THREADS = ["array", "transaction", "snapshot", "stat", "sync", "checkpoint", "in_transaction"]


def close_beside(path, name):
    """While other threads make this call, again and again."""

    def call_again():
        try:
            while True:
                OF_ENVIRONMENT[name](place)
                has_called.set()
        except ValueError as error:
            refused.append(str(error))

    for _ in range(10):
        refused, has_called = [], threading.Event()
        place = Place(path)
        place.snapshot.close()
        threads = [threading.Thread(target=call_again) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert has_called.wait(120)
        end = time.monotonic() + 120
        while place.env._handle is not None:
            assert time.monotonic() < end
            with contextlib.suppress(OSError):  # EBUSY: in a transaction
                place.env.close()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        assert refused == ["the environment is closed"] * 2


@pytest.mark.parametrize("name", OF_THREADS)
def test_close_beside_calls_of_other_threads(path, name):
    in_child(close_beside, path, name)


def test_close_after_an_error_that_is_kept(env):
    """A traceback keeps the variables of the calls that it has seen."""
    with pytest.raises(OSError) as kept:
        env.backup(env.path)
    env.close()
    assert kept


# ---- pickles and copies ----

COPIES = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "oldest pickle": lambda thing: pickle.loads(pickle.dumps(thing, 0)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def look_at_copies(path):
    place = Place(path)
    transaction = place.env.transaction()
    inside = [place.array.base.base if place.array.base.base is not None else place.array.base]
    refused = [place.snapshot, transaction, place.env._handle, place.snapshot._handle, *inside]
    for name, copied in COPIES.items():
        for thing in refused:
            tell(name, thing)
            with pytest.raises(TypeError, match="cannot be pickled or copied: ...."):
                copied(thing)
        tell(name, "arrays")
        with place.env.transaction():
            assert (copied(place.array) == np.arange(512)).all()
            assert not np.shares_memory(copied(place.array), place.array)
        assert (copied(place.snapshot.array("a", "i8"))[::-3] == np.arange(512)[::-3]).all()
        tell(name, "Environment")
        with copied(place.env) as other:
            array = other.array("a", "i8")
            with other.transaction():
                array[0] += 1
                array[0] -= 1
    with place.env.transaction():
        assert place.array[511] == 511
    place.snapshot.close()
    place.env.close()


def test_copies(path):
    in_child(look_at_copies, path)


def test_other_processes_open_it_by_its_path(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = libxac.Environment(path.name, libxac.CREATE | libxac.VOLATILE)
    counts = env.array("counts", "i8", 16)
    with env.transaction():
        counts[:] = 1
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        monkeypatch.chdir("/")
        assert pool.submit(writers.add_by, env, 5).result(120) == 21
        assert pool.submit(np.sum, env.snapshot().array("counts", "i8", 16)[::-3]).result(120) == 11
        with pytest.raises(TypeError, match=r"snapshot\(at=sequence\)"):
            pool.submit(writers.add_by, env.snapshot(), 5).result(120)
        env.close()  # the worker has it still, and is the last one
    assert np.fromfile(path / "counts", "i8")[0] == 6


@pytest.mark.parametrize("kind", [multiprocessing.Process, multiprocessing.get_context("fork").Process])
def test_process_of_multiprocessing_that_was_forked(path, kind):
    """It ends by os._exit(), which takes no module down."""
    process = kind(target=writers.leave_open, args=(path,))
    process.start()
    process.join(120)
    assert process.exitcode == 0
    assert np.fromfile(path / "counts", "i8")[0] == 1


@pytest.mark.parametrize("shape", [[3, 4], range(3, 5), collections.UserList([3, 4])])
def test_shapes_are_sequences(env, shape):
    assert env.array("a", "i8", shape).shape == (3, 4)
    with env.snapshot() as snapshot:
        assert snapshot.array("a", "i8", shape).shape == (3, 4)


def test_columns_of_no_rows(env):
    empty = env.array("empty", "f8", 0)
    assert empty.shape == (0,) and env.array("empty", [("x", "f8")], (0, 3)).shape == (0, 3)
    with env.snapshot() as snapshot:
        assert snapshot.array("empty", "f8", 0).shape == (0,)
