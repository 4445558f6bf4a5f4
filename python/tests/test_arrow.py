# SPDX-License-Identifier: MIT
"""Arrow, pandas and DuckDB on snapshots, without a copy."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

ROWS = 5000
REGIONS = ["north", "east", "south", "west"]
COLUMNS = {
    "price": ("price", "f8"),
    "quantity": ("quantity", "i4"),
    "placed": ("placed", "M8[us]"),
    "code": ("code", "S4"),
    "region": ("region", "i1", REGIONS),
}


@pytest.fixture
def shop(env):
    with env.transaction():
        env.array("price", "f8", ROWS)[:] = np.arange(ROWS) / 4
        env.array("quantity", "i4", ROWS)[:] = np.arange(ROWS) % 7
        env.array("placed", "M8[us]", ROWS)[:] = np.datetime64("2026-01-01") + np.arange(ROWS).astype("m8[s]")
        env.array("code", "S4", ROWS)[:] = b"abcd"
        env.array("region", "i1", ROWS)[:] = np.arange(ROWS) % 4
    return env


def address_of(column):
    return column.chunk(0).buffers()[1].address


def test_table_shares_the_memory(shop):
    with shop.snapshot() as snapshot:
        table = snapshot.table(COLUMNS, ROWS)
        assert table.num_rows == ROWS
        for name in ("price", "quantity", "placed", "code"):
            assert address_of(table[name]) == snapshot.array(*COLUMNS[name]).ctypes.data
            assert not table[name].chunk(0).buffers()[1].is_mutable
        indices = table["region"].chunk(0).indices
        assert indices.buffers()[1].address == snapshot.array("region", "i1").ctypes.data
    assert table.schema.field("placed").type == pa.timestamp("us")
    assert table["region"][5].as_py() == "east" and table["code"][0].as_py() == b"abcd"
    table.validate(full=True)


def test_table_outlives_everything(shop):
    table = shop.snapshot().table(COLUMNS, ROWS)
    shop.close()
    assert pa.compute.sum(table["quantity"]).as_py() == (np.arange(ROWS) % 7).sum()


def test_rows(shop):
    with shop.snapshot() as snapshot:
        assert snapshot.table(COLUMNS).num_rows == 5120  # the pages of the shortest, region: 2; of code: 5
        assert snapshot.table(COLUMNS, 10).num_rows == 10
        assert snapshot.table({}).num_rows == 0
        with pytest.raises(ValueError, match="rows"):
            snapshot.table(COLUMNS, 100_000)


@pytest.mark.parametrize("dtype", ["?", ">f8", "c16", "U4", [("x", "f4")]])
def test_types_that_arrow_has_no_memory_for(env, dtype):
    env.array("file", dtype, 10)
    with env.snapshot() as snapshot, pytest.raises(TypeError):
        snapshot.table({"column": ("file", dtype)})


def test_pandas_shares_the_memory(shop):
    pytest.importorskip("pandas")
    with shop.snapshot() as snapshot:
        frame = snapshot.table(COLUMNS, ROWS).to_pandas(split_blocks=True)
        assert np.shares_memory(frame["price"].to_numpy(), snapshot.array("price", "f8"))
        revenue = (frame["price"] * frame["quantity"]).groupby(frame["region"], observed=True).sum()
    expected = np.bincount(np.arange(ROWS) % 4, np.arange(ROWS) / 4 * (np.arange(ROWS) % 7))
    assert list(revenue[REGIONS]) == list(expected)


def test_duckdb(shop):
    duckdb = pytest.importorskip("duckdb")
    with shop.snapshot() as snapshot, duckdb.connect() as connection:
        orders = snapshot.table(COLUMNS, ROWS)
        shop.run(lambda: shop.array("quantity", "i4", ROWS).fill(0))  # the snapshot does not see it
        connection.register("orders", orders)
        rows = connection.execute("select region, sum(price * quantity) from orders group by region").fetchall()
    expected = np.bincount(np.arange(ROWS) % 4, np.arange(ROWS) / 4 * (np.arange(ROWS) % 7))
    assert dict(rows) == dict(zip(REGIONS, expected))


def test_table_is_written_to_a_file(shop, tmp_path):
    from pyarrow import feather

    with shop.snapshot() as snapshot:
        table = snapshot.table(COLUMNS, ROWS, load=True)
        feather.write_feather(table, str(tmp_path / "orders.arrow"), compression="uncompressed")
    assert feather.read_table(str(tmp_path / "orders.arrow")).equals(table)
