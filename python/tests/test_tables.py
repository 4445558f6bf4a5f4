# SPDX-License-Identifier: MIT
"""Tables: rows and their number change together, whoever appends, fails, dies or reads meanwhile; their names, types and
files are kept."""

import concurrent.futures
import datetime
import multiprocessing
import shutil
import struct
import subprocess
import threading

import numpy as np
import pytest

import libxac
import writers
from conftest import TREE

SCHEMA = {"number": "i8", "price": "f8", "region": "S5"}


@pytest.fixture
def orders(env):
    return env.table("orders", SCHEMA)


def rows_from(first, count):
    numbers = np.arange(first, first + count)
    return {"number": numbers, "price": numbers / 2, "region": [b"north"] * count}


def check_rows(table, numbers):
    """In a transaction, or of a snapshot."""
    assert len(table) == len(numbers)
    assert (table["number"] == numbers).all() and (table["price"] == np.asarray(numbers) / 2).all()
    assert (table["region"] == b"north").all()


def test_append_in_all_forms(env, orders):
    assert orders.append(rows_from(0, 2)) == 0
    assert orders.append([(2, 1.0, "north"), [3, 1.5, b"north"]]) == 2
    structured = np.array([(4, 2.0, b"north")], [("number", "i4"), ("price", "f4"), ("region", "S9")])
    assert orders.append(structured) == 4
    assert orders.append({"region": ("north",), "price": [2.5], "number": range(5, 6)}) == 5
    assert orders.append([]) == orders.append({name: [] for name in SCHEMA}) == 6
    with env.transaction():
        check_rows(orders, range(6))
    assert orders.append(rows_from(6, 100000)) == 6  # the files grow
    with env.transaction():
        check_rows(orders, range(100006))
    check_rows(orders.snapshot(), range(100006))


def test_rows_and_their_number_are_one(env, orders):
    orders.append(rows_from(0, 10))
    snapshot = orders.snapshot()
    with pytest.raises(LookupError):
        with env.transaction():
            assert orders.append(rows_from(10, 5000)) == 10 and len(orders) == 5010
            check_rows(orders, range(5010))
            check_rows(orders.snapshot(), range(10))
            raise LookupError
    assert len(orders) == 10
    with env.transaction():
        with pytest.raises(LookupError), env.transaction():
            orders.append(rows_from(100, 5))
            raise LookupError
        orders.append(rows_from(10, 1))
        orders["price"][3] = 1.5
    check_rows(orders.snapshot(), range(11))
    check_rows(snapshot, range(10))
    assert snapshot.sequence < orders.snapshot().sequence


ILL_FITTING = [
    ({"number": [1 << 63], "price": [0], "region": [b""]}, "'number'"),
    ({"number": [1.5], "price": [0], "region": [b""]}, "'number'"),
    ({"number": ["1"], "price": [0], "region": [b""]}, "'number'"),
    ({"number": [[1]], "price": [0], "region": [b""]}, "'number'"),
    ({"number": 1, "price": [0], "region": [b""]}, "'number'"),
    ({"number": [1], "price": ["cheap"], "region": [b""]}, "'price'"),
    ({"number": [1], "price": [0], "region": [b"norths"]}, "'region'"),
    ({"number": [1], "price": [0], "region": ["n\u00f6rth"]}, "'region'"),
    ({"number": [1], "price": [0], "region": [None]}, "'region'"),
    ({"number": [1, 2], "price": [0], "region": [b""]}, "2 of column 'number', but 1 of 'price'"),
    ({"number": [1], "price": [0]}, "'region' is missing"),
    ({**rows_from(0, 1), "colour": [1]}, "no column 'colour'"),
    ([(1, 2)], "each has 3 values"),
    (np.zeros(3, [("number", "i8")]), "'price' is missing"),
]


@pytest.mark.parametrize("rows, said", ILL_FITTING)
def test_rows_that_do_not_fit(orders, rows, said):
    with pytest.raises((TypeError, ValueError), match="^rows: ") as raised:
        orders.append(rows)
    assert said in str(raised.value)
    assert len(orders) == 0 and len(orders.snapshot()["number"]) == 0


