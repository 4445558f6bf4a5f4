#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who reads an environment at rest without a lock: brute force over every interleaving with sessions that write, and their deaths.

A manifest of two slots, each of two halves that are written one after the other; the note of the checksums of a data file; two
pages at home. Sessions with a log and without one open it one after the other, write both pages home, close it, or are killed at
any step. The reader opens it (reads the manifest, half by half, and judges), and then runs a transaction: begin, one page,
the other page, end. Wrong is

    mixed     an end says 0, and the pages are not those of a moment at which the environment was at rest
    late      a begin says 0 although home had changed since the open before the begin was called

The rules; each is left out by its name, and is then found out:

    clean     AR1 only what was closed cleanly is read so: a manifest that says clean,
    closed    AR2 ... and notes that say so: a session without a log does not say in the manifest that it is there
    first     AR3 the bytes that are compared later are read before what they say is judged
    whole     AR4 all bytes of both slots are compared: the head of a slot is new before the rest of it is
    begin     AR5 they are compared by each begin,
    end       AR6 and by each end: what was read in between counts only then
    note      AR7 notes are compared, too
    mark      AR8 a session with a log writes the manifest, both slots, before home
    volatile  AR9 one without a log writes the note before home

    python3 at_rest.py            expects 0 wrong
    python3 at_rest.py RULE...    without these
    python3 at_rest.py --all      all of it; exit 0: as expected
