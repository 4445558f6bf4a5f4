#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""When shared memory is nobody's: brute force over what may happen to a directory and to its file system.

An environment is left in shared memory, under the number of its device and of its inode. Then steps happen in any order:
the directory is moved, removed, held open by somebody, its number is given to another directory; its file system is
unmounted, a copy that was made before comes to the same device, it is mounted again. After each step somebody asks: root of
the machine, root of a namespace of users that reaches only a part of it, or another user. Wrong is

    lost      what the next open could go on with is removed
    kept      what certainly nobody can use is kept, although root of the machine asks, the kernel numbers mounts, and the
              file system has stayed mounted

The rules (libxac/ground/directory_mark.h); each is left out by its name, and is then found out:

    lasting   D1 only file systems whose handles lead to each directory are asked
    root      D2 only root of the machine asks
    mount     D3 the number of the mount is that of the mark, but on tmpfs
    type      D3 the file system's type is that of the mark: tmpfs may come to the device of another kind
    memory    D3 ... which needs none: what is not mounted there is gone (left out: is kept)
    handle    the handle is asked for, and not the path alone

An open that looks for removed directories asks the handle alone, and opens no path, which may lie behind a mount that never
answers. It may not lose anything either; that the path leads there spares `xac clean` the question only.

    python3 gone.py               expects 0 wrong
    python3 gone.py RULE...       without these
    python3 gone.py --all         all of it; exit 0: as expected
"""
import subprocess
import sys
from typing import NamedTuple

OUT = set(sys.argv[1:])
RULES = ["lasting", "root", "mount", "type", "memory", "handle"]
KINDS = ["ext4", "tmpfs", "fuse"]
WHO = ["root", "guest", "user"]
DEPTH = 6


class World(NamedTuple):
    kind: str
    there: bool = True       # has the directory a name in its file system?
    moved: bool = False
    held: bool = False       # does somebody have it open?
    reused: bool = False     # is its number another directory's?
    mounted: str = "own"     # at its device: its own file system, a copy of it, tmpfs, none
    mounts: int = 1          # how often something was mounted there: the number of the mount
    cached: bool = True      # fuse: does the kernel still know the inode?
    dead: bool = False       # tmpfs: unmounted, with all that was in it


def steps(world):
    if world.mounted == "own":
        if world.there:
            yield world._replace(moved=True)
            yield world._replace(held=True)
            yield world._replace(there=False)
        if world.held:
            yield world._replace(held=False)
        if not world.there and not world.held:
            yield world._replace(reused=True)
        if not world.held:
            yield world._replace(mounted="none", dead=world.kind == "tmpfs")
        yield world._replace(cached=False)
    if world.mounted in ("copy", "tmpfs"):
        yield world._replace(mounted="none")
    if world.mounted == "none":
        yield world._replace(mounted="copy", mounts=world.mounts + 1)
        yield world._replace(mounted="tmpfs", mounts=world.mounts + 1)
        if not world.dead:
            yield world._replace(mounted="own", mounts=world.mounts + 1)


def path_leads_there(world):
    return world.mounted == "own" and world.there and not world.moved


def answer(world, who):
    """Of the file system at that device, to the handle: there, stale or refused."""
    if who == "user":
        return "refused"
    if who == "guest" and world.moved:
        return "stale"  # it lies where he does not reach
    if world.mounted in ("copy", "tmpfs"):
        return "stale"  # the copy was made before, or has another directory there
    if not world.there and not world.held:
        return "stale"
    if world.kind == "fuse" and not world.cached:
        return "stale"
    return "there"


def is_removed(world, who, asks_path=True):
    if asks_path and path_leads_there(world):
        return False
    if world.mounted == "none":
        return False
    if "lasting" not in OUT and world.kind == "fuse":
        return False
    if "root" not in OUT and who != "root":
        return False
    seen = "tmpfs" if world.mounted == "tmpfs" else world.kind
    if "type" not in OUT and seen != world.kind:
        return False
    if "mount" not in OUT and world.mounts != 1 and (seen != "tmpfs" or "memory" in OUT):
        return False
    return "handle" in OUT or answer(world, who) == "stale"


def can_be_used(world):
    return not world.dead and (world.there or world.held)


def is_certain(world):
    """Root of the machine is to know of it."""
    if world.kind == "fuse" or world.mounted == "none" or can_be_used(world):
        return False
    return world.mounts == 1 or world.kind == "tmpfs"


def run():
    wrong, seen = {}, set()
    layer = {World(kind) for kind in KINDS}
    for _ in range(DEPTH + 1):
        seen |= layer
        layer = {after for world in layer for after in steps(world)} - seen
    for world in seen:
        for who in WHO:
            if any(is_removed(world, who, asks) for asks in (True, False)) and can_be_used(world):
                wrong.setdefault("lost", (who, world))
            if who == "root" and is_certain(world) and not all(is_removed(world, who, asks) for asks in (True, False)):
                wrong.setdefault("kept", (who, world))
    return len(seen), wrong


def main():
    if "--all" in OUT:
        failed = 0
        for rules in [[]] + [[rule] for rule in RULES]:
            status = subprocess.call([sys.executable, __file__] + rules, stdout=subprocess.DEVNULL)
            came = "right" if status == 0 else "wrong"
            expected = "wrong" if rules else "right"
            print(f"gone.py {' '.join(rules):<56} {came}" + ("" if came == expected else f", but {expected} was expected"))
            failed |= came != expected
        return failed
    states, wrong = run()
    print(f"{states} states, {len(wrong)} kinds wrong")
    for kind, (who, world) in wrong.items():
        print(f"    {kind}: {who} asks, {world}")
    return len(wrong) != 0


sys.exit(main())
