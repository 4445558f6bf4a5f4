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


def text_of_readme():
    text = (TREE / "python" / "README.md").read_text()
    return text[text.index("## Writing") :]


def check_shop(path, pieces, others_sold=0):
    price, stock = np.fromfile(path / "price"), np.fromfile(path / "stock", "i4")
    assert (price[:1000] == 9.5).all()
    assert stock[7] == pieces and stock[:1000].sum() == 20 * 999 + pieces - others_sold
    check_files(path)


def check_contents(path):
    """Of the table, the tree and the heap."""
    assert np.fromfile(path / "orders.pieces", "i4")[:3].tolist() == [3, 5, 1]
    assert np.fromfile(path / "orders.region", "S8")[:3].tolist() == [b"north", b"south", b"north"]
    catalog = (path / "libxac.tables").read_bytes()
    assert catalog[:8] == b"xactable" and struct.unpack("<Q", catalog[65536 : 65536 + 8]) == (3,)
    with libxac.Environment(path, libxac.RDONLY) as env:
        tree = env.btree("customers", create=False)
        assert dict(tree.items()) == {b"bob": b"south", b"cleo": b"north", b"dora": b"north"}
        assert env.heap("notes", create=False).check().live_objects == 3


def test_code_of_readme(tmp_path, trades):
    text = text_of_readme()
    code = "".join(re.findall(r"```python\n(.*?)```", text, re.S))
    printed = "".join(re.findall(r"```text\n(.*?)```", text, re.S))
    assert code.count("\n") > 25
    script = tmp_path / "shop.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=leeway(60), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed and not done.stderr
    check_shop(tmp_path / "shop.xac", 7, 8)
    check_contents(tmp_path / "shop.xac")


FIRST_BLOCKS = """
import os
for count in range(1, len(blocks) + 1):
    child = os.fork()
    if child == 0:
        os.mkdir(str(count))
        os.chdir(str(count))
        break
    assert os.waitpid(child, 0)[1] == 0
else:
    count = 0
exec("".join(blocks[:count]))
"""


def test_first_blocks_of_readme(tmp_path):
    """Each is the end of a program of its own."""
    text = text_of_readme()
    blocks = re.findall(r"```python\n(.*?)```", text[: text.index("With pyarrow")], re.S)
    script = tmp_path / "first.py"
    script.write_text(f"blocks = {blocks!r}{FIRST_BLOCKS}")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=leeway(60), cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    for count, pieces in enumerate([20, 17, 17, 7], 1):
        check_shop(tmp_path / str(count) / "shop.xac", pieces)
