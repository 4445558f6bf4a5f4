# SPDX-License-Identifier: MIT
"""What the library has open for us: it is closed once, by whoever comes first, at the latest when the interpreter ends.

Handlers of atexit, generators that are left and __del__ methods use environments up to the end. So nothing is closed
for them as long as code in Python may run: a callback for os.fork() holds `_Last`, as the interpreter gives these up
behind all modules, sys.excepthook, variables of contexts and handlers of errors of codecs. What is open by then is held
by something that does not give it back any more, as Arrow's buffers do not: it is noted here by its address alone.

By then no other thread comes back to Python. One may still be in C, or sleep there, and read an array of a snapshot
later. So a snapshot that is open stays so if a thread of Python's has not ended, or another one computes: that is
waited for. Those of pools, which libraries keep, sleep until they are given something to do.
"""

import ctypes
import errno
import functools
import itertools
import os
import sys
import threading
import time
import weakref

from . import _library
from .arguments import NotPickled
from .constants import Code

_LOOKS = 200  # at the other threads, until they have stopped
_LOOKS_FOR_ENDS = 10  # of those of Python that were waiting for its lock
_LOOK_SECONDS = 0.01
_STAT_BYTES = 1024  # a line of /proc/PID/task/TID/stat

# key: (function that closes, where the address is, path, weak reference to the handle); the newest is the last
_open = {}
_keys = itertools.count()


class Handle(NotPickled):
    """Something that the library has open: closed when nobody refers to it any more, or when the interpreter ends.

    An interrupt may come between any two byte codes. So it is noted before it is opened, with the place where its address
    will be.
    """

    _open = _open
    _take = staticmethod(_open.pop)  # who gets an entry is to close it; one operation for the interpreter
    _key = None
    _busy = -errno.EBUSY
    _is_end = staticmethod(sys.is_finalizing)
    _close_snapshot = _library.xac_snapshot_close

    def __init__(self, close, path):
        self.address = None  # it is not open, or closed
        self.path = path
        self._place = ctypes.c_void_p()
        self._close, self._tell_of = close, tell_of
        close_before_os_exit()
        self.note()

    def open(self, call, *arguments):
        """The last argument of the function is where the address goes. Returns what the function did."""
        code = call(*arguments, ctypes.byref(self._place))
        self.address = self._place.value
        return code

    def note(self):
        self._key = next(_keys)
        _open[self._key] = (self._close, self._place, self.path, weakref.ref(self))

    def is_ours_to_close(self):
        return self._take(self._key, None) is not None

    def __del__(self):
        entry = self._take(self._key, None)
        if entry is None or not self._place.value:
            return
        if self._is_end() and self._close is self._close_snapshot:
            self._open[self._key] = entry  # `_Last` looks whether a thread may read it
            return
        code = self._close(self._place.value)
        if code == self._busy:  # as long as a library on top of this one has something open there: at the end, then
            self._open[self._key] = entry
        else:
            self._tell_of(self.path, code)


def note_opened(close, path, thing):
    """Of something that is not a Handle: close(None) closes it at the end. Returns what forgets it."""
    key = next(_keys)
    _open[key] = (close, None, path, weakref.ref(thing))
    return functools.partial(_open.pop, key, None)


def tell(path, reason, write=os.write, error=OSError):
    """A line for people. sys.stderr is gone when the interpreter ends."""
    try:
        write(2, f"libxac: {path!a}: {reason}\n".encode())
    except error:
        pass


def tell_of(path, code, known=(0, int(Code.FORKED), int(Code.UNENDED)), text_of=_library.xac_strerror, tell=tell):
    """Of an environment that could not be closed, where there is nobody to raise it to. A child of fork() leaves what
    is its parent's to it, and of a transaction that is open the library itself tells."""
    if code not in known:
        tell(path, "not closed as it should be: " + text_of(code).decode())


