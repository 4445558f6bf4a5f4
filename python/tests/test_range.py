# SPDX-License-Identifier: MIT
"""Ranges of trees from `xac serve`: what is asked for comes, as pairs and as arrays that are not copied; and nothing
that goes wrong is in the way of the next attempt."""

import copy
import ctypes
import errno
import gc
import os
import pickle
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest

import libxac
from libxac import _library, _send_library
from libxac.constants import Way

from conftest import BUILD, TREE
from leeway import leeway
from trees import Server, Tree

WAYS = [way.name.lower() for way in Way]
ORDER = np.dtype([("number", ">u8"), ("price", "<f8"), ("pieces", "<i4")])
ORDERS = 5000
WORDS = {f"key{i:05d}".encode(): f"value {i}".encode() * (1 + i % 5) for i in range(3000)}


def order(number, price=None):
    return struct.pack(">Q", number), struct.pack("<di", number / 4 if price is None else price, number % 7)


@pytest.fixture
def shop(path, tmp_path, monkeypatch):
    """The environment, where `orders` has records of fixed size, each tenth number one, and `words` has any."""
    monkeypatch.chdir(tmp_path)  # paths of sockets are to be short
    with libxac.Environment(path, libxac.CREATE | libxac.NOSYNC) as env:
        orders, words = Tree(env, "orders", "by_number", 12), Tree(env, "words", "english")
        orders.put(dict(order(10 * i) for i in range(ORDERS)))
        words.put(WORDS)
        env.orders = orders
        yield env
        orders.close()
        words.close()


@pytest.fixture
def server(shop):
    with Server(shop.path, "shop.sock") as server:
        yield server


def orders_from(server, *bounds, **options):
    return libxac.Range(server.address, "orders", "by_number", *bounds, **options)


def rows_of(array):
    return [tuple(row) for row in array.tolist()]


def address_of_rows(range):
    """As the library has it."""
    address, count, stride = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
    arguments = map(ctypes.byref, (address, count, stride))
    assert range._calls.xac_range_array(range._received.address, *arguments) == 0
    return address.value, count.value * stride.value


# ---- what comes ----


@pytest.mark.parametrize("way", WAYS)
def test_records_of_any_length(server, way):
    with libxac.Range(server.address, "words", "english", way=way) as words:
        assert list(words) == sorted(WORDS.items())
        assert all(type(key) is bytes and type(value) is bytes for key, value in words)
        assert not words.is_cut


@pytest.mark.parametrize("way", WAYS)
def test_bounds(server, way):
    expected = [order(number) for number in range(100, 200, 10)]
    first, behind = order(100)[0], order(200)[0]
    for start, stop in ((100, 200), (91, 191), (first, behind), (np.uint64(100), bytearray(behind))):
        with orders_from(server, start, stop, way=way) as orders:
            assert list(orders) == expected
    with orders_from(server, 10 * ORDERS - 20, way=way) as orders:
        assert len(list(orders)) == 2
    with orders_from(server, None, 25, way=way) as orders:
        assert [key for key, _ in orders] == [order(number)[0] for number in (0, 10, 20)]
    with orders_from(server, 101, 109, way=way) as orders:
        assert list(orders) == []


def test_max_records(server):
    with orders_from(server, 100, max_records=3) as orders:
        assert [key for key, _ in orders] == [order(number)[0] for number in (100, 110, 120)]
        assert orders.is_cut
    with orders_from(server, 10 * ORDERS - 30, max_records=3) as orders:
        assert len(list(orders)) == 3


def test_max_bytes(server):
    with orders_from(server, 100) as orders:
        key, value = next(iter(orders))
        record_bytes = len(key) + len(value)
    with orders_from(server, 100, max_bytes=3 * record_bytes + 1) as orders:
        assert [key for key, _ in orders] == [order(number)[0] for number in (100, 110, 120)]
        assert orders.is_cut
    with orders_from(server, 100, max_bytes=1) as orders:
        assert len(list(orders)) == 1 and orders.is_cut


