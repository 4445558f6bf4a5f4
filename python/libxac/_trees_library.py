# SPDX-License-Identifier: MIT
"""libxactrees.so, which lies where libxac.so does. Imported by the first tree: all else needs libxac.so alone."""

import ctypes
import errno
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import NamedTuple

from . import _library

SONAME = "libxactrees.so.0"
DECLARED = 2  # XAC_ARENA_DECLARED
CREATE, NOOVERWRITE = 1, 4  # enum xac_tree_flags
GE, LE = 0, 1  # enum xac_tree_seek
STATS_FIELDS = 14  # xac_tree_stats, by eight bytes;
RECORDS = 1  # the one that says how many there are


class Options(ctypes.Structure):
    """xac_tree_options."""

    _fields_ = [
        ("key_bytes", c_uint32),
        ("value_bytes", c_uint32),
        ("compare", c_void_p),
        ("compare_arg", c_void_p),
        ("kind", c_uint32),
        ("reserved", c_uint32 * 5),
    ]


class Record(ctypes.Structure):
    """xac_tree_record."""

    _fields_ = [("key", c_void_p), ("key_len", c_size_t), ("value", c_void_p), ("value_len", c_size_t)]


Visit = CFUNCTYPE(c_int, c_void_p, c_char_p)

# name: (result, arguments). Arenas, trees and cursors are plain addresses.
_PROTOTYPES = {
    "xac_arena_open_env": (c_int, c_void_p, c_char_p, c_int, POINTER(c_void_p)),
    "xac_arena_open_snapshot": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    "xac_arena_close": (c_int, c_void_p),
    "xac_tree_drop": (c_int, c_void_p, c_char_p),
    "xac_tree_names": (c_int, c_void_p, Visit, c_void_p),
    "xac_tree_open": (c_int, c_void_p, c_char_p, c_int, POINTER(Options), POINTER(c_void_p)),
    "xac_tree_close": (None, c_void_p),
    "xac_tree_kind_of": (c_int, c_void_p),
    "xac_tree_put": (c_int, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, c_int),
    "xac_tree_get": (c_int, c_void_p, c_char_p, c_size_t, c_void_p, c_size_t, POINTER(c_size_t)),
    "xac_tree_delete": (c_int, c_void_p, c_char_p, c_size_t),
    "xac_tree_stat": (c_int, c_void_p, POINTER(c_uint64 * STATS_FIELDS)),
    "xac_tree_cursor_open": (c_int, c_void_p, POINTER(c_void_p)),
    "xac_tree_cursor_close": (None, c_void_p),
    "xac_tree_cursor_first": (c_int, c_void_p),
    "xac_tree_cursor_last": (c_int, c_void_p),
    "xac_tree_cursor_seek": (c_int, c_void_p, c_char_p, c_size_t, c_int),
    "xac_tree_cursor_next": (c_int, c_void_p),
    "xac_tree_cursor_previous": (c_int, c_void_p),
    "xac_tree_cursor_record": (c_int, c_void_p, POINTER(Record)),
    "xac_tree_cursor_read": (c_int, c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t)),
    "xac_tree_cursor_delete": (c_int, c_void_p),
}

path = _library.declare(
    "libxactrees", [os.path.join(os.path.dirname(_library.path), SONAME)], _PROTOTYPES, globals()
)


class Kind(NamedTuple):
    """A kind of tree."""

    name: str
    number: int  # enum xac_tree_kind
    is_ordered: bool
    key_bytes_max: int


KINDS = {
    "bptree": Kind("bptree", 1, True, 1024),
    "cobtree": Kind("cobtree", 2, True, 1024),
    "ehash": Kind("ehash", 3, False, 1016),
}


def opener(kind):
    """xac_tree_open() of trees of that kind alone; without options, whatever their records are like."""

    def open_kind(arena, name, flags, options, address):
        made = options if options is not None else Options()
        made.kind = kind.number
        if options is not None:
            return xac_tree_open(arena, name, flags, ctypes.byref(options), address)  # noqa: F821
        code = xac_tree_open(arena, name, 0, None, address)  # noqa: F821
        if code == -errno.ENOENT and flags & CREATE:
            return xac_tree_open(arena, name, flags, ctypes.byref(made), address)  # noqa: F821
        if code or xac_tree_kind_of(address._obj) == kind.number:  # noqa: F821
            return code
        xac_tree_close(address._obj)  # noqa: F821
        address._obj.value = None
        return -errno.EINVAL

    return open_kind