class _Threads:
    """The other threads of this process. Has what it needs: names, of what is built in too, are None by then."""

    looks, looks_for_ends = range(_LOOKS), range(_LOOKS_FOR_ENDS)

    def __init__(self):
        self.listdir, self.open, self.read, self.close = os.listdir, os.open, os.read, os.close
        self.sleep, self.own, self.mode = time.sleep, threading.get_native_id, os.O_RDONLY | os.O_CLOEXEC
        self.seconds, self.stat_bytes = _LOOK_SECONDS, _STAT_BYTES
        self.error, self.text = OSError, str
        self.of_python = getattr(threading, "_active", {})

    def state_of(self, thread):
        try:
            file = self.open(f"/proc/self/task/{thread}/stat", self.mode)
        except self.error:
            return "X"  # it has ended
        try:
            line = self.read(file, self.stat_bytes)
            return line.decode(errors="replace").rpartition(") ")[2][:1]
        except self.error:
            return "X"
        finally:
            self.close(file)

    def is_any_running(self):
        own = self.text(self.own())
        for thread in self.listdir("/proc/self/task"):
            if thread != own and self.state_of(thread) in "RD":
                return True
        return False

    def is_one_of_python_there(self):
        own = self.own()
        for thread in self.of_python.values():
            if thread.native_id not in (own, None) and self.state_of(thread.native_id) not in "XZ":
                return True
        return False

    def may_read(self):
        """Later, what is there now."""
        if not self.have_stopped():
            return True
        for _ in self.looks_for_ends:
            if not self.is_one_of_python_there():
                return False
            self.sleep(self.seconds)
        return True

    def have_stopped(self):
        """Within a moment: those that are in Python have, and those in C mostly have."""
        try:
            for _ in self.looks:
                if not self.is_any_running():
                    return True
                self.sleep(self.seconds)
        except self.error:
            return True  # no /proc to look at
        return False


def _at_end(close, of=getattr):
    """Some things are closed in another way then."""
    return of(close, "at_end", close)


class _Last:
    """Closes what is open when it is given up itself."""

    def __init__(self):
        self.open, self.tell, self.tell_of, self.threads = _open, tell, tell_of, _Threads()
        self.close_snapshot = _library.xac_snapshot_close
        self.newest, self.way = max, _at_end

    def __call__(self):
        """After os.fork(): nothing."""

    def __del__(self):
        self.close_all()

    def close_all(self):
        snapshots = {path for close, _, path, _ in self.open.values() if close is self.close_snapshot}
        staying = snapshots if snapshots and self.threads.may_read() else ()
        for path in staying:
            self.tell(path, "stays open at the end: a thread is there that may read it; the next to open it goes on")
        while self.open:
            # Snapshots, and what other libraries have open, come before their environment.
            close, place, path, handle = self.open.pop(self.newest(self.open))
            if path in staying or (place is not None and not place.value):
                continue
            handle = handle()
            if handle is not None and place is not None:
                handle.address = None
            self.tell_of(path, self.way(close)(place and place.value))


os.register_at_fork(after_in_child=_Last())  # nobody else has it; of all callbacks these are given up last

# ---- children of multiprocessing ----

_LATE = -1000  # behind what others have multiprocessing do at the end
_heard_of = None  # the process that has asked multiprocessing


def close_before_os_exit():
    """Children that multiprocessing has made by fork() end by os._exit(), which takes no module down, and calls no
    handler of atexit. Closes what is open there, unless a thread may use it."""
    global _heard_of
    process = sys.modules.get("multiprocessing.process")
    if process is None or _heard_of == os.getpid() or process.parent_process() is None:
        return
    import multiprocessing
    from multiprocessing import util

    kind = getattr(process.current_process(), "_start_method", None)
    if kind is None:  # the class of the default context does not say
        kind = multiprocessing.get_start_method(allow_none=True)
    if kind in ("fork", "forkserver"):
        _heard_of = os.getpid()
        util.Finalize(None, _close_if_alone, exitpriority=_LATE)


def _close_if_alone():
    if threading.active_count() == 1:
        _Last().close_all()
