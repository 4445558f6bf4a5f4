# SPDX-License-Identifier: MIT
"""Several processes, started by multiprocessing's spawn; one that is killed."""

import contextlib
import multiprocessing
import time

import pytest

import libxac
from leeway import leeway
import writers

spawn = multiprocessing.get_context("spawn")


@contextlib.contextmanager
def running(target, *lists_of_arguments):
    """A process for each, killed at the end if it is still there."""
    processes = [spawn.Process(target=target, args=arguments) for arguments in lists_of_arguments]
    for process in processes:
        process.start()
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


@pytest.mark.parametrize("flags", [0, libxac.NOSYNC, libxac.VOLATILE], ids=["durable", "nosync", "volatile"])
def test_no_increment_is_lost(path, flags):
    with libxac.Environment(path, flags | libxac.CREATE) as env:
        counts = env.array("counts", "i8", 16)
        with running(writers.add_many, *[(path, flags, 0, 100)] * 4) as processes:
            for process in processes:
                process.join(leeway(60))
                assert process.exitcode == 0
        with env.transaction(libxac.RDONLY):
            assert counts[0] == 400


def test_killed_writer_leaves_nothing_half_done(path, seed):
    with libxac.Environment(path, libxac.CREATE | libxac.NOSYNC) as env:
        writers.fill(env)
        amounts = env.array("amounts", "i8", writers.ROWS)
        with running(writers.move_for_ever, *[(path, libxac.NOSYNC, seed + i) for i in range(2)]) as processes:
            writers.wait_for_moves(env, 50)
            processes[0].kill()
            processes[0].join()
            moved = writers.wait_for_moves(env, 50)  # the other goes on
            with env.transaction(libxac.RDONLY):
                assert amounts.sum() == 1000 * writers.ROWS
    with libxac.Environment(path) as env, env.snapshot() as snapshot:
        assert snapshot.array("amounts", "i8", writers.ROWS).sum() == 1000 * writers.ROWS
        assert snapshot.array("moves", "i8", 1)[0] >= moved


def test_all_writers_killed(path, seed):
    libxac.Environment(path, libxac.CREATE).close()
    with libxac.Environment(path) as env:
        writers.fill(env)
    with running(writers.move_for_ever, *[(path, 0, seed + i) for i in range(2)]):
        end = time.monotonic() + leeway(60)
        while libxac_moves(path) < 20:
            assert time.monotonic() < end
            time.sleep(0.05)
    with libxac.Environment(path) as env, env.snapshot() as snapshot:
        assert snapshot.array("amounts", "i8", writers.ROWS).sum() == 1000 * writers.ROWS
        assert snapshot.array("moves", "i8", 1)[0] >= 20


def libxac_moves(path):
    with libxac.Environment(path) as env, env.snapshot(durable=True) as snapshot:
        return snapshot.array("moves", "i8", 1)[0]


def test_snapshot_of_another_process(path, seed):
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE) as env:
        writers.fill(env)
        with running(writers.move_for_ever, (path, libxac.VOLATILE, seed)):
            writers.wait_for_moves(env)
            results = spawn.Queue()
            with env.snapshot() as snapshot:
                moved = snapshot.array("moves", "i8", 1)[0]
                writers.wait_for_moves(env, 10)
                process = spawn.Process(target=writers.sum_at, args=(path, libxac.VOLATILE, snapshot.sequence, results))
                process.start()
                assert results.get(timeout=leeway(60)) == 1000 * writers.ROWS
                process.join(leeway(60))
                assert snapshot.array("moves", "i8", 1)[0] == moved
