# SPDX-License-Identifier: MIT
"""Tables, trees and heaps together: in environments of all kinds, and after their writers were killed."""

import multiprocessing
import os
import signal

import pytest

import libxac
import writers

KINDS = {
    "with a log": (0, {}),
    "without": (libxac.VOLATILE, {}),
    "strict": (libxac.STRICT, {}),
    "strict, large pages": (libxac.STRICT | libxac.VOLATILE, {"page_bytes": 65536}),
    "tracking": (libxac.TRACK | libxac.NOSYNC, {"page_bytes": 8192}),
}
TREES = ["btree", "cobtree", "hash"]


def fill(env):
    table, heap = env.table("orders", {"number": "i8", "region": "S3"}), env.heap("heap")
    for _ in range(3):
        table.append([(1, "abc")] * 1000)
    with env.transaction():
        table["number"][5] = 7
        heap.root("root", 8)[0] = 9
    heap.free(heap.allocate(100000))
    for kind in TREES:
        getattr(env, kind)("trees", kind).update({number: b"v" * number for number in range(200)})


def check_filled(env):
    table, heap = env.table("orders"), env.heap("heap", create=False)
    with env.transaction(libxac.RDONLY):
        assert len(table) == 3000 and table["number"].sum() == 3006 and heap.root("root")[0] == 9
    assert table.snapshot()["number"].sum() == 3006 and heap.check().live_objects == 1
    for kind in TREES:
        tree = getattr(env, kind)("trees", kind, create=False)
        for records in (tree, tree.snapshot()):
            lengths = {int.from_bytes(key, "big"): len(value) for key, value in records.items()}
            assert lengths == {number: number for number in range(200)}


@pytest.mark.parametrize("kind", KINDS)
def test_in_environments_of_all_kinds(path, kind):
    flags, options = KINDS[kind]
    with libxac.Environment(path, flags | libxac.CREATE, **options) as env:
        fill(env)
        check_filled(env)
    with libxac.Environment(path, libxac.RDONLY) as env:
        check_filled(env)
        refused = [
            lambda: env.table("new", {"x": "i8"}),
            lambda: env.table("orders").append([(1, "abc")]),
            lambda: env.btree("trees", "new"),
            lambda: env.btree("trees", "btree").clear(),
            lambda: env.table("orders").drop(),
            lambda: env.heap("heap").allocate(8),
        ]
        for call in refused:
            with pytest.raises((libxac.Wrote, OSError), match="read-only|RDONLY"):
                call()
        check_filled(env)


def test_a_writer_is_killed(path):
    """Rows, records and objects have come together."""
    with libxac.Environment(path, libxac.CREATE | libxac.NOSYNC) as env:
        table, tree, heap = env.table("numbers", {"number": "i8"}), env.btree("trees"), env.heap("heap")
    for _ in range(4):
        reader, writer = multiprocessing.get_context("spawn").Pipe(False)
        process = multiprocessing.get_context("spawn").Process(target=writers.add_for_ever, args=(path, writer))
        process.start()
        assert reader.poll(120)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with libxac.Environment(path, libxac.NOSYNC) as env:
            table, tree, heap = env.table("numbers"), env.btree("trees"), env.heap("heap")
            count = len(table)
            assert count >= 100 and table.snapshot()["number"].tolist() == list(range(count))
            assert [int.from_bytes(key, "big") for key in tree] == list(range(count))
            with env.transaction(libxac.RDONLY):
                assert all(bytes(heap.at(int(offset))[:5]) == b"bytes" for offset in tree.values())
            assert heap.check().live_objects == count
