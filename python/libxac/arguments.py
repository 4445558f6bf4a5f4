# SPDX-License-Identifier: MIT
"""What calls are given. Errors name the argument, and nothing is cut off on its way to C, whose texts end at a NUL, and
whose numbers have so many bits."""

from __future__ import annotations

import operator
import os
from typing import Union

Name = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]  # of a directory, or of a file in an environment
Key = Union[bytes, bytearray, memoryview, int]  # a number: the 8 bytes that are in the order of the numbers

_FLAG_BITS = 31
_KEY_BYTES_MAX = 1024


def name_of(value, argument):
    """A path or the name of a file, as bytes."""
    try:
        name = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{argument}: a str, bytes or os.PathLike object, not {value!r}") from None
    if b"\0" in name:
        raise ValueError(f"{argument}: {value!r} has a NUL")
    return name


def number_of(value, argument, bits=64, index=operator.index):  # names of other modules are None at the end
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{argument}: an integer, not {value!r}") from None
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{argument}: {value} does not fit")
    return number


def flags_of(value):
    return number_of(value, "flags", _FLAG_BITS)


def key_of(key, argument, bytes_max=_KEY_BYTES_MAX):
    """Of a record, as bytes."""
    if isinstance(key, str):
        raise TypeError(f"{argument}: {key!r} is a text; keys are bytes, or numbers: encode it as the tree has it")
    if not isinstance(key, (bytes, bytearray, memoryview)):
        return number_of(key, argument).to_bytes(8, "big")
    if memoryview(key).nbytes > bytes_max:
        raise ValueError(f"{argument}: keys have up to {bytes_max} bytes, and not {memoryview(key).nbytes}")
    return bytes(key)


class NotPickled:
    """What is of use in this process alone: a copy would be an address in memory that is not there. `_instead` says
    what to do."""

    _instead = ""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"{type(self).__name__} cannot be pickled or copied: {self._instead}")
