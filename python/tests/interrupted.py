# SPDX-License-Identifier: MIT
"""A program for test_interrupts.py: interrupts itself at random moments of transactions, and looks what is left open.

interrupted.py DIR INTERRUPTS SECONDS SEED KIND: for a second, and then until there were so many interrupts, or the
seconds are over. Prints how many there were.
"""

import random
import signal
import sys
import time

import libxac

directory, enough, seconds, seed, kind = sys.argv[1:]
enough, seconds, seed = int(enough), float(seconds), int(seed)
draw = random.Random(seed)
env = libxac.Environment(directory, libxac.CREATE | libxac.VOLATILE)
pair = env.array("pair", "i8", 2)


def step():
    pair[0] += 1
    pair[1] += 1


def by_with():
    with env.transaction():
        step()


def by_nested_with():
    with env.transaction():
        pair[0] += 1
        with env.transaction():
            pair[1] += 1


def by_run():
    env.run(step)


def by_parts():
    """Of a tree, a heap and a table, which are opened again and again."""
    with env.transaction():
        step()
        number = tree.pop(b"a")
        tree[b"a"] = b"%d" % (int(number) + 1)
        tree.update({b"b": tree[b"a"]})
        heap.free(heap.allocate(100))
        table.append([(int(number), int(number))])
    for _ in tree.items():
        list(env.btree("trees", "others").range())


def look_at_parts():
    assert tree[b"a"] == tree[b"b"] and heap.check().live_objects == 0
    assert (table["x"] == table["y"]).all() and table["x"].tolist() == list(range(int(tree[b"a"])))


way = {"with": by_with, "nested": by_nested_with, "run": by_run, "parts": by_parts}[kind]
if way is by_parts:
    tree, heap, table = env.btree("trees"), env.heap("heap"), env.table("table", {"x": "i8", "y": "i8"})
    tree.update({b"a": b"0", b"b": b"0"})
interrupts = 0
signal.signal(signal.SIGALRM, signal.default_int_handler)
start = time.monotonic()
while time.monotonic() < start + (1 if interrupts >= enough else seconds):
    try:
        signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 1e-3))
        for _ in range(2000):  # an interrupt in a __del__() is only reported
            way()
    except KeyboardInterrupt as error:
        kept = error  # with its traceback, and what that refers to
        interrupts += 1
        assert not env.in_transaction(), f"left open after {interrupts} interrupts"
        with env.transaction(libxac.RDONLY):
            assert pair[0] == pair[1], f"{pair} after {interrupts} interrupts"
            if way is by_parts:
                look_at_parts()
env.close()
print(interrupts)
