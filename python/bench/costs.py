# SPDX-License-Identifier: MIT
"""What transactions and single elements cost, as compiled and by ctypes: processor time, the least of several rounds.

    python3 costs.py [ROUNDS]

Run by `make bench-python`. Without a log, so that nothing waits for a disk. The two take turns, and a busy machine
disturbs the least round little.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import timeit

ROUNDS = 12
TURNS = 3
COLUMNS = {"compiled": "1", "ctypes": "0"}
TRANSACTIONS, ELEMENTS = 2000, 200  # in a round
ADD = "put(array, 7, get(array, 7) + 1)"

# name: (statement, how often it is run in a round, is the round one transaction?)
ROWS = {
    "an empty transaction": ("with env.transaction(): pass", TRANSACTIONS, False),
    "... that only reads": ("with env.transaction(RDONLY): pass", TRANSACTIONS, False),
    "get, within one": ("get(array, 7)", ELEMENTS, True),
    "put, within one": ("put(array, 7, 1.5)", ELEMENTS, True),
    "a transaction that reads and writes one": (f"with env.transaction(): {ADD}", TRANSACTIONS, False),
    "the same by run()": ("env.run(add)", TRANSACTIONS, False),
    "the same by array[7] += 1": ("with env.transaction(): array[7] += 1", TRANSACTIONS, False),
}
LIMITS = {  # microseconds, on a machine that does nothing else
    "an empty transaction": 1,
    "get, within one": 1,
    "put, within one": 1,
    "a transaction that reads and writes one": 4,
}


def measured(rounds):
    import libxac

    with tempfile.TemporaryDirectory() as folder:
        with libxac.Environment(os.path.join(folder, "env.xac"), libxac.CREATE | libxac.VOLATILE) as env:
            array = env.array("a", "f8", 1000)
            get, put = env.get, env.put

            def add():
                put(array, 7, get(array, 7) + 1)

            names = {"env": env, "array": array, "get": get, "put": put, "add": add, "RDONLY": libxac.RDONLY}
            return {name: _least(env, names, rounds, *row) for name, row in ROWS.items()}


def _least(env, names, rounds, statement, count, is_inside):
    timer = timeit.Timer(statement, globals=names, timer=time.process_time)
    found = []
    for _ in range(rounds):
        if is_inside:
            with env.transaction():
                timer.timeit(2)
                found.append(timer.timeit(count))
        else:
            found.append(timer.timeit(count))
    return min(found) / count * 1e6


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    least = {}
    for _ in range(TURNS):
        for column, value in COLUMNS.items():
            environment = {**os.environ, "LIBXAC_ACCELERATED": value, "LIBXAC_ROUNDS": str(rounds)}
            done = subprocess.run([sys.executable, __file__], stdout=subprocess.PIPE, env=environment, check=True)
            for name, cost in json.loads(done.stdout).items():
                least[name, column] = min(cost, least.get((name, column), cost))
    print(f"{'microseconds':42}{'compiled':>10}{'ctypes':>10}{'at most':>10}")
    for name in ROWS:
        print(f"{name:42}{least[name, 'compiled']:10.2f}{least[name, 'ctypes']:10.2f}{LIMITS.get(name, ''):>10}")


if "LIBXAC_ROUNDS" in os.environ:
    print(json.dumps(measured(int(os.environ["LIBXAC_ROUNDS"]))))
else:
    main()
