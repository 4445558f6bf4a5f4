# SPDX-License-Identifier: MIT
"""Opening, closing, arrays, care."""

import errno
import gc
import threading

import numpy as np
import pytest

import libxac


def test_files_are_plain_after_the_last_close(path):
    with libxac.Environment(path, libxac.CREATE) as env:
        prices = env.array("prices", "f8", 1000)
        with env.transaction():
            prices[:] = np.arange(1000)
    assert (np.fromfile(path / "prices")[:1000] == np.arange(1000)).all()
    with libxac.Environment(path) as env:
        prices = env.array("prices", "f8", 1000)
        with env.transaction(libxac.RDONLY):
            assert prices.sum() == 499500


def test_what_is_only_read_does_not_change(path):
    with libxac.Environment(path, libxac.CREATE) as env:
        prices = env.array("prices", "f8", 1000)
        with env.transaction():
            prices[:] = np.arange(1000)
    before = {name.name: (name.stat().st_mtime_ns, name.read_bytes()) for name in path.iterdir()}
    with libxac.Environment(path, libxac.RDONLY) as env:
        prices = env.array("prices", "f8", 1000)
        with env.transaction():
            assert prices.sum() == 499500
        with pytest.raises(libxac.Wrote):
            with env.transaction():
                prices[7] = 8
        with pytest.raises(OSError) as raised:
            env.array("others", "f8", 1000)
        assert raised.value.errno == errno.ENOENT
    assert before == {name.name: (name.stat().st_mtime_ns, name.read_bytes()) for name in path.iterdir()}


def test_closed_environment_refuses(path):
    env = libxac.Environment(path, libxac.CREATE)
    env.close()
    env.close()
    for call in (env.stat, env.sync, env.checkpoint, env.snapshot, env.in_transaction):
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(ValueError, match="closed"):
        env.array("prices", "f8", 1)
    with pytest.raises(ValueError, match="closed"):
        with env.transaction():
            pass
    assert "closed" in repr(env)


def test_environment_is_closed_when_nobody_has_it(path):
    env = libxac.Environment(path, libxac.CREATE)
    counts = env.array("counts", "i8", 1)
    with env.transaction():
        counts[0] = 4
    del env
    gc.collect()
    assert np.fromfile(path / "counts", "i8")[0] == 0  # the array has it still
    del counts
    assert np.fromfile(path / "counts", "i8")[0] == 4


def test_close_while_another_thread_is_in_a_transaction(env):
    inside, may_end = threading.Event(), threading.Event()

    def stay():
        with env.transaction(libxac.RDONLY):
            inside.set()
            may_end.wait(30)

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait(30)
    with pytest.raises(OSError) as caught:
        env.close()
    assert caught.value.errno == errno.EBUSY
    may_end.set()
    thread.join(120)
    assert env.stat().commits >= 1


def test_options(path):
    with libxac.Environment(path, libxac.CREATE, page_bytes=16384, pool_bytes=32 << 20) as env:
        stats = env.stat()
        assert stats.page_bytes == 16384 and stats.pool_bytes == 32 << 20
    with pytest.raises(TypeError, match="no such options: pages, progress"):
        libxac.Environment(path, progress=1, pages=2)


def test_numbers_that_do_not_fit_are_refused(path, env):
    with pytest.raises(ValueError):
        libxac.Environment(path, libxac.CREATE, scan_bytes=-1)
    for number in (0, -1, 1 << 64, (1 << 64) + env.stat().sequence):
        with pytest.raises(ValueError):
            env.snapshot(at=number)


def test_stat_counts_commits(env):
    counts = env.array("counts", "i8", 1)
    before = env.stat()
    for _ in range(3):
        with env.transaction():
            counts[0] += 1
    after = env.stat()
    assert after.commits == before.commits + 3 and after.sequence == before.sequence + 3


def test_sync_and_checkpoint(path):
    with libxac.Environment(path, libxac.CREATE | libxac.NOSYNC) as env:
        counts = env.array("counts", "i8", 1)
        with env.transaction():
            counts[0] = 9
        env.sync()
        assert env.stat().durable_sequence == env.stat().sequence
        env.checkpoint()
        assert np.fromfile(path / "counts", "i8")[0] == 9


def test_backup(path):
    with libxac.Environment(path, libxac.CREATE) as env:
        counts = env.array("counts", "i8", 1000)
        with env.transaction():
            counts[0] = 9
        copy, changes = path.with_name("copy"), path.with_name("changes")
        assert env.backup(copy).pages_copied == 1
        with env.transaction():
            counts[999] = 1
        done = env.backup(changes, since=copy, bytes_per_second=1 << 30)
        assert done.pages_copied == 1 and done.sequence == done.since_sequence + 1
        with pytest.raises(FileExistsError) as raised:
            env.backup(copy)
        assert "is there already" in raised.value.problem
    with libxac.Environment(copy) as env:
        assert env.array("counts", "i8")[0] == 9


def test_array_grows_the_file_in_place(env):
    short = env.array("counts", "i8", 512)
    with env.transaction():
        short[511] = 5
    long = env.array("counts", "i8", 4096)
    assert long.ctypes.data == short.ctypes.data
    with env.transaction():
        long[4095] = 6
        assert short[511] == long[511] == 5
    assert env.array("counts", "i8").shape == (4096,)


def test_arrays_of_any_shape_and_type(env):
    point = np.dtype([("x", "f4"), ("y", "f4"), ("name", "S8")])
    points = env.array("points", point, (3, 5))
    with env.transaction():
        points[2, 4] = (1.5, 2.5, b"last")
        assert points["name"][2, 4] == b"last"
    behind_a_header = env.array("points", "f4", 2, offset=14 * point.itemsize)
    with env.transaction():
        assert list(behind_a_header) == [1.5, 2.5]


@pytest.mark.parametrize(
    "arguments, error",
    [
        (("a", object, 4), TypeError),
        (("a", [("x", object)], 4), TypeError),
        (("a", "S0", 4), TypeError),
        (("a", "f8", -1), ValueError),
        (("a", "f8", 1.5), TypeError),
        (("a", "f8", 4, 3), ValueError),
        (("a", "f8", 4, -8), ValueError),
        (("a/b", "f8", 4), OSError),
        (("xac.log", "f8", 4), OSError),
        (("nothing", "f8"), FileNotFoundError),
    ],
)
def test_arrays_that_cannot_be(env, arguments, error):
    with pytest.raises(error):
        env.array(*arguments)


def test_memory_given_to_system_calls(env, tmp_path):
    (tmp_path / "numbers").write_bytes(np.arange(4096, dtype="i8").tobytes())
    counts = env.array("counts", "i8", 4096)
    with open(tmp_path / "numbers", "rb", buffering=0) as file:
        with pytest.raises(OSError, match="Bad address"):
            with env.transaction():
                file.readinto(counts)
        with env.transaction():
            env.advise(counts, write=True)
            assert file.readinto(counts) == counts.nbytes
    with env.transaction(libxac.RDONLY):
        assert (counts == np.arange(4096)).all()
    with env.transaction(), pytest.raises(ValueError, match="gaps"):
        env.advise(counts[::2])
    with pytest.raises(libxac.NoTxn):
        env.advise(counts)
    with pytest.raises(libxac.NoView):
        with env.transaction():
            env.advise(np.zeros(4))


def test_same_directory_opened_twice(env, path):
    again = libxac.Environment(path, libxac.VOLATILE)
    counts = again.array("counts", "i8", 1)
    with again.transaction():
        counts[0] = 1
    again.close()
    with env.transaction():
        assert counts[0] == 1  # views stay until the last close