def test_range_is_of_one_commit(shop, server):
    with orders_from(server, 0, 30) as orders:
        before = orders.sequence
        shop.orders.put(dict([order(5)]))
        assert len(list(orders)) == 3 and orders.sequence == before
        assert orders.receive() is orders
        assert [key for key, _ in orders] == [order(number)[0] for number in (0, 5, 10, 20)]
        assert orders.sequence == before + 1
        assert str(orders.sequence) in repr(orders) and "by_number" in repr(orders)


def test_at_is_the_commit_of_a_snapshot(shop, server):
    with shop.snapshot() as snapshot:
        shop.orders.put(dict([order(5)]))
        with orders_from(server, 0, 30, at=snapshot.sequence) as orders:
            assert len(list(orders)) == 3 and orders.sequence == snapshot.sequence


def test_over_tcp(shop):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    with Server(shop.path, address) as server, orders_from(server) as orders:
        assert len(orders.array(ORDER)) == ORDERS
        assert len(orders.receive().array(ORDER)) == ORDERS


def test_pages_are_sent_once(shop, server):
    with orders_from(server, way="pages") as orders:
        whole = server.bytes_sent()
        assert whole > ORDERS * 20
        shop.orders.put({**dict([order(5), order(4000, price=0)]), order(70)[0]: None})
        changed = dict(order(10 * i) for i in range(ORDERS)) | dict([order(5), order(4000, price=0)])
        del changed[order(70)[0]]
        for _ in range(10):
            assert list(orders.receive()) == sorted(changed.items())
            assert server.bytes_sent() < whole + whole / 10


# ---- arrays ----


@pytest.mark.parametrize("way", ["auto", "copy", "gather", "zerocopy"])
def test_array_is_the_memory_of_the_range(server, way):
    with orders_from(server, 100, 20000, way=way) as orders:
        array = orders.array(ORDER)
        assert (array.ctypes.data, array.nbytes) == address_of_rows(orders)
        assert not array.flags.owndata and array.dtype == ORDER
        assert np.shares_memory(array["price"], orders.array("S20"))
        assert rows_of(array) == [(number, number / 4, number % 7) for number in range(100, 20000, 10)]


def test_store_is_refused(server):
    with orders_from(server) as orders:
        for array in (orders.array(ORDER), orders_from(server, 1, 2).array(ORDER)):
            assert not array.flags.writeable
            with pytest.raises(ValueError):
                array["price"] = 0
            with pytest.raises(ValueError):
                array.flags.writeable = True


def test_array_stays_as_it_is(shop, server):
    with orders_from(server, 0, 1000) as orders:
        array = orders.array(ORDER)["price"][::2]
        expected = array.copy()
        for step in range(5):
            shop.orders.put(dict(order(number, price=-step) for number in range(0, 1000, 10)))
            assert (orders.receive().array(ORDER)["price"] == -step).all()
            assert (array == expected).all()
    del orders
    gc.collect()
    bytes(1 << 20)
    assert (array == expected).all()


def test_memory_ends_with_its_last_array(server, monkeypatch):
    close, closed = _send_library.xac_range_close, []
    monkeypatch.setattr(_send_library, "xac_range_close", lambda address: (closed.append(address), close(address)))
    orders = orders_from(server, 0, 1000)
    addresses = [orders._received.address]
    received = weakref.ref(orders._received)
    first, second = orders.array(ORDER), orders.array(ORDER)["number"][3:]
    orders.receive()
    addresses.append(orders._received.address)
    assert received() is not orders._received
    del first
    gc.collect()
    assert received() is not None and second[0] == 30 and not closed
    del second
    gc.collect()
    assert received() is None and closed == addresses[:1]
    orders.close()
    assert closed == addresses


def test_memory_is_used_again_without_arrays(server):
    with orders_from(server) as orders:
        received = orders._received
        for _ in range(3):
            assert len(orders.array(ORDER)) == ORDERS
            assert orders.receive()._received is received


def test_empty_array(server):
    with orders_from(server, 101, 109) as orders:
        array = orders.array(ORDER)
        assert array.shape == (0,) and array.dtype == ORDER
        with pytest.raises(ValueError, match="20 bytes"):
            orders.array("i4")


