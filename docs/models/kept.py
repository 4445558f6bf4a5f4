#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a thread keeps of its translations leads nowhere else than the page does: every order of a few steps.

Pages share one entry of the table that compiled code reads. What is driven out of it gives way to a second table, of as
many entries as here are given, where a call looks before it asks the transaction. A page gets another slot when it is
written for the first time in a level, and when the level is undone. After each step each table is asked for each page: it
has the page's slot, or nothing; and for a write only a slot of the level that is open.

    page      KT1   who gives a page another slot forgets it in the second table, too
    level     KT2   the begin of a level forgets there what may be written
    end       KT3   an end or an abort forgets all that is there
    both      KT4   what is forgotten is forgotten in both, also if it stands in both
    unit      KT5   the second table says which page an entry is of

    python3 kept.py            expects 0 wrong
    python3 kept.py RULE...    without these
    python3 kept.py --all      all of it; exit 0: as expected
"""
import sys
from itertools import product

RULES = ("page", "level", "end", "both", "unit")
PAGES, STEPS = 3, 8
READ, WRITE = 0, 1


class Run:
    """A transaction with levels, and the two tables: (page, slot) by access and entry."""

    def __init__(self, out, ways):
        self.out, self.ways = out, ways
        self.slots = [{page: ("old", page) for page in range(PAGES)}]  # of each level, what pages have
        self.fresh = 0
        self.first = {READ: None, WRITE: None}
        self.second = {READ: [None] * ways, WRITE: [None] * ways}

    def find(self, page, access):
        if self.first[access] and self.first[access][0] == page:
            return self.first[access][1]
        kept = self.second[access][page % self.ways]
        if kept and (kept[0] == page or "unit" in self.out):
            return kept[1]
        return None

    def keep(self, page, access, slot):
        before = self.first[access]
        if before and before[0] != page:
            self.second[access][before[0] % self.ways] = before
        self.first[access] = (page, slot)

    def forget_page(self, page):
        for access in (READ, WRITE):
            in_first = self.first[access] and self.first[access][0] == page
            if in_first:
                self.first[access] = None
            kept = self.second[access][page % self.ways]
            skipped = "page" in self.out or ("both" in self.out and in_first)
            if kept and kept[0] == page and not skipped:
                self.second[access][page % self.ways] = None

    def forget(self, accesses, rule):
        for access in accesses:
            self.first[access] = None
            if rule not in self.out:
                self.second[access] = [None] * self.ways

    def read(self, page):
        if self.find(page, READ) is None:
            self.keep(page, READ, self.slots[-1][page])

    def write(self, page):
        if self.find(page, WRITE) is not None:
            return
        if self.slots[-1][page][0] != len(self.slots):  # the level has no slot of its own yet
            self.forget_page(page)
            self.fresh += 1
            self.slots[-1][page] = (len(self.slots), self.fresh)
        self.keep(page, READ, self.slots[-1][page])
        self.keep(page, WRITE, self.slots[-1][page])

    def begin(self):
        self.forget((WRITE,), "level")
        self.slots.append(dict(self.slots[-1]))

    def abort(self):
        self.slots.pop()
        if not self.slots:
            self.slots = [{page: ("old", page) for page in range(PAGES)}]
        self.forget((READ, WRITE), "end")

    def is_right(self):
        for page in range(PAGES):
            slot = self.slots[-1][page]
            if self.find(page, READ) not in (None, slot):
                return False
            if self.find(page, WRITE) not in (None, slot) or (self.find(page, WRITE) and slot[0] != len(self.slots)):
                return False
        return all(
            kept is None or kept[1] == self.slots[-1][kept[0]]
            for access in (READ, WRITE)
            for kept in [self.first[access], *self.second[access]]
        )


STEP = [(Run.read, page) for page in range(PAGES)] + [(Run.write, page) for page in range(PAGES)] + [(Run.begin,), (Run.abort,)]


def wrong(out, ways):
    """Orders of steps after which something leads elsewhere; one is enough if a rule is out."""
    count = 0
    seen = set()

    def state(run):
        names = {}

        def name(slot):
            return slot if slot is None or slot[0] == "old" else (slot[0], names.setdefault(slot, len(names)))

        kept = [entry and (entry[0], name(entry[1])) for access in (READ, WRITE)
                for entry in [run.first[access], *run.second[access]]]
        return repr(([[name(level[page]) for page in range(PAGES)] for level in run.slots], kept))

    frontier = [()]
    for _ in range(STEPS):
        following = []
        for order, step in product(frontier, STEP):
            run = Run(out, ways)
            for what, *page in (*order, step):
                what(run, *page)
            if not run.is_right():
                count += 1
                if out:
                    return count
            if len(run.slots) <= 3 and state(run) not in seen:
                seen.add(state(run))
                following.append((*order, step))
        frontier = following
    return count


def report(out):
    found = sum(wrong(out, ways) for ways in (1, 2, 3))
    print(f"kept {'without ' + ' '.join(sorted(out)) if out else 'with all rules'}: {found} wrong")
    return found


def main():
    arguments = sys.argv[1:]
    if "--all" not in arguments:
        return report(frozenset(arguments)) != 0 and not arguments
    failed = report(frozenset()) != 0
    for rule in RULES:
        failed |= report(frozenset([rule])) == 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
