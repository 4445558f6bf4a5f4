# SPDX-License-Identifier: MIT
"""What a table is asked to be, and what is appended to it: names, types, and arrays of the same length."""

import collections.abc
import operator

import numpy as np

from .catalog import COLUMN, COLUMNS_MAX, KINDS
from .memory import checked_dtype

_NAME_BYTES_MAX = COLUMN["name"].itemsize - 1  # with a NUL behind
_FILE_BYTES_MAX = COLUMN["file"].itemsize - 8  # with a number behind


def checked_name(name, argument):
    """Of a table or a column. Files are named after both."""
    if not isinstance(name, str):
        raise TypeError(f"{argument}: a text, not {name!r}")
    try:
        byte_len = len(name.encode())
    except UnicodeEncodeError:
        raise ValueError(f"{argument}: {name!r} is no UTF-8") from None
    if not 0 < byte_len <= _NAME_BYTES_MAX or "\0" in name or "/" in name:
        raise ValueError(f"{argument}: 1 to {_NAME_BYTES_MAX} bytes without NUL and '/', not {name!r}")
    if name.startswith("xac."):
        raise ValueError(f"{argument}: names that begin with 'xac.' are the library's own, not {name!r}")
    return name


# ---- schemas ----


def _checked_type(dtype, column):
    try:
        dtype = checked_dtype(dtype)
    except TypeError as error:
        raise TypeError(f"schema: {column!r}: {error}") from None
    if dtype.kind not in KINDS:
        raise TypeError(
            f"schema: {column!r}: a column holds numbers, times, or texts of so many bytes ('S8'), not {dtype}"
        )
    return dtype


def _pairs_of(schema):
    if isinstance(schema, collections.abc.Mapping):
        return list(schema.items())
    try:
        dtype = np.dtype(schema)
    except (TypeError, ValueError) as error:
        raise TypeError(f"schema: {error}; it is {{name: dtype}}, or what numpy takes for a structured type") from None
    if dtype.names is None:
        raise TypeError(f"schema: {{name: dtype}}, or what numpy takes for a structured type, not {schema!r}")
    return [(name, dtype.fields[name][0]) for name in dtype.names]


def schema_of(schema, table):
    """{name: dtype}"""
    pairs = _pairs_of(schema)
    if not 0 < len(pairs) <= COLUMNS_MAX:
        raise ValueError(f"schema: 1 to {COLUMNS_MAX} columns, not {len(pairs)}")
    for name, _ in pairs:
        checked_name(name, "schema")
        if len(f"{table}.{name}".encode()) > _FILE_BYTES_MAX:
            raise ValueError(f"schema: '{table}.{name}' is too long for the name of a file")
    return {name: _checked_type(dtype, name) for name, dtype in pairs}


def check_same(kept, asked):
    """The order counts: rows may be given without names."""
    for name, dtype in asked.items():
        if name not in kept:
            raise ValueError(f"schema: the table has no column {name!r}; it has {', '.join(kept)}")
        if kept[name] != dtype:
            raise ValueError(f"schema: column {name!r} of the table is {kept[name].str!r}, not {dtype.str!r}")
    for place, (name, other) in enumerate(zip(kept, list(asked) + [None] * len(kept))):
        if name not in asked:
            raise ValueError(f"schema: column {name!r} of the table is missing")
        if name != other:
            raise ValueError(f"schema: column {place} of the table is {name!r}, not {other!r}")


# ---- rows ----


def _values_by_name(rows, schema):
    if hasattr(rows, "keys"):  # a dictionary, a data frame of pandas
        return {name: rows[name] for name in rows.keys()}
    if isinstance(rows, (np.ndarray, np.void)) and rows.dtype.names is not None:
        return {name: rows[name] for name in rows.dtype.names}
    if isinstance(rows, (str, bytes)) or not isinstance(rows, collections.abc.Iterable):
        raise TypeError(f"rows: a dictionary of arrays, a structured array, or a sequence of rows, not {rows!r}")
    rows = list(rows)
    for row in rows:
        if isinstance(row, (str, bytes)) or not hasattr(row, "__len__") or len(row) != len(schema):
            raise ValueError(f"rows: each has {len(schema)} values ({', '.join(schema)}), not {row!r}")
    return dict(zip(schema, zip(*rows))) if rows else dict.fromkeys(schema, ())


