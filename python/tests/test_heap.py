# SPDX-License-Identifier: MIT
"""The heap: objects that are bytes in the file, found by names and offsets; nothing but objects is ever freed."""

import concurrent.futures
import multiprocessing
import random

import numpy as np
import pytest

import libxac
import writers


@pytest.fixture
def heap(env):
    return env.heap("heap")


def test_a_list(path):
    """Of nodes: 8 bytes that say where the next one is, and a text."""
    with libxac.Environment(path, libxac.CREATE) as env:
        heap = env.heap("heap")
        for word in (b"one", b"two", b"three"):
            with env.transaction():
                first = heap.root("first", 8, tag=7).cast("Q")
                node = heap.allocate(8 + len(word))
                node[:8].cast("Q")[0], node[8:] = first[0], word
                first[0] = heap.offset(node)
    with libxac.Environment(path) as env:
        heap, words = env.heap("heap", create=False), []
        with env.transaction(libxac.RDONLY):
            at = heap.root("first").cast("Q")[0]
            while at:
                node = heap.at(at)
                words.append(bytes(node[8:]).rstrip(b"\0"))
                at = node[:8].cast("Q")[0]
        assert words == [b"three", b"two", b"one"]
        root = heap.roots()["first"]
        assert root.name == "first" and root.size == 8 and root.tag == 7
        assert heap.check().live_objects == 4 and heap.check().roots == 1


def test_objects_of_any_size(env, heap):
    with env.transaction():
        blocks = [heap.allocate(size) for size in (1, 16, 100, 2033, 5000, 3000000)]
        for number, block in enumerate(blocks):
            assert not any(block[:100]) and block.nbytes in (1, 16, 100, 2033, 5000, 3000000)
            np.asarray(block)[:] = number + 1
        offsets = [heap.offset(block) for block in blocks]
    with env.transaction():
        for number, (block, offset) in enumerate(zip(blocks, offsets)):
            assert bytes(heap.at(offset)[: len(block)]) == bytes([number + 1]) * len(block)
            heap.free(block if number % 2 else offset)
    assert heap.check().live_objects == 0
    for block in blocks:
        with pytest.raises(ValueError, match="block: no object of this heap begins"):
            heap.free(block)


def test_what_is_undone_was_never_there(env, heap):
    kept = heap.allocate(10)
    with pytest.raises(LookupError):
        with env.transaction():
            undone = heap.offset(heap.allocate(100000))
            heap.root("undone", 8)
            heap.free(kept)
            raise LookupError
    with pytest.raises(ValueError, match="offset: no object"):
        heap.at(undone)
    with pytest.raises(KeyError, match="undone"):
        heap.root("undone")
    heap.free(kept)
    assert heap.check().live_objects == 0


def test_only_objects_are_freed(env, heap, seed):
    """Whatever number is given: an exception, or it was one."""
    draw = random.Random(seed)
    objects = {heap.offset(heap.allocate(draw.choice([8, 200, 5000, 50000]))) for _ in range(50)}
    guesses = [0, 1, 8, 1 << 32, (1 << 63) + 8, (1 << 64) - 16, *(draw.randrange(1 << 22) * 8 for _ in range(500))]
    for offset in [*guesses, *(offset + 16 for offset in list(objects)), *objects]:
        try:
            heap.free(offset)
            assert offset in objects
            objects.remove(offset)
        except ValueError as error:
            assert offset not in objects and str(error).startswith("block: no object")
    assert not objects and heap.check().live_objects == 0


def test_blocks_that_are_none(env, heap):
    root, block, numbers = heap.root("root", 100), heap.allocate(100), env.array("numbers", "i8", 100)
    snapshot = env.snapshot()
    for wrong in (memoryview(b"bytes"), bytearray(5), None, "text", -1, block[8:], block[:0], numbers, np.zeros(4), 1.5):
        with pytest.raises((TypeError, ValueError), match="^block: "):
            heap.free(wrong)
    for wrong in (root, heap.roots()["root"].offset):
        with pytest.raises(ValueError, match="block: it is a root"):
            heap.free(wrong)
    for wrong in (memoryview(snapshot.array("numbers", "i8")), block[16:], 5):
        with pytest.raises((TypeError, ValueError), match="^block: "):
            heap.offset(wrong)
    other = env.heap("other")
    with pytest.raises(ValueError, match="^block: "):
        other.free(block)
    heap.free(block[:5])  # its beginning
    assert heap.check().live_objects == 1


