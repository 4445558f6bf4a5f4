# SPDX-License-Identifier: MIT
"""Arrays on memory that the library has mapped."""

import math
import operator

import numpy as np

from . import _library
from .errors import check

READ, WRITE = 1, 2  # enum xac_access


class Memory:
    """Bytes at an address, for numpy. An array on it keeps it, and with it `owner`, which keeps the mapping."""

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
    dtype = np.dtype(dtype)
    if dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(f"{dtype}: a file holds numbers, not objects of Python, and of a fixed size")
    return dtype


def checked_shape(shape):
    shape = (shape,) if not isinstance(shape, (tuple, list)) else shape
    shape = tuple(operator.index(extent) for extent in shape)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"negative dimensions in {shape}")
    return shape


def checked_offset(offset, dtype):
    offset = operator.index(offset)
    if offset < 0 or offset % dtype.alignment:
        raise ValueError(f"offset {offset} is negative, or not aligned for {dtype}")
    return offset


def byte_len_of(dtype, shape):
    return math.prod(shape) * dtype.itemsize


def shape_that_fits(dtype, byte_len):
    """As many elements as the bytes hold."""
    return (max(byte_len, 0) // dtype.itemsize,)


def advise(env, array, access):
    """Does now what touching the array would do: then its memory can be given to system calls."""
    if not array.flags.c_contiguous:
        raise ValueError("the array has gaps")
    check(_library.xac_advise(env, array.ctypes.data, array.nbytes, access))