def test_what_is_no_array_says_so(server):
    with orders_from(server, way="pages") as orders, pytest.raises(ValueError, match="way='copy'"):
        orders.array(ORDER)
    with libxac.Range(server.address, "words", "english") as words, pytest.raises(ValueError, match="no array"):
        words.array("S8")
    with orders_from(server) as orders:
        with pytest.raises(ValueError, match="a record has 20 bytes, 8 of them its key: .* has 24"):
            orders.array([("number", ">u8"), ("price", "<f8"), ("pieces", "<i8")])
        with pytest.raises(TypeError):
            orders.array("O")


# ---- iterations ----


def test_iterations_within_each_other(server):
    with orders_from(server, 0, 6000) as orders:
        pairs = [(a, b) for a, _ in orders for b, _ in orders]
        assert len(pairs) == 600 * 600 and pairs == sorted(pairs)


@pytest.mark.parametrize("way", ["copy", "pages"])
def test_iteration_ends_when_another_response_comes(server, way):
    with orders_from(server, way=way) as orders:
        records = iter(orders)
        next(records)
        orders.receive()
        with pytest.raises(RuntimeError, match="received again"):
            next(records)
        assert len(list(orders)) == ORDERS


def test_threads_use_one_range(shop, server):
    """Each sees a whole commit: all prices of one are the same."""
    orders, seen, stop = orders_from(server, 0, 6000, way="pages"), [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                seen.append({value[:8] for _, value in orders})
            except RuntimeError:
                pass

    pool = [threading.Thread(target=read) for _ in range(4)]
    for thread in pool:
        thread.start()
    for step in range(20):
        shop.orders.put(dict(order(number, price=step) for number in range(0, 6000, 10)))
        orders.receive()
    for _ in range(6000):
        if any(prices == {struct.pack("<d", 19)} for prices in seen[-4:]):
            break
        time.sleep(0.01)
    stop.set()
    for thread in pool:
        thread.join(leeway(60))
    orders.close()
    assert {struct.pack("<d", 19)} in seen
    assert all(len(prices) == 1 or len(prices) == 600 for prices in seen)


# ---- errors ----


def test_what_the_server_does_not_have(server):
    for file, tree in (("orders", "none"), ("none", "by_number")):
        with pytest.raises(FileNotFoundError, match=f"{file}, {tree}") as caught:
            libxac.Range(server.address, file, tree)
        assert isinstance(caught.value, libxac.Error) and caught.value.code == -errno.ENOENT
    with pytest.raises(libxac.SystemFailure) as caught:
        orders_from(server, at=1 << 40)
    assert caught.value.errno == errno.ESTALE


def test_nobody_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind("left.sock")
    for address, kind in (
        ("none.sock", FileNotFoundError),
        (Path("left.sock"), ConnectionRefusedError),
        ("127.0.0.1:1", ConnectionRefusedError),
        ("no host:1", OSError),
        ("x" * 200, OSError),
    ):
        with pytest.raises(libxac.SystemFailure) as caught:
            libxac.Range(address, "orders", "by_number")
        assert isinstance(caught.value, kind) and caught.value.filename == str(address)


@pytest.mark.parametrize("way", ["copy", "pages"])
def test_server_that_comes_back(shop, way):
    with Server(shop.path, "shop.sock") as server:
        orders = orders_from(server, way=way)
    with pytest.raises(libxac.SystemFailure):
        orders.receive()
    for call in (lambda: orders.array(ORDER), lambda: iter(orders), lambda: orders.sequence, lambda: orders.is_cut):
        with pytest.raises(ValueError, match="has nothing"):
            call()
    assert "has nothing" in repr(orders)
    with Server(shop.path, "shop.sock"):
        assert len(list(orders.receive())) == ORDERS
        orders.close()


def test_array_survives_a_failure(shop):
    with Server(shop.path, "shop.sock") as server:
        orders = orders_from(server)
        array = orders.array(ORDER)
    with pytest.raises(libxac.SystemFailure):
        orders.receive()
    gc.collect()
    assert array["number"].sum() == sum(range(0, 10 * ORDERS, 10))


class Impostor:
    """Accepts connections at an address, and answers what it is told to."""

    def __init__(self, answer=b"", pause=None):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind("impostor.sock")
        self._listener.listen()
        self._answer = answer
        self._pause = pause  # seconds between two bytes of it
        self._connections = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            connection.recv(10000)
            if self._pause is None:
                connection.sendall(self._answer)
            else:
                self._drip(connection)

    def _drip(self, connection):
        try:
            for byte in self._answer:
                connection.sendall(bytes([byte]))
                time.sleep(self._pause)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(leeway(60))
        for connection in (self._listener, *self._connections):
            connection.close()
        os.unlink("impostor.sock")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_bytes_that_are_no_response(here):
    with Impostor(b"HTTP/1.1 400 Bad Request\r\n\r\n"), pytest.raises(libxac.SystemFailure) as caught:
        libxac.Range("impostor.sock", "orders", "by_number")
    assert caught.value.errno == errno.EPROTO


def test_bytes_behind_a_response(here):
    begin = struct.pack("<IIQ", 1, 0, 40) + struct.pack("<QQIIIIII", 7, 0, 4096, 8, 12, 1, 0, 0)
    end = struct.pack("<IIQ", 8, 0, 16) + struct.pack("<QQ", 0, 0)
    with Impostor(begin + end), libxac.Range("impostor.sock", "orders", "by_number") as orders:
        assert list(orders) == [] and orders.sequence == 7
    with Impostor(begin + end + b"more"), pytest.raises(libxac.SystemFailure) as caught:
        libxac.Range("impostor.sock", "orders", "by_number")
    assert caught.value.errno == errno.EPROTO


def test_another_range_than_the_one_asked_for(here):
    begin = struct.pack("<IIQ", 1, 0, 48) + struct.pack("<QQIIIIII", 7, 0, 4096, 8, 12, 1, 8, 0) + b"12345678"
    end = struct.pack("<IIQ", 8, 0, 16) + struct.pack("<QQ", 0, 0)
    with Impostor(begin + end):
        with libxac.Range("impostor.sock", "orders", "by_number", start=b"12345678") as orders:
            assert list(orders) == []
        for start in (None, b"12345679"):
            with pytest.raises(libxac.SystemFailure) as caught:
                libxac.Range("impostor.sock", "orders", "by_number", start=start)
            assert caught.value.errno == errno.EPROTO


def test_a_code_that_is_nobody_elses_to_give(here):
    conflict = struct.pack("<IIQ", 9, 0, 4) + struct.pack("<i", -5001)
    with Impostor(conflict), pytest.raises(libxac.SystemFailure) as caught:
        libxac.Range("impostor.sock", "orders", "by_number")
    assert caught.value.errno == errno.EPROTO


def test_server_that_does_not_answer(here):
    with Impostor(), pytest.raises(TimeoutError) as caught:
        libxac.Range("impostor.sock", "orders", "by_number", timeout=0.05)
    assert caught.value.code == -errno.ETIMEDOUT


def test_server_that_gives_a_byte_now_and_then(here):
    begin = struct.pack("<IIQ", 1, 0, 40) + struct.pack("<QQIIIIII", 7, 0, 4096, 8, 12, 1, 0, 0)
    end = struct.pack("<IIQ", 8, 0, 16) + struct.pack("<QQ", 0, 0)
    with Impostor(begin + end, pause=0.02), pytest.raises(TimeoutError) as caught:  # 88 bytes: more than a second
        libxac.Range("impostor.sock", "orders", "by_number", timeout=0.2)
    assert caught.value.code == -errno.ETIMEDOUT


def test_more_than_the_memory(here):
    begin = struct.pack("<IIQ", 1, 0, 40) + struct.pack("<QQIIIIII", 7, 0, 4096, 8, 12, 1, 0, 0)
    rows = struct.pack("<IIQ", 2, 1000, 20000)
    with Impostor(begin + rows), pytest.raises(libxac.SystemFailure) as caught:
        libxac.Range("impostor.sock", "orders", "by_number", max_memory=10000, timeout=leeway(5))
    assert caught.value.errno == errno.EFBIG


class Interrupt(BaseException):
    pass


def test_interrupt_while_it_waits(shop, here):
    """The response that comes after it is not taken for the next one."""

    def interrupt(*_):
        raise Interrupt

    with Server(shop.path, "shop.sock") as server:
        orders = orders_from(server)
        before = signal.signal(signal.SIGALRM, interrupt)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Interrupt):
                orders.receive()
        finally:
            os.kill(server.pid, signal.SIGCONT)
            signal.signal(signal.SIGALRM, before)
        with pytest.raises(ValueError, match="has nothing"):
            list(orders)
        assert len(list(orders.receive())) == ORDERS
        orders.close()


