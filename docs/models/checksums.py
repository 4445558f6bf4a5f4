#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checksums of home pages: brute force over every cut.

Each page at home has a checksum in a file beside it, and the checksums of neighbours share a sector. Checksums are written
with the pages of a checkpoint. A page may be torn in its middle; a sector of checksums is old or new, or harmed: zeros, or
garbage. A durable environment has the pages that go home in a double-write buffer, which the manifest names before. Two
checkpoints of all shapes are made; after each step the power fails, with every choice of what was not synced yet. Recovery is
cut in the same way and run again. Then every page must be what its checksum says, or its checksum unknown, and what was
committed.

Besides, a closed environment with two damaged pages is repaired from a backup that has one of them; cut at any step, opened, or
repaired again. What is damaged must never get a checksum of what it is.

Besides, in each state one page rots while nobody has it open: it must not pass for sound.

The rules; each is left out by its name, and is then found out:

    with      S1  the checksum is written when the page is, by checkpoints
    restore   S2  recovery sets the checksums of the pages that it takes from the buffer
    sync      S3  checksums are synced before the manifest lets the buffer go
    readers   S4  who compares has a snapshot that sees the page at home: heads turn to home after page and checksum are
                  written
    note      S5  the header's size and time are noted when all is home, before the manifest says "closed": only what was
                  closed may be adopted
    unclean   S6  what was not closed is not adopted: it is recovered, and must agree
    volatile  S7  without a log, the header says so before the first page goes home; such a file gets checksums anew
    anew      S8  checksums that are made anew are on disk before the header says to what they belong
    own       S9  a sector has a checksum of its own; if that is wrong, nothing is known of its pages
    zeros     S10 a sector of zeros looks like a hole: where recovery writes to one, nothing is known of the pages of it that
                  are there
    once      S11 what is not known and what is written stand in one write: a sector of zeros that is sealed before passes for
                  sound
    only      S12 a file that only has another time gets another header, and no checksums, not even of pages that were not
                  known: a sector that is harmed then would look like a change by others
    begun     S13 before a repair changes anything the header says so: size and time tell nothing then, and nothing is adopted
    settled   S14 what it has changed is on disk before the header says "closed" again, with the time that the file has now
    history   S15 that others have changed a file, so that no log leads there, is on disk before its new checksums are

    python3 checksums.py               expects 0 wrong
    python3 checksums.py RULE...       without these
    python3 checksums.py --all         all of it; exit 0: as expected
