#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a thread keeps of its translations leads nowhere else than the page does: every order of a few steps.

Pages share one entry of the table that compiled code reads. What is driven out of it gives way to a second table, of as
many entries as here are given, where a call looks before it asks the transaction, and from where it comes back. An entry
there has one place, for reads and writes, and the rounds of forgetting in which it was right. The table may grow at any
moment. A page gets another slot when it is written for the first time in a level, and when the level is undone. After each
step each table is asked for each page: it has the page's slot, or nothing; and for a write only a slot of the level that is
open.

    page      KT1   who gives a page another slot forgets it in the second table, too
    level     KT2   the begin of a level begins a round of writes
    end       KT3   an end or an abort begins a round of reads
    both      KT4   what is forgotten is forgotten in both, also if it stands in both
    unit      KT5   the second table says which page an entry is of
    writes    KT6   an end or an abort begins a round of writes, too
    taken     KT7   who takes the entry of another page has not what that one may be written by
    grow      KT8   a table that grows takes along what is of the present rounds

    python3 kept.py            expects 0 wrong
    python3 kept.py RULE...    without these
    python3 kept.py --all      all of it; exit 0: as expected
"""
import sys
from itertools import product

RULES = ("page", "level", "end", "both", "unit", "writes", "taken", "grow")
PAGES, STEPS = 3, 7
READ, WRITE = 0, 1


class Run:
    """A transaction with levels; the first table, (page, slot) by access; the second, (page, slot, rounds) by entry."""

    def __init__(self, out, ways):
        self.out = out
        self.slots = [{page: ("old", page) for page in range(PAGES)}]  # of each level, what pages have
        self.fresh = 0
        self.rounds = [1, 1]
        self.first = {READ: None, WRITE: None}
        self.second = [None] * ways

    def seek(self, page, access):
        if self.first[access] and self.first[access][0] == page:
            return self.first[access][1]
        kept = self.second[page % len(self.second)]
        if not kept or kept[2][READ] != self.rounds[READ] or (access == WRITE and kept[2][WRITE] != self.rounds[WRITE]):
            return None
        return kept[1] if kept[0] == page or "unit" in self.out else None

    def find(self, page, access):
        slot = self.seek(page, access)
        if slot is not None:
            self.keep(page, access, slot)
        return slot

    def add(self, page, slot, is_write):
        there = self.second[page % len(self.second)]
        if there and (there[0] == page or "taken" in self.out):
            is_write |= there[2][WRITE] == self.rounds[WRITE]
        self.second[page % len(self.second)] = (page, slot, (self.rounds[READ], self.rounds[WRITE] if is_write else 0))

    def keep(self, page, access, slot):
        before = self.first[access]
        if before and before[0] != page:
            self.add(*before, access == WRITE)
        self.first[access] = (page, slot)

    def grow(self):
        old = [kept for kept in self.second if kept]
        self.second = [None] * min(len(self.second) + 1, PAGES)
        for page, slot, rounds in old:
            if rounds[READ] == self.rounds[READ] or "grow" in self.out:
                self.add(page, slot, rounds[WRITE] == self.rounds[WRITE])

    def forget_page(self, page):
        was_first = False
        for access in (READ, WRITE):
            if self.first[access] and self.first[access][0] == page:
                self.first[access] = None
                was_first = True
        kept = self.second[page % len(self.second)]
        if kept and kept[0] == page and "page" not in self.out and not ("both" in self.out and was_first):
            self.second[page % len(self.second)] = None

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
        self.first[WRITE] = None
        self.rounds[WRITE] += "level" not in self.out
        self.slots.append(dict(self.slots[-1]))

    def abort(self):
        self.slots.pop()
        if not self.slots:
            self.slots = [{page: ("old", page) for page in range(PAGES)}]
        self.first = {READ: None, WRITE: None}
        self.rounds[READ] += "end" not in self.out
        self.rounds[WRITE] += "writes" not in self.out

    def is_right(self):
        for page in range(PAGES):
            slot = self.slots[-1][page]
            if self.seek(page, READ) not in (None, slot):
                return False
            if self.seek(page, WRITE) not in (None, slot) or (self.seek(page, WRITE) and slot[0] != len(self.slots)):
                return False
        current = [kept for kept in self.second if kept and kept[2][READ] == self.rounds[READ]]
        return all(kept is None or kept[1] == self.slots[-1][kept[0]] for kept in [*self.first.values(), *current])


STEP = [(Run.read, page) for page in range(PAGES)] + [(Run.write, page) for page in range(PAGES)] + [(Run.begin,), (Run.abort,), (Run.grow,)]


def wrong(out, ways):
    """Orders of steps after which something leads elsewhere; one is enough if a rule is out."""
    count = 0
    seen = set()

    def state(run):
        names = {}

        def name(slot):
            return slot if slot is None or slot[0] == "old" else (slot[0], names.setdefault(slot, len(names)))

        first = [entry and (entry[0], name(entry[1])) for entry in run.first.values()]
        second = [entry and (entry[0], name(entry[1]), [entry[2][i] == run.rounds[i] for i in (READ, WRITE)])
                  for entry in run.second]
        return repr(([[name(level[page]) for page in range(PAGES)] for level in run.slots], first, second))

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
