# SPDX-License-Identifier: MIT
"""Trees of all kinds against a dictionary; and whoever uses them: transactions, threads, processes, the end."""

import collections.abc
import concurrent.futures
import gc
import multiprocessing
import random
import struct
import threading

import pytest

import libxac
import writers

ORDERED = ["btree", "cobtree"]
KINDS = [*ORDERED, "hash"]


@pytest.fixture(params=KINDS)
def tree(env, request):
    return getattr(env, request.param)("trees", request.param)


@pytest.fixture(params=ORDERED)
def ordered(env, request):
    return getattr(env, request.param)("trees", request.param)


def in_another_thread(function, *arguments):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result(120)


def check_same(tree, model):
    assert len(tree) == len(model) and bool(tree) == bool(model)
    assert dict(tree.items()) == model
    assert sorted(tree) == sorted(tree.keys()) == sorted(model)
    assert sorted(tree.values()) == sorted(model.values())


def random_bytes(draw, limit):
    return draw.getrandbits(8 * limit).to_bytes(limit, "big")[: draw.randrange(limit + 1)]


def do_something(draw, tree, model):
    key, value = random_bytes(draw, 2) or b"k", random_bytes(draw, draw.choice([4, 600, 6000]))
    do = draw.randrange(6)
    if do < 3:
        tree[key] = model[key] = value
    elif do == 3:
        assert tree.pop(key, None) == model.pop(key, None)
    elif do == 4:
        assert tree.setdefault(key, value) == model.setdefault(key, value)
    else:
        assert tree.get(key) == model.get(key) and (key in tree) == (key in model)


def test_a_tree_is_a_dictionary(env, tree, seed):
    draw, model = random.Random(seed), {}
    for step in range(30):
        before = dict(model)
        try:
            with env.transaction():
                for _ in range(20):
                    do_something(draw, tree, model)
                if draw.random() < 0.3:
                    raise LookupError
        except LookupError:
            model = before
        do_something(draw, tree, model)  # a transaction of its own
    check_same(tree, model)
    with env.transaction(libxac.RDONLY):
        check_same(tree, model)


def test_calls_of_a_mapping(tree):
    assert isinstance(tree, collections.abc.MutableMapping)
    tree.update({b"a": b"1", b"b": b"2"}, **{})
    tree.update([(b"c", b"3")])
    assert tree[b"a"] == b"1" and b"b" in tree and b"d" not in tree and tree.get(b"d", 5) == 5
    assert not tree.insert(b"a", b"0") and tree.insert(b"d", b"4") and tree[b"a"] == b"1"
    assert tree.discard(b"d") and not tree.discard(b"d")
    for call in (lambda: tree[b"d"], lambda: tree.pop(b"d"), lambda: tree.__delitem__(b"d")):
        with pytest.raises(KeyError):
            call()
    tree[bytearray(b"e")] = memoryview(b"5")
    assert tree.popitem() in [(b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"e", b"5")] and len(tree) == 3
    assert (b"e", b"5") in tree.items() or b"e" not in tree
    tree[b"empty"] = b""
    assert tree[b"empty"] == b"" and (b"empty", b"") in list(tree.items())
    tree.clear()
    assert not tree and len(tree) == 0 and list(tree.items()) == []
    with pytest.raises(KeyError):
        tree.popitem()
    assert tree == tree and tree != {} and hash(tree)


@pytest.mark.parametrize("inside", [False, True])
def test_ranges(env, ordered, inside):
    keys = [b"%03d" % number for number in range(0, 200, 2)]
    ordered.update({key: key[::-1] for key in keys})
    draw = random.Random(5)
    bounds = [None, b"", b"000", b"1", b"198", b"198a", b"999", *(b"%03d" % draw.randrange(200) for _ in range(20))]
    look = env.transaction(libxac.RDONLY) if inside else open("/dev/null")
    with look:
        for start in bounds:
            for stop in bounds:
                expected = [
                    (key, key[::-1]) for key in keys if (start or b"") <= key and (stop is None or key < stop)
                ]
                assert list(ordered.range(start, stop)) == expected
                assert list(ordered.range(start, stop, reverse=True)) == expected[::-1]


