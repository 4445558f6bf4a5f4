#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""DuckDB on a snapshot that bench/papers/anker/htap/htap --experiment answers --dump has left.

    duckdb_baseline.py check DIRECTORY...
        Does it answer the queries as the engine did?
    duckdb_baseline.py measure DIRECTORY [--csv FILE] [--seconds S] [--repetitions N] [--threads N] [--per-query N]
        Latency of queries alone and beside transactions, and throughput, as bench/papers/anker/htap/htap measures them.

The database is in memory. A transaction is a statement, prepared once for each thread and executed with parameters; one
that lost a race is executed again. DuckDB is asked for as many threads as there are for all work together. Needs the
packages duckdb and numpy; without them it says so and ends with status 77.
"""

import argparse
import os
import random
import re
import statistics
import sys
import threading
import time

try:
    import duckdb
    import numpy
except ImportError as missing:
    print(f"skipped: {missing} (pip install duckdb numpy)", file=sys.stderr)
    sys.exit(77)


def dialect(sql):
    """Columns have 32 bits: products get 64, and division is of integers."""
    sql = re.sub(r"(\w*price)( \*)", r"\1::BIGINT\2", sql)
    return sql.replace(" / ", " // ")


def lines(directory, name):
    with open(os.path.join(directory, name), encoding="ascii") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def load(directory):
    """A database with the tables of the snapshot."""
    database = duckdb.connect(":memory:")
    for name, rows, create in lines(directory, "tables"):
        database.execute(create)
        columns = re.findall(r"(\w+) INTEGER", create)
        arrays = {c: numpy.fromfile(os.path.join(directory, c), dtype=numpy.int32) for c in columns}
        assert all(len(array) == int(rows) for array in arrays.values())
        database.register("arrays", arrays)
        database.execute(f"INSERT INTO {name} SELECT {', '.join(columns)} FROM arrays")
        database.unregister("arrays")
    return database


def numbers(text):
    return [int(number) for number in text.split(",")] if text else []


# ---- check ----


def check(directory):
    database = load(directory)
    different = 0
    queries = lines(directory, "queries")
    for name, sql, parameters, expected in queries:
        rows = database.execute(dialect(sql), numbers(parameters)).fetchall()
        answer = ";".join(",".join(str(int(value)) for value in row) for row in rows)
        if answer != expected:
            different += 1
            print(f"{directory}: {name} ({parameters}): {answer}, not {expected}")
    print(f"{directory}: {len(queries)} answers, {different} differ from DuckDB's")
    database.close()
    return different


# ---- measure ----


class Worker:
    """A connection of a thread, with its statements prepared."""

    def __init__(self, database, directory, sizes, seed):
        self.connection = database.cursor()
        self.random = random.Random(seed)
        self.sizes = sizes
        self.transactions = [name for name, _ in lines(directory, "transactions")]
        self.queries = {}
        for name, sql in lines(directory, "transactions"):
            self.connection.execute(f"PREPARE {name} AS {dialect(sql)}")
        for name, sql, parameters, _ in lines(directory, "queries"):
            if name not in self.queries:
                self.connection.execute(f"PREPARE query_{name} AS {dialect(sql)}")
                self.queries[name] = []
            self.queries[name].append(parameters)
        self.done = self.asked = self.lost = 0
        self.latency_ms = {name: [] for name in self.queries}

    def parameters(self, name):
        """As oltp_draw() and sql_oltp_params() have them."""
        pick = self.random.randrange
        line = self.random.choice(self.sizes["lines"])
        order = 1 + pick(self.sizes["orders"])
        part = 1 + pick(self.sizes["part"])
        step = pick(21) - 10
        return {
            "discount": lambda: [self.random.choice((-1, 1)), *line],
            "line_price": lambda: [step, *line],
            "shipdate": lambda: [1 + pick(7), order, pick(3)],
            "flags": lambda: [pick(3), pick(2), *line],
            "priority": lambda: [pick(5), order],
            "total": lambda: [step, order, pick(2)],
            "retail": lambda: [step, part],
            "brand": lambda: [pick(25), part],
            "large": lambda: [step, order, order + 1000, pick(5)],
        }[name]()

    def transaction(self):
        name = self.random.choice(self.transactions)
        text = f"EXECUTE {name}({','.join(str(p) for p in self.parameters(name))})"
        while True:
            try:
                self.connection.execute(text)
                break
            except (duckdb.TransactionException, duckdb.ConstraintException):
                self.lost += 1
        self.done += 1

    def query(self):
        name = self.random.choice(list(self.queries))
        parameters = self.random.choice(self.queries[name])
        start = time.monotonic()
        call = f"({parameters})" if parameters else ""
        self.connection.execute(f"EXECUTE query_{name}{call}").fetchall()
        self.latency_ms[name].append(1000 * (time.monotonic() - start))
        self.asked += 1


def run(workers, jobs, seconds):
    """Each worker does its job again and again; returns for how long."""
    stop = threading.Event()

    def work(worker, job):
        while not stop.is_set():
            job(worker)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(workers, jobs)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    return time.monotonic() - start


class Stream:
    """A query after every so many transactions, whoever comes."""

    def __init__(self, per_query):
        self.per_query = per_query
        self.drawn = 0
        self.lock = threading.Lock()

    def __call__(self, worker):
        with self.lock:
            self.drawn += 1
            is_query = self.drawn % (self.per_query + 1) == 0
        if is_query:
            worker.query()
        else:
            worker.transaction()


def measure(args):
    directory = args.directories[0]
    database = load(directory)
    database.execute(f"SET threads = {args.threads}")
    rows = {name: int(count) for name, count, _ in lines(directory, "tables")}
    keys = [numpy.fromfile(os.path.join(directory, c), dtype=numpy.int32) for c in ("l_orderkey", "l_linenumber")]
    rows["lines"] = list(zip(*(column.tolist() for column in keys)))
    results = []

    def row(experiment, threads, param, metric, value, unit):
        results.append(f"{experiment},duckdb,1,{threads},{param},{metric},{value:.6g},{unit}")

    def crew(count, repetition):
        return [Worker(database, directory, rows, 1000 * repetition + w) for w in range(count)]

    def latencies(name, threads, workers):
        for query, values in workers[-1].latency_ms.items():
            if values:
                mean = statistics.mean(values)
                row("latency", threads, query, name, mean, "ms")
                print(f"{query:14} duckdb {name} {mean:10.3f} ms")

    for repetition in range(args.repetitions):
        workers = crew(args.threads, repetition)
        jobs = [Worker.transaction] * (args.threads - 1) + [Worker.query]
        run(workers, jobs, args.seconds)
        latencies("loaded", args.threads, workers)
        workers = crew(1, repetition)
        run(workers, [Worker.query], args.seconds)
        latencies("alone", 1, workers)
        for metric, job in (("transactions", Worker.transaction), ("mixed", Stream(args.per_query))):
            workers = crew(args.threads, repetition)
            took = run(workers, [job] * args.threads, args.seconds)
            per_s = sum(w.done + w.asked for w in workers) / took
            row("throughput", args.threads, "", metric, per_s, "per_s")
            print(f"duckdb {metric}: {per_s:.0f} per second, {sum(w.lost for w in workers)} lost")
    if args.csv:
        with open(args.csv, "w", encoding="ascii") as file:
            file.write("experiment,system,processes,threads,param,metric,value,unit\n")
            file.write("".join(result + "\n" for result in results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "measure"))
    parser.add_argument("directories", nargs="+")
    parser.add_argument("--csv")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--per-query", type=int, default=1000)
    args = parser.parse_args()
    if args.what == "check":
        sys.exit(1 if sum(check(directory) for directory in args.directories) else 0)
    measure(args)


if __name__ == "__main__":
    main()
