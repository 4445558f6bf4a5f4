# SPDX-License-Identifier: MIT
"""Tables: columns of the same length, and the number of their rows, which changes with them."""

from __future__ import annotations

import collections.abc
import errno
import threading
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import catalog
from .arguments import NotPickled
from .columns import check_same, checked_name, columns_of, schema_of
from .constants import Flag
from .errors import Error, error_of
from .snapshot import Snapshot, handle_of

if TYPE_CHECKING:
    from pyarrow import Table as ArrowTable

    from .environment import Environment
else:
    ArrowTable = Environment = Any  # imported when it is needed; which imports this module

_SPARE_BYTES = 1 << 16  # that a column grows by, at least


def _checked_column(name, schema):
    if not isinstance(name, str):
        raise TypeError(f"column: a name, not {name!r}")
    if name not in schema:
        raise KeyError(f"column: there is no {name!r}; there are {', '.join(schema)}")
    return name


def _checked_categories(categories, schema):
    if not isinstance(categories, collections.abc.Mapping):
        raise TypeError(f"categories: a dictionary of {{name: texts}}, not {categories!r}")
    for name, texts in categories.items():
        if name not in schema:
            raise ValueError(f"categories: there is no column {name!r}; there are {', '.join(schema)}")
        if schema[name].kind not in "iu":
            raise ValueError(f"categories: column {name!r} holds no indices, but {schema[name]}")
        is_sequence = isinstance(texts, collections.abc.Sequence) and not isinstance(texts, (str, bytes))
        if not is_sequence or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"categories: {name!r}: a sequence of texts, not {texts!r}")
    return categories