def _refuse(name, dtype, why):
    raise TypeError(f"rows: column {name!r} is {dtype}: {why}")


def _texts(array, name, dtype):
    if array.dtype.kind == "U":
        array = np.char.encode(array, "utf-8")
    if array.dtype.kind != "S":
        _refuse(name, dtype, f"it takes no {array.dtype}")
    if array.dtype.itemsize > dtype.itemsize and np.char.str_len(array).max() > dtype.itemsize:
        raise ValueError(f"rows: column {name!r} holds {dtype.itemsize} bytes, and there are longer values")
    return array.astype(dtype)


def _check_range(array, name, dtype):
    limits = np.iinfo(dtype)
    if int(array.min()) < limits.min or int(array.max()) > limits.max:
        raise ValueError(f"rows: column {name!r} holds {limits.min} to {limits.max}, and there are other values")


def _array_of(values, dtype):
    array = np.asarray(values)
    if array.dtype.kind == "O" and dtype.kind == "S":
        return np.asarray([value.encode() if isinstance(value, str) else bytes(memoryview(value)) for value in array])
    if array.dtype.kind == "O" and dtype.kind in "iu":
        return np.asarray([operator.index(value) for value in array], dtype)
    if array.dtype.kind == "O" and dtype.kind == "b":
        return _truths(array)
    if dtype.kind in "mM" and array.dtype.kind in "OU":
        return np.asarray(values, dtype.kind)  # in the unit that holds them
    if array.dtype.kind == "O":
        return np.asarray(values, np.result_type(dtype, "f8"))
    return array


def _truths(array):
    others = [value for value in array if not isinstance(value, (bool, np.bool_))]
    if others:
        raise TypeError(f"no truth value: {others[0]!r}")
    return array.astype("?")


def _check_kept(array, made, name, dtype):
    """Times are rounded, and wrap, in silence; numbers become infinite."""
    if dtype.kind in "mM" and array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] != "generic":
        is_kept = (made.astype(array.dtype) == array) | np.isnat(array)
    elif dtype.kind in "fc":
        is_kept = np.isfinite(made) | ~np.isfinite(array)
    else:
        return
    if not is_kept.all():
        raise ValueError(f"rows: column {name!r} is {dtype}, which does not hold {array[~is_kept][0]}")


def _column_of(values, name, dtype):
    """As an array of this type: of texts nothing is cut off, and of numbers and times no fraction."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"rows: column {name!r} has values that are masked")
    try:
        array = _array_of(values, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        _refuse(name, dtype, error)
    if array.ndim != 1:
        raise ValueError(f"rows: column {name!r}: a sequence of values, not of {array.ndim} dimensions")
    if not array.size:
        return np.zeros(0, dtype)
    if dtype.kind == "S":
        return _texts(array, name, dtype)
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        _check_range(array, name, dtype)
        return array.astype(dtype)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        _refuse(name, dtype, f"it takes no {array.dtype}")
    with np.errstate(over="ignore"):
        made = array.astype(dtype)
    _check_kept(array, made, name, dtype)
    return made


def columns_of(rows, schema):
    """({name: array}, how many)"""
    values = _values_by_name(rows, schema)
    unknown = [name for name in values if name not in schema]
    if unknown:
        raise ValueError(f"rows: the table has no column {unknown[0]!r}; it has {', '.join(schema)}")
    missing = [name for name in schema if name not in values]
    if missing:
        raise ValueError(f"rows: column {missing[0]!r} is missing")
    columns = {name: _column_of(values[name], name, dtype) for name, dtype in schema.items()}
    first = next(iter(columns))
    for name, column in columns.items():
        if len(column) != len(columns[first]):
            raise ValueError(f"rows: {len(columns[first])} of column {first!r}, but {len(column)} of {name!r}")
    return columns, len(columns[first])
