# SPDX-License-Identifier: MIT
"""One exception for each code of the library; -errno is an exception of the system's kind, too.

    Error                 what all have in common: .code
        Conflict, ...     one for each Code
        SystemFailure     -errno; also an OSError of the kind that Python has for it (FileNotFoundError, ...)
"""

from __future__ import annotations

import errno
import functools
from typing import Optional

from . import _library
from .constants import Code


class Error(Exception):
    """What the library returned: `code`, and as text what xac_strerror() says of it."""

    code: int = 0
    problem: str = ""  # of a backup: what went wrong where

    def __init__(self, text: Optional[str] = None) -> None:
        super().__init__(text or _text_of(self.code))


class Conflict(Error):
    """The transaction lost to a concurrent commit: run it again. run() and transactional() do. A body that raises it
    asks for another attempt."""

    code = Code.CONFLICT


class Wrote(Error):
    """The transaction wrote although it was begun with RDONLY."""

    code = Code.WROTE


class Full(Error):
    """The version pool is full."""

    code = Code.FULL


class Poisoned(Error):
    """A write or sync of the log failed, now or earlier: only reads go on."""

    code = Code.POISONED


class Corrupt(Error):
    """A file of the environment is damaged."""

    code = Code.CORRUPT


class Format(Error):
    """The environment was made by another version of the library."""

    code = Code.FORMAT


class Forked(Error):
    """Used in a child of fork() that has not opened the environment for itself."""

    code = Code.FORKED


class NoTxn(Error):
    """No transaction is open."""

    code = Code.NOTXN


class NoView(Error):
    """The address is in no view of this thread."""

    code = Code.NOVIEW


class Limit(Error):
    """Too many threads, snapshots or files."""

    code = Code.LIMIT


class Unended(Error):
    """A transaction was left open."""

    code = Code.UNENDED


class SystemFailure(Error, OSError):
    """The library returned -errno. What is raised is also an OSError of the kind that Python has for it."""

    def __init__(self, code: int, filename: Optional[str] = None, text: Optional[str] = None) -> None:
        OSError.__init__(self, -code, text or _text_of(code), filename)
        self.code = code

    def __reduce__(self):
        return error_of, (self.code, self.filename, self.strerror), self.__dict__


_CLASSES = {kind.code: kind for kind in Error.__subclasses__() if kind.code}


def _text_of(code):
    return _library.xac_strerror(code).decode()


@functools.lru_cache(maxsize=None)
def _failure_like(kind):
    if kind is OSError:
        return SystemFailure
    return type("SystemFailure", (SystemFailure, kind), {"__module__": __name__, "__doc__": kind.__doc__})


def error_of(code, filename=None, text=None):
    """The exception for what a function returned; text: says more than xac_strerror() can."""
    if code in _CLASSES:
        return _CLASSES[code](text)
    return _failure_like(type(OSError(-code, "")))(code, filename, text)


def check(code, filename=None, invalid=None):
    """Raises it, unless the code is 0. invalid: what to say of -EINVAL, which the library has for all its calls."""
    if code:
        raise error_of(code, filename, invalid if code == -errno.EINVAL else None)