"""
import subprocess
import sys

OUT = set(sys.argv[1:])
RULES = ["clean", "closed", "first", "whole", "begin", "end", "note", "mark", "volatile"]
SESSIONS = 2
TRANSACTIONS = 1


def has(rule):
    return rule not in OUT


# A half of a slot is (generation, is_clean); a slot is valid when its halves agree.
def believe(slots):
    """The number of the slot, and what it says; None: neither is valid, which never happens."""
    valid = [(half[0], -number, number) for number, half in enumerate((slots[0], slots[2])) if slots[2 * number + 1] == half]
    _, _, number = max(valid)
    return number, slots[2 * number]


def manifest_steps(is_clean):
    return tuple(("manifest", part, is_clean) for part in range(4))


def session_steps(slots, note, value, has_log):
    """What an open, a commit that goes home, and a close do."""
    _, (_, is_clean) = believe(slots)
    home = (("home", 0, value), ("home", 1, value))
    before = ()
    if not is_clean:  # recovery
        before = home
    elif note[0] != "closed":  # what others have changed, or a session without a log, is taken as it is
        before = manifest_steps(1) + (("adopt",),)
    close = (("note", "closed", value),) + manifest_steps(1)
    if has_log:
        mark = manifest_steps(0)
        return before + (mark + home if has("mark") else home + mark) + close
    note_volatile = (("note", "volatile", value),)
    return before + manifest_steps(1) + (note_volatile + home if has("volatile") else home + note_volatile) + close


# World: slots (4 halves), note, home, writer (steps left, target of the manifest being written), sessions begun, moments at rest.
START = (((1, 1), (1, 1), (1, 1), (1, 1)), ("closed", 0), (0, 0), ((), None), 0, frozenset([(0, 0)]))


def do_step(world):
    slots, note, home, (steps, target), sessions, rests = world
    step, left = steps[0], steps[1:]
    if step[0] == "manifest":
        part, is_clean = step[1], step[2]
        if part == 0:  # the slot that is not believed comes first
            number, (generation, _) = believe(slots)
            target = (1 - number, generation + 1)
        slot = target[0] if part < 2 else 1 - target[0]
        halves = list(slots)
        halves[2 * slot + part % 2] = (target[1], is_clean)
        slots = tuple(halves)
        if is_clean and note[0] == "closed" and home[0] == home[1]:
            rests = rests | {home}  # a close, or an open: it is at rest while the manifest says so
    elif step[0] == "home":
        pages = list(home)
        pages[step[1]] = step[2]
        home = tuple(pages)
    elif step[0] == "note":
        note = (step[1], step[2])
        if note[0] == "closed":
            rests = rests | {home}  # all is home
    else:
        note = ("closed", -sessions)
        rests = rests | {home}
    if not left:
        rests = rests | {home}
    return (slots, note, home, (left, target if left else None), sessions, rests)


def after_writer(world):
    slots, note, home, (steps, _), sessions, rests = world
    if steps:
        yield do_step(world)
        yield (slots, note, home, ((), None), sessions, rests)  # killed
    elif sessions < SESSIONS:
        for has_log in (True, False):
            steps = session_steps(slots, note, sessions + 1, has_log)
            yield (slots, note, home, (steps, None), sessions + 1, rests)


# Reader: (place, halves kept, note kept, halves judged, home at the open, pages read, transactions)
# Places: keep 0..3 (halves that are compared later), judge 0..3 (halves that are judged), note, begin, page 0 and 1, end, done.
def compared(world, seen, note_seen):
    """A comparison reads all at once: a model in which it does so half by half has the same errors, and many more states."""
    slots, note = world[0], world[1]
    now = slots if has("whole") else (slots[0], slots[2])
    then = seen if has("whole") else (seen[0], seen[2])
    return now == then and (not has("note") or note == note_seen)


def after_reader(world, reader):
    """Yields (reader, wrong or None)."""
    place, seen, note_seen, judged, home_then, page, turns = reader
    slots, note, home = world[0], world[1], world[2]
    kind, number = place
    order = ("keep", "judge") if has("first") else ("judge", "keep")
    if kind in order:
        if kind == "keep":
            seen = seen + (slots[number],)
        else:
            judged = judged + (slots[number],)
        if number < 3:
            following = (kind, number + 1)
        else:
            following = (order[1], 0) if kind == order[0] else ("note", 0)
        yield (following, seen, note_seen, judged, home_then, page, turns), None
    elif kind == "note":
        halves = [judged[2 * slot] for slot in range(2) if judged[2 * slot] == judged[2 * slot + 1]]
        if not halves or (has("clean") and not max(halves)[1]) or (has("closed") and note[0] != "closed"):
            return
        yield (("begin", 0), seen, note, (), home, page, turns), None
    elif kind == "begin":
        if has("begin") and not compared(world, seen, note_seen):
            return
        yield (("page", 0), seen, note_seen, (), home_then, None, turns), "late" if home != home_then else None
    elif kind == "page" and number == 0:
        yield (("page", 1), seen, note_seen, (), home_then, home[0], turns), None
    elif kind == "page":
        yield (("end", 0), seen, note_seen, (), home_then, (page, home[1]), turns), None
    elif kind == "end":
        if has("end") and not compared(world, seen, note_seen):
            return
        wrong = "mixed" if page not in world[5] else None
        following = ("begin", 0) if turns + 1 < TRANSACTIONS else ("done", 0)
        yield (following, seen, note_seen, (), home_then, None, turns + 1), wrong


def explore():
    first = (("keep", 0) if has("first") else ("judge", 0), (), None, (), None, None, 0)
    states = {(START, first)}
    todo = [(START, first)]
    wrong = set()
    while todo and not wrong:  # the first wrong thing is enough
        world, reader = todo.pop()
        following = [(next_world, reader) for next_world in after_writer(world)]
        for next_reader, found in after_reader(world, reader):
            if found:
                wrong.add(found)
            following.append((world, next_reader))
        for state in following:
            if state not in states:
                states.add(state)
                todo.append(state)
    return len(states), wrong


def run_all():
    failed = 0
    for left_out in [[]] + [[rule] for rule in RULES]:
        result = subprocess.run([sys.executable, __file__] + left_out, capture_output=True, text=True, check=False)
        expected = bool(left_out)
        came = result.returncode != 0
        print(result.stdout.strip() + ("" if came == expected else ", unexpected"))
        failed |= came != expected
    return failed


def main():
    if "--all" in sys.argv:
        sys.exit(run_all())
    states, wrong = explore()
    name = "at_rest" + "".join(" without " + rule for rule in sorted(OUT))
    print(f"{name:40} {states} states: {', '.join(sorted(wrong)) if wrong else 'right'}")
    sys.exit(1 if wrong else 0)


main()
