# SPDX-License-Identifier: MIT
"""libxacsend.so, which lies where libxac.so does. Imported by the first Range(): all else needs libxac.so alone."""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

from . import _library

SONAME = "libxacsend.so.0"


class Request(ctypes.Structure):
    """xac_send_request."""

    _fields_ = [
        ("file", c_char_p),
        ("tree", c_char_p),
        ("from", c_char_p),
        ("from_len", c_size_t),
        ("to", c_char_p),
        ("to_len", c_size_t),
        ("first_page", c_uint64),
        ("pages", c_uint64),
        ("max_records", c_uint64),
        ("max_bytes", c_uint64),
        ("sequence", c_uint64),
        ("base_sequence", c_uint64),
        ("way", c_uint32),
        ("reserved", c_uint32 * 7),
    ]


class Record(ctypes.Structure):
    """xac_tree_record."""

    _fields_ = [("key", c_void_p), ("key_len", c_size_t), ("value", c_void_p), ("value_len", c_size_t)]


# name: (result, arguments). Ranges are plain addresses.
_PROTOTYPES = {
    "xac_send_request_encode": (c_int, POINTER(Request), c_void_p, c_size_t, POINTER(c_size_t)),
    "xac_range_open": (c_int, POINTER(c_void_p)),
    "xac_range_close": (None, c_void_p),
    "xac_range_expect": (c_int, c_void_p, POINTER(Request)),
    "xac_range_limit": (c_int, c_void_p, c_uint64),
    "xac_range_take": (c_int, c_void_p, c_void_p, c_size_t, POINTER(c_size_t)),
    "xac_range_sequence": (c_uint64, c_void_p),
    "xac_range_is_cut": (c_int, c_void_p),
    "xac_range_first": (c_int, c_void_p),
    "xac_range_next": (c_int, c_void_p),
    "xac_range_seek": (c_int, c_void_p, c_char_p, c_size_t),
    "xac_range_record": (c_int, c_void_p, POINTER(Record)),
    "xac_range_array": (c_int, c_void_p, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_size_t)),
}

path = _library.declare(
    "libxacsend", [os.path.join(os.path.dirname(_library.path), SONAME)], _PROTOTYPES, globals()
)
