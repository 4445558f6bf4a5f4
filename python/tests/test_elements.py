# SPDX-License-Identifier: MIT
"""get() and put(): single elements, of all types, and what is refused."""

import threading

import numpy as np
import pytest

import libxac

TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "q", "Q", "f2", "f4", "f8", "g", "c8", "c16"]
TYPES += ["S7", "U3", "V5", "M8[us]", "M8[D]", "m8[ns]", ">i4", ">u8", ">f8", ">M8[s]"]
VALUES = {
    "?": [True, False],
    "i": [0, 1, -1],
    "u": [0, 1, 200],
    "f": [0.0, -1.5, float("inf"), 3],
    "c": [1 + 2j, -1.5],
    "S": [b"", b"abc", b"seven c"],
    "U": ["", "\u00e4b\U0001f600"],
    "V": [np.void(b"12345")],
    "M": [np.datetime64("2026-11-29"), np.datetime64("NaT")],
    "m": [np.timedelta64(5, "h"), 7],
}


@pytest.mark.parametrize("dtype", TYPES)
def test_types_as_numpy_has_them(env, dtype):
    dtype = np.dtype(dtype)
    array, plain = env.array("a", dtype, 16), np.zeros(16, dtype)
    values = VALUES[{"b": "?"}.get(dtype.kind, dtype.kind)]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = [*values[:2], int(limits.min), int(limits.max), np.int8(5), True]
    with env.transaction():
        for index, value in enumerate(values):
            plain[index] = value
            assert env.put(array, index, value) is None
            got, expected = env.get(array, index), plain.item(index)
            assert type(got) is type(expected) and (got == expected or got != got), value
    with env.transaction():
        if dtype == "g":  # 10 bytes of 16; the others are anything
            array, plain = array.astype("f8"), plain.astype("f8")
        assert array.tobytes() == plain.tobytes()


@pytest.mark.parametrize(
    "dtype, value",
    [("i1", 128), ("i8", 1 << 63), ("u8", 1 << 64), ("u4", -1), ("i4", "x"), ("f8", "x"), ("f8", 1j), ("i4", [1, 2])],
)
def test_values_that_do_not_fit(env, dtype, value):
    array, plain = env.array("a", dtype, 16), np.zeros(16, dtype)
    with pytest.raises(Exception) as expected:
        plain[3] = value
    with env.transaction():
        with pytest.raises(type(expected.value)):
            env.put(array, 3, value)
    with env.transaction():
        assert not array.any()


def test_places(env):
    cube = env.array("cube", "i4", (3, 4, 5))
    with env.transaction():
        env.put(cube, (2, -1, 0), 7)
        env.put(cube[1], (3, 4), 8)
        env.put(cube[:, 2, ::-2], (0, np.int64(1)), 9)
        assert cube[2, 3, 0] == 7 and cube[1, 3, 4] == 8 and cube[0, 2, 2] == 9
        assert env.get(cube, (2, 3, 0)) == 7 and env.get(cube.T, (4, 3, 1)) == 8
        one = env.array("one", "i8", ())
        env.put(one, (), 5)
        assert env.get(one, ()) == 5
        for index in [3, (3, 0), (0, 0, 0, 0), (3, 0, 0), (0, -5, 0), (1 << 70, 0, 0)]:
            with pytest.raises(IndexError):
                env.get(cube, index)
        for index in [(0, 0, 1.5), (slice(2), 0, 0), (None, 0, 0)]:
            with pytest.raises(TypeError, match="index: an integer for each dimension"):
                env.put(cube, index, 1)


def test_element_on_two_pages(env):
    texts = env.array("texts", "S3000", 8)
    bytes_of_units = env.array("long", "S9001", 3)
    with env.transaction():
        for index in range(8):
            env.put(texts, index, b"%d" % index * 2999)
        env.put(bytes_of_units, 1, b"x" * 9001)
        assert [env.get(texts, index) for index in range(8)] == [b"%d" % index * 2999 for index in range(8)]
    with env.transaction(libxac.RDONLY):
        assert (texts == [b"%d" % index * 2999 for index in range(8)]).all()
        assert env.get(bytes_of_units, 1) == b"x" * 9001 and not env.get(bytes_of_units, 2)


def test_they_agree_with_numpy(env):
    array = env.array("a", "i8", 4096)
    with env.transaction():
        array[7] = 1
        assert env.get(array, 7) == 1
        env.put(array, 7, 2)
        assert array[7] == 2
        try:
            with env.transaction():
                env.put(array, 7, 3)
                array[8] = 4
                assert array[7] == 3 and env.get(array, 8) == 4
                raise KeyError
        except KeyError:
            pass
        assert array[7] == env.get(array, 7) == 2 and env.get(array, 8) == 0
    with env.transaction(libxac.RDONLY):
        assert env.get(array, 7) == array[7] == 2


def test_no_page_faults(env):
    if not libxac.accelerated:
        pytest.skip("ctypes takes them")
    array = env.array("a", "i8", 512 * 64)
    before = env.stat()
    for _ in range(2):
        with env.transaction():
            for page in range(64):
                env.put(array, 512 * page, env.get(array, 512 * page) + 1)
    after = env.stat()
    assert (after.read_faults, after.write_faults) == (before.read_faults, before.write_faults)
    with env.transaction():
        assert array[::512].sum() == 128


