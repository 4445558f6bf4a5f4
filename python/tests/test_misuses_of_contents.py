# SPDX-License-Identifier: MIT
"""test_misuses.py for tables, trees and heaps: each of their calls times what it may wrongly be given, and times the
states in which it may wrongly be called."""

import concurrent.futures

import numpy as np
import pytest

import libxac
from test_misuses import COPIES, FILE, NAME, NUMBER, Place, check_cell, in_child, refuses, tell

try:
    import pyarrow
except ImportError:
    pyarrow = None

ROWS = [None, 5, "rows", b"rows", [5], [(1,)], {"x": [1]}, {"x": [1], "y": ["text"]}, {"x": 5, "y": [1]}, {5: [1]}]
ROWS += [{"x": [1.5], "y": [1]}, {"x": [1 << 63], "y": [1]}, {"x": [[1]], "y": [1]}, {"x": [1, 2], "y": [1]}, object()]
ROWS += [{"x": [None], "y": [1]}, np.zeros(3), np.zeros(3, "i8,f8"), np.zeros((2, 2), [("x", "i8"), ("y", "f8")])]
TABLE_NAME = [None, 5, b"orders", "", "a\0b", "a/b", "xac.orders", "n" * 96, "\udc80", ["a"]]
SCHEMA = [5, "f8", "nonsense", [], {}, {"x": object}, {"x": "S0"}, {"x": "U5"}, {"x": [("y", "i8")]}, {5: "i8"}]
SCHEMA += [{"": "i8"}, {"a\0b": "i8"}, {"a/b": "i8"}, {"n" * 96: "i8"}, {f"c{i}": "i8" for i in range(256)}, {"x": "i8"}]
SCHEMA += [{"y": "f8", "x": "i8"}, {"x": "i8", "y": "f4"}, {"x": "i8", "y": "f8", "z": "f8"}, {"\udc80": "i8"}]
KEY = ["text", None, 1.5, -1, 1 << 64, b"", b"k" * 1025, [b"k"]]
VALUE = ["text", None, 5, 1.5, [b"v"], np.zeros(4)[::2], object()]
TREE = [*NAME, "", "n" * 256]
BLOCK = [None, 5, -1, 1.5, "block", 1 << 64, 1 << 63, b"block", memoryview(b"block"), np.zeros(4), np.zeros((0, 3))]