"""
import itertools
import subprocess
import sys

OUT = set(sys.argv[1:])
PAGES = "XYZ"  # Z is nobody's: a neighbour
FIRST = {"X": 5, "Y": 0, "Z": 9}
UNKNOWN = None
GARBAGE = "garbage"
ZEROS = {page: 0 for page in PAGES}
RULES = ["with", "restore", "sync", "readers", "note", "unclean", "volatile", "anew", "own", "zeros", "once", "only", "begun", "settled", "history"]


def torn(old, new):
    """A page whose halves are of two writes."""
    return ("torn", old, new)


class Disk:
    """Pages, the sector of their checksums, the two buffers, the manifest (base, its buffer, closed), the header (state, time), the time of change."""

    def __init__(self):
        self.home = dict(FIRST)
        self.checksums = {0: dict(FIRST)}
        self.buffer = {0: None, 1: None}
        self.manifest = {0: (0, None, True)}
        self.header = {0: ("closed", 0)}
        self.history = {0: 0}
        self.time = 0

    def copy(self):
        disk = Disk.__new__(Disk)
        for name in ("home", "checksums", "buffer", "manifest", "header", "history"):
            setattr(disk, name, dict(getattr(self, name)))
        disk.time = self.time
        return disk

    def put(self, write, fate=1):
        """Fates: 1 it arrives; 2 it is torn, or zeros; 3 it is garbage."""
        kind, key, value = write
        file = getattr(self, kind)
        if kind == "home":
            self.time += 1
            value = torn(file[key], value) if fate == 2 else value
        if kind == "checksums":
            value = {1: value, 2: ZEROS, 3: GARBAGE}[fate]
        file[key] = value

    def sector(self):
        """What is known by it."""
        if self.checksums[0] == GARBAGE:
            return dict.fromkeys(PAGES, GARBAGE if "own" in OUT else UNKNOWN)
        return dict(self.checksums[0])

    def state(self):
        return repr((self.home, self.checksums, self.buffer, self.manifest, self.header, self.history, self.time))


FATES = {"home": (0, 1, 2), "checksums": (0, 1, 2, 3)}


def cuts(disk, pending):
    """Every disk that a power cut may leave of the writes that were not synced."""
    for fates in itertools.product(*(FATES.get(write[0], (0, 1)) for write in pending)):
        cut = disk.copy()
        for fate, write in zip(fates, pending):
            if fate:
                cut.put(write, fate)
        yield cut


def run(disk, steps, seen):
    """Runs the steps on the disk; tells `seen` of each state after a cut. Returns what the steps return."""
    pending = []
    try:
        while True:
            seen(disk, list(pending))
            kind, what = next(steps)
            if kind == "write":
                pending.append(what)
            else:  # a sync of these files
                for write in [write for write in pending if write[0] in what]:
                    disk.put(write)
                pending = [write for write in pending if write[0] not in what]
    except StopIteration as stop:
        seen(disk, list(pending))
        for write in pending:
            disk.put(write)
        return stop.value


# ---- a session ----


def pages_home(sector, changed):
    """`sector`: as the writer sees it, in the page cache."""
    for page, value in changed.items():
        yield "write", ("home", page, value)
        if "with" not in OUT:
            sector[page] = value
    if "with" not in OUT:
        yield "write", ("checksums", 0, dict(sector))
    yield "sync", ("home",) if "sync" in OUT else ("home", "checksums")


def durable(disk, checkpoints):
    """Each checkpoint brings some pages home through the buffer that the manifest does not name."""
    base, buffer, _ = disk.manifest[0]
    sector = disk.sector()
    yield "write", ("manifest", 0, (base, buffer, False))
    yield "sync", ("manifest",)
    for changed in checkpoints:
        base += 1
        buffer = 1 if buffer == 0 else 0
        yield "write", ("buffer", buffer, dict(changed))
        yield "sync", ("buffer",)
        yield "write", ("manifest", 0, (base, buffer, False))
        yield "sync", ("manifest",)
        yield from pages_home(sector, changed)


def close(disk, base):
    if "note" not in OUT:
        yield "write", ("header", 0, ("closed", disk.time))
        yield "sync", ("header",)
    yield "write", ("manifest", 0, (base, None, True))
    yield "sync", ("manifest",)
    if "note" in OUT:
        yield "write", ("header", 0, ("closed", disk.time))
        yield "sync", ("header",)


def volatile(disk, checkpoints):
    sector = disk.sector()
    if "volatile" not in OUT:
        yield "write", ("header", 0, ("volatile", None))
        yield "sync", ("header",)
    for changed in checkpoints:
        yield from pages_home(sector, changed)


def checksums_anew(disk):
    header = ("header", 0, ("closed", disk.time))
    if "anew" in OUT:
        yield "write", header
        yield "sync", ("header",)
    if disk.sector() != disk.home:
        yield "write", ("checksums", 0, dict(disk.home))
    yield "sync", ("checksums",)
    if "anew" not in OUT:
        yield "write", header
        yield "sync", ("header",)


def open_again(disk):
    """Steps; returns how: "recovered", "adopted", "compared", "as it was" or "checksums anew"."""
    base, buffer, is_closed = disk.manifest[0]
    if buffer is not None:
        sector = disk.sector()
        if sector == ZEROS and "zeros" not in OUT:
            if "once" in OUT:
                for page, value in disk.buffer[buffer].items():
                    yield "write", ("checksums", 0, dict(ZEROS, **{page: value}))
            sector = {page: 0 if disk.home[page] == 0 else UNKNOWN for page in PAGES}
        for page, value in disk.buffer[buffer].items():
            yield "write", ("home", page, value)
            sector[page] = value
        if "restore" not in OUT:
            yield "write", ("checksums", 0, sector)
        yield "sync", ("home", "checksums")
    if "unclean" not in OUT and (buffer is not None or not is_closed):
        yield from close(disk, base)
        return "recovered"
    if disk.header[0] == ("closed", disk.time) or disk.header[0][0] == "repair":
        return "as it was"
    if disk.header[0][0] == "volatile":
        yield from checksums_anew(disk)
        return "checksums anew"
    sector = disk.sector()
    is_changed = any(sector[page] not in (UNKNOWN, disk.home[page]) for page in PAGES)
    raise_history = [("write", ("history", 0, 1)), ("sync", ("history",))] if is_changed else []
    if is_changed or "only" in OUT:
        yield from raise_history if "history" not in OUT else []
        yield from checksums_anew(disk)
        yield from raise_history if "history" in OUT else []
    else:
        yield "write", ("header", 0, ("closed", disk.time))
        yield "sync", ("header",)
    return "adopted" if is_changed else "compared"


# ---- what must hold ----

wrong = {}
states = set()


def fail(what):
    wrong[what] = wrong.get(what, 0) + 1


def judge(disk, how, expected, is_touched):
    """At rest, everything open again. `expected`: page -> contents that it may have; None: any."""
    sector = disk.sector()
    for page in PAGES:
        if sector[page] not in (UNKNOWN, disk.home[page]):
            fail("a sound page does not match its checksum")
        if expected and disk.home[page] not in expected[page]:
            fail("a page is not what was committed")
    if expected and how == "adopted":
        fail("what nobody else has changed was taken for changed")
    if expected and how == "compared" and not is_touched:
        fail("what nobody else has touched was compared")


def recovered(disk, pending, expected, is_touched=False, depth=0):
    """Every cut, and every cut of the recovery after it."""
    for cut in cuts(disk, pending):
        key = (cut.state(), repr(expected), is_touched, depth)
        if key in states:
            continue
        states.add(key)
        again = cut.copy()

        def seen(now, left, depth=depth):
            if depth < 1:
                recovered(now, left, expected, is_touched, depth + 1)

        how = run(again, open_again(again), seen)
        judge(again, how, expected, is_touched)
        rot(cut)


def rot(disk):
    """One page that no buffer restores rots while nobody has it open: it must not be taken over."""
    _, buffer, is_closed = disk.manifest[0]
    for page in PAGES:
        if buffer is not None and page in disk.buffer[buffer]:
            continue
        if disk.header[0][0] != "closed" or (is_closed and buffer is None and disk.header[0][1] != disk.time):
            continue  # to be compared and adopted: the time has changed, so nobody can tell
        rotten = disk.copy()
        rotten.home[page] = "rot"
        run(rotten, open_again(rotten), lambda now, left: None)
        if rotten.home[page] == rotten.sector()[page]:
            fail("rot was taken for sound")


def shapes():
    for first, second in itertools.product(({"X": 1}, {"Y": 1}, {"X": 1, "Y": 1}), repeat=2):
        yield [first, {page: 2 for page in second}]


def try_durable(checkpoints):
    disk = Disk()
    def allowed(now):
        """Home is as of the manifest's base once the buffer is restored, whatever has been written."""
        base = now.manifest[0][0]
        at = dict(FIRST)
        for changed in checkpoints[:base]:
            at.update(changed)
        return {page: {value} for page, value in at.items()}

    def seen(now, pending):
        for cut in cuts(now, [write for write in pending if write[0] == "manifest"]):
            rest = [write for write in pending if write[0] != "manifest"]
            recovered(cut, rest, allowed(cut))

    run(disk, durable(disk, checkpoints), seen)
    run(disk, close(disk, len(checkpoints)), seen)


