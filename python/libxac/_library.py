# SPDX-License-Identifier: MIT
"""Finds libxac.so, and says what its functions take and return.

Calls release the interpreter's lock while they run. The functions that return addresses are declared with errno.

_accelerated, which is compiled, calls some of them by itself. It gets their addresses from here, so that there is one
library in the process, whichever way it is called.
"""

import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

from .figures import Backup, Stats

SONAME = "libxac.so.1"
MAP_FAILED = c_void_p(-1).value


class Options(ctypes.Structure):
    """xac_options."""

    _fields_ = [
        ("pool_bytes", c_uint64),
        ("log_bytes", c_uint64),
        ("reserve_bytes", c_uint64),
        ("page_bytes", c_uint32),
        ("max_participants", c_uint32),
        ("mode", c_uint32),
        ("archive_flags", c_uint32),
        # Not offered: a thread of the library would call it, and wait for the interpreter's lock while a thread that
        # has the lock may wait for it.
        ("progress", c_void_p),
        ("progress_arg", c_void_p),
        ("address", c_uint64),
        ("scan_bytes", c_uint64),
        ("area_bytes", c_uint64),
        # Not offered yet: a path, and what belongs to it.
        ("archive", c_void_p),
        ("archive_held_bytes", c_uint64),
        ("reserved", c_uint64 * 3),
    ]


_NOT_OFFERED = ("progress", "progress_arg", "archive", "archive_held_bytes", "archive_flags", "reserved")
OPTIONS = tuple(name for name, _ in Options._fields_ if name not in _NOT_OFFERED)

STATS = Stats._fields


class StatsBuffer(ctypes.Structure):
    """xac_stats."""

    _fields_ = [(name, c_int64 if name == "archive_error" else c_uint64) for name in STATS] + [
        ("reserved", c_uint64 * 13)
    ]


BACKUP_RESULT = Backup._fields


class BackupResult(ctypes.Structure):
    """xac_backup_result."""

    _fields_ = [(name, c_uint64) for name in BACKUP_RESULT] + [
        ("reserved", c_uint64 * 8),
        ("problem", ctypes.c_char * 512),
    ]


class BackupOptions(ctypes.Structure):
    """xac_backup_options."""

    _fields_ = [
        ("since", c_char_p),
        ("bytes_per_second", c_uint64),
        ("stream", c_int),
        ("progress", c_void_p),
        ("progress_arg", c_void_p),
        ("result", POINTER(BackupResult)),
        ("reserved", c_uint64 * 6),
    ]


# name: (result, arguments). Environments and snapshots are plain addresses.
_PROTOTYPES = {
    "xac_open": (c_int, c_char_p, c_int, POINTER(Options), POINTER(c_void_p)),
    "xac_close": (c_int, c_void_p),
    "xbegin": (c_int, c_void_p, c_int),
    "xend": (c_int, c_void_p),
    "xabort": (c_int, c_void_p),
    "xac_advise": (c_int, c_void_p, c_void_p, c_size_t, c_int),
    "xac_page_read": (c_void_p, c_void_p, c_void_p),
    "xac_page_write": (c_void_p, c_void_p, c_void_p),
    "xac_checkpoint": (c_int, c_void_p),
    "xac_sync": (c_int, c_void_p),
    "xac_backup": (c_int, c_void_p, c_char_p, POINTER(BackupOptions)),
    "xac_stat": (c_int, c_void_p, POINTER(StatsBuffer)),
    "xac_txn_id": (c_uint64, c_void_p),
    "xac_strerror": (c_char_p, c_int),
    "xac_version": (c_char_p,),
    "xac_snapshot_open": (c_int, c_void_p, c_int, POINTER(c_void_p)),
    "xac_snapshot_open_at": (c_int, c_void_p, c_uint64, POINTER(c_void_p)),
    "xac_snapshot_refresh": (c_int, c_void_p, POINTER(c_void_p)),
    "xac_snapshot_sequence": (c_uint64, c_void_p),
    "xac_snapshot_close": (c_int, c_void_p),
}
_PROTOTYPES_WITH_ERRNO = {
    "xac_mmap": (c_void_p, c_void_p, c_char_p, c_size_t, c_int),
    "xac_snapshot_map": (c_void_p, c_void_p, c_char_p, POINTER(c_size_t)),
}

_OF_ACCELERATED = ("xbegin", "xend", "xabort", "xac_advise", "xac_page_read", "xac_page_write", "xac_txn_id")
_OF_ACCELERATED += ("xac_stat",)

_ADVICE = f"""
Build and install libxac (docs/USING.md): ./bootstrap && make && sudo make install && sudo ldconfig
or say where it is: LIBXAC_LIBRARY=/path/to/{SONAME}"""


def _candidates():
    """In the order in which they are tried."""
    chosen = os.environ.get("LIBXAC_LIBRARY")
    if chosen:
        return [chosen]  # what was asked for, or nothing
    here = Path(__file__).resolve()
    beside = [str(here.with_name(SONAME))]  # in a wheel
    tree = here.parents[2]
    if (tree / "include" / "xac" / "xac.h").exists():
        beside.append(str(tree / ".libs" / SONAME))
    return [path for path in beside if os.path.exists(path)] + [SONAME]


def _load(library, candidates):
    reasons = []
    for path in candidates:
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            reasons.append(f"  {path}: {error}")
    raise ImportError(f"{library}'s shared library cannot be loaded:\n" + "\n".join(reasons) + _ADVICE)


def declare(library, candidates, prototypes, namespace, **options):
    """Loads it from the first candidate that can be, and puts its functions there. Returns its path."""
    shared = _load(library, candidates)
    try:
        for name, (result, *arguments) in prototypes.items():
            namespace[name] = ctypes.CFUNCTYPE(result, *arguments, **options)((name, shared))
    except AttributeError as error:
        raise ImportError(f"{shared._name} is too old for this package: {error}{_ADVICE}") from None
    return shared._name


def _find_accelerated():
    """The module, or None: it was not compiled, or for another numpy, or LIBXAC_ACCELERATED=0 says to do without."""
    if os.environ.get("LIBXAC_ACCELERATED") == "0":
        return None
    try:
        from . import _accelerated
    except (ImportError, RuntimeError):  # which numpy raises where it has another interface
        return None
    return _accelerated


path = declare("libxac", _candidates(), _PROTOTYPES, globals())
declare("libxac", [path], _PROTOTYPES_WITH_ERRNO, globals(), use_errno=True)
version = xac_version().decode()  # noqa: F821 (declared above)
_scratch = StatsBuffer()
_accelerated = _find_accelerated()
accelerated = _accelerated is not None


def hand_over(check, flags_of):
    """To _accelerated: the addresses of what it calls."""
    addresses = {name: ctypes.cast(globals()[name], c_void_p).value for name in _OF_ACCELERATED}
    _accelerated.use(addresses, ctypes.addressof(_scratch), check, flags_of, sys.modules)


def look_at_handlers(env):
    """libxac's handler of SIGSEGV is in front again of one that was installed since, by faulthandler.enable() for
    instance. xac_stat() sees to it; the figures are not read."""
    xac_stat(env, _scratch)  # noqa: F821
