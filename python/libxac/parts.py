# SPDX-License-Identifier: MIT
"""What libraries on top of libxac have open in an environment or a snapshot: arenas, trees, cursors, heaps.

What is open in an environment belongs to the thread that opened it, and is closed by that thread alone: with the object
that has it, at the end of the thread, or with the environment. The library does not let go of an environment where
another thread has some (EBUSY). At the end of the interpreter those of other threads stay open, and a line says so.
What is open in a snapshot is for any thread, one at a time.

An interrupt may come between any two byte codes, and ends also a __del__(). So what is opened is noted before, at what
it lies in, whose close closes it, too; and to take an address and to close it is one operation for the interpreter.
"""

import ctypes
import errno
import os
import sys
import threading
import weakref

from . import _library
from .arguments import NotPickled
from .constants import Code, Flag
from .ending import close_before_os_exit, note_opened, tell
from .errors import error_of

_process = os.getpid  # of the caller
_NOT_OURS = 1  # to close


class _Thread:
    """A thread that has parts, until it ends: then it closes those that are open still. Numbers of threads are given
    again; this is not."""

    def __init__(self):
        self.openings = []
        self._is_end = sys.is_finalizing  # `_Last` closes those of the thread that ends the interpreter

    def __del__(self):
        if self._is_end():
            return
        while self.openings:
            for opening in self.openings[-1:]:
                opening.at_end(None)
                opening.leave()


class _Here(threading.local):
    def __init__(self):
        self.thread = _Thread()


_here = _Here()


def lost(env):
    """What the open transaction was lost by; inside of it a call says only that it was (ECANCELED)."""
    code = env.call(_library.xbegin, int(Flag.NESTED)) or env.call(_library.xend)
    return error_of(code or Code.CONFLICT)


class _Opening:
    """What a function opens, until it is closed: once, and after what lies in it. Has what it needs, as modules have no
    names at the end of the interpreter."""

    def __init__(self, close):
        self.addresses = [ctypes.c_void_p()]  # empty: it is closed
        self.inside = []  # the newest is the last
        self.code = 0  # what the function returned
        self._close, self._map, self._busy = close, map, -errno.EBUSY
        self._process, self._own_process = os.getpid(), os.getpid
        self.lists, self.forget = (), None  # those that it is in, and what ends the note of it

    def open(self, call, *arguments):
        """The last argument of the function is where the address goes."""
        self.code = call(*arguments, ctypes.byref(self.addresses[0]))
        return self.addresses[0].value

    def is_ours(self):
        return self._own_process() == self._process

    def close(self):
        """What its function returns: 0 or an error."""
        while self.inside:  # which other threads may make shorter
            for opening in self.inside[-1:]:
                opening.close()
                opening.leave()
        addresses, codes = self.addresses, []
        if not addresses or not addresses[0]:
            return 0
        address = addresses[0]
        codes.extend(self._map(self._close, self._map(addresses.pop, (0,))))
        if codes[0] == self._busy:
            addresses.append(address)
        return codes[0] or 0

    def leave(self, is_no_more=ValueError):
        """It is closed: nobody has to close it."""
        lists, self.lists = self.lists, ()
        for openings in lists:
            try:
                openings.remove(self)
            except is_no_more:  # somebody else was first
                pass
        if self.forget is not None:
            self.forget()

    def __call__(self, address=None):
        return self.close() if self.is_ours() else _NOT_OURS


class _OpeningOfThread(_Opening):
    """Who else gives it up, as a child of fork() does, leaves it."""

    def __init__(self, close, env):
        super().__init__(close)
        self._abort, self._tell, self._env, self._path = _library.xabort, tell, env.address, env.path
        self._number, self._own_number = threading.get_ident(), threading.get_ident
        self._thread, self._is_end = weakref.ref(_here.thread), sys.is_finalizing

    def is_ours(self):
        is_own_number = self._own_number() == self._number and self._own_process() == self._process
        return is_own_number and (self._thread() is not None or self._is_end())

    def at_end(self, address):
        """As the close of an environment does, it undoes the transaction that is open still."""
        if not self.is_ours():
            return 0
        code = self.close()
        if code == self._busy and not self._abort(self._env):
            self._tell(self._path, "a transaction was open at the end: it is undone")
            while not self._abort(self._env):
                pass
            code = self.close()
        return code


