# SPDX-License-Identifier: MIT
"""Trees and hash tables of records: mappings of bytes to bytes that change by transactions."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Any, MutableMapping, Optional, Tuple, Union

from .arguments import Key, Name, name_of, number_of
from .errors import check, error_of
from .parts import lost
from .records import Records
from .snapshot import Snapshot, handle_of
from .transaction import undo_what_was_left
from .tree_parts import Arena, Cursor, OpenedTree, SnapshotArena, SnapshotCursor, SnapshotTree

if TYPE_CHECKING:
    from .environment import Environment
else:
    Environment = Any  # which imports this module

Value = Union[bytes, bytearray, memoryview]

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


class Tree(Records, MutableMapping[bytes, bytes]):
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
        self._thread.tree = OpenedTree.of(arena, self._kind, self._tree, flags, options)
        return self._thread.tree

    def _opened(self):
        """By this thread."""
        self._env._open_handle()
        tree = getattr(self._thread, "tree", None)
        return self._open() if tree is None or tree.address is None else tree

    def _cursor(self):
        return Cursor(self._opened())

    # ---- single records ----

    def _put(self, key, value, flags):
        key, value = self._bytes_of_key(key), _bytes_of_value(value)
        self._env._join_no_other_task()
        return self._call(self._library.xac_tree_put, key, len(key), value, len(value), flags)

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
        self._env._join_no_other_task()
        return self._call(self._library.xac_tree_delete, key, len(key)) == 0

    # ---- beside writers ----

    def snapshot(self, durable: bool = False, at: Optional[int] = None) -> TreeSnapshot:
        """All records as of one commit (Environment.snapshot())."""
        return self.at(self._env.snapshot(durable, at))

    def at(self, snapshot: Snapshot) -> TreeSnapshot:
        """All records as of a Snapshot of the environment."""
        return TreeSnapshot(self, snapshot)

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
        cursor = self._cursor()
        code = self._checked(cursor.call(self._library.xac_tree_cursor_first), cursor)
        while not code:
            self._checked(cursor.call(self._library.xac_tree_cursor_delete), cursor)
            code = self._checked(cursor.call(self._library.xac_tree_cursor_next), cursor)
        cursor.close()

    def drop(self) -> None:
        """The tree is gone, with all records. Its pages are used again in the file."""
        undo_what_was_left()
        tree = self._opened()
        if self._checked(tree.owner.call(self._library.xac_tree_drop, self._tree), tree):
            raise error_of(-errno.ENOENT, os.fsdecode(self._file), f"tree: {os.fsdecode(self._tree)!r} was dropped")


    def __repr__(self) -> str:
        names = f"{os.fsdecode(self._file)!r}, {os.fsdecode(self._tree)!r}"
        return f"<libxac.Tree {self._kind.name} {names} of {self._env!r}>"


class TreeSnapshot(Records):
    """The records of a tree as of one commit: Tree.snapshot() and Tree.at(). Writers go on meanwhile. Any thread may use
    it; they wait for each other. It may be used after the Snapshot was closed, which holds its commit."""

    _instead = Snapshot._instead

    def __init__(self, tree: Tree, snapshot: Snapshot) -> None:
        if not isinstance(tree, Tree):
            raise TypeError("they come from Tree.snapshot() and Tree.at()")
        handle = handle_of(snapshot, tree._env)
        self._kind, self._library, self._file, self._tree = tree._kind, tree._library, tree._file, tree._tree
        self._part = SnapshotTree(SnapshotArena(handle, self._file), self._kind, self._tree)
        self._sequence = snapshot.sequence

    def _opened(self):
        if self._part is None:
            raise ValueError("it is closed")
        return self._part

    def _cursor(self):
        return SnapshotCursor(self._opened())

    @property
    def sequence(self) -> int:
        """The number of its commit."""
        self._opened()
        return self._sequence

    def close(self) -> None:
        """Nothing more is read through this object."""
        part, self._part = self._part, None
        if part is not None:
            part.owner.close()

    def __enter__(self) -> TreeSnapshot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = f"{os.fsdecode(self._file)!r}, {os.fsdecode(self._tree)!r}"
        return f"<libxac.TreeSnapshot {self._kind.name} {names} {self._sequence if self._part else 'closed'}>"


# ---- of an environment ----


def names_of_trees(env, file):
    """Of all trees and hash tables in a file."""
    undo_what_was_left()
    handle, file, names = env._open_handle(), name_of(file, "file"), []
    env._byte_len_of(file)  # an error: an arena would be made
    arena = Arena.of(handle, file)
    visit = arena.library.Visit(lambda _, name: names.append(name) or 0)
    code = arena.call(arena.library.xac_tree_names, visit, None)
    if code == -errno.ECANCELED:
        raise lost(arena.env)
    check(code, os.fsdecode(arena.file))
    return [os.fsdecode(name) for name in names]