def test_roots(env, heap):
    first = heap.root("first", 16, tag=1 << 63)
    with env.transaction():
        first[:2] = b"ab"
    with env.transaction():
        assert bytes(heap.root(b"first")[:3]) == bytes(heap.root("first", 16)[:3]) == b"ab\0"
    with pytest.raises(ValueError, match="size: the root 'first' has 16 bytes, not 8"):
        heap.root("first", 8)
    heap.root("n" * 47, 8)
    for name in ("n" * 48, "other"):
        with pytest.raises(KeyError, match="name: "):
            heap.root(name)
        with pytest.raises(KeyError, match="name: "):
            heap.remove_root(name)
    with pytest.raises(OSError, match="name: 1 to 47 bytes"):
        heap.root("n" * 48, 8)
    assert sorted(heap.roots()) == ["first", "n" * 47]
    heap.remove_root("first")
    assert list(heap.roots()) == ["n" * 47]


def test_what_is_no_heap(env):
    numbers = env.array("numbers", "i8", 1000)
    with env.transaction():
        numbers[:] = 5
    with pytest.raises(libxac.Format, match="file: 'numbers' holds something else than a heap"):
        env.heap("numbers")
    env.btree("trees")
    with pytest.raises(libxac.Format):
        env.heap("trees")
    env.heap("heap")
    with pytest.raises(libxac.Format, match="file: 'heap' holds something else than trees"):
        env.btree("heap")
    with pytest.raises(FileNotFoundError):
        env.heap("nothing", create=False)
    assert "nothing" not in [file.name for file in env.files()]


def test_opened_outside_of_transactions(env):
    with env.transaction():
        with pytest.raises(RuntimeError, match="file: a heap is opened outside of transactions"):
            env.heap("heap")
    heap = env.heap("heap")

    def in_a_transaction():
        with env.transaction():
            heap.allocate(8)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(RuntimeError, match="outside of transactions, by each thread"):
            pool.submit(in_a_transaction).result(60)
        pool.submit(heap.roots).result(60)
        pool.submit(in_a_transaction).result(60)


def test_no_room(path):
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE, reserve_bytes=1 << 24) as env:
        heap = env.heap("heap")
        for size in (1 << 25, 1 << 45, (1 << 64) - 1):
            with pytest.raises(OSError, match="size: there is no room"):
                heap.allocate(size)
            with pytest.raises(OSError, match="size: there is no room"):
                heap.root("large", size)
        assert heap.check().live_objects == 0


def test_threads_and_processes(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    heap = env.heap("heap")

    def fill(number):
        for _ in range(20):
            block = heap.allocate(100)
            with env.transaction():
                block[:] = bytes([number]) * 100
        return heap.offset(block)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        offsets = list(pool.map(fill, range(1, 6)))
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as others:
            for number, offset in enumerate(offsets, 1):
                assert others.submit(writers.read_block, env, offset).result(120) == bytes([number]) * 5
    assert heap.check().live_objects == 100
    with pytest.raises(ValueError, match="block: "):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            heap.free(pool.submit(heap.allocate, 100).result(60))  # of another thread: its address means nothing here
    env.close()


def test_damage_is_told(path):
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE) as env:
        heap = env.heap("heap")
        heap.allocate(100)
        assert isinstance(heap.check(), libxac.HeapStats)
        broken = env.array("heap", "u1")
        with env.transaction():
            kept = broken[: 1 << 14].copy()
            broken[64 : 1 << 12] = 255
        with pytest.raises(libxac.Corrupt, match=", and .* other findings"):
            heap.check()
        with env.transaction():
            broken[: 1 << 14] = kept
        heap.check()


def test_close_a_moment_after_threads_were_joined(path):
    """They hold what they had open until the kernel has ended them."""
    for _ in range(20):
        env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
        heap = env.heap("heap")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            blocks = list(pool.map(heap.allocate, range(1, 9)))
        env.close()
        assert len(blocks) == 8
