# SPDX-License-Identifier: MIT
"""Trees and hash tables of records: mappings of bytes to bytes that change by transactions."""

from __future__ import annotations

import collections.abc
import ctypes
import errno
import os
import threading
from typing import TYPE_CHECKING, Any, Iterator, MutableMapping, Optional, Tuple, Union

from . import _library
from .arguments import Key, Name, NotPickled, key_of, name_of, number_of
from .constants import Code, Flag
from .errors import check, error_of
from .parts import Part
from .transaction import undo_what_was_left

if TYPE_CHECKING:
    from .environment import Environment
else:
    Environment = Any  # which imports this module

Value = Union[bytes, bytearray, memoryview]

_Buffer = ctypes.c_char * 512  # for most values
_string_at = ctypes.string_at
_VALUE_BYTES_MAX = 1 << 30
_NAME_BYTES_MAX = 255
_FIXED_VALUE_BYTES_MAX = 256


def _bytes_of_value(value):
    if isinstance(value, str):
        raise TypeError(f"value: {value!r} is a text; values are bytes: encode it")
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"value: bytes, not {value!r}") from None
    if view.nbytes > _VALUE_BYTES_MAX:
        raise ValueError(f"value: up to {_VALUE_BYTES_MAX} bytes, not {view.nbytes}")
    return view.tobytes()


def _name_of_tree(tree):
    name = name_of(tree, "tree")
    if not 0 < len(name) <= _NAME_BYTES_MAX:
        raise ValueError(f"tree: a name has 1 to {_NAME_BYTES_MAX} bytes, not {len(name)}")
    return name


def _checked_value_bytes(value_bytes):
    if number_of(value_bytes, "value_bytes") > _FIXED_VALUE_BYTES_MAX:
        raise ValueError(f"value_bytes: up to {_FIXED_VALUE_BYTES_MAX}, not {value_bytes}")
    return value_bytes


def lost(env):
    """What the open transaction was lost by; inside of it a call says only that it was."""
    code = env.call(_library.xbegin, int(Flag.NESTED)) or env.call(_library.xend)
    return error_of(code or Code.CONFLICT)


# ---- what a thread has open ----


def _open(call, *arguments):
    address = ctypes.c_void_p()
    code = call(*arguments, ctypes.byref(address))
    return address.value, code


class Arena(Part):
    """Of a data file."""

    def __init__(self, env, file):
        from . import _trees_library as library

        self.file, self.library = file, library
        address, code = _open(env.call, library.page_arena_open_env, file, library.DECLARED)
        self._check(code, env)
        super().__init__(address, library.page_arena_close, env, env)

    def _check(self, code, env):
        if code == -errno.ECANCELED:
            raise lost(env)
        if code == Code.FORMAT:
            raise error_of(code, None, f"file: {os.fsdecode(self.file)!r} holds something else than trees")
        check(code, os.fsdecode(self.file), "file: no data file can have this name")

    @classmethod
    def of(cls, env, file):
        """That of this thread."""
        for part in env.parts.of_this_thread():
            if isinstance(part, cls) and part.file == file and part.address is not None:
                return part
        return cls(env, file)


class _Opened(Part):
    """A tree."""

    def __init__(self, arena, kind, name, flags, options):
        self.kind, self.name = kind, name
        address, code = _open(arena.call, kind.open, name, flags, options and ctypes.byref(options))
        if code == -errno.ECANCELED:
            raise lost(arena.env)
        if code == -errno.ENOENT:
            raise error_of(code, os.fsdecode(arena.file), f"tree: {os.fsdecode(name)!r} is not there")
        argument = "value_bytes" if options else "tree"
        check(code, os.fsdecode(arena.file), f"{argument}: the tree is of another kind, or made with other value_bytes")
        super().__init__(address, kind.close, arena, arena.env)

    @classmethod
    def of(cls, arena, kind, name, flags, options):
        """That of this thread: it has one for each tree."""
        there = None
        for part in arena.env.parts.of_this_thread():
            if isinstance(part, cls) and part.owner is arena and (part.kind, part.name) == (kind, name):
                there = part if part.address is not None else there
        if there is None:
            return cls(arena, kind, name, flags, options)
        if options is not None:
            cls(arena, kind, name, flags, options).close()  # were they the same?
        return there


