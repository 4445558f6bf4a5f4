# SPDX-License-Identifier: MIT
"""The example: DuckDB, numpy, C and the writers come to the same sums of the same snapshot while orders come in."""

import os
import subprocess
import sys

import pytest

from conftest import BUILD, TREE, check_files
from leeway import leeway

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

EXAMPLE = TREE / "python" / "examples" / "live_orders.py"


def run_example(tmp_path, seconds):
    """Its lines, one for each second."""
    for program in ("orders_writer", "orders_sum"):
        if not (BUILD / "python" / "examples" / program).exists():
            pytest.skip(f"{program} has not been built")
    plot = tmp_path / "plot.svg"
    command = [sys.executable, EXAMPLE, "--seconds", str(seconds), "--plot", plot, tmp_path / "shop.xac"]
    environment = {**os.environ, "LIBXAC_BUILD": str(BUILD)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=leeway(seconds * 3 + 60), env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    try:
        import matplotlib  # noqa: F401

        assert "<svg" in plot.read_text()
    except ImportError:
        assert "no plot" in done.stdout
    check_files(tmp_path / "shop.xac")
    lines = [line for line in done.stdout.splitlines() if "earned" in line]
    assert all(line.split(": ")[1] == "DuckDB, numpy, the writers' totals, C" for line in lines)
    assert all(": the same (" in line for line in lines)
    orders = [int(line.split()[0].replace(",", "")) for line in lines]
    # On a busy machine a second may bring none.
    assert sorted(orders) == orders and (len(orders) < 3 or orders[-1] > orders[0]), "never less, and more in the end"
    return lines


def test_for_a_few_seconds(tmp_path):
    assert len(run_example(tmp_path, 4)) >= 1  # more where nothing else runs


@pytest.mark.slow
def test_for_a_minute(tmp_path):
    assert len(run_example(tmp_path, 60)) >= 20
