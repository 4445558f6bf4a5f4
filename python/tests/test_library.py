# SPDX-License-Identifier: MIT
"""Finding the shared library, and what is declared of it beside the header that it was built from."""

import ctypes
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import libxac
from libxac import Code, Flag, _heap_library, _library, _send_library, _trees_library, memory
from libxac.constants import Way

from conftest import BUILD, TREE
from leeway import leeway

HEADERS = TREE / "include" / "xac"


def import_with(library):
    environment = {"LIBXAC_LIBRARY": library, "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", "import libxac"], capture_output=True, text=True, timeout=leeway(60), env=environment
    )


def test_missing_library_says_what_to_do():
    done = import_with("/nowhere/libxac.so")
    assert done.returncode == 1
    assert "ImportError: libxac's shared library cannot be loaded" in done.stderr
    assert "/nowhere/libxac.so" in done.stderr and "make install" in done.stderr and "LIBXAC_LIBRARY=" in done.stderr


def test_library_without_the_calls_says_so():
    done = import_with("libm.so.6")
    assert done.returncode == 1
    assert "ImportError: libm.so.6 is too old for this package" in done.stderr


def test_chosen_library_is_the_one_that_is_loaded():
    assert import_with(_library.path).returncode == 0


def test_library_in_the_package_comes_before_others(tmp_path):
    """As in a wheel. The environment's variable comes first all the same."""
    package = tmp_path / "libxac"
    shutil.copytree(Path(libxac.__file__).parent, package)
    (package / _library.SONAME).symlink_to(Path(_library.path).resolve())
    code = "import libxac; print(libxac.library_path)"
    for chosen in ("", _library.path):
        environment = {"PYTHONPATH": ":".join([str(tmp_path), *sys.path]), "LIBXAC_LIBRARY": chosen}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=leeway(60), env=environment
        )
        assert done.stdout.strip() == (chosen or str(package / _library.SONAME)), done.stderr


def header(name="xac.h"):
    if not (HEADERS / name).exists():
        pytest.skip("the header is not here")
    return re.sub(r"/\*.*?\*/", "", (HEADERS / name).read_text(), flags=re.S)


def test_codes_are_those_of_the_header():
    found = {name: int(value) for name, value in re.findall(r"XAC_(\w+) = (-5\d+)", header())}
    assert found == {code.name: code.value for code in Code}


def test_flags_are_those_of_the_header():
    found = {name: int(value, 16) for name, value in re.findall(r"XAC_(\w+) = (0x\w+)", header())}
    assert found == {flag.name: flag.value for flag in Flag}


@pytest.mark.parametrize("name, structure", [("options", _library.Options), ("stats", _library.StatsBuffer)])
def test_structures_are_those_of_the_header(name, structure):
    body = re.search(r"typedef struct xac_%s \{(.*?)\} xac_%s;" % (name, name), header(), re.S).group(1)
    fields = re.findall(r"(?:u?int\d\d_t |void \*|char \*|\()\*?(\w+)(?:\)\(.*?\))?(?:\[(\d+)\])?;", body)
    declared = [(field, str(kind._length_) if hasattr(kind, "_length_") else "") for field, kind in structure._fields_]
    assert [tuple(field) for field in fields] == declared
    sizes = [8 * int(length or 1) for _, length in fields]
    narrow = len(re.findall(r"uint32_t", body))
    assert ctypes.sizeof(structure) == (sum(sizes) - 4 * narrow + 7) // 8 * 8


def test_ways_are_those_of_the_header():
    body = re.search(r"enum xac_send_way \{(.*?)\}", header("send.h"), re.S).group(1)
    assert re.findall(r"XAC_SEND_(\w+)", body) == [way.name for way in Way]
    assert [way.value for way in Way] == list(range(len(Way)))


@pytest.mark.parametrize(
    "name, file, structure",
    [
        ("xac_send_request", "send.h", _send_library.Request),
        ("xac_tree_record", "tree.h", _send_library.Record),
        ("xac_tree_record", "tree.h", _trees_library.Record),
    ],
)
def test_structures_of_sending_are_those_of_the_header(name, file, structure):
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), header(file), re.S).group(1)
    fields = [
        (field, int(length or 1) * (4 if "uint32_t" in line else 8))
        for line in body.split(";")
        for field, length in re.findall(r"(\w+)(?:\[(\d+)\])?(?=,|$)", line.strip())
    ]
    assert fields == [(field, ctypes.sizeof(kind)) for field, kind in structure._fields_]
    assert ctypes.sizeof(structure) == sum(size for _, size in fields)


@pytest.mark.parametrize(
    "file, prototypes",
    [
        ("xac.h", {**_library._PROTOTYPES, **_library._PROTOTYPES_WITH_ERRNO}),
        ("send.h", _send_library._PROTOTYPES),
        ("heap.h", {**_heap_library._PROTOTYPES, **_heap_library._PROTOTYPES_WITH_ERRNO}),
        ("arena.h tree.h", _trees_library._PROTOTYPES),
    ],
)
def test_prototypes_are_of_functions_in_the_header(file, prototypes):
    text = "".join(map(header, file.split()))
    text = re.sub(r"\(\*\w+\)\([^()]*\)", "function", text)  # a pointer to one, as an argument
    for name, (_, *arguments) in prototypes.items():
        found = re.search(r"\b%s\(([^)]*)\);" % name, text)
        assert found, name
        assert len(found.group(1).replace("void", "").split(",")) == max(len(arguments), 1), name


