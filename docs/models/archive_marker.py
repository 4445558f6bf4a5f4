#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which archive it is (R40): brute force over every order of steps.

An archive is a disk that is mounted, or not: then there is an empty directory of the same name on another disk. Or another
archive of the same environment is mounted there. An open reads the marker of what is there, and goes on, or refuses; it makes
a marker where there is none, and the manifest remembers it. While the environment is in use, parts are written. The machine may
stop at any step; then what is not on disk is gone. Wrong is

    elsewhere  a part was written to another directory than the archive that the environment had before
    stuck      the archive is mounted, nobody has changed it, and an open refuses it

The rules; each is left out by its name, and is then found out:

    remember   the manifest remembers the marker
    refuse     what the remembered path has no marker of, or another one, is refused by an open
    each       the marker is read each time before a part is written, not at the open alone
    first      the marker is on disk before the manifest remembers it
    own        who remembers none takes a marker of the own environment
    before     an archive of before there were markers, which has parts, is taken by who remembers none

    python3 archive_marker.py               expects 0 wrong
    python3 archive_marker.py RULE...       without these
    python3 archive_marker.py --all         all of it; exit 0: as expected
"""
import subprocess
import sys

OUT = set(sys.argv[1:])
ROOT, DISK, OTHER = 0, 1, 2  # what may be there: the directory below, the archive, another archive of the environment
MOVES, IDS = 3, 3  # how often somebody mounts another one; how many markers are drawn

# A state: there: which of the three is at the path; markers: of each of them, (id, is on disk) or None; parts: of each, whether it
# has some; remembered: by the manifest, on disk; named: the manifest names the path; phase: 0 closed, 1 has found or made a marker
# and not yet written the manifest, 2 in use; mine: that marker, and where; uses: the archive that the environment had; moves: how
# often somebody has mounted another one; drawn: markers.
FIELDS = "there markers parts remembered named phase mine uses moves drawn".split()


def state_of(**fields):
    return tuple(fields[name] for name in FIELDS)


def update(state, **changes):
    return tuple(changes.get(name, value) for name, value in zip(FIELDS, state))


def put(row, at, value):
    return row[:at] + (value,) + row[at + 1 :]


def open_it(state):
    """The state after an open has looked; None: it refuses."""
    there, markers, parts, remembered, named, phase, mine, uses, moves, drawn = state
    marker = markers[there]
    if marker:
        if remembered and marker[0] != remembered and "refuse" not in OUT:
            return None
        if not remembered and named and "own" in OUT:
            return None
        return update(state, phase=1, mine=(marker[0], there))
    if named and "refuse" not in OUT:
        if remembered or not parts[there] or "before" in OUT:
            return None
    if drawn == IDS:
        return state
    made = (drawn + 1, False)
    return update(state, phase=1, mine=(made[0], there), markers=put(markers, there, made), drawn=drawn + 1)


def settle(markers):
    return tuple(marker and (marker[0], True) for marker in markers)


def cut_off(markers):
    """What is not on disk is gone."""
    return tuple(marker if marker and marker[1] else None for marker in markers)


def steps(state):
    there, markers, parts, remembered, named, phase, mine, uses, moves, drawn = state
    if phase == 0:
        opened = open_it(state)
        if opened:
            yield opened
    if phase == 1:
        known = 0 if "remember" in OUT else mine[0]
        on_disk = markers if "first" in OUT else settle(markers)
        yield update(state, markers=on_disk)
        yield update(state, markers=on_disk, remembered=known, named=True, phase=2, uses=mine[1] if uses is None else uses)
    if phase == 2:
        marker = markers[there]
        if "each" in OUT or (marker and marker[0] == mine[0]):
            yield update(state, parts=put(parts, there, True))
        yield update(state, phase=0, markers=settle(markers))
    if phase:
        yield update(state, phase=0, markers=cut_off(state[1]))
    if moves < MOVES:
        for other in (ROOT, DISK, OTHER):
            if other != there:
                yield update(state, there=other, moves=moves + 1)


def wrong(before, state):
    parts, uses = state[2], state[7]
    if uses is not None and parts != before[2] and not parts[uses]:
        return "elsewhere"
    if uses is not None and any(parts[at] and not before[2][at] for at in (ROOT, DISK, OTHER) if at != uses):
        return "elsewhere"
    if state[5] == 0 and state[0] == DISK and uses in (None, DISK) and open_it(state) is None:
        return "stuck"
    return None


def begin():
    """A new environment; or one of before there were markers, which names an archive that has parts."""
    fixed = dict(there=DISK, remembered=0, phase=0, mine=(0, ROOT), moves=0, drawn=0)
    yield state_of(markers=(None, None, (8, True)), parts=(False, False, True), named=False, uses=None, **fixed)
    yield state_of(markers=(None, None, None), parts=(False, True, False), named=True, uses=DISK, **fixed)


def run():
    todo = list(begin())
    seen, found = set(todo), {}
    while todo:
        state = todo.pop()
        for following in steps(state):
            kind = wrong(state, following)
            if kind:
                found[kind] = found.get(kind, 0) + 1
            elif following not in seen:
                seen.add(following)
                todo.append(following)
    return len(seen), found


def run_all():
    failed = False
    for rules in ["", "remember", "refuse", "each", "first", "own", "before"]:
        out = subprocess.run([sys.executable, __file__, *rules.split()], capture_output=True, text=True, check=True).stdout
        is_wrong = "wrong: none" not in out
        print(f"{rules or 'all rules':20} {out.strip()}")
        failed |= is_wrong != bool(rules)
    return failed


if __name__ == "__main__":
    if "--all" in OUT:
        sys.exit(run_all())
    states, found = run()
    print(f"{states} states; wrong: {', '.join(f'{kind} in {count}' for kind, count in found.items()) or 'none'}")
