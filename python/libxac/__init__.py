# SPDX-License-Identifier: MIT
"""Transactions and snapshots on memory-mapped files.

    env = libxac.Environment("shop.xac", libxac.CREATE)
    price = env.array("price", "f8", 1000)      # a numpy array, to be written in transactions
    with env.transaction():
        price[7] *= 1.1
    with env.snapshot() as snapshot:            # one commit, while writers go on
        print(snapshot.array("price", "f8").sum())

python/README.md in the source of libxac says the rest.
"""

from ._library import accelerated
from ._library import path as library_path
from ._library import version
from .constants import Code, Flag
from .environment import Environment
from .errors import (
    Conflict,
    Corrupt,
    Error,
    Forked,
    Format,
    Full,
    Limit,
    NoTxn,
    NoView,
    Poisoned,
    SystemFailure,
    Unended,
    Wrote,
)
from .figures import Backup, File, HeapStats, Root, Stats
from .heap import Heap
from .range import Range
from .snapshot import Snapshot
from .table import Table, TableSnapshot
from .transaction import Transaction
from .trees import Tree, TreeSnapshot

CREATE = Flag.CREATE
EXCL = Flag.EXCL
NOSYNC = Flag.NOSYNC
VOLATILE = Flag.VOLATILE
TRACK = Flag.TRACK
STRICT = Flag.STRICT
RDONLY = Flag.RDONLY
SNAPSHOT_ISOLATION = Flag.SNAPSHOT_ISOLATION
DURABLE = Flag.DURABLE

__version__ = version

__all__ = [
    "Backup",
    "CREATE",
    "Code",
    "Conflict",
    "Corrupt",
    "DURABLE",
    "EXCL",
    "Environment",
    "Error",
    "File",
    "Flag",
    "Forked",
    "Format",
    "Full",
    "Heap",
    "HeapStats",
    "Limit",
    "NOSYNC",
    "NoTxn",
    "NoView",
    "Poisoned",
    "RDONLY",
    "Range",
    "Root",
    "SNAPSHOT_ISOLATION",
    "STRICT",
    "Snapshot",
    "Stats",
    "SystemFailure",
    "TRACK",
    "Table",
    "TableSnapshot",
    "Transaction",
    "Tree",
    "TreeSnapshot",
    "Unended",
    "VOLATILE",
    "Wrote",
    "accelerated",
    "library_path",
    "version",
]