def test_values_of_any_length(env, tree):
    sizes = (0, 511, 512, 513, 3000, 70000)
    values = {b"%d" % size: bytes(range(256)) * (size // 256) + b"x" * (size % 256) for size in sizes}
    tree.update(values)
    check_same(tree, values)
    with env.transaction():
        check_same(tree, values)


def test_numbers_as_keys(env, ordered):
    fixed = env.btree("fixed", value_bytes=12)
    for number in (3, 1 << 40, 1, 2):
        ordered[number] = fixed[number] = struct.pack("<dI", number / 2, number % 5)
    for tree in (ordered, fixed):
        assert [int.from_bytes(key, "big") for key in tree] == [1, 2, 3, 1 << 40]
        assert [struct.unpack("<dI", value)[0] for _, value in tree.range(2, 4)] == [1.0, 1.5]
    for key, value in ((b"short", b"x" * 12), (1, b"short")):
        with pytest.raises(OSError, match="key: the tree has none of this length, or the value"):
            fixed[key] = value
    with pytest.raises(OSError, match="value_bytes: the tree is of another kind, or made with"):
        env.btree("fixed", value_bytes=8)
    assert env.btree("fixed", value_bytes=12)[1] == env.btree("fixed")[1] == fixed[1]


def test_names(env, tree):
    names = sorted({"second", *env.trees("trees")})
    env.btree("trees", "second")
    assert env.trees("trees") == names
    for call in (env.trees, lambda file: env.btree(file, create=False)):
        with pytest.raises(FileNotFoundError):
            call("nothing")
    assert "nothing" not in [file.name for file in env.files()]
    with pytest.raises(FileNotFoundError, match="tree: 'third' is not there"):
        env.btree("trees", "third", create=False)
    with pytest.raises(OSError, match="tree: the tree is of another kind"):
        (env.hash if tree._kind.is_ordered else env.btree)("trees", tree._tree.decode())
    numbers = env.array("numbers", "i8", 1000)
    with env.transaction():
        numbers[:] = 5
    with pytest.raises(libxac.Format, match="file: 'numbers' holds something else"):
        env.btree("numbers")


def test_drop(env, tree):
    tree[b"a"] = b"1"
    tree.drop()
    for call in (lambda: tree[b"a"], tree.drop, lambda: len(tree), lambda: tree.update({b"a": b"2"})):
        with pytest.raises(FileNotFoundError, match="^.*tree: "):
            call()
    assert env.trees("trees") == []
    again = env.btree("trees", tree._tree)
    again[b"a"] = b"3"
    assert len(again) == 1


def test_made_in_a_transaction_that_is_undone(env):
    with pytest.raises(LookupError):
        with env.transaction():
            tree = env.btree("trees", "new")
            tree[b"a"] = b"1"
            raise LookupError
    with pytest.raises(FileNotFoundError, match="tree: "):
        tree[b"a"]
    env.btree("trees", "new")[b"b"] = b"2"
    assert dict(tree.items()) == {b"b": b"2"}


# ---- iterations ----


def test_iteration_beside_changes(env, tree):
    """Outside of transactions: what is there all the time is met once."""
    tree.update({b"%04d" % number: b"old" for number in range(500)})
    met = []
    for key, value in tree.items():
        met.append(key)
        tree.pop(b"%04d" % (len(met) * 7 % 500 | 1), None)  # odd ones
        tree[b"x" + key] = b"new"
        if len(met) > 5000:
            break
        if value == b"new":
            continue
    assert {key for key in met if key[:1] != b"x" and not int(key) % 2} == {b"%04d" % even for even in range(0, 500, 2)}
    even = [key for key in met if key[:1] != b"x" and not int(key) % 2]
    assert len(even) == len(set(even))


def test_iteration_across_the_end_of_a_transaction(env, tree):
    tree.update({b"a": b"1", b"b": b"2", b"c": b"3"})
    with env.transaction(libxac.RDONLY):
        inside = iter(tree.items())
        next(inside)
    with pytest.raises(RuntimeError, match="the iteration began in a transaction that has ended"):
        next(inside)
    outside = iter(tree.items())
    first = next(outside)
    with env.transaction():
        rest = list(outside)
    assert sorted([first, *rest]) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    left = iter(tree.items())
    next(left)
    env.close()
    with pytest.raises(ValueError, match="closed"):
        next(left)


def test_iteration_over_a_tree_that_is_dropped(env, tree):
    tree.update({b"%04d" % number: b"x" * 100 for number in range(300)})
    records = iter(tree.items())
    next(records)
    with libxac.Environment(env.path, libxac.VOLATILE) as other:
        kind = tree._tree.decode()  # which it is named after
        in_another_thread(lambda: getattr(other, kind)("trees", kind).drop())
        with pytest.raises(FileNotFoundError, match="was dropped"):
            tree[b"0001"]
        with pytest.raises(ValueError, match="it is closed"):
            next(records)


def test_iteration_by_another_thread(env, tree):
    tree.update({b"a": b"1", b"b": b"2"})
    records = iter(tree.items())
    next(records)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(RuntimeError, match="belongs to the thread"):
            pool.submit(next, records).result(60)


# ---- snapshots ----


def test_a_snapshot_stays_as_it_is(env, tree):
    model = {b"%04d" % number: b"old" * (number % 400) for number in range(500)}
    tree.update(model)
    snapshot = env.snapshot()
    before = tree.at(snapshot)
    records = iter(before.items())
    met = [next(records) for _ in range(100)]
    tree.update({key: b"new" for key in list(model)[::2]})
    tree.update({b"more": b"x"})
    check_same(before, model)
    met += in_another_thread(list, records)
    assert dict(met) == model and len(met) == 500
    assert before.get(b"more") is None and b"0001" in before and before[b"0003"] == b"old" * 3
    assert before.sequence == snapshot.sequence < tree.snapshot().sequence
    snapshot.close()
    check_same(before, model)
    with tree.snapshot() as after, env.transaction():
        tree.clear()
        assert len(after) == 501 and len(tree) == 0 and after[b"more"] == b"x"
    with pytest.raises(ValueError, match="closed"):
        after[b"more"]
    with pytest.raises(ValueError, match="closed"):
        tree.at(snapshot)
    tree.drop()
    env.close()
    check_same(before, model)
    for call in ("pop", "update", "__setitem__", "clear", "drop"):
        assert not hasattr(before, call)


def test_ranges_of_a_snapshot(env, ordered):
    ordered.update({number: b"%d" % number for number in range(100)})
    snapshot = ordered.snapshot()
    ordered.clear()
    assert [value for _, value in snapshot.range(20, 23)] == [b"20", b"21", b"22"]
    assert [value for _, value in snapshot.range(20, 23, reverse=True)] == [b"22", b"21", b"20"]


def test_a_snapshot_of_before(env, tree):
    snapshot = env.snapshot()
    fresh = env.btree("trees", "fresh")
    with pytest.raises(FileNotFoundError, match="tree: 'fresh' is not there"):
        fresh.at(snapshot)
    later = env.btree("later")
    with pytest.raises(FileNotFoundError):
        later.at(snapshot)


def test_threads_read_a_snapshot_beside_writers(env, ordered, seed):
    """The sum of all values is the same as of each commit."""
    ordered.update({number: b"%d" % 100 for number in range(50)})
    draw, is_over = random.Random(seed), threading.Event()

    def move():
        while not is_over.is_set():
            source, target = draw.sample(range(50), 2)
            env.run(lambda: ordered.update({
                source: b"%d" % (int(ordered[source]) - 1), target: b"%d" % (int(ordered[target]) + 1)
            }))

    def read(snapshot):
        return [sum(map(int, snapshot.values())) for _ in range(5)]

    thread = threading.Thread(target=move)
    thread.start()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for _ in range(5):
            snapshot = ordered.snapshot()
            assert [sums for sums in pool.map(read, [snapshot] * 3)] == [[5000] * 5] * 3
    is_over.set()
    thread.join()


# ---- transactions ----


def test_conflicts(env, tree):
    """A transaction that has read what another one changes meanwhile: run() repeats it."""
    tree[b"count"] = b"0"
    attempts = []

    def count_beside():
        attempts.append(tree[b"count"])
        if len(attempts) == 1:
            thread = threading.Thread(target=tree.update, args=({b"count": b"5"},))
            thread.start()
            thread.join()
        tree[b"count"] = b"%d" % (int(attempts[-1]) + 1)

    env.run(count_beside)
    assert attempts == [b"0", b"5"] and tree[b"count"] == b"6"


def test_too_large_for_the_pool(path):
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE, pool_bytes=1 << 22) as env:
        tree = env.btree("trees")
        with pytest.raises(libxac.Full):
            env.run(lambda: [tree.update({number: b"x" * 5000}) for number in range(5000)])
        tree[1] = b"fits"
        assert dict(tree.items()) == {(1).to_bytes(8, "big"): b"fits"}


def test_in_a_transaction_that_only_reads(env, tree):
    tree[b"a"] = b"1"
    with pytest.raises(libxac.Wrote):
        with env.transaction(libxac.RDONLY):
            assert tree[b"a"] == b"1"
            tree[b"a"] = b"2"
    assert tree[b"a"] == b"1"


def test_it_survives(path):
    with libxac.Environment(path, libxac.CREATE) as env:
        for kind in KINDS:
            getattr(env, kind)("trees", kind).update({b"%d" % number: b"x" * number for number in range(500)})
    with libxac.Environment(path, libxac.RDONLY) as env:
        for kind in KINDS:
            tree = getattr(env, kind)("trees", kind, create=False)
            assert dict(tree.items()) == {b"%d" % number: b"x" * number for number in range(500)}


# ---- threads, processes, ends ----


def test_threads_and_processes(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    tree = env.btree("trees", "shared")
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as others:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            done = [
                others.submit(writers.put_some, env, 0, 200),
                *(pool.submit(tree.update, {number: b"%d" % number}) for number in range(200, 400)),
            ]
            assert all(one.result(120) in (None, 200) for one in done)
        with pytest.raises(TypeError, match="cannot be pickled or copied: pickle the Environment"):
            others.submit(len, tree).result(120)
    assert [(int.from_bytes(key, "big"), value) for key, value in tree.items()] == [(i, b"%d" % i) for i in range(400)]
    env.close()  # the threads have ended, and what they had open with them
    assert env._handle is None


def test_close_while_another_thread_has_a_tree(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    tree = env.btree("trees")
    has_used, may_end = threading.Event(), threading.Event()

    def use():
        tree[b"a"] = b"1"
        has_used.set()
        may_end.wait(60)

    thread = threading.Thread(target=use)
    thread.start()
    assert has_used.wait(60)
    with pytest.raises(OSError, match="EBUSY|busy"):
        env.close()
    assert tree[b"a"] == b"1"  # nothing was done
    with env.transaction():
        assert tree[b"a"] == b"1"
    may_end.set()
    thread.join()
    env.close()
    with pytest.raises(ValueError, match="the environment is closed"):
        tree[b"a"]


def test_close_in_a_transaction(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    tree = env.btree("trees")
    with env.transaction():
        tree[b"a"] = b"1"
        with pytest.raises(OSError, match="EBUSY|busy"):
            env.close()
    assert tree[b"a"] == b"1"
    with libxac.Environment(path, libxac.VOLATILE) as other:
        with pytest.raises(libxac.Error):
            with env.transaction():
                tree[b"a"] = b"2"
                env.close()
        assert other.btree("trees")[b"a"] == b"1"


def test_what_is_not_used_any_more_is_closed(path):
    before = set(libxac.ending._open)  # of other tests' threads, which have ended
    for _ in range(3):
        env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
        tree = env.btree("trees")
        tree[b"a"] = b"1"
        records = iter(tree.items())
        next(records)
        del env, tree
        del records
        gc.collect()
    assert set(libxac.ending._open) <= before
    with libxac.Environment(path, libxac.RDONLY) as env:
        assert env.stat().commits == 0


def test_the_number_of_a_thread_is_given_again(env):
    """What an ended thread has opened is closed, though somebody holds it still, and is nobody else's."""
    before, numbers, left = set(libxac.ending._open), [], []

    def use():
        numbers.append(threading.get_ident())
        assert env._handle.parts.of_this_thread() == []
        tree = env.btree("trees")
        tree[b"a"] = b"%d" % len(numbers)
        left.extend([tree, iter(tree.items()), env._handle.parts.of_this_thread()])
        next(left[-2])

    for _ in range(20):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert set(libxac.ending._open) <= before
    assert len(set(numbers)) < len(numbers), "no number was given again"
    assert env._handle.parts.openings == [] and env.btree("trees")[b"a"] == b"20"


def test_two_environments_of_one_directory(env):
    with libxac.Environment(env.path, libxac.VOLATILE) as other:
        ours, others = env.btree("trees"), other.btree("trees")
        for number in range(300):
            (ours, others)[number % 2][number] = b"x" * number
        assert dict(ours.items()) == dict(others.items()) and len(ours) == 300
    assert len(ours) == 300
