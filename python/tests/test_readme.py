# SPDX-License-Identifier: MIT
"""The code in README.md runs from the first line to the last, and prints what stands there."""

import re
import subprocess
import sys

import pytest

from conftest import TREE

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")


def test_code_of_readme(tmp_path):
    text = (TREE / "python" / "README.md").read_text()
    text = text[text.index("## Writing") :]
    code = "".join(re.findall(r"```python\n(.*?)```", text, re.S))
    printed = "".join(re.findall(r"```text\n(.*?)```", text, re.S))
    assert code.count("\n") > 25
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
