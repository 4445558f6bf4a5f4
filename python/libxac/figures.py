# SPDX-License-Identifier: MIT
"""What stat(), backup() and the like return. Stats, Backup and HeapStats are in the order of the library's structures."""

from typing import NamedTuple


class Stats(NamedTuple):
    """Figures of an environment: xac_stat(3)."""

    sequence: int
    durable_sequence: int
    commits: int
    conflicts: int
    read_faults: int
    write_faults: int
    mappings: int
    pool_bytes: int
    pool_bytes_used: int
    log_bytes_used: int
    participants: int
    checkpoints: int
    log_groups: int
    log_bytes_written: int
    log_record_bytes: int
    page_bytes: int
    archive_sequence: int
    archive_error: int
    pool_bytes_now: int


class Backup(NamedTuple):
    """What a backup has copied: xac_backup(3)."""

    sequence: int
    since_sequence: int
    files: int
    pages: int
    pages_copied: int
    bytes_copied: int


class File(NamedTuple):
    """A data file of an environment."""

    name: str
    size: int  # bytes


class HeapStats(NamedTuple):
    """Figures of a heap: xac_heap_check(3)."""

    file_bytes: int
    live_bytes: int
    live_objects: int
    slab_bytes: int
    slab_free: int
    run_bytes: int
    free_bytes: int
    kept_bytes: int
    roots: int


class Root(NamedTuple):
    """An object of a heap that has a name."""

    name: str
    offset: int  # of Heap.at()
    size: int
    tag: int