def connection_of(orders):
    return os.fstat(orders._socket.fileno()).st_ino


def receive_in_child(orders):
    try:
        before = connection_of(orders)
        return len(list(orders.receive())) != ORDERS or connection_of(orders) == before
    except BaseException:
        return 2


def test_child_of_fork_asks_for_itself(server):
    with orders_from(server, way="pages") as orders:
        before = connection_of(orders)
        child = os.fork()
        if child == 0:
            os._exit(receive_in_child(orders))
        for _ in range(10):
            assert len(list(orders.receive())) == ORDERS
        assert connection_of(orders) == before
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    "error, arguments, options",
    [
        (ValueError, ("orders", "by_number", -1), {}),
        (ValueError, ("orders", "by_number", 1 << 64), {}),
        (ValueError, ("orders", "by_number", b"x" * 1025), {}),
        (ValueError, ("orders", "by_number", None, b""), {}),
        (ValueError, ("", "by_number"), {}),
        (ValueError, ("orders", ""), {}),
        (ValueError, ("orders", "by\0number"), {}),
        (ValueError, ("o" * 256, "by_number"), {}),
        (ValueError, ("orders", "by_number"), {"way": "any"}),
        (ValueError, ("orders", "by_number"), {"max_records": -1}),
        (ValueError, ("orders", "by_number"), {"max_bytes": -1}),
        (ValueError, ("orders", "by_number"), {"at": 1 << 64}),
        (TypeError, ("orders", "by_number", "100"), {}),
        (TypeError, ("orders", "by_number", 1.5), {}),
        (TypeError, ("orders", "by_number"), {"max_records": "3"}),
    ],
)
def test_what_cannot_be_asked_for(server, error, arguments, options):
    with pytest.raises(error):
        libxac.Range(server.address, *arguments, **options)


