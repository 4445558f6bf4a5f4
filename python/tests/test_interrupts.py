# SPDX-License-Identifier: MIT
"""Ctrl-C at any moment leaves no transaction open, and nothing half done."""

import os
import signal
import subprocess
import sys
import time

import pytest

from leeway import leeway


@pytest.mark.parametrize("kind", ["with", "nested", "run", "parts"])
def test_interrupts_at_random_moments(program, path, seed, kind):
    done = program("interrupted.py", path, 50, leeway(60), seed, kind, timeout=90)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 50
    assert "libxac: " not in done.stderr if kind == "parts" else not done.stderr


def test_endless_retries_can_be_interrupted(path):
    code = f"""
import libxac
env = libxac.Environment({str(path)!r}, libxac.CREATE | libxac.VOLATILE)
def body():
    raise libxac.Conflict
print("begins", flush=True)
try:
    env.run(body)
except KeyboardInterrupt:
    print(env.in_transaction())
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    time.sleep(0.2)
    os.kill(child.pid, signal.SIGINT)
    assert child.communicate(timeout=leeway(30))[0] == "False\n"
    assert child.returncode == 0


def test_signal_that_a_thread_of_another_library_gets(path):
    """The interpreter is told of it, but does not look before it has given its lock up once."""
    code = f"""
import ctypes, os, signal, subprocess
import libxac
env = libxac.Environment({str(path)!r}, libxac.CREATE | libxac.VOLATILE)
libc, thread = ctypes.CDLL(None), ctypes.c_ulong()
assert libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.pause, ctypes.c_void_p), None) == 0
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
child = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -INT {{os.getpid()}}"])
transaction, count = env.transaction(), 0
try:
    while count < 2_000_000:
        with transaction:
            count += 1
    print("not interrupted")
except KeyboardInterrupt:
    print(count < 2_000_000, env.in_transaction())
child.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=leeway(120))
    assert done.stdout == "True False\n" and not done.stderr, done
