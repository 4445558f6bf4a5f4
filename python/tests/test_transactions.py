# SPDX-License-Identifier: MIT
"""Transactions as with statements, as calls and as decorated functions."""

import contextlib
import threading

import pytest

import libxac
from leeway import leeway


@pytest.fixture
def counts(env):
    return env.array("counts", "i8", 4096)


def in_thread(function):
    """Runs it in another thread, and passes on its exception."""
    caught = []

    def run():
        try:
            function()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(leeway(60))
    if caught:
        raise caught[0]


def add_elsewhere(env, index):
    def add():
        counts = env.array("counts", "i8", 4096)
        with env.transaction():
            counts[index] += 1

    in_thread(add)


def test_block_takes_effect(env, counts):
    with env.transaction():
        assert env.in_transaction()
        counts[0] = 1
    assert not env.in_transaction()
    with env.transaction():
        assert counts[0] == 1


def test_exception_undoes_the_block_and_goes_on(env, counts):
    with pytest.raises(ZeroDivisionError):
        with env.transaction():
            counts[:] = 7
            raise ZeroDivisionError
    with env.transaction():
        assert not counts.any()


def test_inner_block_is_undone_alone(env, counts):
    with env.transaction():
        counts[0] = 1
        with contextlib.suppress(KeyError):
            with env.transaction():
                counts[0] = 2
                raise KeyError
        assert counts[0] == 1
        with env.transaction():
            counts[1] = 3
    with env.transaction():
        assert list(counts[:2]) == [1, 3]


def test_outer_block_undoes_the_inner_one(env, counts):
    with contextlib.suppress(KeyError):
        with env.transaction():
            with env.transaction():
                counts[0] = 2
            raise KeyError
    with env.transaction():
        assert counts[0] == 0


def test_nested_in_a_strict_environment(path):
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE | libxac.STRICT) as env:
        counts = env.array("counts", "i8", 4)
        with env.transaction():
            with env.transaction():
                counts[0] = 2
        with env.transaction():
            assert counts[0] == 2


def test_lost_block_raises_conflict_and_saw_one_snapshot(env, counts):
    with pytest.raises(libxac.Conflict) as caught:
        with env.transaction():
            assert counts[0] == 0
            add_elsewhere(env, 0)
            assert counts[0] == 0  # still
            counts[0] += 10
    assert caught.value.code == libxac.Code.CONFLICT
    with env.transaction():
        assert counts[0] == 1


def test_loss_shows_at_the_outermost_end(env, counts):
    inner_ended = []
    with pytest.raises(libxac.Conflict):
        with env.transaction():
            with env.transaction():
                counts[0] += 10
                add_elsewhere(env, 0)
            inner_ended.append(True)
    assert inner_ended == [True]


def test_run_runs_again_until_it_gets_through(env, counts):
    attempts = []

    def body(amount, times=1):
        attempts.append(counts[0])
        if len(attempts) < 3:
            add_elsewhere(env, 0)
        counts[0] += amount * times
        return "done"

    assert env.run(body, 5, times=2) == "done"
    assert attempts == [0, 1, 2]
    with env.transaction():
        assert counts[0] == 12


def test_body_asks_for_another_attempt(env, counts):
    attempts = []

    def body():
        counts[0] += 1
        attempts.append(int(counts[0]))
        if len(attempts) < 4:
            raise libxac.Conflict
        return len(attempts)

    assert env.run(body) == 4
    assert attempts == [1, 1, 1, 1]


def test_run_inside_a_transaction_leaves_the_retry_to_it(env, counts):
    outer, inner = [], []

    def inner_body():
        inner.append(True)
        if len(inner) == 1:
            raise libxac.Conflict
        counts[1] += 1

    def outer_body():
        outer.append(True)
        counts[0] += 1
        env.run(inner_body)

    env.run(outer_body)
    assert len(outer) == len(inner) == 2
    with env.transaction():
        assert list(counts[:2]) == [1, 1]


def test_exception_in_run_is_passed_on(env, counts):
    def body():
        counts[0] = 1
        raise LookupError("nothing")

    with pytest.raises(LookupError, match="nothing"):
        env.run(body)
    with env.transaction():
        assert counts[0] == 0


def test_decorated_functions(env, counts):
    @env.transactional
    def add(index, amount=1):
        """Adds."""
        counts[index] += amount
        return int(counts[index])

    @env.transactional(flags=libxac.RDONLY)
    def look(index):
        return int(counts[index])

    assert add(3) == 1 and add(3, amount=4) == 5 and look(3) == 5
    assert add.__name__ == "add" and add.__doc__ == "Adds."


def test_decorated_function_loses_no_update(env, counts):
    def work():
        own = env.array("counts", "i8", 4096)

        @env.transactional
        def add():
            own[0] += 1

        for _ in range(200):
            add()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(leeway(60))
    with env.transaction():
        assert counts[0] == 800


def test_read_only_never_loses(env, counts):
    with env.transaction(libxac.RDONLY):
        assert counts[0] == 0
        add_elsewhere(env, 0)
        assert counts[0] == 0
    with env.transaction(libxac.RDONLY):
        assert counts[0] == 1


def test_write_skew_only_under_snapshot_isolation(env, counts):
    def attempt(flags):
        with env.transaction(flags):
            int(counts[0])
            add_elsewhere(env, 0)
            counts[1024] += 1  # another page

    attempt(libxac.SNAPSHOT_ISOLATION)
    with pytest.raises(libxac.Conflict):
        attempt(0)


def test_unknown_flags_are_refused(env):
    with pytest.raises(OSError):
        with env.transaction(libxac.CREATE):
            pass
    assert not env.in_transaction()


def test_exit_stack(env, counts):
    with contextlib.ExitStack() as stack:
        stack.enter_context(env.transaction())
        counts[0] = 1
    with contextlib.suppress(KeyError), contextlib.ExitStack() as stack:
        stack.enter_context(env.transaction())
        counts[0] = 2
        raise KeyError
    with env.transaction():
        assert counts[0] == 1


def test_one_object_may_be_used_again(env, counts):
    transaction = env.transaction()
    for _ in range(2):
        with transaction:
            counts[0] += 1
    with env.transaction():
        assert counts[0] == 2


def test_end_by_another_thread_is_refused(env, counts):
    def block():
        with env.transaction(libxac.RDONLY):
            yield

    suspended = block()
    next(suspended)
    with pytest.raises(RuntimeError, match="another thread"):
        in_thread(lambda: next(suspended))
    suspended.close()
    assert not env.in_transaction()  # the statement is gone, and its transaction with it


def test_close_undoes_an_open_transaction(path):
    env = libxac.Environment(path, libxac.CREATE)
    counts = env.array("counts", "i8", 1)
    transaction = env.transaction()
    transaction.__enter__()
    counts[0] = 1
    with pytest.raises(libxac.Unended):
        env.close()
    with libxac.Environment(path) as env, env.snapshot() as snapshot:
        assert snapshot.array("counts", "i8")[0] == 0


def test_close_in_a_block(path):
    env = libxac.Environment(path, libxac.CREATE)
    with pytest.raises(libxac.Unended):
        with env.transaction():
            env.close()
    env = libxac.Environment(path)
    with pytest.raises(libxac.NoTxn):
        with env.transaction():
            with pytest.raises(libxac.Unended):
                env.close()
    with libxac.Environment(path) as env:
        assert not env.in_transaction()
