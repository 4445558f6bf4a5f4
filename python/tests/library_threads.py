# SPDX-License-Identifier: MIT
"""A program for test_library_threads.py: a library that computes with threads of its own is given an array.

library_threads.py DIR LIBRARY CURE
"""

import sys

import libxac

ROWS = 1 << 20
SIDE = 1024

directory, library, cure = sys.argv[1:]
with libxac.Environment(directory, libxac.CREATE | libxac.VOLATILE) as env:
    numbers = env.array("numbers", "f8", ROWS)
    with env.transaction():
        numbers[:] = 1
    del numbers
env = libxac.Environment(directory, libxac.VOLATILE)  # nothing of its views has been touched yet
numbers = env.array("numbers", "f8", ROWS)


def multiply(array):
    square = array.reshape(SIDE, SIDE)
    return (square @ square)[0, 0]


def sum_by_duckdb(array):
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET threads=1" if cure == "one thread" else "SET threads=4")
        values = {"value": array}
        return connection.execute("SELECT sum(value) / 1024 FROM values").fetchone()[0]


def sum_by_arrow(array):
    import pyarrow
    import pyarrow.compute

    pyarrow.set_cpu_count(1 if cure == "one thread" else 4)
    table = pyarrow.table({"group": pyarrow.array(array), "value": pyarrow.array(array)})
    sums = table.group_by("group", use_threads=cure != "one thread").aggregate([("value", "sum")])
    return sums["value_sum"][0].as_py() / 1024


compute = {"blas": multiply, "duckdb": sum_by_duckdb, "arrow": sum_by_arrow}[library]

with env.snapshot() as snapshot:
    with env.transaction():
        if cure == "copy":
            array = numbers.copy()
        elif cure == "snapshot":
            array = snapshot.array("numbers", "f8", ROWS)
        else:
            array = env.array("numbers", "f8", ROWS)
        result = compute(array)
        del array
print(round(float(result)), flush=True)