def test_structures_of_trees_and_heaps_are_those_of_the_header():
    stats = re.search(r"typedef struct xac_heap_stats \{(.*?)\} xac_heap_stats;", header("heap.h"), re.S).group(1)
    assert re.findall(r"uint64_t (\w+)", stats) == [name for name, _ in _heap_library.Stats._fields_]
    root = re.search(r"typedef struct xac_heap_root \{(.*?)\} xac_heap_root;", header("heap.h"), re.S).group(1)
    assert re.findall(r"(\w+)(?:\[.*\])?;", root) == [name for name, _ in _heap_library.Root._fields_]
    assert f"XAC_HEAP_NAME_MAX = {_heap_library.NAME_MAX} " in header("heap.h")
    options = re.search(r"typedef struct xac_tree_options \{(.*?)\} xac_tree_options;", header("tree.h"), re.S).group(1)
    assert re.findall(r"(\w+)(?:\[.*\])?;", options) == [name for name, _ in _trees_library.Options._fields_]
    stats = re.search(r"typedef struct xac_tree_stats \{(.*?)\} xac_tree_stats;", header("tree.h"), re.S).group(1)
    figures = re.findall(r"\w+(?:\[\d+\])?(?=[,;])", re.sub(r"/\*.*?\*/", "", stats, flags=re.S))
    assert figures[:3] == ["kind", "shortcut_is_used", "records"] and _trees_library.RECORDS == 1
    assert figures[-1] == "reserved[4]" and len(figures) - 2 + 4 == _trees_library.STATS_FIELDS
    for name in ("CREATE", "NOOVERWRITE"):
        value = re.search(r"XAC_TREE_%s = (\d+)" % name, header("tree.h")).group(1)
        assert int(value) == getattr(_trees_library, name)
    kinds = "XAC_TREE_BPLUS = 1, XAC_TREE_COBTREE, XAC_TREE_HASH"
    assert kinds in header("tree.h") and [kind.number for kind in _trees_library.KINDS.values()] == [1, 2, 3]
    assert "XAC_TREE_GE, " in header("tree.h") and _trees_library.GE == 0 and _trees_library.LE == 1
    assert f"XAC_ARENA_DECLARED = {_trees_library.DECLARED} " in header("arena.h")


ACCELERATED = TREE / "python" / "accelerated" / "library.h"


def test_what_is_compiled_has_the_numbers_of_the_header():
    values = {**Code.__members__, **Flag.__members__, "READ": memory.READ, "WRITE": memory.WRITE}
    found = re.findall(r"XAC_(\w+) = (-?\w+)", ACCELERATED.read_text())
    assert len(found) >= 6
    assert all(int(value, 0) == values[name] for name, value in found)


def test_what_is_compiled_calls_functions_of_the_header():
    found = re.findall(r"^        [\w ]+\*?\(\*(\w+)\)\(([^)]*)\);", ACCELERATED.read_text(), re.M)
    assert [name for name, _ in found] == list(_library._OF_ACCELERATED)
    for name, arguments in found:
        declared = re.search(r"\b%s\(([^)]*)\);" % name, header()).group(1)
        assert arguments.count(",") == declared.count(",") == len(_library._PROTOTYPES[name]) - 2


def test_there_is_one_library_in_the_process():
    code = "import libxac; print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libxac.so' in line})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=leeway(60))
    assert len(done.stdout.split()) == 1 and not done.stderr


@pytest.mark.parametrize("chosen", ["0", "1"])
def test_which_way_is_in_use(chosen):
    code = "import libxac; print(libxac.accelerated, libxac.Transaction.__module__)"
    environment = {**os.environ, "LIBXAC_ACCELERATED": chosen}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=leeway(60), env=environment
    )
    there = importlib.util.find_spec("libxac._accelerated") is not None
    expected = "True libxac\n" if there and chosen == "1" else "False libxac.transaction\n"
    assert done.stdout == expected and not done.stderr


def test_name_is_that_of_the_built_library():
    if not (BUILD / ".libs" / "libxac.so").exists():
        pytest.skip("nothing has been built here")
    assert (BUILD / ".libs" / _library.SONAME).exists() and all(
        (BUILD / ".libs" / library.SONAME).exists() for library in (_send_library, _trees_library, _heap_library)
    )


def test_version_is_that_of_the_library():
    package = re.search(r'^version = "(.*)"', (TREE / "python" / "pyproject.toml").read_text(), re.M).group(1)
    assert re.search(r"AC_INIT\(\[libxac\], \[([^]]*)\]", (TREE / "configure.ac").read_text()).group(1) == package


PUBLIC = [libxac.Environment, libxac.Snapshot, libxac.Range, libxac.Transaction]
PUBLIC += [libxac.Table, libxac.TableSnapshot, libxac.Tree, libxac.TreeSnapshot, libxac.Heap]


PUBLIC = [libxac.Environment, *libxac.Environment.__mro__[1:-1], libxac.Snapshot, libxac.Range, libxac.Transaction]


@pytest.mark.parametrize("kind", [*PUBLIC, libxac.Error, libxac.SystemFailure], ids=lambda kind: kind.__name__)
def test_public_calls_say_their_types(kind):
    for name, member in vars(kind).items():
        function = member.fget if isinstance(member, property) else member
        is_public = not name.startswith("_") or name in ("__init__", "__enter__", "__iter__")
        if not is_public or not inspect.isfunction(function):
            continue
        if kind is libxac.Snapshot and name == "__init__":
            continue  # not for users
        assert "return" in typing.get_type_hints(function), name
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty, name
        without = [p.name for p in list(signature.parameters.values())[1:] if p.annotation is p.empty]
        assert not without, f"{name}: {without}"


def test_types_are_for_users():
    assert (Path(libxac.__file__).parent / "py.typed").exists()
    assert all(hasattr(libxac, name) for name in libxac.__all__)
    assert libxac.Stats._fields == _library.STATS and libxac.Backup._fields == _library.BACKUP_RESULT
