#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Slots of the pool that give their memory back, beside others who let the pool grow: every order of their steps.

Two slots; two processes that each let the pool grow twice, and take and write what they get; one that shrinks it twice, and
may die at each step, after which an heir of the lock makes the list anew from the descriptors. To claim, to enter and to
shrink take the pool lock; a piece gets its memory without it.

    lock     SK1   memory goes under the lock under which the descriptor has said so
    first    SK2   the descriptor says first that the slot has none
    again    SK3   who prepared a piece does so again if the pool has shrunk since it was claimed

A run is wrong if a slot that is in the free list has no memory, or if one that was written has lost it.

    python3 shrink.py            expects 0 wrong
    python3 shrink.py RULE...    without these
    python3 shrink.py --all      all of it; exit 0: as expected
"""
import sys

RULES = ("lock", "first", "again")
SLOTS, CLAIMS, SHRINKS = 2, 2, 2
NOBODY, FREE, TAKEN = "nobody", "free", "taken"

# A state: (owner of each slot, has memory, who has the lock, shrinks, growers, shrinker). A grower is (claims left, step,
# shrinks that it knows); the shrinker (shrinks left, step, slot).
START = ((NOBODY,) * SLOTS, (False,) * SLOTS, None, 0, ((CLAIMS, "claim", 0),) * 2, (SHRINKS, "begin", 0))


def put(items, i, item):
    return items[:i] + (item,) + items[i + 1:]


def grow_steps(state, i, out):
    owners, memory, lock, shrinks, growers, shrinker = state
    left, step, known = growers[i]
    if step == "claim" and left and lock is None and NOBODY in owners:
        yield owners, memory, lock, shrinks, put(growers, i, (left - 1, "prepare", shrinks)), shrinker
    elif step == "prepare":  # all of the piece, which is both slots; it harms none that has memory
        yield owners, (True,) * SLOTS, lock, shrinks, put(growers, i, (left, "enter", known)), shrinker
    elif step == "enter" and lock is None:
        if known != shrinks and "again" not in out:
            yield owners, memory, lock, shrinks, put(growers, i, (left, "prepare", shrinks)), shrinker
            return
        owners = tuple(FREE if owner == NOBODY else owner for owner in owners)
        yield owners, memory, lock, shrinks, put(growers, i, (left, "take", 0)), shrinker
    elif step == "take" and lock is None:
        yield owners, memory, lock, shrinks, put(growers, i, (left, "claim", 0)), shrinker
        for slot in range(SLOTS):
            if owners[slot] == FREE:
                yield (put(owners, slot, TAKEN), memory, lock, shrinks, put(growers, i, (left, "claim", 0)), shrinker)


def shrink_steps(state, out):
    owners, memory, lock, shrinks, growers, (left, step, slot) = state
    held = "shrinker" if "lock" not in out else None
    order = ("say", "release") if "first" not in out else ("release", "say")
    if step == "begin" and left and lock is None:
        for slot in range(SLOTS):
            if owners[slot] == FREE:
                yield owners, memory, "shrinker", shrinks + 1, growers, (left - 1, 0, slot)
    elif step in (0, 1):
        if order[step] == "say" and owners[slot] == FREE:
            owners = put(owners, slot, NOBODY)
        elif order[step] == "release":
            memory = put(memory, slot, False)
        yield owners, memory, held if step == 0 else None, shrinks, growers, (left, step + 1 if step == 0 else "begin", slot)
        yield state[:2] + (None,) + state[3:5] + ((0, "dead", 0),)  # the heir makes the list anew
    # a slot of the heir's list is one whose descriptor says that it is free: so nothing else changes then


def is_wrong(state):
    owners, memory, lock = state[:3]
    if any(owner == TAKEN and not has for owner, has in zip(owners, memory)):
        return True
    return lock is None and any(owner == FREE and not has for owner, has in zip(owners, memory))


def count_wrong(out):
    seen, todo, wrong = {START}, [START], 0
    while todo:
        state = todo.pop()
        wrong += is_wrong(state)
        steps = [next_state for i in range(2) for next_state in grow_steps(state, i, out)]
        for next_state in steps + list(shrink_steps(state, out)):
            if next_state not in seen:
                seen.add(next_state)
                todo.append(next_state)
    return len(seen), wrong


def main(arguments):
    if arguments != ["--all"]:
        print("%d states, %d wrong" % count_wrong(set(arguments)))
        return 0
    is_as_expected = True
    for out in ((),) + tuple((rule,) for rule in RULES):
        states, wrong = count_wrong(set(out))
        is_as_expected &= (wrong > 0) == bool(out)
        print("%-20s %d states, %d wrong" % ("shrink " + " ".join(out), states, wrong))
    return not is_as_expected


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
