# SPDX-License-Identifier: MIT
"""Exceptions: one for each code, with its number and text."""

import errno
import os
import pickle

import pytest

import libxac
from libxac.errors import check, error_of


@pytest.mark.parametrize("code", list(libxac.Code), ids=lambda code: code.name)
def test_each_code_has_an_exception_of_its_name(code):
    error = error_of(code)
    assert type(error).__name__.upper() == code.name
    assert isinstance(error, libxac.Error) and error.code == code
    assert len(str(error)) > 10 and "unknown" not in str(error)
    assert getattr(libxac, type(error).__name__) is type(error)


def test_errno_is_an_exception_of_the_system_too():
    error = error_of(-errno.ENOENT, "prices")
    assert isinstance(error, libxac.Error) and isinstance(error, libxac.SystemFailure)
    assert isinstance(error, FileNotFoundError)
    assert (error.code, error.errno, error.filename) == (-errno.ENOENT, errno.ENOENT, "prices")
    assert "not found" in str(error) and "prices" in str(error)


def test_errno_without_an_exception_of_its_own_is_an_oserror():
    error = error_of(-errno.ENOSPC)
    assert type(error) is libxac.SystemFailure and isinstance(error, OSError)


def test_success_raises_nothing():
    check(0)


@pytest.mark.parametrize("code", [libxac.Code.CONFLICT, -errno.ENOENT, -errno.ENOSPC])
def test_exceptions_travel_between_processes(code):
    sent = error_of(code, "file")
    received = pickle.loads(pickle.dumps(sent))
    assert type(received) is type(sent) and received.code == code and str(received) == str(sent)


def test_missing_environment(path):
    with pytest.raises(FileNotFoundError) as caught:
        libxac.Environment(path)
    assert caught.value.code == -errno.ENOENT and str(path) in str(caught.value)


def test_existing_environment(env, path):
    with pytest.raises(FileExistsError):
        libxac.Environment(path, libxac.CREATE | libxac.EXCL | libxac.VOLATILE)


def test_damaged_manifest(tmp_path):
    path = tmp_path / "damaged.xac"
    libxac.Environment(path, libxac.CREATE).close()
    manifest = path / "xac.manifest"
    manifest.write_bytes(b"\xff" * manifest.stat().st_size)
    with pytest.raises((libxac.Corrupt, libxac.Format)):
        libxac.Environment(path)


def test_store_in_a_read_only_transaction(env):
    counts = env.array("counts", "i8", 4)
    with pytest.raises(libxac.Wrote):
        with env.transaction(libxac.RDONLY):
            counts[0] = 1
    with env.transaction():
        assert counts[0] == 0


def test_more_than_the_pool_holds(tmp_path):
    with libxac.Environment(tmp_path / "small.xac", libxac.CREATE | libxac.VOLATILE, pool_bytes=8 << 20) as env:
        counts = env.array("counts", "i8", 16 << 20)
        with pytest.raises(libxac.Full):
            with env.transaction():
                counts[:] = 1
        with env.transaction():
            assert not counts[:1000].any()


def test_child_of_fork_has_to_open_again(env):
    counts = env.array("counts", "i8", 4)
    snapshot = env.snapshot()
    child = os.fork()
    if child == 0:
        os._exit(look_from_child(env, snapshot))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with env.transaction():
        counts[0] += 1
        assert counts[0] == 1


def look_from_child(env, snapshot):
    """0, or the number of the call that was not refused."""
    calls = [
        lambda: env.array("counts", "i8", 4),
        lambda: env.transaction().__enter__(),
        env.snapshot,
        lambda: snapshot.array("counts", "i8"),
        snapshot.refresh,
        env.stat,
        env.sync,
        env.checkpoint,
    ]
    for number, call in enumerate(calls, 1):
        try:
            call()
            return number
        except libxac.Forked:
            pass
    with libxac.Environment(env.path, libxac.VOLATILE) as own:
        counts = own.array("counts", "i8", 4)
        with own.transaction():
            return int(counts[0])
