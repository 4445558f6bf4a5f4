# SPDX-License-Identifier: MIT
"""Environments: a directory of data files, and transactions and snapshots of it."""

from __future__ import annotations

import collections.abc
import ctypes
import errno
import functools
import inspect
import os
import random
import time
import weakref
from typing import Any, Callable, List, Optional, Sequence, TypeVar, Union, overload

import numpy.typing as npt

from . import _library, memory
from .accesses import Accesses, Lent
from .arguments import Name, flags_of, name_of, number_of
from .constants import Flag
from .ending import Handle
from .errors import Conflict, Error, check
from .figures import Backup, File, Stats
from .heap import Heap
from .parts import Parts
from .snapshot import Snapshot
from .table import Table, names_of_tables, open_table
from .transaction import is_open_elsewhere, levels_from, task, undo, undo_what_was_left
from .trees import Tree, names_of_trees

_NOT_OPENED = (
    "flags or options: not valid, not valid together, or VOLATILE or RDONLY unlike those who have the environment open "
    "(xac_open(3) has all reasons)"
)
_TURN_SECONDS = 0.001
_TURNS = 1000  # that a close waits for the calls of other threads, and for the end of those that had parts
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])


def _options_of(options):
    unknown = sorted(set(options) - set(_library.OPTIONS))
    if unknown:
        raise TypeError(f"no such options: {', '.join(unknown)}; there are {', '.join(_library.OPTIONS)}")
    sizes = {name: 8 * getattr(_library.Options, name).size for name in options}
    return _library.Options(**{name: number_of(value, name, sizes[name]) for name, value in options.items()})


class _Lease:
    """Who has it is in a call of the library. Calls give it up at their end, as tracebacks keep local variables."""

    __slots__ = ("__weakref__",)


class _Handle(Lent, Handle):
    """The library's environment. Arrays and open transactions keep it.

    A call takes the lease before it looks at the address. Who closes takes the lease away from the handle, and waits
    until no call has it.
    """

    _instead = "pickle the Environment"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.lease = _Lease()  # None: somebody is closing it
        self.threads = {}  # those that have begun transactions by it: weak references to their levels
        self.parts = Parts()  # what other libraries have open in it

    def lend(self):
        """The lease. Waits while somebody tries to close."""
        lease = self.lease
        while lease is None and self.address is not None:
            time.sleep(_TURN_SECONDS)
            lease = self.lease
        return lease or self.refuse()

    def refuse(self):
        raise ValueError("the environment is closed")

    def call(self, function, *arguments):
        lease = self.lease or self.lend()
        try:
            return function(self.address or self.refuse(), *arguments)
        finally:
            lease = None  # noqa: F841

    def close(self):
        """What xac_close() returns. -EBUSY: nothing was done, a thread is in a transaction or in a call. Else there is no
        address any more."""
        lease, self.lease, done = weakref.ref(self.lease), None, []
        try:
            for _ in range(_TURNS):
                if lease() is None:
                    if is_open_elsewhere(self):  # the library knows only if this is the last who has it open
                        break
                    may_be_again = self.parts.is_a_thread_ending()
                    done.extend(map(self._close, (self.address,)))  # one operation for the interpreter
                    if done[0] != -errno.EBUSY or not may_be_again:
                        break
                    done.clear()
                time.sleep(_TURN_SECONDS)
        finally:
            if done and done[0] != -errno.EBUSY:
                self.address = None  # before others are let in
            self.lease = lease() or _Lease()
        return done[0] if done else -errno.EBUSY


def _open_again(kind, path, flags, options):
    return kind(path, flags, **options)


