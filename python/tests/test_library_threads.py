# SPDX-License-Identifier: MIT
"""Libraries that compute with threads of their own, and are given an array of the calling thread."""

import signal

import pytest

LIBRARIES = ["blas", "duckdb", "arrow"]
CURES = ["copy", "snapshot", "one thread"]


def run(program, path, library, cure):
    threads = {"OPENBLAS_NUM_THREADS": "1"} if cure == "one thread" else {}
    return program("library_threads.py", path, library, cure, **{"OPENBLAS_NUM_THREADS": "4", **threads})


@pytest.mark.parametrize("cure", CURES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_cure(program, path, library, cure):
    done = run(program, path, library, cure)
    assert (done.returncode, done.stdout) == (0, "1024\n"), done.stderr


@pytest.mark.parametrize("library", LIBRARIES)
def test_without_one(program, path, library):
    """The library's threads may come too late for any page, and then the answer is right."""
    done = run(program, path, library, "none")
    if done.returncode == 0:
        assert done.stdout == "1024\n"
        return
    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert "numbers at offset 0x" in done.stderr
    assert "a view of another thread, touched by thread" in done.stderr
    assert "(BLAS, OpenMP, DuckDB) one thread, or a copy" in done.stderr
