# SPDX-License-Identifier: MIT
"""The code in README.md runs from the first line to the last, and prints what stands there."""

import re
import struct
import subprocess
import sys

import pytest

import libxac
from conftest import TREE
from leeway import leeway
from trees import Server, Tree

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")


@pytest.fixture
def trades(tmp_path, monkeypatch):
    """What the section about trees asks for."""
    monkeypatch.chdir(tmp_path)
    with libxac.Environment("trades.xac", libxac.CREATE) as env:
        tree = Tree(env, "trades", "by_number", 12)
        tree.put({struct.pack(">Q", i): struct.pack("<di", i / 2, i % 7 + 1) for i in range(1000)})
        tree.close()
        with Server("trades.xac", "trades.sock"):
            yield


def test_code_of_readme(tmp_path, trades):
    text = (TREE / "python" / "README.md").read_text()
    text = text[text.index("## Writing") :]
    code = "".join(re.findall(r"```python\n(.*?)```", text, re.S))
    printed = "".join(re.findall(r"```text\n(.*?)```", text, re.S))
    assert code.count("\n") > 25
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=leeway(60), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
