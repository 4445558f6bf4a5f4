# SPDX-License-Identifier: MIT
"""The interpreter's lock: others go on while a transaction waits for the disk, and what is compiled and cannot wait
keeps it."""

import sys
import threading
import time

import pytest

import libxac
from leeway import leeway

PAGES = 16384  # which take longer to commit than another thread sleeps


@pytest.fixture
def steps():
    """How many another thread has made, which gets the lock only when it is given up."""

    def walk():
        while not ends.is_set():
            steps[0] += 1
            time.sleep(0.001)

    steps, ends, interval = [0], threading.Event(), sys.getswitchinterval()
    sys.setswitchinterval(leeway(600))
    thread = threading.Thread(target=walk)
    thread.start()
    yield steps
    sys.setswitchinterval(interval)
    ends.set()
    thread.join(leeway(60))


def test_others_go_on_while_a_commit_waits(path, steps):
    with libxac.Environment(path, libxac.CREATE) as env:
        array = env.array("a", "i8", 512 * PAGES)
        with env.transaction():
            array[::512] = 1
            before = steps[0]
        assert steps[0] > before


@pytest.mark.skipif(not libxac.accelerated, reason="ctypes gives it up in each call")
def test_what_cannot_wait_keeps_it(env, steps):
    array = env.array("a", "i8", 16)
    with env.transaction():
        before = steps[0]
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            with env.transaction():
                env.put(array, 7, env.get(array, 7) + 1)
        after = steps[0]
    assert after == before
