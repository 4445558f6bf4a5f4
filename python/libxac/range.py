# SPDX-License-Identifier: MIT
"""Ranges of B+-trees, as `xac serve` sends them.

What was received lies in the memory of libxacsend's range, and arrays are on that memory. The next response would
change it under them: one that comes while there are arrays goes into another range of the library's, and the arrays
keep theirs. So an array stays as it is, as those of snapshots do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import threading
import time
import weakref
from typing import Any, Iterator, Optional

import numpy as np
import numpy.typing as npt

from . import memory
from .arguments import Key, Name, NotPickled, key_of, name_of, number_of
from .constants import Way
from .errors import Error, check, error_of

_CHUNK_BYTES = 1 << 17  # that are read at once
_CHUNK_RECORDS = 256  # that an iteration takes at once
_ENOUGH_BYTES = 1024  # that end a silence


class _Received(NotPickled):
    """The library's range. It is freed when the last array on it, and the Range, are gone."""

    def __init__(self, calls):
        self.calls = calls  # the module _send_library
        self.close = calls.xac_range_close  # still there while the interpreter takes its modules down
        self.lent = lambda: None  # a weak reference to the memory that arrays are on
        self.place = ctypes.c_void_p()  # where the address is, also if an interrupt comes before the next line
        check(calls.xac_range_open(ctypes.byref(self.place)))
        self.address = self.place.value

    def __del__(self):
        place = getattr(self, "place", None)
        if place is not None and place.value:
            self.close(place.value)

    def take(self, buffer, byte_len):
        """1: the response is complete; 0; or an error."""
        used = ctypes.c_size_t()
        result = self.calls.xac_range_take(self.address, buffer, byte_len, ctypes.byref(used))
        if result == 1 and used.value < byte_len:  # more than was asked for
            return -errno.EPROTO
        return result

    def records_behind(self, key):
        """Some of them, as (key, value); none: there are no more. A key of None: from the first one on."""
        calls, address, record, records = self.calls, self.address, self.calls.Record(), []
        if key is None:
            end = calls.xac_range_first(address)
        else:
            end = calls.xac_range_seek(address, key, len(key)) or calls.xac_range_next(address)
        while not end and len(records) < _CHUNK_RECORDS:
            check(calls.xac_range_record(address, ctypes.byref(record)))
            key = ctypes.string_at(record.key, record.key_len)
            records.append((key, ctypes.string_at(record.value, record.value_len)))
            end = calls.xac_range_next(address)
        return records

    def array(self, dtype):
        address, count, stride = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        code = self.calls.xac_range_array(self.address, *map(ctypes.byref, (address, count, stride)))
        if code == -errno.ENOTSUP:
            raise ValueError(
                "these records are no array: keys of the tree have other lengths than 8, or they came as pages (then "
                "ask for way='copy')"
            )
        check(code)
        if dtype.itemsize != stride.value:
            raise ValueError(f"a record has {stride.value} bytes, 8 of them its key: {dtype} has {dtype.itemsize}")
        if not count.value:
            return np.frombuffer(b"", dtype)
        lent = self.lent() or memory.Memory(address.value, count.value * stride.value, self, True)
        self.lent = weakref.ref(lent)
        return lent.array(dtype, (count.value,), 0)


