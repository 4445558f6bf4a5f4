# SPDX-License-Identifier: MIT
"""Transactions of the thread that begins them.

An interrupt (Ctrl-C) may arrive between any two byte codes of the main thread. A transaction that stayed open then
would swallow the next one, which would be a level nested in it and never take effect. So

* a call that begins or ends a level and the note of its result are one operation for the interpreter: list.extend()
  over map(), during which it delivers no signals;
* an interrupt at the first byte code of what a `with` statement calls at its end is raised before anything was done
  there. Therefore each statement gets a callable of its own to end with, to which nothing else refers. Who begins looks
  first: a level whose callable is gone has lost its statement, and is undone.
"""

import functools
import threading
import weakref

from . import _library
from .arguments import NotPickled, flags_of
from .constants import Code, Flag
from .errors import check

_thread = threading.local()  # .levels: those that may be open, from the outermost


class _Level(NotPickled):
    """A transaction, or a level nested in one, from its begin to its end."""

    _instead = "a transaction belongs to the thread that began it"

    def __init__(self, handle):
        self.handle = handle  # of the environment, which stays open until the end
        self.thread_id = threading.get_ident()
        self.statement = None  # a weak reference to what its `with` statement ends with
        self.begun = []  # what xbegin() returned
        self.ended = []  # what xend() or xabort() returned
        self.is_undone = False  # by an exception

    def begin(self, flags):
        _thread.levels.append(self)
        self.begun.extend(map(_library.xbegin, (self.handle.address,), (flags,)))
        check(self.begun[0])

    def end(self, function):
        if self.thread_id != threading.get_ident():
            raise RuntimeError("a transaction is ended by another thread than began it")
        self.ended.extend(map(function, (self.handle.address,)))
        self.handle = None
        return self.ended[0]

    def is_open(self):
        return self.begun == [0] and not self.ended

    def has_lost_its_statement(self):
        return self.statement is not None and self.statement() is None


def undo_what_was_left():
    """Ends the levels of this thread that an interrupt has left open."""
    try:
        levels = _thread.levels
    except AttributeError:
        levels = _thread.levels = []
    while levels:
        if levels[-1].is_open():
            if not levels[-1].has_lost_its_statement():
                return
            levels[-1].end(_library.xabort)
        levels.pop()


def _leave(level, kind, value, traceback):
    if kind is not None:
        level.is_undone = True
        level.end(_library.xabort)  # the exception says more than what this returns
        return
    handle = level.handle
    code = level.end(_library.xend)
    if code == Code.CONFLICT and _library.xac_txn_id(handle.address):
        return  # the transaction around it is lost, and its own end says so
    check(code)


class _Exit:
    """What a `with` statement finds as __exit__, before it calls __enter__()."""

    def __get__(self, transaction, kind):
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

    def __init__(self, env, flags=0):
        self._env = env
        self._flags = flags_of(flags) | Flag.NESTED  # an end cannot be forgotten here
        self._next = None
        self._level = None

    def _next_level(self):
        undo_what_was_left()
        self._next = _Level(self._env._handle_to_begin())
        return self._next

    def __enter__(self):
        self._level = self._next or self._next_level()
        self._next = None
        self._level.begin(self._flags)
        return self

    def __repr__(self):
        state = "open" if self._level is not None and self._level.is_open() else "not open"
        return f"<libxac.Transaction of {self._env!r} {state}>"

    @property
    def was_undone(self):
        """Did an exception leave its block?"""
        return self._level is not None and self._level.is_undone