class Environment(Accesses):
    """A directory of data files that changes by transactions; xac_open(3).

        env = Environment("shop.xac", libxac.CREATE)
        price = env.array("price", "f8", 1000)
        with env.transaction():
            price[7] *= 1.1

    flags: CREATE, EXCL, NOSYNC, VOLATILE, STRICT, RDONLY. options: pool_bytes, log_bytes, reserve_bytes, page_bytes,
    max_participants, mode, address, scan_bytes, area_bytes. All threads may use it, each with arrays and transactions
    of its own. A child of fork() has to open it again. When it is pickled or copied, who gets it opens the same
    directory anew, with the same flags but for CREATE and EXCL.
    """

    def __init__(self, path: Name, flags: int = 0, **options: int) -> None:
        name = name_of(path, "path")
        self.path = os.fsdecode(name)
        self._directory = os.path.abspath(self.path)  # the current directory may be another one later
        self._flags, self._options = flags_of(flags), options
        handle = _Handle(_library.xac_close, self._directory)
        check(handle.open(_library.xac_open, name, self._flags, _options_of(options)), self.path, _NOT_OPENED)
        self._handle = handle

    def __reduce__(self):
        self._open_handle()
        return _open_again, (type(self), self._directory, self._flags & ~(Flag.CREATE | Flag.EXCL), self._options)

    # ---- the handle ----

    def _open_handle(self):
        if self._handle is None:
            raise ValueError("the environment is closed")
        return self._handle

    def _handle_to_begin(self):
        handle = self._open_handle()
        lease = handle.lease or handle.lend()
        try:
            _library.look_at_handlers(handle.address)
        finally:
            lease = None  # noqa: F841
        return handle

    def close(self) -> None:
        """Leaves it. Arrays of array() must not be touched any more; those of snapshots may. Closed for good when its
        last snapshot, and arrays on it, are gone. Of an environment that is closed already: does nothing. An OSError
        of EBUSY: another thread is in a transaction, or in a call that takes long, or has a tree or a heap open, or
        this one has and is in a transaction; nothing was done."""
        handle, self._handle = self._handle, None
        if handle is None or not handle.is_ours_to_close():
            return
        address = handle.address
        try:
            levels = levels_from(handle)
            if not _library.xac_txn_id(address):
                handle.parts.close_those_of_this_thread()
            code = handle.close()
        finally:
            if handle.address is not None:  # nothing was done
                handle.note()
                self._handle = handle
        if handle.address is None:
            code = undo(levels, code, address)
            handle.parts.close_those_of_this_thread()  # in a transaction it was too early
        check(code, self.path)

    def __enter__(self) -> Environment:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<libxac.Environment {self.path!r}{'' if self._handle else ' closed'}>"

    # ---- transactions ----

    def run(self, body: Callable[..., Result], *args: Any, flags: int = 0, **kwargs: Any) -> Result:
        """Calls body(*args, **kwargs) in a transaction, again for as long as that loses. Returns what body returned.

        An exception undoes the transaction and is passed on. What body does outside of the environment happens as often
        as it is called. Inside another transaction it is a nested level, and does not run again.
        """
        if not callable(body):
            raise TypeError(f"body: {body!r} cannot be called")
        asked = 0
        while True:
            transaction = self.transaction(flags)
            try:
                with transaction:
                    return _checked_result(body(*args, **kwargs))
            except Conflict:
                if self.in_transaction():
                    raise
                asked += transaction.was_undone
                _pause(asked)

    def _join(self, body, *args):
        """run(), but part of the transaction that is open, without a level of its own: a level takes page faults. For a
        body that has changed nothing that counts when it fails."""
        self._join_no_other_task()
        return body(*args) if self.in_transaction() else self.run(body, *args)

    def _join_no_other_task(self):
        """Raises RuntimeError where the transaction that is open in this thread is another task's of asyncio, as the begin
        of a level does."""
        if task() is not None and self.in_transaction():
            with self.transaction():
                pass

    @overload
    def transactional(self, function: Function, *, flags: int = 0) -> Function: ...

    @overload
    def transactional(self, function: None = None, *, flags: int = 0) -> Callable[[Function], Function]: ...

    def transactional(self, function: Any = None, *, flags: int = 0) -> Any:
        """A decorator: calls of the function are transactions, by run(). Not for generators and `async def`: their code
        runs after the call."""
        if function is None:
            return functools.partial(self.transactional, flags=flags)
        _check_function(function)

        @functools.wraps(function)
        def run(*args, **kwargs):
            return self.run(functools.partial(function, *args, **kwargs), flags=flags)

        return run

    def in_transaction(self) -> bool:
        """Is a transaction of this thread open?"""
        undo_what_was_left()
        return self._open_handle().call(_library.xac_txn_id) != 0

    # ---- what is in it ----

    def array(
        self, file: Name, dtype: npt.DTypeLike, shape: Union[int, Sequence[int], None] = None, offset: int = 0
    ) -> npt.NDArray[Any]:
        """A data file, or a part of it, as an array to be read and written in transactions of this thread.

        The file is created, or grows, as the shape asks for; without a shape: all there is behind the offset (bytes).
        Nothing is copied. The array belongs to this thread, and is to be touched between the begin and the end of a
        transaction only. Else it shows whatever there is, what is stored in it is lost or becomes part of the next
        transaction, and another thread's touch, or one after the end of the thread or of the environment, ends the
        program. System calls fail on memory that was not touched before, by a transaction or by advise().
        """
        handle, name = self._open_handle(), name_of(file, "file")
        dtype = memory.checked_dtype(dtype)
        offset = memory.checked_offset(offset, dtype)
        if shape is None:
            shape = memory.shape_that_fits(dtype, self._byte_len_of(name) - offset)
        shape = memory.checked_shape(shape, dtype, offset)
        byte_len = offset + memory.byte_len_of(dtype, shape)
        address = handle.call(_library.xac_mmap, name, byte_len, int(Flag.ANYWHERE))
        if address == _library.MAP_FAILED and byte_len == 0 and ctypes.get_errno() in (errno.ENOENT, errno.EINVAL):
            address = handle.call(_library.xac_mmap, name, 1, int(Flag.ANYWHERE))  # 0 is the length of what is there
        if address == _library.MAP_FAILED:
            too_long = f"shape: {shape} of {dtype} is more than a data file can hold"
            raise memory.error_of_file(ctypes.get_errno(), name, too_long)
        return memory.Memory(address, byte_len, handle, False).array(dtype, shape, offset)

    def advise(self, array: npt.NDArray[Any], write: bool = False) -> None:
        """Before memory of array() is given to a system call, in the same transaction: file.readinto(array) writes it,
        file.write(array) does not. Also for arrays of snapshots, outside of transactions."""
        start, byte_len = memory.bytes_of(array)
        check(self._open_handle().call(_library.xac_advise, start, byte_len, memory.WRITE if write else memory.READ))

    def _byte_len_of(self, name):
        try:
            return os.stat(os.path.join(os.fsencode(self._directory), name)).st_size
        except OSError as error:
            raise memory.error_of_file(error.errno, name) from None

    def files(self) -> List[File]:
        """The data files: their names and sizes. They can neither be removed nor renamed."""
        self._open_handle()
        with os.scandir(self._directory) as entries:
            there = [entry for entry in entries if memory.is_of_a_file(os.fsencode(entry.name))]
            files = [File(entry.name, entry.stat().st_size) for entry in there if entry.is_file(follow_symlinks=False)]
        return sorted(files)

    def table(self, name: str, schema: Any = None) -> Table:
        """A table: columns of the same length, of which the environment keeps names, types and the number of rows.
        schema: {name: dtype}, or what numpy takes for a structured type. With one the table is made if it is not there,
        and must be like that if it is: a ValueError names the column that differs."""
        return open_table(self, name, schema)

    def tables(self) -> List[str]:
        """The names of all tables."""
        return names_of_tables(self)

    def btree(
        self, file: Name, tree: Optional[Name] = None, create: bool = True, value_bytes: Optional[int] = None
    ) -> Tree:
        """A B+-tree, which has its records in the order of their keys; xac_tree_open(3). A file holds any number of trees;
        without a name it is that of the file. The tree is made if it is not there, unless create is false. value_bytes:
        keys have 8 bytes, and values so many (up to 256), which is faster. Needs libxactrees."""
        return Tree(self, "bptree", file, tree, create, value_bytes)

    def cobtree(
        self, file: Name, tree: Optional[Name] = None, create: bool = True, value_bytes: Optional[int] = None
    ) -> Tree:
        """A cache-oblivious B-tree, for much scanning; xac_tree_open(3). Else as btree()."""
        return Tree(self, "cobtree", file, tree, create, value_bytes)

    def hash(
        self, file: Name, tree: Optional[Name] = None, create: bool = True, value_bytes: Optional[int] = None
    ) -> Tree:
        """A hash table, for looking up whole keys; xac_tree_open(3). It has no order, and no range(). Else as btree()."""
        return Tree(self, "ehash", file, tree, create, value_bytes)

    def trees(self, file: Name) -> List[str]:
        """The names of all trees and hash tables in a file."""
        return names_of_trees(self, file)

    def heap(self, file: Name, create: bool = True) -> Heap:
        """A heap: objects of any size, as memoryviews. It is made if it is not there, unless create is false. Outside of
        transactions. Needs libxacheap."""
        return Heap(self, file, create)

    def snapshot(self, durable: bool = False, at: Optional[int] = None) -> Snapshot:
        """The environment as of its newest commit; durable: as of the newest on disk; at: as of the commit of a
        Snapshot that somebody has open, in this process or another (Snapshot.sequence)."""
        handle = self._open_handle()
        if durable and at is not None:
            raise TypeError("either durable or at")
        if at is not None and not number_of(at, "at"):
            raise ValueError(f"at: {at} is no number of a commit")
        return Snapshot._of(handle, Flag.DURABLE if durable else 0, at)

    # ---- care ----

    def checkpoint(self) -> None:
        """Writes what was committed into the data files."""
        check(self._open_handle().call(_library.xac_checkpoint))

    def sync(self) -> None:
        """What was committed with NOSYNC is on disk when this returns."""
        check(self._open_handle().call(_library.xac_sync))

    def backup(self, destination: Name, since: Optional[Name] = None, bytes_per_second: int = 0) -> Backup:
        """Copies it into a new directory, as of one commit, while others go on; `since`: only what has changed since that
        backup. An error has the sentence that says what went wrong as `problem`."""
        handle, result = self._open_handle(), _library.BackupResult()
        name = name_of(destination, "destination")
        options = _library.BackupOptions(
            since=name_of(since, "since") if since is not None else None,
            bytes_per_second=number_of(bytes_per_second, "bytes_per_second"),
            result=ctypes.pointer(result),
        )
        code = handle.call(_library.xac_backup, name, options)
        problem = result.problem.decode(errors="replace")
        try:
            check(code, os.fsdecode(name), f"destination or since: {problem or 'not the name of a directory'}")
        except Error as error:
            error.problem = problem
            raise
        return Backup(*(getattr(result, name) for name in _library.BACKUP_RESULT))

    def stat(self) -> Stats:
        """Figures, as Stats. Call it, too, when something has installed a handler of SIGSEGV."""
        buffer = _library.StatsBuffer()
        check(self._open_handle().call(_library.xac_stat, buffer))
        return Stats(*(getattr(buffer, name) for name in _library.STATS))


_RUNS_LATER = (collections.abc.Generator, collections.abc.Coroutine, collections.abc.AsyncGenerator)
_OF_NO_CODE = frozenset([type(None), int, float, bool, str, bytes])  # most results; the other question takes longer


def _check_function(function):
    if not callable(function):
        raise TypeError(f"function: {function!r} cannot be called")
    for runs_later in (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction):
        if runs_later(function) or runs_later(getattr(function, "__call__", None)):
            raise TypeError(
                f"function: {function!r} is a generator or asynchronous: its code runs after the transaction. Use a "
                "plain function"
            )


def _checked_result(result):
    if type(result) not in _OF_NO_CODE and isinstance(result, _RUNS_LATER):
        if isinstance(result, collections.abc.Coroutine):
            result.close()  # else the interpreter warns that nobody has awaited it
        raise TypeError(
            f"body: it returned {result!r}, whose code runs after the transaction. Use a plain function, or return a "
            "list"
        )
    return result


def _pause(asked):
    """Of a body that asked for another attempt; for those that lost, xbegin() waits by itself."""
    if asked:
        time.sleep(random.random() * min(1e-4 * 2**asked, 0.05))
