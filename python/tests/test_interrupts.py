# SPDX-License-Identifier: MIT
"""Ctrl-C at any moment leaves no transaction open, and nothing half done."""

import os
import signal
import subprocess
import sys
import time

import pytest

import libxac
from leeway import leeway


@pytest.mark.parametrize("kind", ["with", "nested", "run", "parts"])
def test_interrupts_at_random_moments(program, path, seed, kind):
    done = program("interrupted.py", path, 50, leeway(60), seed, kind, timeout=90)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 50
    assert "libxac: " not in done.stderr if kind == "parts" else not done.stderr


@pytest.fixture
def interrupt_after(monkeypatch):
    def after(name):
        function = getattr(libxac._library, name)

        def interrupted(*arguments):
            assert function(*arguments) == 0
            raise KeyboardInterrupt

        monkeypatch.setattr(libxac._library, name, interrupted)

    yield after
    monkeypatch.undo()


def test_interrupt_behind_an_open(path, interrupt_after, monkeypatch):
    interrupt_after("xac_open")
    with pytest.raises(KeyboardInterrupt):
        libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    monkeypatch.undo()
    libxac.Environment(path, libxac.CREATE).close()  # without VOLATILE, as nobody has it open


@pytest.mark.parametrize("name", ["xac_snapshot_open", "xac_snapshot_open_at", "xac_snapshot_refresh"])
def test_interrupt_behind_the_open_of_a_snapshot(env, name, interrupt_after, monkeypatch):
    with env.snapshot() as snapshot:
        opened = set(libxac.ending._open)
        participants = env.stat().participants
        interrupt_after(name)
        with pytest.raises(KeyboardInterrupt):
            if name == "xac_snapshot_open":
                env.snapshot()
            elif name == "xac_snapshot_open_at":
                env.snapshot(at=snapshot.sequence)
            else:
                snapshot.refresh()
        monkeypatch.undo()
        assert env.stat().participants == participants and set(libxac.ending._open) == opened


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