def test_numbers_keep_their_value(env):
    small = env.table("small", {"a": "u1", "b": ">i2", "time": "M8[us]", "flag": "?"})
    small.append({"a": np.array([255], "i8"), "b": [-3], "time": ["2026-01-02"], "flag": [True]})
    small.append({"a": [0], "b": np.array([7], "u8"), "time": np.array(["2026-01-03"], "M8[D]"), "flag": [0 == 1]})
    rows = small.snapshot()
    assert rows["a"].tolist() == [255, 0] and rows["b"].tolist() == [-3, 7] and rows["flag"].tolist() == [True, False]
    assert rows["time"].tolist() == np.array(["2026-01-02", "2026-01-03"], "M8[us]").tolist()
    for misfit in ([256], [-1], [1 << 70]):
        with pytest.raises((TypeError, ValueError), match="'a'"):
            small.append({"a": misfit, "b": [0], "time": ["2026-01-02"], "flag": [True]})


def test_it_is_opened_again(path):
    with libxac.Environment(path, libxac.CREATE) as env:
        orders = env.table("orders", SCHEMA)
        orders.append(rows_from(0, 1000))
        env.table("empty", [("x", "f4"), ("y", "f4")])
    with libxac.Environment(path) as env:
        assert env.tables() == ["empty", "orders"]
        orders = env.table("orders")
        assert orders.schema == {name: np.dtype(dtype) for name, dtype in SCHEMA.items()} and orders.name == "orders"
        orders.append(rows_from(1000, 1))
        check_rows(orders.snapshot(), range(1001))
        assert len(env.table("empty")) == 0
    assert (np.fromfile(path / "orders.number", "i8")[:1001] == np.arange(1001)).all()
    with libxac.Environment(path, libxac.RDONLY) as env:
        check_rows(env.table("orders").snapshot(), range(1001))
        check_rows(env.table("orders", SCHEMA).at(env.snapshot()), range(1001))
        with env.transaction(libxac.RDONLY):
            check_rows(env.table("orders"), range(1001))
        assert len(env.table("empty")["x"]) == 0


OTHER_SCHEMAS = [
    ({**SCHEMA, "price": "f4"}, "column 'price' of the table is '<f8', not '<f4'"),
    ({**SCHEMA, "colour": "S5"}, "no column 'colour'"),
    ({"number": "i8", "price": "f8"}, "column 'region' of the table is missing"),
    ({"price": "f8", "number": "i8", "region": "S5"}, "column 0 of the table is 'number', not 'price'"),
]


@pytest.mark.parametrize("schema, said", OTHER_SCHEMAS)
def test_another_schema(env, orders, schema, said):
    with pytest.raises(ValueError, match="^schema: ") as raised:
        env.table("orders", schema)
    assert said in str(raised.value)
    assert env.table("orders", SCHEMA).schema == orders.schema


def test_without_a_schema_it_has_to_be_there(env):
    with pytest.raises(FileNotFoundError, match="name: there is no such table"):
        env.table("orders")
    assert env.tables() == [] and env.files() == []


LOSSES = [
    ("M8[s]", np.array(["2026-01-02T03:04:05.9"], "M8[ns]")),
    ("M8[s]", ["2026-01-02T03:04:05.9"]),
    ("M8[s]", [datetime.datetime(2026, 1, 2, 3, 4, 5, 900000)]),
    ("M8[ns]", np.array(["3000-01-01"], "M8[D]")),
    ("m8[s]", np.array([1999], "m8[ms]")),
    ("?", np.array(["x"], object)),
    ("?", [None]),
    ("f4", [1e300]),
    ("f4", np.array([1e300], object)),
    ("i8", np.ma.MaskedArray([7, 8], [False, True])),
]


@pytest.mark.parametrize("dtype, values", LOSSES)
def test_what_a_column_does_not_hold(env, dtype, values):
    table = env.table("t", {"x": dtype})
    with pytest.raises((TypeError, ValueError), match="^rows: column 'x'"):
        table.append({"x": values})
    assert len(table) == 0