class _LockedOpening(_Opening):
    """While no thread is in a call."""

    def __init__(self, close, lock):
        super().__init__(close)
        self._lock = lock

    def __call__(self, address=None, wait=True):
        if not self.is_ours():
            return 0
        if not self._lock.acquire(wait):
            return self._busy
        try:
            return self.close()
        finally:
            self._lock.release()

    def at_end(self, address):
        """A thread that is in a call may never come back."""
        return self(address, False)


class _Part(NotPickled):
    """Lies in `owner`: another part, or the handle of an environment or a snapshot. call(*arguments, address) opens it;
    `code` is what that returned."""

    _instead = "pickle the Environment, and open it there"
    is_cursor = False
    opening = None

    def __init__(self, opening, owner, lists, call, *arguments):
        self.owner, self.process = owner, os.getpid()
        close_before_os_exit()
        if isinstance(owner, _Part):
            lists = (owner.opening.inside,)
        else:
            opening.forget = note_opened(opening, owner.path, self)
        opening.lists = lists
        for openings in lists:
            openings.append(opening)
        self.opening = opening
        self._address = opening.open(call, *arguments)
        self.code = opening.code

    @property
    def address(self):
        """None: it is closed."""
        return self._address if self.opening.addresses else None

    def close(self):
        code = self.opening()
        if code != _NOT_OURS and code != -errno.EBUSY:
            self.opening.leave()

    def __del__(self, not_ours=_NOT_OURS, busy=-errno.EBUSY):
        if self.opening is not None:
            code = self.opening()
            if code != not_ours and code != busy:
                self.opening.leave()


class Part(_Part):
    """In an environment, of a thread."""

    def __init__(self, env, owner, close, call, *arguments):
        self.env, self.thread = env, weakref.ref(_here.thread)
        env.parts.note_task()
        lists = env.parts.openings, _here.thread.openings
        super().__init__(_OpeningOfThread(close, env), owner, lists, call, *arguments)
        env.parts.note(self)

    def call(self, function, *arguments):
        """Of what is open, function(address, ...)."""
        env = self.env
        lease = env.lease or env.lend()
        try:
            return function(self.checked_address(), *arguments)
        finally:
            lease = None  # noqa: F841

    def checked_address(self):
        """For a call by the thread that opened it, who has the lease."""
        if self.process != _process():
            raise error_of(Code.FORKED)
        if self.thread() is not _here.thread:
            raise RuntimeError("it belongs to the thread that opened it")
        if self.env.address is None:
            self.env.refuse()
        if not self.opening.addresses:
            raise ValueError("it is closed")
        return self._address


class Parts:
    """Of the handle of an environment."""

    def __init__(self):
        self.openings = []  # of those that lie in no other one, also after an interrupt has ended their __del__()
        self._known = weakref.WeakSet()
        self._tasks = set()  # the threads that have made some, by the numbers that the kernel gives them

    def note_task(self):
        self._tasks.add(threading.get_native_id())

    def note(self, part):
        """When it is complete: others of this thread may find it."""
        self._known.add(part)

    def of_this_thread(self):
        thread, process = _here.thread, os.getpid()
        parts = [reference() for reference in list(self._known.data)]
        return [part for part in parts if part is not None and part.thread() is thread and part.process == process]

    def close_those_of_this_thread(self):
        for opening in self.openings[::-1]:
            if opening() in (0, _NOT_OURS) and not opening.addresses:
                opening.leave()

    def is_a_thread_ending(self):
        """One that Python has joined may still be about to give up what it had."""
        alive = {thread.native_id for thread in threading.enumerate()}
        return any(os.path.exists(f"/proc/self/task/{task}") for task in self._tasks - alive)


class SnapshotPart(_Part):
    """In a snapshot, for any thread, one at a time."""

    def __init__(self, owner, lock, close, call, *arguments):
        self.lock = lock
        super().__init__(_LockedOpening(close, lock), owner, (), call, *arguments)

    def call(self, function, *arguments):
        """Of what is open, function(address, ...)."""
        if self.process != _process():
            raise error_of(Code.FORKED)
        with self.lock:
            if not self.opening.addresses:
                raise ValueError("it is closed")
            return function(self._address, *arguments)
