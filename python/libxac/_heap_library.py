# SPDX-License-Identifier: MIT
"""libxacheap.so, which lies where libxac.so does. Imported by the first heap: all else needs libxac.so alone."""

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from . import _library
from .figures import HeapStats

SONAME = "libxacheap.so.0"
NAME_MAX = 47  # XAC_HEAP_NAME_MAX


class Root(ctypes.Structure):
    """xac_heap_root."""

    _fields_ = [
        ("name", ctypes.c_char * (NAME_MAX + 1)),
        ("object", c_void_p),
        ("size", c_size_t),
        ("tag", c_uint64),
        ("reserved", c_uint64 * 2),
    ]


class Stats(ctypes.Structure):
    """xac_heap_stats."""

    _fields_ = [(name, c_uint64) for name in HeapStats._fields] + [("reserved", c_uint64 * 7)]


Visit = CFUNCTYPE(c_int, c_void_p, POINTER(Root))
Finding = CFUNCTYPE(None, c_void_p, c_char_p)

# name: (result, arguments). Heaps are plain addresses.
_PROTOTYPES = {
    "xac_heap_open": (c_int, c_void_p, c_char_p, c_int, POINTER(c_void_p)),
    "xac_heap_close": (c_int, c_void_p),
    "xac_heap_free": (None, c_void_p, c_void_p),
    "xac_heap_find": (c_int, c_void_p, c_uint64, POINTER(c_size_t)),
    "xac_heap_address": (c_void_p, c_void_p, c_uint64),
    "xac_heap_root_find": (c_int, c_void_p, c_char_p, POINTER(Root)),
    "xac_heap_root_create": (c_int, c_void_p, c_char_p, c_size_t, c_uint64, POINTER(Root)),
    "xac_heap_root_of": (c_int, c_void_p, c_void_p, POINTER(Root)),
    "xac_heap_root_remove": (c_int, c_void_p, c_char_p),
    "xac_heap_root_list": (c_int, c_void_p, Visit, c_void_p),
    "xac_heap_check": (c_int, c_void_p, POINTER(Stats), Finding, c_void_p),
}
_PROTOTYPES_WITH_ERRNO = {"xac_heap_calloc": (c_void_p, c_void_p, c_size_t, c_size_t)}

_beside = [os.path.join(os.path.dirname(_library.path), SONAME)]
path = _library.declare("libxacheap", _beside, _PROTOTYPES, globals())
_library.declare("libxacheap", [path], _PROTOTYPES_WITH_ERRNO, globals(), use_errno=True)
