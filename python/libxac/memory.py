# SPDX-License-Identifier: MIT
"""Arrays on memory that the library has mapped."""

import collections.abc
import errno
import math
import os

import numpy as np

from .arguments import NotPickled, number_of
from .constants import Code
from .errors import error_of

READ, WRITE = 1, 2  # enum xac_access
_BYTES_MAX = 1 << 63
_NO_NAME = "file: no data file can have this name: no '/', not '.' or '..', and not 'xac.' in front"
_NO_FILE = "file: not found; Environment.array() with a shape makes one"


class Memory(NotPickled):
    """Bytes at an address, for numpy. An array on it keeps it, and with it `owner`, which keeps the mapping."""

    _instead = "an array on it can"

    def __init__(self, address, byte_len, owner, is_readonly):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (byte_len,),
            "data": (address, is_readonly),
        }

    def array(self, dtype, shape, offset):
        layout = np.asarray(self)[offset : offset + byte_len_of(dtype, shape)]
        return layout.view(dtype).reshape(shape)


def checked_dtype(dtype):
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype: {error}") from None
    if dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(f"dtype: {dtype}: a file holds numbers, not objects of Python, and of a fixed size")
    return dtype


def checked_shape(shape, dtype, offset):
    is_one = isinstance(shape, (str, bytes)) or not isinstance(shape, collections.abc.Sequence)
    extents = (shape,) if is_one else shape
    extents = tuple(number_of(extent, f"shape: {shape!r}") for extent in extents)
    if offset + byte_len_of(dtype, extents) >= _BYTES_MAX or math.prod(filter(None, extents)) >= _BYTES_MAX:
        raise ValueError(f"shape: {shape!r} of {dtype} is more than can be addressed")
    return extents


def checked_offset(offset, dtype):
    offset = number_of(offset, "offset")
    if offset % dtype.alignment:
        raise ValueError(f"offset: {offset} is not aligned for {dtype}")
    return offset


def is_of_a_file(name):
    return name not in (b"", b".", b"..") and b"/" not in name and not name.startswith(b"xac.")


def error_of_file(number, name, invalid=None):
    """Of the functions that return an address: they say XAC_FORKED by ECHILD. invalid: what EINVAL is about, unless it
    is the name."""
    file = os.fsdecode(name)
    if number == errno.ECHILD:
        return error_of(Code.FORKED)
    if number == errno.EINVAL:
        return error_of(-number, file, invalid if is_of_a_file(name) else _NO_NAME)
    if number == errno.ENOENT:
        return error_of(-number, file, _NO_FILE)
    return error_of(-number, file)


def byte_len_of(dtype, shape):
    return math.prod(shape) * dtype.itemsize


def shape_that_fits(dtype, byte_len):
    """As many elements as the bytes hold."""
    return (max(byte_len, 0) // dtype.itemsize,)


def bytes_of(array):
    """(address, length), for xac_advise()."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"array: an array of numpy, not {type(array).__name__}")
    if not array.flags.c_contiguous:
        raise ValueError("the array has gaps")
    return address_of(array), array.nbytes


def address_of(array):
    """array.ctypes.data imports something, which cannot be done any more when the interpreter ends."""
    return array.__array_interface__["data"][0]
