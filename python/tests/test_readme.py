# SPDX-License-Identifier: MIT
"""The code in README.md, run as a script, prints what stands there, and the files are right afterwards."""

import re
import struct
import subprocess
import sys

import numpy as np
import pytest

import libxac
from conftest import TREE, check_files
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
    script = tmp_path / "shop.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=leeway(60), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed and not done.stderr
    price, stock = np.fromfile(tmp_path / "shop.xac" / "price"), np.fromfile(tmp_path / "shop.xac" / "stock", "i4")
    assert (price[:1000] == 9.5).all()
    assert stock[7] == 7 and stock[:1000].sum() == 20 * 999 + 7
    check_files(tmp_path / "shop.xac")