def test_what_it_does_hold(env):
    table = env.table("t", {"x": "M8[s]", "y": "m8[s]", "z": "f4", "w": "?"})
    table.append({"x": ["2026-01-02", "NaT"], "y": np.array([2000, 3000], "m8[ms]"), "z": [1e30, np.inf], "w": [True, False]})
    table.append({"x": [datetime.datetime(2026, 1, 2), None], "y": [5, 6], "z": [np.nan, 0], "w": np.array([True, False], object)})
    assert table["x"].tolist() == np.array(["2026-01-02", "NaT"] * 2, "M8[s]").tolist()
    assert table["y"].astype("i8").tolist() == [2, 3, 5, 6] and table["w"].tolist() == [True, False] * 2


def test_another_table_in_the_place_of_one_that_was_undone(env):
    with pytest.raises(LookupError):
        with env.transaction():
            undone = env.table("a", {"x": "i8"})
            raise LookupError
    other = env.table("b", {"y": "S3"})
    other.append({"y": [b"one"]})
    with pytest.raises(FileNotFoundError, match="was dropped"):
        undone.append({"x": [1, 2, 3]})
    assert other["y"].tolist() == [b"one"]


def test_up_to_the_end_of_the_files(path):
    rows = 1024
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE, reserve_bytes=1 << 20) as env:
        table = env.table("t", {"x": "i8"})
        while True:
            try:
                table.append({"x": np.ones(rows, "i8")})
            except libxac.Error:
                break
        assert len(table) * 8 > (1 << 20) - 2 * rows * 8
        del table


def test_of_an_aborted_transaction(env):
    with pytest.raises(LookupError):
        with env.transaction():
            orders = env.table("orders", SCHEMA)
            orders.append(rows_from(0, 10))
            raise LookupError
    assert env.tables() == []
    with pytest.raises(FileNotFoundError, match="was dropped"):
        orders.append(rows_from(0, 10))
    env.table("orders", SCHEMA).append(rows_from(3, 1))
    check_rows(env.table("orders").snapshot(), [3])


def test_drop_and_rename(env, orders):
    orders.append(rows_from(0, 10))
    before = orders.snapshot()
    orders.rename("old")
    assert env.tables() == ["old"] == [orders.name]
    fresh = env.table("orders", SCHEMA)
    assert len(fresh) == 0 and len(orders) == 10
    fresh.append(rows_from(7, 1))  # in files of its own
    check_rows(orders.snapshot(), range(10))
    with pytest.raises(FileExistsError, match="name: "):
        fresh.rename("old")
    fresh.rename("orders")
    files = {file.name for file in env.files()}
    orders.drop()
    assert env.tables() == ["orders"]
    for call in (len, lambda table: table["price"], lambda table: table.append([]), libxac.Table.snapshot):
        with pytest.raises(FileNotFoundError, match="table: "):
            call(orders)
    with pytest.raises(FileNotFoundError, match="dropped"):
        orders.drop()
    again = env.table("again", SCHEMA)
    with pytest.raises(FileNotFoundError, match="table: "):
        again.at(env.snapshot(at=before.sequence))  # it was not there yet
    check_rows(before, range(10))
    fresh.drop()
    last = env.table("orders", SCHEMA)  # in the files that are left
    last.append(rows_from(20, 3))
    check_rows(last.snapshot(), range(20, 23))
    assert {file.name for file in env.files()} == files


def test_files_that_were_there(env):
    mine = env.array("orders.number", "i8", 10)
    with env.transaction():
        mine[:] = 5
    env.table("orders", SCHEMA).append(rows_from(0, 10))
    with env.transaction():
        assert (mine == 5).all()
    assert (env.snapshot().array("orders.number.2", "i8", 10) == np.arange(10)).all()


def test_more_columns_than_files(env):
    with pytest.raises(ValueError, match="schema: 'c63' would be one file too many"):
        env.table("wide", {f"c{i}": "i4" for i in range(64)})
    assert env.tables() == []
    wide = env.table("wide", {f"c{i}": "i4" for i in range(63)})
    wide.append([tuple(range(63))])
    with pytest.raises(ValueError, match="schema: 'number' would be"):
        env.table("orders", SCHEMA)
    wide.drop()
    orders = env.table("orders", SCHEMA)  # in files of other names
    orders.append(rows_from(0, 10))
    check_rows(orders.snapshot(), range(10))
    assert len(env.files()) == 64