def test_closed_range_refuses(server):
    orders = orders_from(server)
    records = iter(orders)
    orders.close()
    orders.close()
    for call in (orders.receive, lambda: iter(orders), lambda: next(records), lambda: orders.array(ORDER)):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert "closed" in repr(orders)


def test_range_that_is_forgotten_leaves_the_server(server):
    """Without a warning of Python's that nobody has closed its connection."""
    orders = orders_from(server)
    connection = weakref.ref(orders._socket)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        del orders
        gc.collect()
    assert connection() is None and not warned


# ---- the library ----


def test_library_is_beside_the_other_one(tmp_path):
    """Without it all else works, and the first Range says what is missing."""
    alone = shutil.copy(os.path.realpath(_library.path), tmp_path / "libxac.so.1")
    program = "import libxac\ntry:\n libxac.Range('x', 'y', 'z')\nexcept ImportError as error:\n print(error)"
    environment = {"LIBXAC_LIBRARY": str(alone), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=leeway(60), env=environment)
    assert done.returncode == 0, done.stderr
    assert "libxacsend's shared library cannot be loaded" in done.stdout
    assert str(tmp_path / "libxacsend.so.0") in done.stdout and "make install" in done.stdout


def test_no_range_is_pickled_or_copied(server):
    with orders_from(server, 0, 100) as orders:
        for copied in (pickle.dumps, copy.copy, copy.deepcopy):
            for thing in (orders, orders._received):
                with pytest.raises(TypeError, match="cannot be pickled or copied"):
                    copied(thing)
        array = orders.array(ORDER)
        assert (pickle.loads(pickle.dumps(array)) == array).all()
        with pytest.raises(ValueError, match="address: .* NUL"):
            libxac.Range(f"{server.address}\0.old", "orders", "by_number")
