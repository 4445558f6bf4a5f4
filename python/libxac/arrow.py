# SPDX-License-Identifier: MIT
"""Arrow arrays and tables on the memory of numpy arrays. Needs pyarrow."""

import numpy as np
import pyarrow as pa

_KINDS_AS_THEY_ARE = "iufMm"


def _type_of(dtype):
    if not dtype.isnative:
        raise TypeError(f"{dtype}: Arrow has numbers in the byte order of the machine alone")
    if dtype.kind == "S":
        return pa.binary(dtype.itemsize)  # of a fixed size, padded with zeros
    if dtype.kind in _KINDS_AS_THEY_ARE:
        try:
            arrow = pa.from_numpy_dtype(dtype)
        except pa.ArrowNotImplementedError:  # of hours, say
            arrow = pa.null()
        if arrow != pa.null() and arrow.bit_width == 8 * dtype.itemsize and (dtype.kind not in "mM" or np.datetime_data(dtype)[1] == 1):
            return arrow
    raise TypeError(f"{dtype} has no Arrow type of the same bytes; numbers, times and 'S' have")


def to_arrow(array, categories=None):
    """A one-dimensional array as an Arrow array on the same memory. With categories: as a dictionary-encoded one."""
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise ValueError("a column is an array of one dimension without gaps")
    arrow = pa.Array.from_buffers(_type_of(array.dtype), len(array), [None, pa.py_buffer(array.view("u1"))])
    if categories is None:
        return arrow
    return pa.DictionaryArray.from_arrays(arrow, pa.array(categories, pa.string()))


def table(arrays, categories, rows):
    if rows is None:
        rows = min(map(len, arrays.values()), default=0)
    columns = {name: to_arrow(array[:rows], categories.get(name)) for name, array in arrays.items()}
    if any(len(column) < rows for column in columns.values()):
        raise ValueError(f"there are no {rows} rows in each of {', '.join(columns)}")
    return pa.table(columns)