def try_volatile(checkpoints):
    disk = Disk()
    run(disk, volatile(disk, checkpoints), lambda now, pending: recovered(now, pending, None))


def try_others(value):
    """Somebody changes a closed file, and it is opened again: cut in the middle of that, too."""
    disk = Disk()
    disk.put(("home", "X", value))

    def seen(now, pending):
        recovered(now, pending, None)
        for cut in cuts(now, pending):
            run(cut, open_again(cut), lambda *_: None)
            if not cut.history[0]:
                fail("a log leads to what others have changed")

    how = run(disk, open_again(disk), seen)
    judge(disk, how, None, True)
    if how != "adopted":
        fail("a change by others was not seen")


def try_copied():
    """As in a copy: another time, the same bytes; of one page nothing is known."""
    disk = Disk()
    disk.checksums[0]["Z"] = UNKNOWN
    disk.time += 1

    def seen(now, pending):
        recovered(now, pending, {page: {FIRST[page]} for page in PAGES}, True)

    run(disk, open_again(disk), seen)


def repair(disk):
    """Takes X from a backup, leaves Y, and puts the checksum of Z right."""
    if "begun" not in OUT:
        yield "write", ("header", 0, ("repair", None))
        yield "sync", ("header",)
    sector = disk.sector()
    yield "write", ("home", "X", FIRST["X"])
    yield "write", ("checksums", 0, dict(sector, Z=FIRST["Z"]))
    if "settled" not in OUT:
        yield "sync", ("home", "checksums")
        yield "write", ("header", 0, ("closed", disk.time))
    else:
        yield "write", ("header", 0, ("closed", disk.time + 1))  # as it is in the page cache
    yield "sync", ("header",)