class _Cursor(Part):
    """On a tree, for an iteration."""

    def __init__(self, tree):
        address, code = _open(tree.call, tree.kind.cursor_open)
        check(code)
        super().__init__(address, tree.kind.cursor_close, tree, tree.env)


# ---- for programs ----


class _Items(collections.abc.ItemsView):
    __slots__ = ()

    def __iter__(self):
        return self._mapping._records(None, None, False, True)


class _Values(collections.abc.ValuesView):
    __slots__ = ()

    def __iter__(self):
        return (value for _, value in self._mapping._records(None, None, False, True))


class Tree(NotPickled, MutableMapping[bytes, bytes]):
    """Records, keys and values of bytes: Environment.btree(), cobtree() and hash().

        orders = env.btree("orders")
        orders[b"ada"] = b"12 apples"
        with env.transaction():
            orders[b"bob"] = orders.pop(b"ada")
        for key, value in orders.range(b"a", b"c"):
            print(key, value)

    Each call is part of the transaction that is open, or one of its own. Keys may also be numbers, which stand for the 8
    bytes that are in the order of the numbers: big-endian; they come back as bytes. All threads may use it; each has
    the tree open for itself, until it ends or closes the environment.
    """

    _instead = "pickle the Environment, and open the tree there"

    def __init__(
        self,
        env: Environment,
        kind: str,
        file: Name,
        tree: Optional[Name] = None,
        create: bool = True,
        value_bytes: Optional[int] = None,
    ) -> None:
        from . import _trees_library as library

        env._open_handle()
        if not isinstance(kind, str) or kind not in library.KINDS:
            raise TypeError("trees come from Environment.btree(), cobtree() and hash()")
        self._env, self._kind, self._library = env, library.KINDS[kind], library
        self._file = name_of(file, "file")
        self._tree = self._file if tree is None else _name_of_tree(tree)
        options = None if value_bytes is None else library.Options(8, _checked_value_bytes(value_bytes))
        if not create:
            env._byte_len_of(self._file)  # an error: an arena would be made
        self._thread = threading.local()  # .tree
        self._open(library.CREATE if create else 0, options)

    def _open(self, flags=0, options=None):
        undo_what_was_left()
        arena = Arena.of(self._env._open_handle(), self._file)
        self._thread.tree = _Opened.of(arena, self._kind, self._tree, flags, options)
        return self._thread.tree

    def _opened(self):
        """By this thread."""
        self._env._open_handle()
        tree = getattr(self._thread, "tree", None)
        return self._open() if tree is None or tree.address is None else tree

    def _checked(self, code, part):
        """0, or what is no failure."""
        if code >= 0 or code in (-errno.ENOENT, -errno.ERANGE, -errno.EEXIST):
            return code
        if code == -errno.ECANCELED:
            raise lost(part.env)
        if code == -errno.ESTALE and isinstance(part, _Cursor):
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
            code = self._call(self._kind.get, key, len(key), value, len(value), byte_len)
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
        return self._call(self._kind.get, key, len(key), None, 0, None) != -errno.ENOENT

    def _put(self, key, value, flags):
        key, value = self._bytes_of_key(key), _bytes_of_value(value)
        return self._call(self._kind.put, key, len(key), value, len(value), flags)

    def __setitem__(self, key: Key, value: Value) -> None:
        self._put(key, value, 0)

    def insert(self, key: Key, value: Value) -> bool:
        """Puts a record if there is none of this key. Says whether it did."""
        return self._put(key, value, self._library.NOOVERWRITE) == 0

    def __delitem__(self, key: Key) -> None:
        if not self.discard(key):
            raise KeyError(key)

    def discard(self, key: Key) -> bool:
        """Deletes the record, if there is one. Says whether there was."""
        key = self._bytes_of_key(key)
        return self._call(self._kind.delete, key, len(key)) == 0

    # ---- all of them ----

    def __len__(self) -> int:
        """Takes as long as reading it."""
        figures = (ctypes.c_uint64 * self._library.STATS_FIELDS)()
        self._call(self._kind.stat, ctypes.byref(figures))
        return figures[0]

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
        cursor, record = _Cursor(self._opened()), self._library.Record()
        kind = self._kind
        step = kind.cursor_previous if reverse else kind.cursor_next
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
        kind = self._kind
        if key is None:
            return self._move(cursor, record, with_value, kind.cursor_last if reverse else kind.cursor_first)
        how = self._library.LE if reverse else self._library.GE
        found = self._move(cursor, record, with_value, kind.cursor_seek, key, len(key), how)
        if found is None or not reverse or found[0] != key:
            return found
        return self._move(cursor, record, with_value, kind.cursor_previous)

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
        code = function(cursor, *arguments) or self._kind.cursor_record(cursor, record)
        if code:
            return code
        key = _string_at(record.key, record.key_len)
        return key, _string_at(record.value, record.value_len) if with_value and record.value else None

    # ---- several calls as one transaction ----

    def pop(self, key: Key, *default: Any) -> Any:
        """Takes the record out, and returns its value."""
        if len(default) > 1:
            raise TypeError("pop() takes a key and a default")
        value = self._env._join(self._pop, self._bytes_of_key(key))
        if value is None and not default:
            raise KeyError(key)
        return default[0] if value is None else value

    def _pop(self, key):
        value = self._get(key)
        if value is not None:
            self.discard(key)
        return value

    def popitem(self) -> Tuple[bytes, bytes]:
        """Takes the first record out."""
        item = self._env._join(self._pop_first)
        if item is None:
            raise KeyError("there are no records")
        return item

    def _pop_first(self):
        item = next(self._records(None, None, False, True), None)
        if item is not None:
            self.discard(item[0])
        return item

    def setdefault(self, key: Key, default: Value = b"") -> bytes:
        """The value; that of the default if there was none, which is put then."""
        key, default = self._bytes_of_key(key), _bytes_of_value(default)
        return self._env._join(lambda: default if self.insert(key, default) else self._get(key))

    def update(self, *records: Any, **others: Any) -> None:
        """Puts all of them or none."""
        try:
            pairs = dict(*records, **others)
        except (TypeError, ValueError) as error:
            raise TypeError(f"records: {error}") from None
        self._env.run(self._put_all, pairs)

    def _put_all(self, pairs):
        for key, value in pairs.items():
            self._put(key, value, 0)

    def clear(self) -> None:
        """Deletes all records, in one transaction."""
        self._env.run(self._delete_all)

    def _delete_all(self):
        cursor = _Cursor(self._opened())
        code = self._checked(cursor.call(self._kind.cursor_first), cursor)
        while not code:
            self._checked(cursor.call(self._kind.cursor_delete), cursor)
            code = self._checked(cursor.call(self._kind.cursor_next), cursor)
        cursor.close()

    def drop(self) -> None:
        """The tree is gone, with all records. Its pages are used again in the file."""
        undo_what_was_left()
        tree = self._opened()
        if self._checked(tree.owner.call(self._library.bptree_drop, self._tree), tree):
            raise error_of(-errno.ENOENT, os.fsdecode(self._file), f"tree: {os.fsdecode(self._tree)!r} was dropped")

    __eq__ = object.__eq__  # no comparison of all records
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        names = f"{os.fsdecode(self._file)!r}, {os.fsdecode(self._tree)!r}"
        return f"<libxac.Tree {self._kind.name} {names} of {self._env!r}>"


# ---- of an environment ----


def names_of_trees(env, file):
    """Of all trees and hash tables in a file."""
    undo_what_was_left()
    handle, file, names = env._open_handle(), name_of(file, "file"), []
    env._byte_len_of(file)  # an error: an arena would be made
    arena = Arena.of(handle, file)
    visit = arena.library.Visit(lambda _, name: names.append(name) or 0)
    code = arena.call(arena.library.bptree_names, visit, None)
    if code == -errno.ECANCELED:
        raise lost(arena.env)
    check(code, os.fsdecode(arena.file))
    return [os.fsdecode(name) for name in names]
