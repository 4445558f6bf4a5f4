# SPDX-License-Identifier: MIT
"""libxactrees.so, which lies where libxac.so does. Imported by the first tree: all else needs libxac.so alone.

Trees of each kind have the same calls, but for what a cursor is sought by (<xac/bptree.h>).
"""

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, NamedTuple

from . import _library

SONAME = "libxactrees.so.0"
DECLARED = 2  # PAGE_ARENA_DECLARED
CREATE, NOOVERWRITE = 1, 4  # enum bptree_flags
GE, LE = 0, 1  # enum bptree_seek
STATS_FIELDS = 8  # room for bptree_stats and the like, which begin with the number of records


class Options(ctypes.Structure):
    """bptree_options, and ehash_options, which ends before the comparison."""

    _fields_ = [("key_bytes", c_uint32), ("value_bytes", c_uint32), ("compare", c_void_p), ("compare_arg", c_void_p)]


class Record(ctypes.Structure):
    """bptree_record."""

    _fields_ = [("key", c_void_p), ("key_len", c_size_t), ("value", c_void_p), ("value_len", c_size_t)]


Visit = CFUNCTYPE(c_int, c_void_p, c_char_p)

# name: (result, arguments). Arenas, trees and cursors are plain addresses.
_PROTOTYPES = {
    "page_arena_open_env": (c_int, c_void_p, c_char_p, c_int, POINTER(c_void_p)),
    "page_arena_open_snapshot": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    "page_arena_close": (c_int, c_void_p),
    "bptree_drop": (c_int, c_void_p, c_char_p),
    "bptree_names": (c_int, c_void_p, Visit, c_void_p),
}
_OF_KINDS = {
    "open": (c_int, c_void_p, c_char_p, c_int, POINTER(Options), POINTER(c_void_p)),
    "close": (None, c_void_p),
    "put": (c_int, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, c_int),
    "get": (c_int, c_void_p, c_char_p, c_size_t, c_void_p, c_size_t, POINTER(c_size_t)),
    "delete": (c_int, c_void_p, c_char_p, c_size_t),
    "stat": (c_int, c_void_p, POINTER(c_uint64 * STATS_FIELDS)),
    "cursor_open": (c_int, c_void_p, POINTER(c_void_p)),
    "cursor_close": (None, c_void_p),
    "cursor_first": (c_int, c_void_p),
    "cursor_last": (c_int, c_void_p),
    "cursor_next": (c_int, c_void_p),
    "cursor_previous": (c_int, c_void_p),
    "cursor_record": (c_int, c_void_p, POINTER(Record)),
    "cursor_read": (c_int, c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t)),
    "cursor_delete": (c_int, c_void_p),
}
_KINDS = ("bptree", "cobtree", "ehash")
for _kind in _KINDS:
    _PROTOTYPES.update({f"{_kind}_{name}": prototype for name, prototype in _OF_KINDS.items()})
for _kind in ("bptree", "cobtree"):
    _PROTOTYPES[f"{_kind}_cursor_seek"] = (c_int, c_void_p, c_char_p, c_size_t, c_int)

path = _library.declare(
    "libxactrees", [os.path.join(os.path.dirname(_library.path), SONAME)], _PROTOTYPES, globals()
)


class Kind(NamedTuple):
    """The functions of a kind of tree, by their names without its own in front."""

    name: str
    is_ordered: bool
    key_bytes_max: int
    open: Any
    close: Any
    put: Any
    get: Any
    delete: Any
    stat: Any
    cursor_open: Any
    cursor_close: Any
    cursor_first: Any
    cursor_last: Any
    cursor_next: Any
    cursor_previous: Any
    cursor_record: Any
    cursor_read: Any
    cursor_delete: Any
    cursor_seek: Any


def _kind_of(name, key_bytes_max):
    functions = {function: globals()[f"{name}_{function}"] for function in _OF_KINDS}
    seek = globals().get(f"{name}_cursor_seek")
    return Kind(name, seek is not None, key_bytes_max, cursor_seek=seek, **functions)


KINDS = {"bptree": _kind_of("bptree", 1024), "cobtree": _kind_of("cobtree", 1024), "ehash": _kind_of("ehash", 1016)}
