# SPDX-License-Identifier: MIT
"""The calls that transactions are made of: what Environment is derived from. Here by ctypes; _accelerated has the same
in C (accelerated/calls.c)."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _library, memory
from .constants import Code
from .errors import check
from .transaction import Transaction


class Lent:
    """What a call of the library takes: `address`, and `lease`."""


class Accesses:
    """Transactions and elements of an environment."""

    _handle: Any = None  # of the library's environment; None: it is closed
    _open_handle: Any  # Environment's

    def transaction(self, flags: int = 0) -> Transaction:
        """A transaction, for a `with` statement. flags: RDONLY, SNAPSHOT_ISOLATION, NOSYNC, DURABLE (xbegin(3))."""
        return Transaction(self, flags)

    def get(self, array: npt.NDArray[Any], index: Union[int, Sequence[int]], /) -> Any:
        """One element of an array of array(), as array.item(index) gives it, without a page fault. Also of arrays of
        snapshots, which need no transaction."""
        place = _place_of(array, index)
        self._announce(array, place, memory.READ)
        return array.item(place)

    def put(self, array: npt.NDArray[Any], index: Union[int, Sequence[int]], value: Any, /) -> None:
        """Stores one element, as array[index] = value does, without a page fault."""
        place = _place_of(array, index)
        one = np.empty((), array.dtype)
        one[()] = value
        if not array.flags.writeable:
            raise ValueError("array: it is read-only")
        self._announce(array, place, memory.WRITE)
        array[place] = one

    def _announce(self, array, place, access):
        handle, address = self._open_handle(), _address_of(array, place)
        code = handle.call(_library.xac_advise, address, array.itemsize, access)
        if code == Code.WROTE:
            handle.call(_library.xac_page_write, address)  # the transaction cannot commit any more, as after a store
        check(code, None, "array: no memory of a data file")


def _place_of(array, index):
    """A tuple of numbers, each within its extent. An index may run anything, also what changes the array: it becomes a
    number first."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"array: an array of numpy, not {type(array).__name__}")
    numbers = tuple(map(_number_of, index)) if isinstance(index, tuple) else (_number_of(index),)
    if array.dtype.names is not None or array.dtype.hasobject:
        field = ": take a field, as array['x']" if array.dtype.names is not None else ""
        what = "get() and put() are for numbers, times and texts of a fixed size"
        raise TypeError(f"array: {what}, and not {array.dtype!r}{field}")
    if len(numbers) != array.ndim:
        raise IndexError(f"index: {len(numbers)} numbers for an array of {array.ndim} dimensions")
    return tuple(_place_in(extent, axis, place) for axis, (extent, place) in enumerate(zip(array.shape, numbers)))


def _number_of(index):
    try:
        return operator.index(index)
    except TypeError:
        raise TypeError(f"index: an integer for each dimension, not {index!r}") from None


def _place_in(extent, axis, place):
    if not -extent <= place < extent:
        raise IndexError(f"index: {place} is out of bounds for axis {axis} with size {extent}")
    return place + extent if place < 0 else place


def _address_of(array, place):
    start: Optional[int] = array.__array_interface__["data"][0]
    return start + sum(index * stride for index, stride in zip(place, array.strides))


if not TYPE_CHECKING and _library.accelerated:
    from ._accelerated import Accesses, Lent  # noqa: F811
