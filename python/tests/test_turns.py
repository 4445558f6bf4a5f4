# SPDX-License-Identifier: MIT
"""Generators and tasks, which take turns in one thread, and ends by hand, or out of turn: no transaction ends another
one's, and none is lost silently."""

import asyncio
import contextlib
import errno
import gc
import threading
import time

import pytest

import libxac
from libxac import _library


@pytest.fixture
def counts(env):
    return env.array("counts", "i8", 16)


def look(env, counts, length=2):
    """In a transaction that is nobody's level."""
    assert not env.in_transaction()
    with env.transaction():
        return counts[:length].tolist()


def by_with(env, counts, index):
    with env.transaction():
        counts[index] += 1
        yield


def by_exit_stack(env, counts, index):
    with contextlib.ExitStack() as stack:
        stack.enter_context(env.transaction())
        counts[index] += 1
        yield


@pytest.mark.parametrize("block", [by_with, by_exit_stack])
def test_outer_one_that_is_left_first(env, counts, block):
    outer, inner = block(env, counts, 0), block(env, counts, 1)
    next(outer)
    next(inner)
    with pytest.raises(RuntimeError, match="left before one that began inside it"):
        next(outer)
    with pytest.raises(RuntimeError, match="undone, as the transaction around it was left"):
        next(inner)
    assert look(env, counts) == [0, 0]


@pytest.mark.parametrize("block", [by_with, by_exit_stack])
def test_outer_one_that_is_left_by_an_exception(env, counts, block):
    outer, inner = block(env, counts, 0), block(env, counts, 1)
    next(outer)
    next(inner)
    with pytest.raises(RuntimeError, match="left before"):
        outer.throw(KeyError())
    with pytest.raises(RuntimeError, match="undone"):
        next(inner)
    assert look(env, counts) == [0, 0]


@pytest.mark.skipif(libxac.accelerated, reason="no code of Python runs there")
def test_del_that_begins_while_another_one_begins(env, counts, monkeypatch):
    """As garbage may be collected then."""

    def begin(*arguments):
        if not windows:
            windows.append(None)
            with env.transaction():
                counts[2] += 1
        return xbegin(*arguments)

    xbegin, windows = _library.xbegin, []
    monkeypatch.setattr(_library, "xbegin", begin)
    outer, inner = by_with(env, counts, 0), by_with(env, counts, 1)
    next(outer)
    next(inner)
    with pytest.raises(RuntimeError, match="left before one that began inside it"):
        next(outer)
    with pytest.raises(RuntimeError, match="undone"):
        next(inner)
    assert look(env, counts, 3) == [0, 0, 1]


def test_inner_one_that_is_never_left(env, counts):
    outer, inner = by_with(env, counts, 0), by_with(env, counts, 1)
    next(outer)
    next(inner)
    inner.close()
    with pytest.raises(StopIteration):
        next(outer)
    assert look(env, counts) == [1, 0]


def test_blocks_of_two_environments_may_end_in_any_order(env, counts, tmp_path):
    with libxac.Environment(tmp_path / "other.xac", libxac.CREATE | libxac.VOLATILE) as other:
        more = other.array("counts", "i8", 16)
        blocks = by_with(env, counts, 0), by_with(other, more, 0)
        for _ in range(2):
            for block in blocks:
                next(block, None)
        assert look(env, counts) == [1, 0] and look(other, more) == [1, 0]


def test_tasks_that_take_turns(env, counts):
    async def change(index, may_end):
        with env.transaction():
            counts[index] += 1
            if may_end:
                await may_end.wait()

    async def main():
        may_end = asyncio.Event()
        first = asyncio.create_task(change(0, may_end))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="another task"):
            await asyncio.create_task(change(1, None))
        may_end.set()
        await first
        await asyncio.create_task(change(1, None))
        await change(1, None)

    asyncio.run(main())
    assert look(env, counts) == [1, 2]


def test_single_calls_join_no_other_task(env):
    tree = env.btree("trees")
    table = env.table("rows", {"x": "i8"})
    tree[b"a"] = b"1"

    async def stay(may_end):
        with env.transaction():
            tree[b"a"] = b"2"
            table.append([(1,)])
            await may_end.wait()

    async def main():
        may_end = asyncio.Event()
        other = asyncio.create_task(stay(may_end))
        await asyncio.sleep(0)
        for call in (
            lambda: tree.update(a=b"3"),
            lambda: tree.__setitem__(b"a", b"3"),
            lambda: tree.__delitem__(b"a"),
            lambda: tree.pop(b"a"),
            lambda: table.append([(2,)]),
        ):
            with pytest.raises(RuntimeError, match="another task"):
                call()
        may_end.set()
        await other
        assert tree[b"a"] == b"2" and table["x"].tolist() == [1]

    asyncio.run(main())


