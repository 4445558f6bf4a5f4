# SPDX-License-Identifier: MIT
"""What further processes run (multiprocessing spawn imports this module by name)."""

import time

import numpy as np

import libxac
from leeway import leeway

ROWS = 100_000
kept = []  # up to the end of the process


def add_many(path, flags, index, times):
    """Increments one number."""
    with libxac.Environment(path, flags) as env:
        counts = env.array("counts", "i8", 16)

        @env.transactional
        def add():
            counts[index] += 1

        for _ in range(times):
            add()


def move_for_ever(path, flags, seed):
    """Takes from one row and gives to another: the sum stays the same."""
    draw = np.random.default_rng(seed)
    env = libxac.Environment(path, flags)
    amounts = env.array("amounts", "i8", ROWS)
    moves = env.array("moves", "i8", 1)

    @env.transactional
    def move(source, target, amount):
        amounts[source] -= amount
        amounts[target] += amount
        moves[0] += 1

    while True:
        move(*draw.integers(0, ROWS, 2), draw.integers(1, 100))


def fill(env):
    """1,000 in each row."""
    amounts = env.array("amounts", "i8", ROWS)
    env.array("moves", "i8", 1)
    with env.transaction():
        amounts[:] = 1000


def wait_for_moves(env, more=1, seconds=60):
    """Until others have committed so many more. Returns how many there are."""
    moves = env.array("moves", "i8", 1)
    end = time.monotonic() + leeway(seconds)
    first = None
    while time.monotonic() < end:
        with env.transaction(libxac.RDONLY):
            count = int(moves[0])
        first = count if first is None else first
        if count >= first + more:
            return count
        time.sleep(0.005)
    raise TimeoutError(f"no {more} moves within {seconds} s")


def sum_at(path, flags, sequence, results):
    """The sum as of another process's snapshot."""
    with libxac.Environment(path, flags) as env, env.snapshot(at=sequence) as snapshot:
        results.put(int(snapshot.array("amounts", "i8", ROWS).sum()))


def add_by(env, amount):
    """By an environment that was pickled, which stays open here up to the end of the process."""
    counts = env.array("counts", "i8", 16)
    with env.transaction():
        counts[0] += amount
        kept.append(env)
        return int(counts.sum())


def leave_open(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    kept.append(env)
    counts = env.array("counts", "i8", 16)
    with env.transaction():
        counts[0] += 1


def append_orders(env, first, count):
    orders = env.table("orders")
    for number in range(first, first + count):
        orders.append({"number": [number], "price": [number / 2], "region": [b"north"]})
    return count


def put_some(env, first, count):
    tree = env.btree("trees", "shared")
    for number in range(first, first + count):
        tree[number] = b"%d" % number
    return count


def read_block(env, offset):
    heap = env.heap("heap")
    with env.transaction(libxac.RDONLY):
        return bytes(heap.at(offset)[:5])


def make_tables(env, who, count):
    """All make those that are called alike, and some of their own."""
    for number in range(count):
        env.table(f"common{number}", {"who": "i8"}).append([(who,)])
        env.table(f"own{who}.{number}", {"who": "i8"}).append([(who,)])
    return count


def add_for_ever(path, pipe):
    """A row, a record and an object in each transaction. Tells when it has done 100."""
    env = libxac.Environment(path, libxac.NOSYNC)
    table, tree, heap = env.table("numbers"), env.btree("trees"), env.heap("heap")
    begin = len(table)

    @env.transactional
    def add():
        number = table.append([(len(table),)])
        block = heap.allocate(5)
        block[:] = b"bytes"
        tree[number] = b"%d" % heap.offset(block)
        return number

    while add() != begin + 100:
        pass
    pipe.send(None)
    while True:
        add()
