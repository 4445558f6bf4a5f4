# SPDX-License-Identifier: MIT
"""First touches are served also where faulthandler has a handler of SIGSEGV, whenever it was enabled."""

import faulthandler
import signal

import pytest

import libxac


@pytest.mark.parametrize(
    "kind", ["before", "after", "before a snapshot's array", "in a transaction", "a fault that is not ours"]
)
def test_faulthandler(program, path, kind):
    done = program("faulting.py", path, kind)
    assert done.stdout == "served\n", done.stderr
    if kind == "a fault that is not ours":
        assert done.returncode == -signal.SIGSEGV
        assert "Fatal Python error: Segmentation fault" in done.stderr and "faulting.py" in done.stderr
    else:
        assert done.returncode == 0 and not done.stderr


def test_faulthandler_from_the_command_line(program, path):
    assert program("faulting.py", path, "after", options=["-X", "faulthandler"]).returncode == 0


def test_here_where_pytest_has_enabled_it(env):
    was_enabled = faulthandler.is_enabled()
    faulthandler.enable()
    try:
        counts = env.array("counts", "i8", 1 << 16)
        with env.transaction():
            counts[:] = 1
        faulthandler.disable()
        faulthandler.enable()
        with env.transaction():
            counts[:] += 1
        with env.snapshot() as snapshot:
            assert snapshot.array("counts", "i8").sum() == 2 << 16
    finally:
        if not was_enabled:
            faulthandler.disable()


def test_touch_between_transactions_of_a_strict_environment(program, path):
    code = path.parent / "strict.py"
    code.write_text(
        "import libxac, sys\n"
        "env = libxac.Environment(sys.argv[1], libxac.CREATE | libxac.STRICT)\n"
        "counts = env.array('counts', 'i8', 1)\n"
        "counts[0] = 1\n"
    )
    done = program(code, path)
    assert done.returncode == -signal.SIGSEGV
    assert "counts" in done.stderr and "outside" in done.stderr
    libxac.Environment(path).close()


def test_touch_after_close(program, path):
    code = path.parent / "closed.py"
    code.write_text(
        "import libxac, sys\n"
        "env = libxac.Environment(sys.argv[1], libxac.CREATE | libxac.VOLATILE)\n"
        "counts = env.array('counts', 'i8', 1)\n"
        "env.close()\n"
        "counts[0] = 1\n"
    )
    done = program(code, path)
    assert done.returncode == -signal.SIGSEGV
    assert "libxac: access to counts at offset 0x0: it is mapped no more: its environment" in done.stderr