def test_tasks_inside_of_a_transaction(env, counts):
    """The loop is inside of it as a whole."""

    async def change(index):
        with env.transaction():
            counts[index] += 1
        await asyncio.sleep(0)

    async def main():
        await asyncio.gather(change(0), change(1))

    with env.transaction():
        asyncio.run(main())
    with contextlib.suppress(KeyError), env.transaction():
        asyncio.run(main())
        raise KeyError
    assert look(env, counts) == [1, 1]


def test_task_that_is_abandoned(env, counts):
    """Its transaction does not keep it."""

    async def change():
        with env.transaction():
            counts[0] = 7
            await asyncio.sleep(3600)

    async def change_by_hand():
        env.transaction().__enter__()
        counts[0] = 7

    async def main(function):
        asyncio.ensure_future(function())
        await asyncio.sleep(0)

    for function in (change, change_by_hand):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main(function))
        loop.close()
        del loop
        gc.collect()
        assert look(env, counts) == [0, 0]


async def asynchronous(counts):
    counts[0] += 1


def generator(counts):
    counts[0] += 1
    yield


async def asynchronous_generator(counts):
    counts[0] += 1
    yield


@pytest.mark.parametrize("function", [asynchronous, generator, asynchronous_generator])
def test_functions_whose_code_runs_later(env, counts, function):
    with pytest.raises(TypeError, match="runs after the transaction"):
        env.transactional(function)
    with pytest.raises(TypeError, match="runs after the transaction"):
        env.transactional(flags=libxac.SNAPSHOT_ISOLATION)(function)
    with pytest.raises(TypeError, match="runs after the transaction"):
        env.run(function, counts)

    @env.transactional
    def hands_it_over():
        counts[1] += 1
        return function(counts)

    with pytest.raises(TypeError, match="runs after the transaction"):
        hands_it_over()
    assert look(env, counts) == [0, 0]


def test_close_of_one_of_two(path):
    """What is left in a transaction that close() has undone ends without a signal."""
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    counts = env.array("counts", "i8", 16)
    other = libxac.Environment(path, libxac.VOLATILE)  # keeps the library's environment open
    with pytest.raises(libxac.NoTxn):
        with env.transaction():
            counts[0] = 7
            with pytest.raises(libxac.Unended):
                env.close()
    assert not other.in_transaction()
    array = other.array("counts", "i8")
    with other.transaction():
        array[1] = 8
    with other.snapshot() as snapshot:
        assert list(snapshot.array("counts", "i8", 2)) == [0, 8]
    other.close()


def test_close_of_one_of_two_by_another_thread(path):
    """It does not take a transaction's environment away."""
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    other = libxac.Environment(path, libxac.VOLATILE)
    has_begun, may_end, results = threading.Event(), threading.Event(), []

    def change():
        counts, more = env.array("counts", "i8", 16), other.array("counts", "i8", 16)
        try:
            with env.transaction():
                counts[0] = 7
                has_begun.set()
                may_end.wait(120)
            results.append(other.in_transaction())
            with other.transaction():
                more[1] = 8
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=change)
    thread.start()
    assert has_begun.wait(120)
    with pytest.raises(OSError) as raised:
        env.close()
    assert raised.value.errno == errno.EBUSY
    may_end.set()
    thread.join(120)
    assert results == [False]
    env.close()
    with other.snapshot() as snapshot:
        assert list(snapshot.array("counts", "i8", 2)) == [7, 8]
    other.close()


def test_close_after_a_thread_that_has_ended_in_a_transaction(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    other = libxac.Environment(path, libxac.VOLATILE)
    thread = threading.Thread(target=lambda: env.transaction().__enter__())
    thread.start()
    thread.join(120)
    end = time.monotonic() + 120
    for each in (env, other):
        while each._handle is not None:
            assert time.monotonic() < end
            with contextlib.suppress(OSError):  # EBUSY: join() does not wait for all of a thread's end
                each.close()


def test_begin_and_end_by_hand(env):
    counts = env.array("counts", "i8", 4)
    transaction = env.transaction()
    for turn in range(2):
        transaction.__enter__()
        counts[0] += 1
        transaction.__exit__(None, None, None)
        assert not env.in_transaction()
    transaction.__enter__()
    counts[0] += 1
    transaction.__exit__(KeyError, KeyError(), None)
    with env.transaction():
        assert counts[0] == 2
    with pytest.raises(RuntimeError, match="not begun"):
        with env.transaction():
            env.transaction().__exit__(None, None, None)


def test_thread_of_its_own_for_each_transaction(env):
    results = []

    def end():
        try:
            transaction.__exit__(None, None, None)
        except RuntimeError as error:
            results.append(str(error))

    transaction = env.transaction()
    transaction.__enter__()
    thread = threading.Thread(target=end)
    thread.start()
    thread.join(120)
    assert "another thread" in results[0] or "not begun" in results[0]
    transaction.__exit__(None, None, None)
    assert not env.in_transaction()
