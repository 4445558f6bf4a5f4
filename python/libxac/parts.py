# SPDX-License-Identifier: MIT
"""What libraries on top of libxac have open in an environment: arenas, trees, cursors, heaps.

Each belongs to the thread that opened it, and is closed by that thread alone: with the object that has it, at the end
of the thread, or with the environment. The library does not let go of an environment where another thread has some
(EBUSY). At the end of the interpreter those of other threads stay open, and a line says so.

What is open in a snapshot is for any thread, one at a time.
"""

import ctypes
import errno
import os
import threading
import weakref

from . import _library
from .constants import Code, Flag
from .ending import Handle, tell
from .errors import error_of

_process, _thread = os.getpid, threading.get_ident  # of the caller


def opened_by(call, *arguments):
    """(address, code) of a function whose last argument is where the address goes."""
    address = ctypes.c_void_p()
    code = call(*arguments, ctypes.byref(address))
    return address.value, code


def lost(env):
    """What the open transaction was lost by; inside of it a call says only that it was (ECANCELED)."""
    code = env.call(_library.xbegin, int(Flag.NESTED)) or env.call(_library.xend)
    return error_of(code or Code.CONFLICT)


# ---- in an environment ----


class _Closer:
    """Closes, in the thread that it was made in; any other, or a child of fork(), leaves it."""

    def __init__(self, close, env):
        self._close, self._abort, self._tell = close, _library.xabort, tell
        self._env, self._path = env.address, env.path
        self._thread, self._process = threading.get_ident(), os.getpid()
        self._own_thread, self._own_process = threading.get_ident, os.getpid  # modules have no names at the end
        self._busy = -errno.EBUSY

    def __call__(self, address):
        if self._own_thread() != self._thread or self._own_process() != self._process:
            return 0
        return self._close(address) or 0

    def at_end(self, address):
        """As the close of an environment does, it undoes the transaction that is open still."""
        code = self(address)
        if code == self._busy and not self._abort(self._env):
            self._tell(self._path, "a transaction was open at the end: it is undone")
            while not self._abort(self._env):
                pass
            code = self(address)
        return code


class Part(Handle):
    """Lies in `owner`, which is closed after it: another part, or the handle of the environment."""

    _instead = "pickle the Environment, and open it there"
    is_cursor = False

    def __init__(self, address, close, owner, env):
        self.owner, self.env = owner, env
        self.thread, self.process = threading.get_ident(), os.getpid()
        super().__init__(address, _Closer(close, env), env.path)
        env.parts[self._key] = self
        env.parts.tasks.add(threading.get_native_id())

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
        if self.address is None:
            raise ValueError("it is closed")
        return self.address

    def close(self):
        """What lies in it, before."""
        for part in self.env.parts.of_this_thread():
            if part.owner is self:
                part.close()
        if self.is_ours_to_close():
            address, self.address = self.address, None
            self._close(address)


class Parts(weakref.WeakValueDictionary):
    """Of the handle of an environment: {key: part}."""

    def __init__(self):
        super().__init__()
        self.tasks = set()  # the threads that have made some, by the numbers that the kernel gives them

    def is_a_thread_ending(self):
        """One that Python has joined may still be about to give up what it had."""
        alive = {thread.native_id for thread in threading.enumerate()}
        return any(os.path.exists(f"/proc/self/task/{task}") for task in self.tasks - alive)

    def of_this_thread(self):
        """The newest in front."""
        own = threading.get_ident(), os.getpid()
        parts = [part for part in (reference() for reference in self.valuerefs()) if part is not None]
        return sorted((part for part in parts if (part.thread, part.process) == own), key=lambda part: -part._key)

    def close_those_of_this_thread(self):
        for part in self.of_this_thread():
            part.close()


# ---- in a snapshot ----


class _LockedCloser:
    """Closes by any thread, while none is in a call. A child of fork() leaves it."""

    def __init__(self, close, lock):
        self._close, self._lock, self._process, self._own_process = close, lock, os.getpid(), os.getpid
        self._busy = -errno.EBUSY

    def __call__(self, address, wait=True):
        if self._own_process() != self._process:
            return 0
        if not self._lock.acquire(wait):
            return self._busy
        try:
            return self._close(address) or 0
        finally:
            self._lock.release()

    def at_end(self, address):
        """A thread that is in a call may never come back."""
        return self(address, False)


class SnapshotPart(Handle):
    """Lies in `owner`, which is closed after it: another part, or the handle of a snapshot."""

    _instead = "pickle the Environment, and open it there"
    is_cursor = False

    def __init__(self, address, close, owner, lock):
        self.owner, self.lock, self.process = owner, lock, os.getpid()
        self.inside = weakref.WeakSet()  # what lies in it
        super().__init__(address, _LockedCloser(close, lock), owner.path)
        if isinstance(owner, SnapshotPart):
            owner.inside.add(self)

    def call(self, function, *arguments):
        """Of what is open, function(address, ...)."""
        if self.process != _process():
            raise error_of(Code.FORKED)
        with self.lock:
            if self.address is None:
                raise ValueError("it is closed")
            return function(self.address, *arguments)

    def close(self):
        """What lies in it, before."""
        with self.lock:
            for part in list(self.inside):
                part.close()
            if self.is_ours_to_close():
                address, self.address = self.address, None
                self._close(address)
