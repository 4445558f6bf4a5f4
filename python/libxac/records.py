# SPDX-License-Identifier: MIT
"""Reading records of trees and hash tables: what those of an environment and of a snapshot have in common."""

from __future__ import annotations

import collections.abc
import ctypes
import errno
import os
from typing import Any, Iterator, Mapping, Optional, Tuple

from .arguments import Key, NotPickled, key_of
from .errors import error_of
from .parts import lost
from .transaction import undo_what_was_left

_Buffer = ctypes.c_char * 512  # for most values
_string_at = ctypes.string_at


class _Items(collections.abc.ItemsView):
    __slots__ = ()

    def __iter__(self):
        return self._mapping._records(None, None, False, True)


class _Values(collections.abc.ValuesView):
    __slots__ = ()

    def __iter__(self):
        return (value for _, value in self._mapping._records(None, None, False, True))


class Records(NotPickled, Mapping[bytes, bytes]):
    """Of a tree or a hash table. Who is one has `_kind`, `_library`, `_file`, `_tree` and

        _opened()   what is open: a part, by whose call() functions are called
        _cursor()   a part on it
    """

    def _checked(self, code, part):
        """0, or what is no failure."""
        if code >= 0 or code in (-errno.ENOENT, -errno.ERANGE, -errno.EEXIST):
            return code
        if code == -errno.ECANCELED:
            raise lost(part.env)
        if code == -errno.ESTALE and part.is_cursor:
            raise RuntimeError("the iteration began in a transaction that has ended, or the tree was dropped")
        if code == -errno.ESTALE:
            part.close()  # one of the same name may have been made
            raise error_of(-errno.ENOENT, os.fsdecode(self._file), f"tree: {os.fsdecode(self._tree)!r} was dropped")
        raise error_of(
            code, os.fsdecode(self._file), "key: the tree has none of this length, or the value has another one"
        )

    def _call(self, function, *arguments):
        undo_what_was_left()
        tree = self._opened()
        return self._checked(tree.call(function, *arguments), tree)

    def _bytes_of_key(self, key, argument="key"):
        key = key_of(key, argument, self._kind.key_bytes_max)
        if not key:
            raise ValueError(f"{argument}: keys have 1 byte at least")
        return key

    # ---- single records ----

    def _get(self, key):
        """None: there is no such record."""
        value, byte_len = _Buffer(), ctypes.c_size_t()
        while True:
            code = self._call(self._library.xac_tree_get, key, len(key), value, len(value), byte_len)
            if code != -errno.ERANGE:
                return None if code else _string_at(value, byte_len.value)
            value = ctypes.create_string_buffer(byte_len.value)

    def __getitem__(self, key: Key) -> bytes:
        value = self._get(self._bytes_of_key(key))
        if value is None:
            raise KeyError(key)
        return value

    def get(self, key: Key, default: Any = None) -> Any:
        """The value, or what is given for none."""
        value = self._get(self._bytes_of_key(key))
        return default if value is None else value

    def __contains__(self, key: object) -> bool:
        key = self._bytes_of_key(key)
        return self._call(self._library.xac_tree_get, key, len(key), None, 0, None) != -errno.ENOENT

    # ---- all of them ----

    def __len__(self) -> int:
        """Takes as long as reading it."""
        figures = (ctypes.c_uint64 * self._library.STATS_FIELDS)()
        self._call(self._library.xac_tree_stat, ctypes.byref(figures))
        return figures[self._library.RECORDS]

    def __bool__(self) -> bool:
        """Has it any record?"""
        return next(self._records(None, None, False, False), None) is not None

    def __iter__(self) -> Iterator[bytes]:
        """The keys: of a tree in their order, of a hash table in one of its own."""
        return (key for key, _ in self._records(None, None, False, False))

    def range(
        self, start: Optional[Key] = None, stop: Optional[Key] = None, reverse: bool = False
    ) -> Iterator[Tuple[bytes, bytes]]:
        """(key, value) of the records from `start` up to, not including, `stop`, in the order of the keys; reverse: from
        the last one back. In a transaction all of it is of one moment, and it ends with the transaction. Outside of one
        each step is as of then: what is there all the time is met once. Not of a hash table."""
        if not self._kind.is_ordered:
            raise TypeError("a hash table has no order: look up whole keys, or go through items()")
        start = None if start is None else key_of(start, "start")
        stop = None if stop is None else key_of(stop, "stop")
        return self._records(start or None, stop, reverse, True)

    def items(self) -> collections.abc.ItemsView[bytes, bytes]:
        return _Items(self)

    def values(self) -> collections.abc.ValuesView[bytes]:
        return _Values(self)

    def _records(self, start, stop, reverse, with_values):
        if stop == b"":
            return
        undo_what_was_left()
        cursor, record = self._cursor(), self._library.Record()
        library = self._library
        step = library.xac_tree_cursor_previous if reverse else library.xac_tree_cursor_next
        found = self._seek(cursor, record, stop if reverse else start, reverse, with_values)
        try:
            while found is not None:
                key, value = found
                if (reverse and start is not None and key < start) or (not reverse and stop is not None and key >= stop):
                    return
                if value is None and with_values:  # outside of transactions a cursor has none
                    value = self._get(key)
                if value is not None or not with_values:
                    yield key, value
                found = self._move(cursor, record, with_values, step)
        finally:
            cursor.close()

    def _seek(self, cursor, record, key, reverse, with_value):
        """The first record, or the last one; of those from the key on, or before it."""
        library = self._library
        if key is None:
            to_end = library.xac_tree_cursor_last if reverse else library.xac_tree_cursor_first
            return self._move(cursor, record, with_value, to_end)
        how = self._library.LE if reverse else self._library.GE
        found = self._move(cursor, record, with_value, library.xac_tree_cursor_seek, key, len(key), how)
        if found is None or not reverse or found[0] != key:
            return found
        return self._move(cursor, record, with_value, library.xac_tree_cursor_previous)

    def _move(self, cursor, record, with_value, function, *arguments):
        """(key, value) of the record that the cursor stands on then. The value is None if it is not at hand; instead of
        both: there is no more."""
        undo_what_was_left()
        found = cursor.call(self._moved, record, with_value, function, arguments)
        if isinstance(found, int):
            self._checked(found, cursor)
            return None
        return found

    def _moved(self, cursor, record, with_value, function, arguments):
        code = function(cursor, *arguments) or self._library.xac_tree_cursor_record(cursor, record)
        if code:
            return code
        key = _string_at(record.key, record.key_len)
        return key, _string_at(record.value, record.value_len) if with_value and record.value else None

    __eq__ = object.__eq__  # no comparison of all records
    __hash__ = object.__hash__