class Contents(Place):
    """Where each call works as it is meant."""

    def __init__(self, path):
        super().__init__(path)
        self.orders = self.env.table("orders", {"x": "i8", "y": "f8"})
        self.orders.append({"x": [1, 2], "y": [0.5, 1.5]})
        self.snapshot = self.env.snapshot()
        self.rows = self.orders.at(self.snapshot)
        self.btree, self.hash = self.env.btree("trees"), self.env.hash("trees", "hash")
        self.btree.update({b"a": b"1", b"b": b"2"})
        self.hash.update({b"a": b"1", b"b": b"2"})
        self.old = self.btree.snapshot()
        self.heap = self.env.heap("heap")
        self.heap.root("root", 8)

    def table(self, **arguments):
        self.env.table(**{"name": "orders", "schema": {"x": "i8", "y": "f8"}, **arguments})

    def append(self, **arguments):
        self.orders.append(**{"rows": [(1, 2)], **arguments})

    def column(self, column="x"):
        self.orders[column]

    def column_of_rows(self, column="x"):
        self.rows[column]

    def table_at(self, **arguments):
        self.orders.at(**{"snapshot": self.snapshot, **arguments})

    def table_snapshot(self, **arguments):
        self.orders.snapshot(**arguments)

    def table_rename(self, **arguments):
        self.orders.rename(**{"name": "orders", **arguments})

    def table_arrow(self, **arguments):
        self.orders.arrow(**arguments)

    def rows_arrow(self, **arguments):
        self.rows.arrow(**arguments)

    def open_btree(self, **arguments):
        self.env.btree(**{"file": "trees", "tree": "trees", **arguments})

    def open_cobtree(self, **arguments):
        self.env.cobtree(**{"file": "cob", "tree": "trees", **arguments})

    def open_hash(self, **arguments):
        self.env.hash(**{"file": "trees", "tree": "hash", **arguments})

    def trees(self, **arguments):
        self.env.trees(**{"file": "trees", **arguments})

    def tree_get(self, key=b"a"):
        for tree in (self.hash, self.btree):
            tree[key]

    def tree_get_or(self, key=b"a"):
        self.btree.get(key, b"")

    def tree_has(self, key=b"a"):
        assert key in self.btree

    def tree_put(self, key=b"a", value=b"1"):
        self.btree[key] = value

    def tree_insert(self, **arguments):
        self.btree.insert(**{"key": b"a", "value": b"1", **arguments})

    def tree_setdefault(self, key=b"a", value=b"1"):
        self.hash.setdefault(key, value)

    def tree_update(self, records=((b"a", b"1"),)):
        self.btree.update(records)

    def tree_delete(self, key=b"b"):
        del self.btree[key]
        self.btree[key] = b"2"

    def tree_discard(self, key=b"c"):
        self.btree.discard(key)

    def tree_pop(self, key=b"c"):
        self.hash.pop(key, None)

    def tree_range(self, **arguments):
        self.btree.range(**arguments)

    def tree_at(self, **arguments):
        self.btree.at(**{"snapshot": self.env.snapshot(), **arguments})

    def tree_snapshot(self, **arguments):
        self.btree.snapshot(**arguments)

    def old_get(self, key=b"a"):
        self.old[key]

    def old_range(self, **arguments):
        self.old.range(**arguments)

    def open_heap(self, **arguments):
        self.env.heap(**{"file": "heap", **arguments})

    def allocate(self, **arguments):
        self.heap.free(self.heap.allocate(**{"size": 8, **arguments}))

    def heap_at(self, **arguments):
        self.heap.at(**{"offset": self.heap.roots()["root"].offset, **arguments})

    def heap_offset(self, **arguments):
        self.heap.offset(**{"block": self.heap.root("root"), **arguments})

    def heap_free(self, **arguments):
        self.heap.free(**(arguments or {"block": self.heap.allocate(8)}))

    def root(self, **arguments):
        self.heap.root(**{"name": "root", "size": 8, **arguments})

    def find_root(self, **arguments):
        self.heap.root(**{"name": "root", **arguments})

    def remove_root(self, **arguments):
        self.heap.root("more", 8)
        self.heap.remove_root(**{"name": "more", **arguments})


OPENED = {"file": FILE, "tree": TREE, "value_bytes": [*NUMBER, 257, 8]}

CELLS = {
    Contents.table: {"name": [*TABLE_NAME], "schema": SCHEMA},
    Contents.append: {"rows": ROWS},
    Contents.column: {"column": [None, 5, b"x", "z", "", ["x"], slice(0, 1)]},
    Contents.column_of_rows: {"column": [None, 5, b"x", "z", "", ["x"], slice(0, 1)]},
    Contents.table_at: {"snapshot": [None, 5, "snapshot"]},
    Contents.table_snapshot: {"at": [*NUMBER, 0, 1 << 63]},
    Contents.table_rename: {"name": TABLE_NAME},
    Contents.open_btree: OPENED,
    Contents.open_cobtree: {**OPENED, "value_bytes": [*NUMBER, 257]},
    Contents.open_hash: OPENED,
    Contents.trees: {"file": [*FILE, "nothing"]},
    Contents.tree_get: {"key": KEY},
    Contents.tree_get_or: {"key": KEY},
    Contents.tree_has: {"key": KEY},
    Contents.tree_put: {"key": KEY, "value": VALUE[:-3]},
    Contents.tree_insert: {"key": KEY, "value": VALUE[:-3]},
    Contents.tree_setdefault: {"key": [*KEY, b"k" * 1017], "value": VALUE[:-3]},
    Contents.tree_update: {"records": [None, 5, [5], [(b"a",)], "ab", b"ab"]},
    Contents.tree_delete: {"key": KEY},
    Contents.tree_discard: {"key": KEY},
    Contents.tree_pop: {"key": KEY},
    Contents.tree_range: {"start": [*KEY[:1], *KEY[2:5], KEY[6]], "stop": [*KEY[:1], *KEY[2:5], KEY[6]]},
    Contents.tree_at: {"snapshot": [None, 5, "snapshot"]},
    Contents.tree_snapshot: {"at": [*NUMBER, 0, 1 << 63]},
    Contents.old_get: {"key": KEY},
    Contents.old_range: {"start": [*KEY[:1], *KEY[2:5], KEY[6]]},
    Contents.open_heap: {"file": FILE},
    Contents.allocate: {"size": [*NUMBER, None, 0, (1 << 64) - 1, 1 << 45]},
    Contents.heap_at: {"offset": [*NUMBER, None, 0, 1, 4096, 1 << 63]},
    Contents.heap_offset: {"block": [*BLOCK, bytearray(8)]},
    Contents.heap_free: {"block": BLOCK},
    Contents.root: {"name": [*NAME, None, "", "n" * 48], "size": [*NUMBER, 0, 9], "tag": [*NUMBER, None]},
    Contents.find_root: {"name": [*NAME, None, "", "n" * 48, "none"]},
    Contents.remove_root: {"name": [*NAME, None, "", "n" * 48, "none"]},
}
if pyarrow:
    CELLS[Contents.table_arrow] = {"categories": [5, "x", [("x", ["a"])], {"z": ["a"]}, {"y": ["a"]}, {"x": 5}, {"x": [5]}]}
    CELLS[Contents.rows_arrow] = CELLS[Contents.table_arrow]