def test_they_conflict(env):
    def change():
        own = env.array("a", "i8", 16)
        with env.transaction():
            env.put(own, 0, env.get(own, 0) + 1)

    array = env.array("a", "i8", 16)
    with pytest.raises(libxac.Conflict):
        with env.transaction():
            assert env.get(array, 0) == 0
            thread = threading.Thread(target=change)
            thread.start()
            thread.join(120)
            env.put(array, 0, 10)
    with env.transaction():
        assert env.get(array, 0) == 1


def test_what_is_refused(env):
    array = env.array("a", "i8", 16)
    records = env.array("records", [("x", "f8"), ("y", "i4")], 16)
    for call in (lambda: env.get(array, 3), lambda: env.put(array, 3, 1)):
        with pytest.raises(libxac.NoTxn):
            call()
        with env.transaction():
            with pytest.raises(libxac.NoView):  # and the transaction goes on
                env.get(np.zeros(4), 0)
            with pytest.raises(libxac.NoView):
                env.put(np.zeros(4), 0, 1)
            call()
    with env.transaction():
        for call in (lambda thing: env.get(thing, 0), lambda thing: env.put(thing, 0, 1)):
            with pytest.raises(TypeError, match=r"take a field, as array\['x'\]"):
                call(records)
            with pytest.raises(TypeError, match="numbers, times and texts"):
                call(np.array([None]))
            with pytest.raises(TypeError, match="an array of numpy, not list"):
                call([1])
        env.put(records["y"], 3, 7)
        assert records[3]["y"] == env.get(records["y"], 3) == 7
    with pytest.raises(TypeError):
        env.get(array)
    with pytest.raises(TypeError):
        env.put(array, 0)


def test_put_in_a_transaction_that_only_reads(env):
    array = env.array("a", "i8", 16)
    with pytest.raises(libxac.Wrote):
        with env.transaction(libxac.RDONLY):
            with pytest.raises(libxac.Wrote):
                env.put(array, 3, 1)
    with env.transaction(libxac.RDONLY):
        assert env.get(array, 3) == 0


def test_array_of_another_thread_or_environment(env, tmp_path):
    array, failures = env.array("a", "i8", 16), []

    def touch():
        with env.transaction():
            for call in (lambda: env.get(array, 3), lambda: env.put(array, 3, 1)):
                try:
                    call()
                except libxac.NoView as error:
                    failures.append(error)

    thread = threading.Thread(target=touch)
    thread.start()
    thread.join(120)
    assert len(failures) == 2
    with libxac.Environment(tmp_path / "other.xac", libxac.CREATE | libxac.VOLATILE) as other:
        with other.transaction(), env.transaction(), pytest.raises(libxac.NoView):
            other.get(array, 3)


def test_arrays_of_snapshots_are_read(env):
    array = env.array("a", "i8", 4096)
    with env.transaction():
        env.put(array, 4095, 5)
    with env.snapshot() as snapshot:
        kept = snapshot.array("a", "i8", 4096)
        with env.transaction():
            env.put(array, 4095, 6)
            assert env.get(kept, 4095) == 5
            with pytest.raises(ValueError, match="read-only"):
                env.put(kept, 4095, 7)
        assert env.get(kept, 4095) == 5 and env.get(kept, 0) == 0


class Ends:
    """A number whose conversion closes the environment."""

    def __init__(self, env):
        self.env = env

    def __int__(self):
        return self.__index__()

    def __index__(self):
        try:
            self.env.close()
        except libxac.Unended:
            pass
        return 7


def test_conversion_that_closes_the_environment(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    array = env.array("a", "i8", 16)
    with pytest.raises(libxac.NoTxn):
        with env.transaction():
            with pytest.raises(ValueError, match="closed"):
                env.put(array, 3, Ends(env))
    with pytest.raises(ValueError, match="closed"):
        env.get(array, 3)


def test_many_threads_lose_no_update(env):
    def work():
        own = env.array("a", "i8", 16)

        @env.transactional
        def add():
            env.put(own, 0, env.get(own, 0) + 1)

        for _ in range(200):
            add()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    array = env.array("a", "i8", 16)
    with env.transaction():
        assert env.get(array, 0) == 800


class Changing:
    """An index that changes the array when it is asked for its number."""

    def __init__(self, array, name, value):
        self.array, self.name, self.value = array, name, value

    def __index__(self):
        setattr(self.array, self.name, self.value)
        return 1


@pytest.mark.filterwarnings("ignore:Setting the")
@pytest.mark.parametrize("name, dtype, shape, value", [("dtype", "S4096", 4, "S1"), ("shape", "i8", (512, 8), (8, 512))])
def test_an_index_that_changes_the_array(env, name, dtype, shape, value):
    for _ in range(100):
        array = env.array("a", dtype, shape)
        index = Changing(array, name, value)
        if name == "shape":
            index = (500, index)
        with env.transaction():
            try:
                env.put(array, index, array.item(0))
            except (IndexError, AttributeError):
                pass
        array = env.array("a", dtype, shape)
        index = Changing(array, name, value)
        with env.transaction():
            try:
                env.get(array, (500, index) if name == "shape" else index)
            except (IndexError, AttributeError):
                pass


def test_the_exit_of_something_else():
    with pytest.raises((TypeError, AttributeError)):
        libxac.Transaction.__dict__["__exit__"].__get__("abc", str)(None, None, None)
