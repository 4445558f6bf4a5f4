# SPDX-License-Identifier: MIT
"""A program for test_handlers.py: faulthandler is enabled at some moment, and pages are touched for the first time.

faulting.py DIR KIND
"""

import ctypes
import faulthandler
import sys

import libxac

directory, kind = sys.argv[1:]
faulthandler.disable()
if kind == "before":
    faulthandler.enable()
env = libxac.Environment(directory, libxac.CREATE | libxac.VOLATILE)
counts = env.array("counts", "i8", 1 << 20)
with env.transaction():
    counts[::512] = 1
snapshot = env.snapshot()
if kind != "before":
    faulthandler.enable()
if kind == "before a snapshot's array":
    assert snapshot.array("counts", "i8").sum() == 2048
with env.transaction():
    counts[::512] += 1
if kind == "in a transaction":
    with env.transaction():
        counts[0] += 1
        faulthandler.disable()
        faulthandler.enable()
        env.stat()
        counts[::512] += 1
assert snapshot.array("counts", "i8").sum() == 2048
print("served", flush=True)
if kind == "a fault that is not ours":
    ctypes.string_at(8)
