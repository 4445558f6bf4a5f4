#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Analytics on a shop while its orders come in.

Two programs append orders to columns, and take some back: orders_writer, which is C, and write_orders() below in a
process of its own. Meanwhile this one takes a snapshot each second and lets DuckDB sum it up: the table that DuckDB
queries is the memory of the columns, not a copy. In the end it draws what each region earned in each second.

Each sum is compared with that of numpy over the same snapshot; with that of orders_sum, a C program that opens the same
snapshot by its number; and with the totals that the writers keep in the same transactions as the orders.

    python3 live_orders.py [--seconds 10] [--plot live_orders.png] [DIRECTORY]
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import libxac

ROWS_MAX, BATCH = 1 << 23, 100  # as in orders.h
REGIONS = ["north", "east", "south", "west", "online"]
COLUMNS = {
    "placed": ("placed", "M8[us]"),
    "price": ("price", "i8"),
    "quantity": ("quantity", "i4"),
    "region": ("region", "i1", REGIONS),
}


# ---- a writer ----


def write_orders(directory, seconds, seed):
    draw = np.random.default_rng(seed)
    shop = libxac.Environment(directory)
    columns = {name: shop.array(column[0], column[1], ROWS_MAX) for name, column in COLUMNS.items()}
    count = shop.array("count", "u8", 1)
    revenue = shop.array("revenue", "i8", len(REGIONS))

    @shop.transactional
    def append(price, quantity, region):
        first = int(count[0])
        rows = slice(first, first + BATCH)
        if rows.stop > ROWS_MAX:
            return
        columns["placed"][rows] = np.datetime64(time.time_ns() // 1000, "us")
        columns["price"][rows] = price
        columns["quantity"][rows] = quantity
        columns["region"][rows] = region
        revenue[:] += sum_by_region(price, quantity, region)
        count[0] = rows.stop

    @shop.transactional
    def send_back(chance):
        if count[0]:
            row = int(chance * count[0])
            revenue[columns["region"][row]] -= columns["price"][row] * columns["quantity"][row]
            columns["quantity"][row] = 0

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        append(draw.integers(100, 10_000, BATCH), draw.integers(1, 6, BATCH), draw_regions(draw))
        send_back(draw.random())
        time.sleep(0.003)
    shop.close()


def draw_regions(draw):
    """One after the other has its rush hour."""
    busy = int(time.time() / 4) % len(REGIONS)
    return np.where(draw.integers(0, 4, BATCH), draw.integers(0, len(REGIONS), BATCH), busy)


def sum_by_region(price, quantity, region):
    """In whole cents."""
    sums = np.zeros(len(REGIONS), "i8")
    np.add.at(sums, region, price * quantity)
    return sums


# ---- who reads ----

SUMS = "select region, sum(price * quantity) as cents from orders group by region"
PER_SECOND = """
    select date_trunc('second', placed) as second, region, sum(price * quantity) / 100 as revenue
    from orders group by second, region order by second"""


def query(table, sql):
    with duckdb.connect() as connection:
        connection.register("orders", table)
        return connection.execute(sql).fetchall()


def table_of(snapshot):
    """The orders as of the snapshot, for whoever reads Arrow."""
    return snapshot.table(COLUMNS, rows=int(snapshot.array("count", "u8", 1)[0]))


def sums_by_duckdb(snapshot):
    by_region = dict(query(table_of(snapshot), SUMS))
    return [int(by_region.get(region, 0)) for region in REGIONS]


def sums_by_numpy(snapshot):
    rows = int(snapshot.array("count", "u8", 1)[0])
    columns = (snapshot.array(*COLUMNS[name][:2], rows) for name in ("price", "quantity", "region"))
    return sum_by_region(*columns).tolist()


def sums_by_writers(snapshot):
    return snapshot.array("revenue", "i8", len(REGIONS)).tolist()


class SumsByC:
    """orders_sum in a process of its own, asked by the number of a snapshot."""

    def __init__(self, program, directory):
        self.process = subprocess.Popen([program, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, snapshot):
        print(snapshot.sequence, file=self.process.stdin, flush=True)
        _, *sums = self.process.stdout.readline().split()
        return [int(cents) for cents in sums]

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def watch(shop, ways, seconds):
    """A snapshot each second. Returns whether all ways always came to the same sums."""
    is_same = True
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(1 - time.monotonic() % 1)
        with shop.snapshot() as snapshot:
            begin = time.monotonic()
            sums = {way: function(snapshot) for way, function in ways.items()}
            took = time.monotonic() - begin
            rows = int(snapshot.array("count", "u8", 1)[0])
            verdict = "the same" if len(set(map(tuple, sums.values()))) == 1 else f"DIFFERENT: {sums}"
        is_same &= verdict == "the same"
        earned = sum(sums["DuckDB"]) / 100
        print(f"{rows:10,} orders, {earned:17,.2f} earned: {', '.join(sums)}: {verdict} ({took:.2f} s)", flush=True)
    return is_same and rows > 0


def draw(rows, path):
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    matplotlib.use("agg")
    from matplotlib import pyplot

    times = sorted({second for second, _, _ in rows})[1:-1]  # the first and the last are parts of a second
    found = {(second, region): revenue for second, region, revenue in rows}
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    lines = [[found.get((second, region), 0) / 1000 for second in times] for region in REGIONS]
    axes.stackplot(range(len(times)), lines, labels=REGIONS)
    axes.set(title="Orders of two writers, read from a snapshot", xlabel="second")
    axes.set(ylabel="revenue, thousands per second")
    axes.margins(x=0)
    figure.legend(loc="outside lower center", ncols=len(REGIONS))
    figure.savefig(path)
    print(f"{path}: revenue by region and second")


# ---- all of them ----


def find_program(name):
    """Where `make` has put it; LIBXAC_BUILD says in which folder that was."""
    here = Path(__file__).resolve().parent
    build = os.environ.get("LIBXAC_BUILD")
    path = (Path(build) / "python" / "examples" if build else here) / name
    if not path.exists():
        print(f"without {name}: `make` in the source of libxac builds it")
    return str(path) if path.exists() else None


def start_writers(directory, seconds, seed):
    spawn = multiprocessing.get_context("spawn")  # a child of fork() could not use the environment
    process = spawn.Process(target=write_orders, args=(directory, seconds, seed))
    process.start()
    writers = [(process.join, lambda: process.exitcode)]
    program = find_program("orders_writer")
    if program:
        child = subprocess.Popen([program, directory, str(seconds), str(seed)], stdout=subprocess.DEVNULL)
        writers.append((child.wait, child.wait))
    return writers


def create(directory):
    """All columns are there before anybody reads them. Returns the environment."""
    shop = libxac.Environment(directory, libxac.CREATE)
    for file, dtype, *_ in COLUMNS.values():
        shop.array(file, dtype, ROWS_MAX)  # sparse: takes no room on the disk yet
    shop.array("count", "u8", 1)
    shop.array("revenue", "i8", len(REGIONS))
    return shop


def run(directory, seconds, plot):
    shop = create(directory)
    ways = {"DuckDB": sums_by_duckdb, "numpy": sums_by_numpy, "the writers' totals": sums_by_writers}
    program = find_program("orders_sum")
    if program:
        ways["C"] = SumsByC(program, directory)
    with shop.snapshot() as nothing:
        sums_by_duckdb(nothing)  # loads what DuckDB needs to read Arrow
    writers = start_writers(directory, seconds + 1, os.getpid())
    is_good = watch(shop, ways, seconds)
    for wait, status in writers:
        wait()
        is_good &= status() == 0
    if program:
        ways["C"].close()
    with shop.snapshot() as snapshot:
        rows = query(table_of(snapshot), PER_SECOND)
    draw(rows, plot)
    shop.close()
    return is_good


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("directory", nargs="?", help="of the environment; a new one if left out")
    arguments.add_argument("--seconds", type=float, default=10)
    arguments.add_argument("--plot", default="live_orders.png", help="a .png, .svg or .pdf")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="live-orders-") as scratch:
        sys.exit(not run(given.directory or os.path.join(scratch, "shop.xac"), given.seconds, given.plot))


if __name__ == "__main__":
    main()
