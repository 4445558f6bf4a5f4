# SPDX-License-Identifier: MIT
"""Snapshots: one commit of the whole environment, read by any thread for as long as somebody needs it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

import numpy.typing as npt

from . import _library, memory
from .arguments import Name, NotPickled, name_of, number_of
from .ending import Handle
from .errors import check

if TYPE_CHECKING:
    from pyarrow import Table
else:
    Table = Any  # imported when it is needed


class _Handle(Handle):
    """The library's snapshot. Arrays keep it."""

    _instead = "pickle the Environment, and the sequence of the Snapshot: env.snapshot(at=sequence)"

    def __init__(self, env, path):
        super().__init__(_library.xac_snapshot_close, path)
        self.env = env  # the address of the library's environment, which stays open until this is closed


def _open(env, path, call, *arguments):
    handle = _Handle(env, path)
    check(handle.open(call, *arguments), None, "durable: nothing is, without a log (VOLATILE)")
    return handle


class Snapshot(NotPickled):
    """The environment as of one commit (Environment.snapshot()).

    Arrays on it are read-only and not copied. Writers go on meanwhile, and change nothing in them. An array keeps what
    it needs: it may be used after close(), after the environment was closed, and by any thread. A child of fork() may
    not use it.
    """

    _instead = _Handle._instead

    def __init__(self, handle):
        if not isinstance(handle, _Handle):
            raise TypeError("snapshots come from Environment.snapshot() and Snapshot.refresh()")
        self._handle = handle

    @classmethod
    def _of(cls, env, flags, sequence):
        address = env.address  # of what stays there, once the snapshot is open, whoever closes the environment
        if sequence is None:
            return cls(_open(address, env.path, env.call, _library.xac_snapshot_open, int(flags)))
        return cls(_open(address, env.path, env.call, _library.xac_snapshot_open_at, sequence))

    def _open_handle(self):
        if self._handle is None:
            raise ValueError("the snapshot is closed")
        return self._handle

    @property
    def sequence(self) -> int:
        """The number of its commit. env.snapshot(at=...) of another process opens the same one, while this is open."""
        return _library.xac_snapshot_sequence(self._open_handle().address)

    def array(
        self,
        file: Name,
        dtype: npt.DTypeLike,
        shape: Union[int, Sequence[int], None] = None,
        offset: int = 0,
        load: bool = False,
    ) -> npt.NDArray[Any]:
        """A data file, or a part of it, as a numpy array that cannot be written.

        Without a shape: as many elements as there are behind the offset (bytes). Files end with a page, so these may be
        more than were asked for by Environment.array(); the others are 0. It costs nothing until it is touched. With
        load all of it is there at once, as is necessary before a system call is given its memory (array.tofile(),
        sockets).
        """
        handle, name, byte_len = self._open_handle(), name_of(file, "file"), ctypes.c_size_t()
        dtype = memory.checked_dtype(dtype)
        offset = memory.checked_offset(offset, dtype)
        address = _library.xac_snapshot_map(handle.address, name, ctypes.byref(byte_len))
        if address == _library.MAP_FAILED:
            raise memory.error_of_file(ctypes.get_errno(), name)
        _library.look_at_handlers(handle.env)
        if shape is None:
            shape = memory.shape_that_fits(dtype, byte_len.value - offset)
        shape = memory.checked_shape(shape, dtype, offset)
        if offset + memory.byte_len_of(dtype, shape) > byte_len.value:
            raise ValueError(f"shape: {file} has {byte_len.value} bytes as of the snapshot, not {shape} of {dtype}")
        array = memory.Memory(address, byte_len.value, handle, True).array(dtype, shape, offset)
        if load:
            check(_library.xac_advise(handle.env, *memory.bytes_of(array), memory.READ))
        return array

    def table(self, columns: Mapping[str, Sequence[Any]], rows: Optional[int] = None, load: bool = False) -> Table:
        """An Arrow table of columns {name: (file, dtype)} or {name: (file, dtype, categories)}, not copied.

        Of a column with categories, which are a sequence of texts, the file holds indices into them. Without rows, the
        table is as long as the shortest file.
        """
        from .arrow import table

        _check_columns(columns)
        rows = rows if rows is None else number_of(rows, "rows")
        arrays = {name: self.array(*column[:2], load=load) for name, column in columns.items()}
        categories = {name: column[2] for name, column in columns.items() if len(column) > 2}
        return table(arrays, categories, rows)

    def refresh(self) -> Snapshot:
        """A new snapshot, as of the newest commit (durable: as of the newest on disk). This one stays as it is. What
        has not changed in between is not copied again, if this one is still open or was closed a moment ago."""
        handle = self._open_handle()
        return Snapshot(_open(handle.env, handle.path, _library.xac_snapshot_refresh, handle.address))

    def close(self) -> None:
        """Nothing more is read through this object. The commit is held until the last array on it is gone, too."""
        self._handle = None

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<libxac.Snapshot {self.sequence if self._handle else 'closed'}>"


def _check_columns(columns):
    if not hasattr(columns, "items"):
        raise TypeError(f"columns: a dictionary of {{name: (file, dtype)}}, not {columns!r}")
    for name, column in columns.items():
        if not isinstance(name, str):
            raise TypeError(f"columns: names are texts, not {name!r}")
        if not isinstance(column, (tuple, list)) or len(column) not in (2, 3):
            raise TypeError(f"columns: {name!r} is to be (file, dtype) or (file, dtype, categories), not {column!r}")
        name_of(column[0], f"columns: {name!r}: file")


def handle_of(snapshot, env):
    """Of a Snapshot that is given as an argument, and is to be of this Environment."""
    if not isinstance(snapshot, Snapshot):
        raise TypeError(f"snapshot: a Snapshot, not {snapshot!r}")
    handle = snapshot._open_handle()
    if handle.env != env._open_handle().address:
        raise ValueError("snapshot: of another environment")
    return handle
