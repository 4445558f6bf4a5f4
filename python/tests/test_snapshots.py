# SPDX-License-Identifier: MIT
"""Snapshots: read-only arrays of one commit, which live as long as they are needed."""

import errno
import gc
import threading

import numpy as np
import pytest

import libxac
from leeway import leeway


@pytest.fixture
def counts(env):
    counts = env.array("counts", "i8", 4096)
    with env.transaction():
        counts[:] = np.arange(4096)
    return counts


def add_one(env, counts):
    with env.transaction():
        counts[:] += 1


def is_open(env, sequence):
    """Does anybody still have that snapshot?"""
    gc.collect()
    try:
        env.snapshot(at=sequence).close()
        return True
    except OSError as error:
        assert error.errno == errno.ESTALE
        return False


def test_array_is_of_one_commit(env, counts):
    with env.snapshot() as snapshot:
        array = snapshot.array("counts", "i8")
        add_one(env, counts)
        assert array.sum() == np.arange(4096).sum()  # first touched after the commit
        with env.snapshot() as later:
            assert later.sequence == snapshot.sequence + 1
            assert later.array("counts", "i8").sum() == np.arange(4096).sum() + 4096


def test_store_is_refused(env, counts):
    with env.snapshot() as snapshot:
        array = snapshot.array("counts", "i8")
        assert not array.flags.writeable and not array.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError):
            array += 1
        with pytest.raises(ValueError):
            array.flags.writeable = True
        assert memoryview(array).readonly


def test_array_outlives_snapshot_and_environment(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    counts = env.array("counts", "i8", 4096)
    with env.transaction():
        counts[:] = 3
    snapshot = env.snapshot()
    array = snapshot.array("counts", "i8")[10:20]
    add_one(env, counts)
    snapshot.close()
    del snapshot, counts
    env.close()
    gc.collect()
    assert list(array) == [3] * 10
    del array
    assert (np.fromfile(path / "counts", "i8") == 4).all()  # and now it is closed for good


def test_snapshot_ends_with_its_last_array(env, counts):
    snapshot = env.snapshot()
    sequence = snapshot.sequence
    first, second = snapshot.array("counts", "i8"), snapshot.array("counts", "i8")[::2]
    add_one(env, counts)
    snapshot.close()
    assert is_open(env, sequence)
    del first
    assert is_open(env, sequence)
    del second
    assert not is_open(env, sequence)


def test_closed_snapshot_refuses(env, counts):
    snapshot = env.snapshot()
    snapshot.close()
    snapshot.close()
    for call in (lambda: snapshot.array("counts", "i8"), snapshot.refresh, lambda: snapshot.sequence):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert "closed" in repr(snapshot)


def test_refresh_leaves_the_older_one_alone(env, counts):
    snapshot = env.snapshot()
    arrays = []
    for _ in range(20):
        arrays.append(snapshot.array("counts", "i8"))
        add_one(env, counts)
        fresh = snapshot.refresh()
        assert fresh.sequence == snapshot.sequence + 1
        snapshot.close()
        snapshot = fresh
        for older, array in enumerate(arrays):
            assert (array == np.arange(4096) + older).all()
    snapshot.close()


def test_refresh_in_a_loop_gives_memory_back(env, counts):
    """As a dashboard does: each time a new one, the old one forgotten."""
    snapshot = env.snapshot()
    for step in range(200):
        add_one(env, counts)
        older, snapshot = snapshot, snapshot.refresh()
        older.close()
        assert snapshot.array("counts", "i8")[0] == step + 1
    del older
    assert env.stat().pool_bytes_used < 10 << 20


def test_at_is_the_same_commit(env, counts):
    with env.snapshot() as snapshot:
        add_one(env, counts)
        with env.snapshot(at=snapshot.sequence) as same:
            assert same.sequence == snapshot.sequence
            assert (same.array("counts", "i8") == np.arange(4096)).all()


def test_durable_snapshot_is_on_disk(path):
    with libxac.Environment(path, libxac.CREATE | libxac.NOSYNC) as env:
        counts = env.array("counts", "i8", 512)
        with env.transaction():
            counts[:] = 1
        env.sync()
        with env.snapshot(durable=True) as snapshot:
            assert snapshot.sequence <= env.stat().durable_sequence
            assert snapshot.array("counts", "i8")[0] == 1


def test_durable_without_a_log_is_refused(env):
    with pytest.raises(OSError):
        env.snapshot(durable=True)
    with pytest.raises(TypeError):
        env.snapshot(durable=True, at=1)


def test_shape_follows_the_length_of_the_file(env, counts):
    with env.snapshot() as snapshot:
        assert snapshot.array("counts", "i8").shape == (4096,)
        env.array("counts", "i8", 8192)
        with env.snapshot() as later:
            assert later.array("counts", "i4").shape == (16384,)
        assert snapshot.array("counts", "i8").sum() == np.arange(4096).sum()


def test_shapes_and_offsets(env, counts):
    with env.snapshot() as snapshot:
        square = snapshot.array("counts", "i8", (16, 16))
        assert square.shape == (16, 16) and square[1, 0] == 16
        assert list(snapshot.array("counts", "i8", 2, offset=80)) == [10, 11]
        assert len(snapshot.array("counts", "i8", offset=8)) == 4095
        assert snapshot.array("counts", "i8", 0).size == 0
        for shape, offset in ((4097, 0), (4096, 8), (-1, 0), (1, 1)):
            with pytest.raises(ValueError):
                snapshot.array("counts", "i8", shape, offset)
        with pytest.raises(FileNotFoundError):
            snapshot.array("nothing", "i8")


def test_reader_in_a_transaction_of_its_own_thread(env, counts):
    with env.snapshot() as snapshot:
        with env.transaction():
            counts[0] = 100
            assert snapshot.array("counts", "i8")[0] == 0


def test_threads_read_one_snapshot_while_others_write(env, counts, seed):
    large = env.array("large", "i8", 1 << 20)
    with env.transaction():
        large[:] = 1
    stop, sums = threading.Event(), []

    def write(number):
        draw = np.random.default_rng(seed + number)
        own = env.array("large", "i8", 1 << 20)

        @env.transactional
        def move(source, target):
            own[source] -= 1
            own[target] += 1

        while not stop.is_set():
            move(*draw.integers(0, 1 << 20, 2))

    def read(array):
        for _ in range(5):
            sums.append(int(array.sum()))

    pool = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in pool:
        thread.start()
    for _ in range(5):
        with env.snapshot() as snapshot:
            readers = [threading.Thread(target=read, args=(snapshot.array("large", "i8"),)) for _ in range(4)]
            for thread in readers:
                thread.start()
            for thread in readers:
                thread.join(leeway(60))
    stop.set()
    for thread in pool:
        thread.join(leeway(60))
    assert sums == [1 << 20] * 100


def test_memory_given_to_a_system_call(env, counts, tmp_path):
    large = env.array("large", "i8", 1 << 20)
    with env.transaction():
        large[:] = 5
    with env.snapshot() as snapshot, open(tmp_path / "copy", "wb", buffering=0) as file:
        with pytest.raises(OSError, match="Bad address"):
            file.write(snapshot.array("large", "i8"))
        array = snapshot.array("large", "i8", load=True)
        assert file.write(array) == array.nbytes
    assert (np.fromfile(tmp_path / "copy", "i8") == 5).all()