def check_cells(path):
    place = Contents(path)
    for call, arguments in CELLS.items():
        tell(call.__name__, "as it is meant")
        call(place)
        for argument, values in arguments.items():
            for value in values:
                if value is not None or argument not in ("schema", "tree", "size", "at"):
                    check_cell(place, call, argument, value)
        call(place)
    assert place.env.tables() == ["orders"] and place.env.trees("trees") == ["hash", "trees"]
    assert dict(place.btree.items()) == dict(place.hash.items()) == {b"a": b"1", b"b": b"2"}
    assert place.heap.check().live_objects == 1
    place.rows.close()
    place.snapshot.close()
    place.env.close()


def test_arguments(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    in_child(check_cells, path)


# ---- states ----

OF_CONTENTS = {
    "files": lambda place: place.env.files(),
    "table": Contents.table,
    "tables": lambda place: place.env.tables(),
    "append": Contents.append,
    "append nothing": lambda place: place.orders.append([]),
    "len of a table": lambda place: len(place.orders),
    "column": Contents.column,
    "table at": Contents.table_at,
    "table snapshot": Contents.table_snapshot,
    "rename": Contents.table_rename,
    "drop": lambda place: place.orders.drop(),
    "sequence": lambda place: place.rows.sequence,
    "column of rows": Contents.column_of_rows,
    "btree": Contents.open_btree,
    "cobtree": Contents.open_cobtree,
    "hash": Contents.open_hash,
    "trees": Contents.trees,
    "get": Contents.tree_get,
    "get or": Contents.tree_get_or,
    "has": Contents.tree_has,
    "put": Contents.tree_put,
    "insert": Contents.tree_insert,
    "setdefault": Contents.tree_setdefault,
    "update": Contents.tree_update,
    "delete": Contents.tree_delete,
    "discard": Contents.tree_discard,
    "pop": Contents.tree_pop,
    "popitem": lambda place: place.btree.popitem(),
    "clear": lambda place: place.hash.clear(),
    "len of a tree": lambda place: len(place.btree),
    "truth of a tree": lambda place: bool(place.hash),
    "keys": lambda place: list(place.btree),
    "items": lambda place: list(place.hash.items()),
    "values": lambda place: list(place.btree.values()),
    "range": lambda place: list(place.btree.range()),
    "range backwards": lambda place: list(place.btree.range(reverse=True)),
    "tree at": Contents.tree_at,
    "tree snapshot": Contents.tree_snapshot,
    "old get": Contents.old_get,
    "old items": lambda place: list(place.old.items()),
    "old len": lambda place: len(place.old),
    "old sequence": lambda place: place.old.sequence,
    "drop a tree": lambda place: place.btree.drop(),
    "heap": Contents.open_heap,
    "allocate": lambda place: place.heap.allocate(8),
    "at": lambda place: place.heap.at(4096),
    "offset": lambda place: place.heap.offset(memoryview(place.array)),
    "free": lambda place: place.heap.free(4096),
    "root": Contents.root,
    "find root": Contents.find_root,
    "remove root": lambda place: place.heap.remove_root("root"),
    "roots": lambda place: place.heap.roots(),
    "check": lambda place: place.heap.check(),
}
if pyarrow:
    OF_CONTENTS["arrow"] = Contents.table_arrow
    OF_CONTENTS["arrow of rows"] = Contents.rows_arrow


def look_when_closed(path):
    place = Contents(path)
    assert all(map(repr, (place.orders, place.rows, place.btree, place.old, place.hash, place.heap)))
    place.snapshot.close()
    place.rows.close()
    place.old.close()
    place.env.close()
    refuses(place, OF_CONTENTS)
    assert all(map(repr, (place.orders, place.rows, place.btree, place.old, place.hash, place.heap)))


def test_closed(path):
    in_child(look_when_closed, path)


WORKS_IN_A_CHILD = {"files", "sequence", "old sequence"}


def test_in_a_child_of_fork(path):
    place = Contents(path)
    records = iter(place.btree.items())
    next(records)
    in_child(refuses, place, {**OF_CONTENTS, "next": lambda place: next(records)}, WORKS_IN_A_CHILD)
    assert next(records) == (b"b", b"2")
    in_child(open_again, path)
    assert dict(place.old.items()) == {b"a": b"1", b"b": b"2"}
    assert place.btree[b"c"] == b"3" and len(place.orders) == 3 and len(place.heap.roots()) == 2
    place.rows.close()
    place.env.close()


def open_again(path):
    with libxac.Environment(path, libxac.VOLATILE) as env:
        env.btree("trees")[b"c"] = b"3"
        env.table("orders").append([(3, 2.5)])
        env.heap("heap").root("from the child", 8)


def test_in_a_transaction_of_the_parent(path):
    """A child that is born in it has no transaction."""
    place = Contents(path)
    with place.env.transaction():
        place.btree[b"c"] = b"3"
        in_child(refuses, place, OF_CONTENTS, WORKS_IN_A_CHILD)
    assert place.btree[b"c"] == b"3"
    place.rows.close()
    place.env.close()


def work(place):
    place.orders.append([(3, 2.5)])
    place.btree[b"c"] = b"3"
    place.hash[b"c"] = b"3"
    place.heap.free(place.heap.allocate(100))
    with place.env.transaction():
        assert place.orders["x"].tolist() == [1, 2, 3] and place.rows["y"].tolist() == [0.5, 1.5]
        place.heap.root("root")[0] = 5
    assert list(place.btree.range(b"b")) == [(b"b", b"2"), (b"c", b"3")]


def test_by_another_thread(path):
    place = Contents(path)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(work, place).result(120)
        pool.submit(work_is_done, place).result(120)
    work_is_done(place)
    place.rows.close()
    place.env.close()


def work_is_done(place):
    assert len(place.orders) == 3 and len(place.btree) == len(place.hash) == 3
    with place.env.transaction(libxac.RDONLY):
        assert place.heap.root("root")[0] == 5


def look_at_copies(path):
    place = Contents(path)
    records = iter(place.btree.items())
    next(records)
    block = place.heap.root("root")
    parts = place.env._handle.parts.of_this_thread()
    assert len(parts) >= 5
    for name, copied in COPIES.items():
        for thing in (place.orders, place.rows, place.btree, place.old, place.hash, place.heap, block, records, *parts):
            tell(name, thing)
            with pytest.raises(TypeError, match="cannot (be )?(pickle|copied)|cannot be pickled or copied: ...."):
                copied(thing)
        for thing in (place.env.files(), place.heap.roots(), place.heap.check(), place.orders.schema):
            assert copied(thing) == thing
        with copied(place.env) as other:
            assert other.btree("trees")[b"a"] == b"1" and len(other.table("orders")) == 2
    assert next(records) == (b"b", b"2")
    place.rows.close()
    place.env.close()


def test_copies(path):
    in_child(look_at_copies, path)


@pytest.mark.parametrize("kind", [libxac.Table, libxac.TableSnapshot, libxac.Tree, libxac.TreeSnapshot, libxac.Heap])
def test_made_by_hand(env, kind):
    for arguments in ((), (env,), (env, 5), (env, 5, None), (None, 5)):
        with pytest.raises((TypeError, AttributeError)):
            kind(*arguments)