def test_what_is_no_catalog(env):
    mine = env.array("libxac.tables", "u1", 10)
    with env.transaction():
        mine[:] = 5
    for call in (env.tables, lambda: env.table("orders", SCHEMA)):
        with pytest.raises(libxac.Format, match="libxac.tables is no catalog"):
            call()


@pytest.mark.parametrize("dtype", ["(2,", "i8,,", "(1000000000000,)i8", "V0", "S0", "O", "i4,i4", "(2,2)i4", "V7"])
def test_a_catalog_of_types_that_are_not_tables(env, orders, dtype):
    mine = env.array("libxac.tables", "S32", 0x20000 // 32)
    with env.transaction():
        mine[(256 + 96) // 32] = dtype.encode()
    for call in (env.tables, lambda: env.table("orders")):
        with pytest.raises(libxac.Format, match="libxac.tables is no catalog"):
            call()


def test_slots_of_many_tables(env):
    tables = [env.table(f"t{i}", {"x": "i4"}) for i in range(12)]
    for number, table in enumerate(tables):
        table.append({"x": [number] * (number + 1)})
    tables[3].drop()
    tables[3] = env.table("t3b", {"x": "i4"})
    tables[3].append({"x": [3] * 4})
    for number, table in enumerate(tables):
        assert table.snapshot()["x"].tolist() == [number] * (number + 1)
    assert len(env.tables()) == 12


# ---- several at once ----


def test_threads_and_processes_append(path):
    env = libxac.Environment(path, libxac.CREATE | libxac.VOLATILE)
    orders = env.table("orders", SCHEMA)
    failures = []

    def append_some(first):
        try:
            for number in range(first, first + 50):
                orders.append(rows_from(number, 1))
        except BaseException as error:
            failures.append(error)

    def look():
        while any(thread.is_alive() for thread in threads):
            rows = orders.snapshot()
            assert (rows["price"] == rows["number"] / 2).all() and len(rows["region"]) == len(rows)

    threads = [threading.Thread(target=append_some, args=(first,)) for first in (0, 50)]
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        other = pool.submit(writers.append_orders, env, 100, 50)
        for thread in threads:
            thread.start()
        look()
        for thread in threads:
            thread.join()
        assert other.result(120) == 50
    assert not failures
    assert sorted(orders.snapshot()["number"].tolist()) == list(range(150))
    env.close()


def test_processes_and_threads_make_tables(path):
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE) as env:
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as others:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                done = [others.submit(writers.make_tables, env, who, 5) for who in (1, 2)]
                done += [pool.submit(writers.make_tables, env, who, 5) for who in (3, 4)]
                assert [one.result(240) for one in done] == [5] * 4
        assert len(env.tables()) == 5 + 4 * 5
        snapshot = env.snapshot()
        for name in env.tables():
            who = sorted(env.table(name).at(snapshot)["who"].tolist())
            assert who == ([1, 2, 3, 4] if name.startswith("common") else [int(name[3])])
    assert len({name for name in (file.name for file in path.iterdir()) if not name.startswith("xac.")}) == 26


def test_tables_as_of_one_commit(env, orders):
    sums = env.table("sums", {"sum": "i8"})
    with env.transaction():
        orders.append(rows_from(0, 10))
        sums.append([(45,)])
    snapshot = env.snapshot()
    orders.append(rows_from(10, 10))
    assert orders.at(snapshot)["number"].sum() == sums.at(snapshot)["sum"].sum() == 45
    assert len(orders.at(env.snapshot())) == 20
    with libxac.Environment(str(env.path) + "2", libxac.CREATE | libxac.VOLATILE) as other:
        with pytest.raises(ValueError, match="snapshot: of another environment"):
            orders.at(other.snapshot())


def in_another_thread(function, *arguments):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result(120)


def test_two_tables_do_not_conflict(env, orders):
    """Appends to one while a transaction appends to the other. (A thread that has had to do with both may lose once:
    what its views show counts as read.)"""
    other = in_another_thread(env.table, "other", {"x": "i4"})
    before = env.stat().conflicts
    for number in range(5):
        with env.transaction():
            orders.append(rows_from(number, 1))
            in_another_thread(other.append, {"x": [number]})
    assert env.stat().conflicts == before and len(orders) == len(other) == 5


# ---- for others ----


def test_arrow(env, orders):
    pa = pytest.importorskip("pyarrow")
    assert orders.arrow().num_rows == 0
    orders.append({"number": [1, 2], "price": [0.5, 1.5], "region": ["north", "south"]})
    table = orders.arrow()
    assert table.to_pydict() == {"number": [1, 2], "price": [0.5, 1.5], "region": [b"north", b"south"]}
    assert table.schema.types == [pa.int64(), pa.float64(), pa.binary(5)]
    table = orders.snapshot().arrow({"number": ["zero", "one", "two"]}, load=True)
    assert table["number"].to_pylist() == ["one", "two"]
    orders.append(rows_from(0, 1))
    assert table.num_rows == 2


@pytest.mark.parametrize("dtype", ["M8[D]", "M8[10us]", "m8[25ns]", "M8[h]"])
def test_times_that_arrow_has_in_other_bytes(env, dtype):
    pytest.importorskip("pyarrow")
    table = env.table("t", {"x": dtype})
    table.append({"x": np.array([1, 2, 3], dtype)})
    with pytest.raises(TypeError, match="has no Arrow type of the same bytes"):
        table.arrow()


def test_data_frames(env, orders):
    pandas = pytest.importorskip("pandas")
    orders.append(pandas.DataFrame({"price": [0.0, 0.5], "number": [0, 1], "region": ["north", "north"]}))
    check_rows(orders.snapshot(), range(2))


def layout_of_readme():
    text = (TREE / "python" / "README.md").read_text()
    begin = text.index("struct column {")
    return text[begin : text.index("```", begin)]


PROGRAM = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
%s
int main(void)
{
        static struct table table[2];
        while (fread(table, sizeof(table[0]), 1, stdin) == 1) {
                printf("%%.8s %%u %%u ", table->magic, table->version, table->state);
                printf("%%s %%lu\\n", table->name, (long)table->rows);
                for (size_t i = 0; i < table->columns; i++)
                        printf("%%s %%s %%s\\n", table->column[i].name, table->column[i].dtype, table->column[i].file);
        }
        return 0;
}
"""


def test_layout_for_programs_in_c(path, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler for C")
    with libxac.Environment(path, libxac.CREATE | libxac.VOLATILE) as env:
        env.table("orders", SCHEMA).append(rows_from(0, 7))
        env.table("x" * 95, {"y" * 24: "M8[us]"}).drop()
    (tmp_path / "layout.c").write_text(PROGRAM % layout_of_readme())
    subprocess.run([compiler, "-Wno-format", "-o", tmp_path / "layout", tmp_path / "layout.c"], check=True)
    with open(path / "libxac.tables", "rb") as catalog:
        done = subprocess.run([tmp_path / "layout"], stdin=catalog, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "xactable 1 1 orders 7",
        "number <i8 orders.number",
        "price <f8 orders.price",
        "region |S5 orders.region",
        f"xactable 1 2 {'x' * 95} 0",
        f"{'y' * 24} <M8[us] {'x' * 95}.{'y' * 24}",
    ]
    with open(path / "libxac.tables", "rb") as catalog:
        catalog.seek(65536)
        assert struct.unpack("<Q", catalog.read(8)) == (7,)


def test_files(path):
    with libxac.Environment(path, libxac.CREATE) as env:
        assert env.files() == []
        env.array("b", "i8", 512)
        env.array("a", "i8", 513)
        (path / "folder").mkdir()
        assert env.files() == [("a", 8192), ("b", 4096)] and env.files()[0].name == "a"
    (path / "folder").rmdir()
