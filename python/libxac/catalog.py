# SPDX-License-Identifier: MIT
"""The tables of an environment: what stands of them in its file `libxac.tables`. README.md has the layout for programs
in C.

A slot of 128 KiB for each table, of which two pages are in use: one that changes when a table is made, renamed or
dropped, and one with the number of its rows. Who appends to a table meets only those who append to the same one. A slot
that was dropped keeps the names of its files, until tables that are made later have taken them: files are never removed.
"""

import errno
import os
import secrets
from typing import NamedTuple

import numpy as np

from .constants import Code
from .errors import error_of

FILE = "libxac.tables"
MAGIC = b"xactable"
VERSION = 1
COLUMNS_MAX = 255
FILES_MAX = 64  # of an environment
FREE, USED, DROPPED = range(3)
KINDS = "biufcmMS"  # of dtypes

COLUMN = np.dtype([("name", "S96"), ("dtype", "S32"), ("file", "S128")])
SLOT = np.dtype(
    {
        "names": ["magic", "version", "state", "columns", "made", "name", "column", "rows"],
        "formats": ["S8", "<u4", "<u4", "<u8", "<u8", "S224", (COLUMN, COLUMNS_MAX), "<u8"],
        "offsets": [0, 8, 12, 16, 24, 32, 256, 65536],
        "itemsize": 131072,
    }
)


class Entry(NamedTuple):
    """A table as the catalog has it. Another one that is made in its slot has another number."""

    slot: int
    made: int
    name: str
    schema: dict  # name: dtype
    files: dict  # name: file


def slots_of(owner):
    """An array of them, in an Environment or a Snapshot. None: there is no file yet, or nothing in it."""
    try:
        slots = owner.array(FILE, SLOT)
    except FileNotFoundError:
        return None
    if not len(slots) and owner.array(FILE, "u1").any():
        _refuse("it is too short")
    return slots if len(slots) else None


def _refuse(what):
    raise error_of(Code.FORMAT, FILE, f"{FILE} is no catalog of tables that this package knows: {what}")


def _check(slots):
    for magic, version in zip(slots["magic"].tolist(), slots["version"].tolist()):
        if magic not in (b"", MAGIC) or (magic and version != VERSION):
            _refuse(f"{magic!r}, version {version}")


def _entry_at(slots, index):
    count = int(slots["columns"][index])
    if not 0 < count <= COLUMNS_MAX:
        _refuse(f"{count} columns")
    columns = slots["column"][index, :count].tolist()
    try:
        schema = {name.decode(): np.dtype(dtype.decode()) for name, dtype, _ in columns}
        name = slots["name"][index].decode()
    except (TypeError, ValueError, SyntaxError) as error:
        _refuse(error)
    for dtype in schema.values():
        if dtype.kind not in KINDS or not dtype.itemsize:
            _refuse(f"a column of {dtype}")
    files = {name.decode(): os.fsdecode(file) for name, _, file in columns}
    return Entry(index, int(slots["made"][index]), name, schema, files)


def entries(slots):
    """Those of all tables."""
    if slots is None:
        return []
    _check(slots)
    return [_entry_at(slots, index) for index in np.flatnonzero(slots["state"] == USED).tolist()]


def find(slots, name):
    """None: there is no such table."""
    return next((entry for entry in entries(slots) if entry.name == name), None)


def has(slots, entry):
    """Is it still there?"""
    return slots["made"][entry.slot] == entry.made and slots["state"][entry.slot] == USED


# ---- what changes it, in transactions ----


def _spare(slots):
    """{file: (slot, column)} of what was dropped, those made first in front."""
    spare = {}
    for index in np.flatnonzero(slots["state"] == DROPPED).tolist():
        for column, file in enumerate(slots["column"]["file"][index].tolist()):
            if file:
                spare[os.fsdecode(file)] = index, column
    return spare


def _names(wanted):
    """What a file may be called."""
    yield wanted
    number = 2
    while True:
        yield f"{wanted}.{number}"
        number += 1


class _Files:
    """Those that new columns get: first what was dropped by the same name, then what is new. An environment that has
    as many as it can gives whatever was dropped."""

    def __init__(self, slots, there):
        self.spare = _spare(slots)
        self.taken = {file for entry in entries(slots) for file in entry.files.values()}
        self.there = there  # in the directory

    def take(self, wanted):
        file = next(name for name in _names(wanted) if self._is_free(name))
        others = self.taken | self.there | {FILE} | set(self.spare)
        if file not in others and len(others) >= FILES_MAX:
            file = next(iter(self.spare), None)
        self.taken.add(file)
        return file, self.spare.pop(file, None)

    def _is_free(self, name):
        return name in self.spare or (name not in self.taken and name not in self.there and name != FILE)


def _free_slot(slots):
    for index, state in enumerate(slots["state"].tolist()):
        if state == FREE or (state == DROPPED and not any(slots["column"]["file"][index].tolist())):
            return index
    return None


def add(env, name, schema):
    """A table that is not there, of no rows. Its files are made when it gets some."""
    slots = slots_of(env)
    if slots is None:
        slots = env.array(FILE, SLOT, 1)
    _check(slots)
    files = _Files(slots, {file.name for file in env.files()})
    columns = []
    for column, dtype in schema.items():
        file, spare = files.take(f"{name}.{column}")
        if file is None:
            raise ValueError(f"schema: {column!r} would be one file too many: an environment has up to {FILES_MAX}")
        if spare is not None:
            slots["column"]["file"][spare] = b""
        columns.append((column.encode(), dtype.str.encode(), os.fsencode(file)))
    index = _free_slot(slots)
    if index is None:
        index = len(slots)
        slots = env.array(FILE, SLOT, index + 1)
    slots["column"][index, : len(columns)] = columns
    slots["magic"][index], slots["version"][index], slots["columns"][index] = MAGIC, VERSION, len(columns)
    slots["name"][index], slots["state"][index], slots["rows"][index] = name.encode(), USED, 0
    slots["made"][index] = secrets.randbits(63) | 1  # also another one than that of a table whose making was undone
    return _entry_at(slots, index)


def drop(slots, entry):
    slots["state"][entry.slot] = DROPPED


def rename(slots, entry, name):
    other = find(slots, name)
    if other is not None and other != entry:
        raise error_of(-errno.EEXIST, name, "name: there is another table of this name")
    slots["name"][entry.slot] = name.encode()
