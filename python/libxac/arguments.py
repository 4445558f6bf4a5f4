# SPDX-License-Identifier: MIT
"""What calls are given. Errors name the argument, and nothing is cut off on its way to C, whose texts end at a NUL, and
whose numbers have so many bits."""

from __future__ import annotations

import operator
import os
from typing import Union

Name = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]  # of a directory, or of a file in an environment

_FLAG_BITS = 31


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


class NotPickled:
    """What is of use in this process alone: a copy would be an address in memory that is not there. `_instead` says
    what to do."""

    _instead = ""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"{type(self).__name__} cannot be pickled or copied: {self._instead}")