class Range(NotPickled):
    """The records of a B+-tree from `start` up to, not including, `stop`, as of one commit, from a server.

        orders = Range("shop.sock", "orders", "by_number", start=100, stop=200)
        for key, value in orders:
            print(int.from_bytes(key, "big"), value)
        orders.receive()                    # again, as of now

    address: that of `xac serve`, a path, or "host:port" if it has a colon and no slash. Keys are bytes, or numbers,
    which stand for the 8 bytes that are in the order of the numbers: big-endian. Without start: from the first record;
    without stop: to the last. max_records, max_bytes (of keys and values): not more than so many, and then `is_cut`.
    way: "auto", "copy", "gather", "zerocopy", or "pages": then only what has changed is sent when it is asked for again.
    at: the commit of a snapshot that somebody has open. timeout: so many seconds in which less than 1 KiB of an answer
    comes are too many; without it there are none. max_memory: bytes of memory that what comes may take; 0: any.

    Any thread may use it; they wait for each other. It has a connection of its own, and makes another one after an
    error.
    """

    _socket = None
    _instead = "make a Range in the other process, at=sequence for the same commit"

    def __init__(
        self,
        address: Name,
        file: Name,
        tree: Name,
        start: Optional[Key] = None,
        stop: Optional[Key] = None,
        *,
        max_records: int = 0,
        max_bytes: int = 0,
        way: str = "auto",
        at: Optional[int] = None,
        timeout: Optional[float] = None,
        max_memory: int = 0,
    ) -> None:
        from . import _send_library

        self._calls = _send_library
        self._address = os.fsdecode(name_of(address, "address"))
        self._name = f"{file}, {tree}"
        self._timeout = _checked_timeout(timeout)
        self._max_memory = number_of(max_memory, "max_memory")
        self._request = _send_library.Request(
            file=name_of(file, "file"),
            tree=name_of(tree, "tree"),
            max_records=number_of(max_records, "max_records"),
            max_bytes=number_of(max_bytes, "max_bytes"),
            sequence=number_of(0 if at is None else at, "at"),
            way=_checked_way(way),
        )
        for name, argument, key in (("from", "start", start), ("to", "stop", stop)):
            key = None if key is None else key_of(key, argument)
            setattr(self._request, name, key)
            setattr(self._request, f"{name}_len", len(key or b""))
        self._lock = threading.Lock()
        self._buffer = ctypes.create_string_buffer(_CHUNK_BYTES)
        self._received = None
        self._responses = 0  # that have begun
        self._is_closed = False
        self.receive()

    # ---- the connection ----

    def receive(self) -> Range:
        """Asks the server again: then the range is as of now. Arrays on what there was before stay as they are; an
        iteration over it ends with a RuntimeError. After an error the range has nothing, and this may be called
        again."""
        with self._lock:
            if self._is_closed:
                raise ValueError("the range is closed")
            received, self._received = self._received, None
            self._responses += 1
            if received is None or received.lent():
                received = _Received(self._calls)
            try:
                self._ask(received)
                self._take(received)
            except BaseException as error:  # also an interrupt: nobody knows what comes next on this connection
                self._disconnect()
                if isinstance(error, OSError) and not isinstance(error, Error):
                    raise _error_like(error, self._address) from error
                raise
            self._received = received
        return self

    def _ask(self, received):
        self._request.base_sequence = self._calls.xac_range_sequence(received.address)
        byte_len = ctypes.c_size_t()
        code = self._calls.xac_send_request_encode(
            ctypes.byref(self._request), self._buffer, len(self._buffer), ctypes.byref(byte_len)
        )
        if code == -errno.EINVAL:
            raise ValueError(
                "names have 1 to 255 bytes, keys up to 1024, and stop has one at least: "
                f"{self._name}, {self._request.from_len} and {self._request.to_len} bytes"
            )
        check(code)
        check(self._calls.xac_range_expect(received.address, ctypes.byref(self._request)))
        check(self._calls.xac_range_limit(received.address, self._max_memory))
        if self._socket is None or self._pid != os.getpid():  # a child of fork() leaves it to its parent
            self._disconnect()
            self._socket = _connect(self._address, self._timeout)
            self._pid = os.getpid()
        self._socket.settimeout(self._timeout)
        self._socket.sendall(memoryview(self._buffer)[: byte_len.value], socket.MSG_NOSIGNAL)

    def _take(self, received):
        result, silence = 0, _Silence(self._socket, self._timeout)
        while result == 0:
            byte_len = silence.recv_into(self._buffer)
            result = received.take(self._buffer, byte_len) if byte_len else -errno.ECONNRESET
        if result < 0:
            raise error_of(result, self._name)

    def _disconnect(self):
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Nothing more is read through this object. Arrays on it stay."""
        with self._lock:
            self._is_closed = True
            self._received = None
            self._disconnect()

    def __del__(self):
        self._disconnect()

    def __enter__(self) -> Range:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- what was received ----

    def _whole(self):
        if self._received is None:
            raise ValueError("the range is closed" if self._is_closed else "the range has nothing: receive() failed")
        return self._received

    @property
    def sequence(self) -> int:
        """The number of the commit that it shows."""
        with self._lock:
            return self._calls.xac_range_sequence(self._whole().address)

    @property
    def is_cut(self) -> bool:
        """Is there more behind, as a limit was reached?"""
        with self._lock:
            return bool(self._calls.xac_range_is_cut(self._whole().address))

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """(key, value) of each record, as bytes, in the order of the keys."""
        with self._lock:
            self._whole()
            return self._records(self._responses)

    def _records(self, response):
        key = None
        while True:
            with self._lock:
                received = self._whole()
                if response != self._responses:
                    raise RuntimeError("the range was received again during the iteration")
                records = received.records_behind(key)
            for record in records:
                if response != self._responses:
                    break  # to the error
                yield record
            if not records:
                return
            key = records[-1][0]

    def array(self, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """All records as a numpy array that cannot be written, not copied: of a tree whose keys have 8 bytes, and that
        was not sent as pages. The dtype is that of a record, its key first:

            orders.array([("number", ">u8"), ("price", "<f8"), ("pieces", "<i4")])

        It stays as it is, also after receive() and close()."""
        dtype = memory.checked_dtype(dtype)
        with self._lock:
            return self._whole().array(dtype)

    def __repr__(self) -> str:
        received = self._received
        sequence = received and self._calls.xac_range_sequence(received.address)
        return f"<libxac.Range {self._name} {sequence or ('closed' if self._is_closed else 'has nothing')}>"


# ---- what is asked for ----


def _checked_way(way):
    ways = {known.name.lower(): known for known in Way}
    if not isinstance(way, str) or way not in ways:
        raise ValueError(f"way: {way!r}; there are {', '.join(ways)}")
    return ways[way]


def _checked_timeout(seconds):
    if seconds is None or (isinstance(seconds, (int, float)) and 0 < seconds < threading.TIMEOUT_MAX):
        return seconds
    kind = ValueError if isinstance(seconds, (int, float)) else TypeError
    raise kind(f"timeout: seconds, more than 0, or None, and not {seconds!r}")


# ---- the connection ----


class _Silence:
    """How long it may last: a byte now and then does not end it."""

    def __init__(self, connection, timeout):
        self.connection, self.timeout = connection, timeout
        self.left, self.come = timeout, 0

    def recv_into(self, buffer):
        if self.timeout is None:
            return self.connection.recv_into(buffer)
        if self.left <= 0:
            raise socket.timeout("timed out")
        self.connection.settimeout(self.left)
        begin = time.monotonic()
        byte_len = self.connection.recv_into(buffer)
        self.left -= time.monotonic() - begin
        self.come += byte_len
        if self.come >= _ENOUGH_BYTES:
            self.left, self.come = self.timeout, 0
        return byte_len


def _connect(address, timeout):
    host, colon, port = address.rpartition(":")
    if colon and "/" not in address:
        return socket.create_connection((host, port), timeout)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout)
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def _error_like(error, address):
    """Python's own, as the package's."""
    if isinstance(error, socket.timeout):
        return error_of(-errno.ETIMEDOUT, address)
    if isinstance(error, socket.gaierror):
        return error_of(-errno.EADDRNOTAVAIL, address)
    number = error.errno or errno.ENAMETOOLONG  # Python has none for such a path
    return error_of(-number, address)
