# SPDX-License-Identifier: MIT
"""Whatever is left when the interpreter ends: the environment is closed, its data is in the files, and there is no
signal."""

import numpy as np

import libxac
from conftest import check_files

UNCLOSED = ["stays open at the end", "not closed as it should be"]
THREADS = ["thread_in_a_transaction", "thread_that_stays_in_c", "thread_that_reads"]  # may be still at it, as is said then
SLEEP = ["thread_that_sleeps", "thread_that_has_an_address"]  # and might read a snapshot later
SLEEP += ["thread_that_has_a_tree"]  # which nobody else can close


def test_what_is_busy_when_it_is_given_up_is_closed_at_the_end(program, path):
    code = path.parent / "busy.py"
    code.write_text(
        "import ctypes, gc, sys, libxac\n"
        "from libxac import _library\n"
        "library = ctypes.CDLL(_library.path)\n"
        "env = libxac.Environment(sys.argv[1], libxac.CREATE | libxac.VOLATILE)\n"
        "address = ctypes.c_void_p(env._handle.address)\n"
        "assert library.xac_retain(address) == 0\n"  # as an arena of trees does
        "array = env.array('a', 'i8', 1000)\n"
        "with env.transaction():\n"
        "    array[:] = 5\n"
        "del env, array\n"
        "gc.collect()\n"
        "assert library.xac_release(address) == 0\n"
    )
    done = program(code, path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert np.fromfile(path / "a", "i8").sum() == 5000


def test_what_is_left_at_the_end(program, tmp_path):
    done = program("at_end.py", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) >= 12
    wrong = [row for row in rows if row[2] != "0" or row[3] != "5000"]
    assert all(row[0] in THREADS + SLEEP and row[2] == "0" for row in wrong), f"{wrong}\n{done.stderr}"
    assert set(SLEEP) <= {row[0] for row in wrong}
    assert sum(map(done.stderr.count, UNCLOSED)) == len(wrong)
    assert "Exception ignored" not in done.stderr and "del:" not in done.stderr
    for name, flags, _, _ in wrong:
        with libxac.Environment(tmp_path / f"{name}{flags}", libxac.VOLATILE) as env, env.snapshot() as snapshot:
            assert snapshot.array("a", "i8").sum() == 5000
    for name in ("nothing8", "parts_that_are_left8", "parts_in_a_transaction8", "parts_in_a_handler8"):
        check_files(tmp_path / name)
