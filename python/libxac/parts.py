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
import functools
import os
import threading
import weakref

from . import _library
from .arguments import NotPickled
from .constants import Code, Flag
from .ending import close_before_os_exit, note_opened, tell
from .errors import error_of

_process, _thread = os.getpid, threading.get_ident  # of the caller
_NOT_OURS = 1  # to close


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
        self._close, self._map, self._busy, self._forget = close, map, -errno.EBUSY, _forget
        self._process, self._own_process = os.getpid(), os.getpid

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
                self._forget(self.inside, opening)
        addresses, codes = self.addresses, []
        if not addresses or not addresses[0]:
            return 0
        address = addresses[0]
        codes.extend(self._map(self._close, self._map(addresses.pop, (0,))))
        if codes[0] == self._busy:
            addresses.append(address)
        return codes[0] or 0

    def __call__(self, address=None):
        return self.close() if self.is_ours() else _NOT_OURS


class _OpeningOfThread(_Opening):
    """Who else gives it up, as a child of fork() does, leaves it."""

    def __init__(self, close, env):
        super().__init__(close)
        self._abort, self._tell, self._env, self._path = _library.xabort, tell, env.address, env.path
        self._thread, self._own_thread = threading.get_ident(), threading.get_ident

    def is_ours(self):
        return self._own_thread() == self._thread and self._own_process() == self._process

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


def _forget(openings, opening, also=None):
    try:
        openings.remove(opening)
    except ValueError:
        pass  # somebody else was first
    if also is not None:
        also()


class _Part(NotPickled):
    """Lies in `owner`: another part, or the handle of an environment or a snapshot. call(*arguments, address) opens it;
    `code` is what that returned."""

    _instead = "pickle the Environment, and open it there"
    is_cursor = False
    opening = None

    def __init__(self, opening, owner, call, *arguments):
        self.owner, self.process = owner, os.getpid()
        close_before_os_exit()
        if isinstance(owner, _Part):
            openings = owner.opening.inside
            openings.append(opening)
            self._forget = functools.partial(_forget, openings, opening)
        else:
            self._forget = note_opened(opening, owner.path, self)
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
            self._forget()

    def __del__(self, not_ours=_NOT_OURS, busy=-errno.EBUSY):
        if self.opening is not None:
            code = self.opening()
            if code != not_ours and code != busy:
                self._forget()


class Part(_Part):
    """In an environment, of a thread."""

    def __init__(self, env, owner, close, call, *arguments):
        self.env, self.thread = env, threading.get_ident()
        opening = _OpeningOfThread(close, env)
        if owner is env:
            env.parts.openings.append(opening)
        env.parts.note_task()
        super().__init__(opening, owner, call, *arguments)
        if owner is env:
            self._forget = functools.partial(_forget, env.parts.openings, opening, self._forget)
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
        if self.thread != _thread():
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
        own = threading.get_ident(), os.getpid()
        parts = [reference() for reference in list(self._known.data)]
        return [part for part in parts if part is not None and (part.thread, part.process) == own]

    def close_those_of_this_thread(self):
        for opening in self.openings[::-1]:
            if opening() in (0, _NOT_OURS) and not opening.addresses:
                _forget(self.openings, opening)

    def is_a_thread_ending(self):
        """One that Python has joined may still be about to give up what it had."""
        alive = {thread.native_id for thread in threading.enumerate()}
        return any(os.path.exists(f"/proc/self/task/{task}") for task in self._tasks - alive)


class SnapshotPart(_Part):
    """In a snapshot, for any thread, one at a time."""

    def __init__(self, owner, lock, close, call, *arguments):
        self.lock = lock
        super().__init__(_LockedOpening(close, lock), owner, call, *arguments)

    def call(self, function, *arguments):
        """Of what is open, function(address, ...)."""
        if self.process != _process():
            raise error_of(Code.FORKED)
        with self.lock:
            if not self.opening.addresses:
                raise ValueError("it is closed")
            return function(self._address, *arguments)