def judge_repair(disk):
    sector = disk.sector()
    for page in PAGES:
        if disk.home[page] != FIRST[page] and sector[page] == disk.home[page]:
            fail("a damaged page got a checksum")


def try_repair():
    disk = Disk()
    disk.home.update(X="rot", Y="rot, too")
    disk.checksums[0]["Z"] = 4

    def seen(now, pending):
        for cut in cuts(now, pending):
            opened = cut.copy()
            run(opened, open_again(opened), lambda *_: None)
            judge_repair(opened)
            run(opened, durable(opened, [{"Z": 3}]), lambda *_: None)
            run(opened, close(opened, 1), lambda *_: None)
            run(opened, open_again(opened), lambda *_: None)
            if opened.home["Y"] == opened.sector()["Y"]:
                fail("a damaged page got a checksum")
            run(cut, repair(cut), lambda *_: None)
            judge_repair(cut)
            if cut.home["X"] != FIRST["X"]:
                fail("a page was not repaired")

    run(disk, repair(disk), seen)


def try_readers():
    """A reader copies a page from home and compares, between any two steps of a checkpoint."""
    order = ["page", "checksum", "flip"] if "readers" not in OUT else ["flip", "page", "checksum"]
    page, entry, head = 0, 0, "slot"
    for step in [None] + order:
        page = 1 if step == "page" else page
        entry = 1 if step == "checksum" else entry
        head = "home" if step == "flip" else head
        if head == "home" and page != entry:
            fail("a reader meets page and checksum of two versions")
        if head == "home" and page != 1:
            fail("a reader meets the version before")


def main():
    if "--all" in OUT:
        bad = 0
        for left_out in [[]] + [[rule] for rule in RULES]:
            done = subprocess.run([sys.executable, __file__] + left_out, capture_output=True, text=True, check=False)
            is_right = (done.returncode == 0) == (not left_out)
            bad += not is_right
            print(f"{' '.join(left_out) or 'all rules':12} {done.stdout.strip()}{'' if is_right else '   NOT AS EXPECTED'}")
        sys.exit(bad != 0)
    for checkpoints in shapes():
        try_durable(checkpoints)
        try_volatile(checkpoints)
    try_others(7)
    try_copied()
    try_repair()
    try_readers()
    for what, count in sorted(wrong.items()):
        print(f"{count} times: {what};", end=" ")
    print(f"{len(states)} states, {sum(wrong.values())} wrong")
    sys.exit(bool(wrong))


main()
