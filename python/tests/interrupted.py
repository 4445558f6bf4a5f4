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


way = {"with": by_with, "nested": by_nested_with, "run": by_run}[kind]
interrupts = 0
signal.signal(signal.SIGALRM, signal.default_int_handler)
start = time.monotonic()
while time.monotonic() < start + (1 if interrupts >= enough else seconds):
    try:
        signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 1e-3))
        while True:
            way()
    except KeyboardInterrupt as error:
        kept = error  # with its traceback, and what that refers to
        interrupts += 1
        assert not env.in_transaction(), f"left open after {interrupts} interrupts"
        with env.transaction(libxac.RDONLY):
            assert pair[0] == pair[1], f"{pair} after {interrupts} interrupts"
print(interrupts)
