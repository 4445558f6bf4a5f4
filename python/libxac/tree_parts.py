# SPDX-License-Identifier: MIT
"""What is open of trees: the arena of a data file, trees in it, and cursors on them; in an environment, by a thread, or
in a snapshot."""

import errno
import os
import threading

from .constants import Code
from .errors import check, error_of
from .parts import Part, SnapshotPart, lost


def _check_arena(code, file):
    if code == Code.FORMAT:
        raise error_of(code, None, f"file: {os.fsdecode(file)!r} holds something else than trees")
    check(code, os.fsdecode(file), "file: no data file can have this name")


def _check_tree(code, file, name, options):
    if code == -errno.ENOENT:
        raise error_of(code, os.fsdecode(file), f"tree: {os.fsdecode(name)!r} is not there")
    argument = "value_bytes" if options else "tree"
    check(code, os.fsdecode(file), f"{argument}: the tree is of another kind, or made with other value_bytes")


# ---- in an environment ----


class Arena(Part):
    """Of a data file."""

    def __init__(self, env, file):
        from . import _trees_library as library

        self.file, self.library = file, library
        super().__init__(
            env, env, library.xac_arena_close, env.call, library.xac_arena_open_env, file, library.DECLARED
        )
        if self.code == -errno.ECANCELED:
            raise lost(env)
        _check_arena(self.code, file)

    @classmethod
    def of(cls, env, file):
        """That of this thread."""
        for part in env.parts.of_this_thread():
            if isinstance(part, cls) and part.file == file and part.address is not None:
                return part
        return cls(env, file)


class OpenedTree(Part):
    """A tree, or a hash table."""

    def __init__(self, arena, kind, name, flags, options):
        self.kind, self.name, self.library = kind, name, arena.library
        close, open_kind = self.library.xac_tree_close, self.library.opener(kind)
        super().__init__(arena.env, arena, close, arena.call, open_kind, name, flags, options)
        if self.code == -errno.ECANCELED:
            raise lost(arena.env)
        _check_tree(self.code, arena.file, name, options)

    @classmethod
    def of(cls, arena, kind, name, flags, options):
        """That of this thread: it has one for each tree."""
        there = None
        for part in arena.env.parts.of_this_thread():
            if isinstance(part, cls) and part.owner is arena and (part.kind, part.name) == (kind, name):
                there = part if part.address is not None else there
        if there is None:
            return cls(arena, kind, name, flags, options)
        if options is not None:
            cls(arena, kind, name, flags, options).close()  # were they the same?
        return there


class Cursor(Part):
    """On a tree, for an iteration."""

    is_cursor = True

    def __init__(self, tree):
        library = tree.library
        super().__init__(tree.env, tree, library.xac_tree_cursor_close, tree.call, library.xac_tree_cursor_open)
        check(self.code)


# ---- in a snapshot ----


class SnapshotArena(SnapshotPart):
    """Of a data file."""

    def __init__(self, snapshot, file):
        from . import _trees_library as library

        self.file, self.library = file, library
        lock, open_arena = threading.RLock(), library.xac_arena_open_snapshot
        super().__init__(snapshot, lock, library.xac_arena_close, open_arena, snapshot.address, file)
        _check_arena(self.code, file)


class SnapshotTree(SnapshotPart):
    """A tree, or a hash table."""

    def __init__(self, arena, kind, name):
        self.library = arena.library
        close, open_kind = self.library.xac_tree_close, self.library.opener(kind)
        super().__init__(arena, arena.lock, close, arena.call, open_kind, name, 0, None)
        _check_tree(self.code, arena.file, name, None)


class SnapshotCursor(SnapshotPart):
    """On a tree, for an iteration."""

    is_cursor = True

    def __init__(self, tree):
        library = tree.library
        super().__init__(tree, tree.lock, library.xac_tree_cursor_close, tree.call, library.xac_tree_cursor_open)
        check(self.code)
