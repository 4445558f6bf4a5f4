# SPDX-License-Identifier: MIT
"""A heap in a file: objects of any size, which are found by names and by offsets that other objects hold."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from typing import TYPE_CHECKING, Any, Dict, Optional, Union

import numpy as np

from . import memory
from .arguments import Name, NotPickled, name_of, number_of
from .constants import Code, Flag
from .errors import check, error_of
from .figures import HeapStats, Root
from .parts import Part, lost
from .transaction import undo_what_was_left

if TYPE_CHECKING:
    from .environment import Environment
else:
    Environment = Any  # which imports this module

Block = Union[memoryview, int]  # of a heap: its bytes, or its offset

_BYTE = np.dtype("u1")
_SOME_OFFSET = 4096


class _Opened(Part):
    """By a thread."""

    def __init__(self, env, file, flags):
        from . import _heap_library as library

        self.file, self.library = file, library
        super().__init__(env, env, library.xac_heap_close, env.call, library.xac_heap_open, file, flags)
        code, name = self.code, os.fsdecode(file)
        if code == -errno.EBUSY:
            raise RuntimeError("file: a heap is opened outside of transactions, by each thread for itself")
        if code == Code.FORMAT:
            raise error_of(code, None, f"file: {name!r} holds something else than a heap")
        check(code, name, "file: no data file can have this name")
        self.base = self.call(library.xac_heap_address, _SOME_OFFSET) - _SOME_OFFSET

    def view(self, offset, byte_len):
        return memoryview(memory.Memory(self.base + offset, byte_len, self, False).array(_BYTE, (byte_len,), 0))


def _name_of_root(name):
    name = name_of(name, "name")
    if not name:
        raise ValueError("name: it is empty")
    return name


def _checked_size(size):
    if not number_of(size, "size"):
        raise ValueError("size: 1 byte at least")
    return number_of(size, "size")


class Heap(NotPickled):
    """Objects in a file: Environment.heap().

        heap = env.heap("heap")
        with env.transaction():
            first = heap.root("first", 8).cast("Q")         # 8 bytes that have a name, and zeros when they are made
            block = heap.allocate(100)
            block[:5] = b"hello"
            first[0] = heap.offset(block)
        with env.transaction():
            print(bytes(heap.at(first[0])[:5]))

    What it returns are memoryviews, whose bytes are in the file. As arrays of Environment.array() they belong to the
    thread, and are to be touched in its transactions only. They are good until their object is freed, by whomever, or
    what allocated it is undone: from then on they show what is there instead, and what is stored there harms another
    object. Hold offsets, and ask at() in each transaction. All threads may use the heap; each has it open for itself,
    from its first call on, which is to be outside of transactions.
    """

    _instead = "pickle the Environment, and open the heap there"

    def __init__(self, env: Environment, file: Name, create: bool = True) -> None:
        env._open_handle()
        self._env, self._file = env, name_of(file, "file")
        if not create:
            env._byte_len_of(self._file)  # an error: a file would be made
        self._thread = threading.local()  # .heap
        self._open(Flag.CREATE | Flag.ANYWHERE if create else Flag.ANYWHERE)

    def _open(self, flags):
        undo_what_was_left()
        handle = self._env._open_handle()
        for part in handle.parts.of_this_thread():
            if isinstance(part, _Opened) and part.file == self._file and part.address is not None:
                break
        else:
            part = _Opened(handle, self._file, int(flags))
        self._thread.heap, self._library = part, part.library
        return part

    def _opened(self):
        """By this thread."""
        self._env._open_handle()
        heap = getattr(self._thread, "heap", None)
        return self._open(Flag.ANYWHERE) if heap is None or heap.address is None else heap

    def _run(self, body, *arguments):
        """In a transaction: body(heap, *arguments)."""
        return self._env._join(body, self._opened(), *arguments)

    def _checked(self, code, heap, accepted=()):
        if code == -errno.ECANCELED:
            raise lost(heap.env)
        if code not in accepted:
            check(code, os.fsdecode(self._file), "name: 1 to 47 bytes")
        return code

    # ---- objects ----

    def allocate(self, size: int) -> memoryview:
        """A new object of so many bytes, which are 0."""
        return self._run(self._allocate, _checked_size(size))

    def _allocate(self, heap, size):
        address = heap.call(self._library.xac_heap_calloc, 1, size)
        if address is None and ctypes.get_errno() in (errno.ENOMEM, errno.ENOSPC):
            raise error_of(-ctypes.get_errno(), os.fsdecode(self._file), f"size: there is no room for {size} bytes")
        if address is None:
            self._checked(Code.CORRUPT if ctypes.get_errno() == errno.EIO else -ctypes.get_errno(), heap)
        return heap.view(address - heap.base, size)

    def _find(self, heap, offset, argument):
        """The size of an object."""
        size = ctypes.c_size_t()
        code = heap.call(self._library.xac_heap_find, offset, ctypes.byref(size))
        if self._checked(code, heap, (-errno.ENOENT,)):
            raise ValueError(f"{argument}: no object of this heap begins at {offset}, or it was freed")
        return size.value

    def _offset_of(self, heap, block, argument):
        if not isinstance(block, (memoryview, np.ndarray)):
            raise TypeError(f"{argument}: a memoryview of this heap, not {block!r}")
        view = np.asarray(block)
        offset = memory.address_of(view) - heap.base
        if not view.nbytes or not 0 < offset < 1 << 63:
            raise ValueError(f"{argument}: not the bytes of an object of this heap, as this thread has it")
        self._find(heap, offset, argument)
        return offset

    def offset(self, block: memoryview) -> int:
        """Where an object is in the file, for at() of this and other processes."""
        return self._run(self._offset_of, block, "block")

    def at(self, offset: int) -> memoryview:
        """The object that is there, as large as it can be used: a little more than was asked for."""
        return self._run(self._at, number_of(offset, "offset"))

    def _at(self, heap, offset):
        return heap.view(offset, self._find(heap, offset, "offset"))

    def free(self, block: Block) -> None:
        """Of an object, or of its offset."""
        self._run(self._free, block)

    def _free(self, heap, block):
        if isinstance(block, (memoryview, np.ndarray)):
            offset = self._offset_of(heap, block, "block")
        else:
            offset = number_of(block, "block")
            self._find(heap, offset, "block")
        code = heap.call(self._library.xac_heap_root_of, heap.base + offset, ctypes.byref(self._library.Root()))
        if self._checked(code, heap, (-errno.ENOENT,)) == 0:
            raise ValueError("block: it is a root, which has a name: remove_root() frees both")
        heap.call(self._library.xac_heap_free, heap.base + offset)

    # ---- roots ----

    def root(self, name: Name, size: Optional[int] = None, tag: int = 0) -> memoryview:
        """The object of this name. With a size it is made if it is not there: so many bytes, which are 0."""
        name = _name_of_root(name)
        if size is None:
            return self._run(self._find_root, name)
        return self._run(self._create_root, name, _checked_size(size), number_of(tag, "tag"))

    def _find_root(self, heap, name):
        root = self._library.Root()
        code = heap.call(self._library.xac_heap_root_find, name, ctypes.byref(root))
        if self._checked(code, heap, (-errno.ENOENT, -errno.EINVAL)):
            raise KeyError(f"name: there is no root {os.fsdecode(name)!r}")
        return heap.view(root.object - heap.base, root.size)

    def _create_root(self, heap, name, size, tag):
        root = self._library.Root()
        code = heap.call(self._library.xac_heap_root_create, name, size, tag, ctypes.byref(root))
        if code in (-errno.ENOMEM, -errno.ENOSPC):
            raise error_of(code, os.fsdecode(self._file), f"size: there is no room for {size} bytes")
        if self._checked(code, heap, (-errno.EEXIST,)) and root.size != size:
            raise ValueError(f"size: the root {os.fsdecode(name)!r} has {root.size} bytes, not {size}")
        return heap.view(root.object - heap.base, root.size)

    def remove_root(self, name: Name) -> None:
        """Frees the object, too."""
        name = _name_of_root(name)
        code = self._run(lambda heap: heap.call(self._library.xac_heap_root_remove, name))
        if self._checked(code, self._opened(), (-errno.ENOENT, -errno.EINVAL)):
            raise KeyError(f"name: there is no root {os.fsdecode(name)!r}")

    def roots(self) -> Dict[str, Root]:
        """All of them, by their names."""
        return self._env.run(self._roots, self._opened(), flags=Flag.RDONLY)

    def _roots(self, heap):
        roots = {}

        def note(_, root):
            root = root.contents
            name = os.fsdecode(root.name)
            roots[name] = Root(name, root.object - heap.base, root.size, root.tag)
            return 0

        self._checked(heap.call(self._library.xac_heap_root_list, self._library.Visit(note), None), heap)
        return roots

    # ---- care ----

    def check(self) -> HeapStats:
        """Looks at all of it. Corrupt: what is wrong first, and how much is."""
        return self._env.run(self._check, self._opened(), flags=Flag.RDONLY)

    def _check(self, heap):
        figures, findings = self._library.Stats(), []
        note = self._library.Finding(lambda _, text: findings.append(text.decode(errors="replace")))
        code = heap.call(self._library.xac_heap_check, ctypes.byref(figures), note, None)
        if code == Code.CORRUPT and findings:
            raise error_of(code, None, f"{findings[0]}, and {len(findings) - 1} other findings")
        self._checked(code, heap)
        return HeapStats(*(getattr(figures, name) for name in HeapStats._fields))

    def __repr__(self) -> str:
        return f"<libxac.Heap {os.fsdecode(self._file)!r} of {self._env!r}>"
