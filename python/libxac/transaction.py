# SPDX-License-Identifier: MIT
"""Transactions of the thread that begins them.

An interrupt (Ctrl-C) may arrive between any two byte codes of the main thread. A transaction that stayed open then
would swallow the next one, which would be a level nested in it and never take effect. So

* a call that begins or ends a level and the note of its result are one operation for the interpreter: list.extend()
  over map(), during which it delivers no signals;
* an interrupt at the first byte code of what a `with` statement calls at its end is raised before anything was done
  there. Therefore each statement gets a callable of its own to end with, to which nothing else refers. Who begins looks
  first: a level whose callable is gone has lost its statement, and is undone.

Tasks of asyncio, and generators, take turns in one thread. Levels then do not end in the order in which they began, and
the library would end another one's. So the end of a level that is not the innermost is refused.

_accelerated has the same in C (accelerated/levels.c, accelerated/transaction.c), and is used where it was compiled.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable

from . import _library
from .arguments import NotPickled, flags_of
from .constants import Code, Flag
from .errors import check, error_of

if TYPE_CHECKING:
    from .environment import Environment
else:
    Environment = Any  # which imports this module


class _Levels(list):
    """Of a thread: those that may be open, from the outermost. Gone with the thread."""

    __slots__ = ("__weakref__",)


_thread = threading.local()  # .levels

_NOT_BEGUN = (
    "flags: a transaction has RDONLY, SNAPSHOT_ISOLATION, NOSYNC and DURABLE; DURABLE goes with RDONLY, in an environment "
    "with a log, and not inside a transaction without it"
)
_modules = sys.modules


def task():
    """A weak reference to that of asyncio which runs in this thread, or None. They are equal if it is the same one."""
    asyncio = _modules.get("asyncio")
    running_loop = getattr(asyncio, "_get_running_loop", None)
    task = asyncio.current_task() if running_loop is not None and running_loop() is not None else None
    return task if task is None else weakref.ref(task)


class _Level(NotPickled):
    """A transaction, or a level nested in one, from its begin to its end."""

    _instead = "a transaction belongs to the thread that began it"
    is_undone = False  # by an exception
    _is_beginning = False
    is_refused = False  # its end came too early, and there will be no other

    def __init__(self, handle, by_hand):
        self.handle = handle  # of the environment, which stays open until the end
        self.thread_id = threading.get_ident()
        self.task = task()  # None: it may be around a whole loop of tasks
        self.statement = None  # a weak reference to what its `with` statement ends with
        self.by_hand = by_hand  # the level that ends if this one does not begin: who calls __exit__() himself gets this
        self.begun = []  # what xbegin() returned
        self.ended = []  # what xend() or xabort() returned

    def begin(self, flags):
        levels, handle, task = _thread.levels, self.handle, self.task
        if levels and any(level.task not in (None, task) and level.is_open_in(handle) for level in levels):
            raise RuntimeError("another task has a transaction open in this thread: do not await in one")
        self.by_hand = None
        lease = handle.lease or handle.lend()
        try:
            self._is_beginning = True
            handle.threads[self.thread_id] = weakref.ref(levels)
            levels.append(self)
            self.begun.extend(map(_library.xbegin, (handle.address or handle.refuse(),), (flags,)))
        finally:
            self._is_beginning, lease = False, None  # noqa: F841
        check(self.begun[0], None, _NOT_BEGUN)

    def end(self, function):
        """Returns what the function did, or raises what is wrong with the order."""
        if self.thread_id != threading.get_ident():
            raise RuntimeError("a transaction is ended by another thread than began it")
        if self.begun != [0]:
            raise RuntimeError("a transaction is ended that was not begun")
        is_lost = len(_thread.levels) > 1 and self._is_inside_what_is_lost()
        handle = self.handle
        lease = handle.lease or (handle.address and handle.lend())
        try:
            self.ended.extend(map(_library.xabort if is_lost else function, (handle.address,)))
        finally:
            lease = None  # noqa: F841
        self.handle = self.task = None
        if is_lost and function is not _library.xabort:
            self.is_undone = True
            raise RuntimeError("undone, as the transaction around it was left before: do not await or yield in one")
        return self.ended[0]

    def _is_inside_what_is_lost(self):
        """Will a level around this one be undone? It is the innermost, or its end is refused."""
        if _thread.levels[-1] is not self:
            undo_what_was_left()
        levels = _open_levels_of(self.handle)
        if self in levels and levels[-1] is not self:
            self.is_refused = True
            raise RuntimeError(
                "a transaction is left before one that began inside it, by another task or generator perhaps; both are "
                "undone: do not await or yield in a transaction"
            )
        return any(level.has_lost_its_statement() for level in levels[:-1])

    def is_open(self):
        return self.begun == [0] and not self.ended

    def is_open_in(self, handle):
        return self.begun == [0] and not self.ended and self.handle.address == handle.address

    def is_beginning(self):
        """Garbage is collected meanwhile, perhaps, whose __del__ methods have transactions of their own."""
        return self._is_beginning and not self.begun and not self.has_lost_its_statement()

    def has_lost_its_statement(self):
        """Or its task, which nobody can go on with then."""
        return (
            self.is_refused
            or (self.statement is not None and self.statement() is None)
            or (self.task is not None and self.task() is None)
        )


def _open_levels_of(handle):
    """From the outermost."""
    return [level for level in _thread.levels if level.is_open_in(handle)]


def undo_what_was_left():
    """Ends the levels of this thread that an interrupt has left open."""
    try:
        levels = _thread.levels
    except AttributeError:
        levels = _thread.levels = _Levels()
    while levels and not levels[-1].is_beginning():
        if levels[-1].is_open():
            if not levels[-1].has_lost_its_statement():
                return
            levels[-1].end(_library.xabort)
        levels.pop()


def is_open_elsewhere(handle):
    """Has another thread a transaction open by this handle? Who asks sees to it that none begins or ends."""
    own = threading.get_ident()
    others = [levels() for thread_id, levels in list(handle.threads.items()) if thread_id != own]
    return any(level.handle is handle and level.is_open() for levels in others if levels for level in list(levels))


def levels_from(handle):
    """What this thread has open by this handle, and what is inside of that: what its close will undo."""
    undo_what_was_left()
    levels = _open_levels_of(handle)
    while levels and levels[0].handle is not handle:
        levels.pop(0)
    return levels


def undo(levels, code, address):
    """After xac_close() has returned this: 0, and others of this process have the environment open still, or the
    library has undone them."""
    for level in reversed(levels):
        if code:
            level.ended.append(code)
        else:
            level.ended.extend(map(_library.xabort, (address,)))
    return Code.UNENDED if levels and not code else code


def _leave(level, kind, value, traceback):
    level = level.by_hand or level
    if kind is not None:
        level.is_undone = True
        if not level.ended:  # by a close() in the block
            level.end(_library.xabort)  # the exception says more than what this returns
        return
    if level.ended:
        raise error_of(Code.NOTXN)
    handle = level.handle
    code = level.end(_library.xend)
    if code == Code.CONFLICT and handle.call(_library.xac_txn_id):
        return  # the transaction around it is lost, and its own end says so
    check(code)


class _Exit:
    """What a `with` statement finds as __exit__, before it calls __enter__()."""

    def __get__(self, transaction: Any, kind: Any) -> Callable[..., None]:
        if transaction is None:  # contextlib.ExitStack asks the class
            return lambda transaction, *exception: _leave(transaction._level, *exception)
        level = transaction._next_level()
        leave = functools.partial(_leave, level)
        level.statement = weakref.ref(leave)
        return leave


class Transaction(NotPickled):
    """`with env.transaction():` -- ends with the block. An exception that leaves the block undoes it.

    At the end of the block it takes effect as a whole, or the block's end raises Conflict: then it is undone, and the
    block is to be run again. Environment.run() does that by itself. Inside another transaction of the thread it is a
    nested level: an exception undoes the inner writes only, and whether they take effect is decided by the end of the
    outermost one.

    It belongs to the thread. Do not `yield` or `await` in the block.
    """

    __exit__ = _Exit()
    _instead = "it belongs to the thread that begins it; pickle the Environment"

    def __init__(self, env: Environment, flags: int = 0) -> None:
        self._env = env
        self._flags = flags_of(flags) | Flag.NESTED  # an end cannot be forgotten here
        self._next = None
        self._level = None

    def _next_level(self):
        undo_what_was_left()
        before = self._level
        is_by_hand = before is not None and before.statement is None and before.is_open()
        self._next = _Level(self._env._handle_to_begin(), before if is_by_hand else None)
        return self._next

    def __enter__(self) -> Transaction:
        level, self._next = self._next, None
        if level is None or level.statement is None or level.statement() is None:
            level = self._next_level()
            self._next = None
        self._level = level
        self._level.begin(self._flags)
        return self

    def __repr__(self) -> str:
        state = "open" if self._level is not None and self._level.is_open() else "not open"
        return f"<libxac.Transaction of {self._env!r} {state}>"

    @property
    def was_undone(self) -> bool:
        """Did an exception leave its block?"""
        return self._level is not None and self._level.is_undone


if not TYPE_CHECKING and _library.accelerated:
    from ._accelerated import (  # noqa: F811
        Transaction,
        is_open_elsewhere,
        levels_from,
        undo,
        undo_what_was_left,
    )

    _library.hand_over(check, flags_of)
