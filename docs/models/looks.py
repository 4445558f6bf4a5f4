#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who looks at a slot without the commit lock, while a commit supersedes the version in it: every order of their steps.

The slot's version was published by a process that is dead by now, which perhaps had announced a flip of its head to home,
and perhaps had come to the head. A living process supersedes the version, as publish.c does it, and puts the slot into its
own list. Meanwhile

    take-back    looks for what the dead owner has left, and puts that into a shared list: the slot must not be in two lists;
    checkpoint   asks whether home has the version's place: it has, if the dead one had come to the head, and else at no time.

    once     LK1   the take-back knows owner and state by one load
    again    LK2   the checkpoint asks for the announcement again, behind the head
    undone   LK3   who supersedes takes the announcement back before he stores the head

    python3 looks.py            expects 0 wrong
    python3 looks.py RULE...    without these
    python3 looks.py --all      all of it; exit 0: as expected
"""
import sys
from itertools import combinations

RULES = ("once", "again", "undone")
DEAD, LIVING = "dead", "living"


class Slot:
    def __init__(self, is_announced, is_home):
        self.use = ("published", DEAD)
        self.is_announced = is_announced
        self.head = "home" if is_home else "slot"
        self.lists = []


def supersede(slot, out):
    """The living one's steps. A head that is home displaces no slot."""
    if slot.head == "home":
        yield
        slot.head = "newer"
        return
    if "undone" not in out:
        yield
        slot.is_announced = False
    yield
    slot.use = ("retired", LIVING)
    yield
    slot.head = "newer"
    if "undone" in out:
        yield
        slot.is_announced = False
    slot.lists.append("the living one's")


def take_back(slot, out):
    yield
    state, owner = slot.use
    if "once" in out:
        yield
        state = slot.use[0]
    if owner == DEAD and state != "published":
        slot.lists.append("the shared one")
        slot.use = ("retired", None)


def ask_for_home(slot, out, answers):
    yield
    if not slot.is_announced:
        answers.append(False)
        return
    yield
    is_home = slot.head != "slot"
    if is_home and "again" not in out:
        yield
        is_home = slot.is_announced
    answers.append(is_home)


def run(slot, first, second, turns):
    """`first` has the turns listed, `second` the others; who is at its end passes."""
    for turn in range(12):
        next(first if turn in turns else second, None)
    for steps in (first, second):
        for _ in steps:
            pass


def count_wrong(out):
    runs = wrong = 0
    for is_announced, is_home in ((False, False), (True, False), (True, True)):
        for count in range(7):
            for turns in combinations(range(12), count):
                slot = Slot(is_announced, is_home)
                run(slot, supersede(slot, out), take_back(slot, out), turns)
                wrong += len(slot.lists) > 1
                slot, answers = Slot(is_announced, is_home), []
                run(slot, supersede(slot, out), ask_for_home(slot, out, answers), turns)
                wrong += answers != [is_home]
                runs += 2
    return runs, wrong


def main(arguments):
    if arguments != ["--all"]:
        print("%d runs, %d wrong" % count_wrong(set(arguments)))
        return 0
    is_as_expected = True
    for out in ((),) + tuple((rule,) for rule in RULES):
        runs, wrong = count_wrong(set(out))
        is_as_expected &= (wrong > 0) == bool(out)
        print("%-20s %d runs, %d wrong" % ("looks " + " ".join(out), runs, wrong))
    return not is_as_expected


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