class Table(NotPickled):
    """Rows in columns: Environment.table().

        orders = env.table("orders", {"number": "i8", "price": "f8", "region": "S8"})
        orders.append({"number": [1, 2], "price": [9.5, 3.0], "region": [b"north", "south"]})
        with env.transaction():
            orders["price"][1] *= 1.1
        print(orders.snapshot().arrow())

    Each column is a data file, and the environment keeps names, types and the number of rows (`libxac.tables`;
    README.md has its layout). All threads may use it, each with arrays of its own.
    """

    _instead = "pickle the Environment, and ask it for the table"

    def __init__(self, env: Environment, entry: Any) -> None:
        if not isinstance(entry, catalog.Entry):
            raise TypeError("tables come from Environment.table()")
        self._env, self._entry = env, entry
        self._name = entry.name
        self._thread = threading.local()  # .arrays of its files

    @property
    def name(self) -> str:
        """As it was called when it was opened, or by rename() of this object."""
        return self._name

    @property
    def schema(self) -> Dict[str, np.dtype]:
        """{name: dtype} of its columns, in their order."""
        return dict(self._entry.schema)

    # ---- in transactions ----

    def append(self, rows: Any) -> int:
        """Puts rows behind the last one, all of them or none, and returns where the first one is. rows: a dictionary of
        arrays or sequences, a data frame, a structured array, or a sequence of rows, which are sequences of values in
        the order of the columns. A transaction of its own, or part of the one that is open. Who appends at the same time
        is a conflict: it runs again, as Environment.run() does."""
        columns, count = columns_of(rows, self._entry.schema)
        return self._env._join(self._append, columns, count)

    def _append(self, columns, count):
        """What was written of them counts when their number has changed."""
        slots = self._slots()
        begin = int(slots["rows"][self._entry.slot])
        for name, column in columns.items():
            self._column(name, begin + count, True)[begin : begin + count] = column
        slots["rows"][self._entry.slot] = begin + count
        return begin

    def __len__(self) -> int:
        """Of the transaction that is open, or the newest."""
        return self._count() if self._env.in_transaction() else self._env.run(self._count, flags=Flag.RDONLY)

    def _count(self):
        return int(self._slots()["rows"][self._entry.slot])

    def __bool__(self) -> bool:
        """Also one of no rows."""
        return True

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        """The rows of a column, as Environment.array() has them: to be read and written in transactions of this thread.
        It is as long as the table is now: ask for it in the transaction."""
        _checked_column(column, self._entry.schema)
        return self._column(column, len(self), False)

    __iter__ = None  # it is no sequence of columns, though it has [] and len()

    # ---- beside writers ----

    def snapshot(self, durable: bool = False, at: Optional[int] = None) -> TableSnapshot:
        """All rows as of one commit (Environment.snapshot())."""
        return self.at(self._env.snapshot(durable, at))

    def at(self, snapshot: Snapshot) -> TableSnapshot:
        """All rows as of a Snapshot of the environment: several tables as of one commit."""
        handle_of(snapshot, self._env)
        return TableSnapshot(snapshot, self._entry)

    def arrow(self, categories: Optional[Mapping[str, Sequence[str]]] = None) -> ArrowTable:
        """All rows as of now, as an Arrow table (TableSnapshot.arrow())."""
        return self.snapshot().arrow(categories)

    # ---- care ----

    def drop(self) -> None:
        """It is gone. Its files stay, and become those of columns of tables that are made later."""
        self._env.run(lambda: catalog.drop(self._slots(), self._entry))

    def rename(self, name: str) -> None:
        """Its files keep their names."""
        checked_name(name, "name")
        self._env.run(lambda: catalog.rename(self._slots(), self._entry, name))
        self._name = name

    def __repr__(self) -> str:
        columns = ", ".join(f"{name} {dtype.str}" for name, dtype in self._entry.schema.items())
        return f"<libxac.Table {self._name!r} of {self._env!r}: {columns}>"

    # ---- arrays of this thread ----

    def _arrays(self):
        """{file: array}"""
        try:
            return self._thread.arrays
        except AttributeError:
            self._thread.arrays = {}
            return self._thread.arrays

    def _slots(self):
        """Of the catalog. In a transaction."""
        self._env._open_handle()
        arrays = self._arrays()
        slots = arrays.get(catalog.FILE)
        if slots is None:
            slots = arrays[catalog.FILE] = self._env.array(catalog.FILE, catalog.SLOT)
        if not catalog.has(slots, self._entry):
            raise error_of(-errno.ENOENT, self._name, "table: it was dropped")
        return slots

    def _column(self, name, rows, may_grow):
        """The first of its rows."""
        file, dtype, arrays = self._entry.files[name], self._entry.schema[name], self._arrays()
        if not rows:
            return np.zeros(0, dtype)
        array = arrays.get(file)
        if array is None or len(array) < rows:
            spare = max(rows // 8, _SPARE_BYTES // dtype.itemsize) if may_grow else 0
            try:
                array = self._env.array(file, dtype, rows + spare)
            except Error:
                if not spare:
                    raise
                array = self._env.array(file, dtype, rows)
            arrays[file] = array
        return array[:rows]


class TableSnapshot(NotPickled):
    """The rows of a table as of one commit: Table.snapshot() and Table.at(). Arrays and Arrow tables on it are
    read-only, not copied, and good for as long as somebody has them."""

    _instead = Snapshot._instead

    def __init__(self, snapshot: Snapshot, entry: Any) -> None:
        if not isinstance(entry, catalog.Entry):
            raise TypeError("they come from Table.snapshot() and Table.at()")
        slots = catalog.slots_of(snapshot)
        if slots is None or len(slots) <= entry.slot or not catalog.has(slots, entry):
            raise error_of(-errno.ENOENT, entry.name, "table: as of this snapshot it was not there, or no more")
        self._snapshot, self._entry = snapshot, entry
        self._rows = int(slots["rows"][entry.slot])

    @property
    def sequence(self) -> int:
        """The number of its commit."""
        return self._snapshot.sequence

    def __len__(self) -> int:
        return self._rows

    def __bool__(self) -> bool:
        """Also one of no rows."""
        return True

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        """All rows of a column."""
        return self._column(_checked_column(column, self._entry.schema), False)

    __iter__ = None  # it is no sequence of columns, though it has [] and len()

    def _column(self, name, load):
        dtype = self._entry.schema[name]
        if not self._rows:
            return np.zeros(0, dtype)
        return self._snapshot.array(self._entry.files[name], dtype, self._rows, load=load)

    def arrow(self, categories: Optional[Mapping[str, Sequence[str]]] = None, load: bool = False) -> ArrowTable:
        """All rows as an Arrow table. categories: {name: texts}, of columns that hold indices into them."""
        from .arrow import table

        categories = {} if categories is None else _checked_categories(categories, self._entry.schema)
        self._snapshot._open_handle()
        return table({name: self._column(name, load) for name in self._entry.schema}, categories, self._rows)

    def close(self) -> None:
        """Closes the snapshot. Arrays stay."""
        self._snapshot.close()

    def __enter__(self) -> TableSnapshot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<libxac.TableSnapshot {self._entry.name!r}: {self._rows} rows of {self._snapshot!r}>"


# ---- of an environment ----


def _find(env, name):
    return catalog.find(catalog.slots_of(env), name)


def names_of_tables(env):
    """Of all tables."""
    return env.run(lambda: sorted(entry.name for entry in catalog.entries(catalog.slots_of(env))), flags=Flag.RDONLY)


def open_table(env, name, schema):
    """The table; with a schema it is made if it is not there."""
    checked_name(name, "name")
    asked = None if schema is None else schema_of(schema, name)
    entry = env.run(_find, env, name, flags=Flag.RDONLY)
    if entry is None:
        if asked is None:
            raise error_of(-errno.ENOENT, name, "name: there is no such table; one that is not there needs a schema")
        entry = env.run(lambda: _find(env, name) or catalog.add(env, name, asked))
    if asked is not None:
        check_same(entry.schema, asked)
    return Table(env, entry)
