# SPDX-License-Identifier: MIT
"""What the tests share: environments that are checked when a test is done with them, and seeds that are printed."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import libxac
from leeway import leeway

TREE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LIBXAC_BUILD", TREE))  # where `make` has put its programs
HERE = Path(__file__).resolve().parent


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run what takes a minute or more")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes a minute: --slow runs it"))


def pytest_report_header():
    return f"libxac {libxac.version}: {libxac.library_path}"


def check_files(path):
    """`xac check`, if it has been built here."""
    tool = BUILD / "tools" / "xac" / "xac"
    if tool.exists() and path.exists():
        done = subprocess.run([tool, "check", path], capture_output=True, text=True, timeout=leeway(60))
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def path(tmp_path):
    """Of an environment that does not exist yet. What the test leaves there is checked."""
    path = tmp_path / "env.xac"
    yield path
    check_files(path)


@pytest.fixture
def env(path):
    """Without a log: commits do not wait for the disk."""
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE) as env:
        yield env


@pytest.fixture
def seed():
    seed = int(os.environ.get("XAC_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"XAC_TEST_SEED={seed}")  # shown when the test fails
    return seed


def run_program(name, *arguments, timeout=60, options=(), **environment):
    """Runs a program of this folder by this interpreter, and returns what became of it."""
    command = [sys.executable, *options, str(HERE / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=leeway(timeout), env={**os.environ, **environment})


@pytest.fixture
def program():
    return run_program
