#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A commit has the descriptors that it needs before others see it: every interleaving.

A process may open so many files at once and no more. Two of its threads commit, another part of the program takes and gives
back descriptors, and another process adds records to the log and dies before it writes them. A commit is published, and from
then on only the disk may decide; whoever waits for it leads the writing of all that is staged, also of what others staged in
later segments. Each file that is written needs a descriptor: a direct one, or a plain one. Those of the log are at a desk,
which one thread at a time may use.

A published commit that finds no descriptor is what must not be, unless the program took the number of one that was closed to
be used again, after the publication. Then it waits, and goes on when there is one. Nothing poisons.

    before   DE1  who commits has the end of the log open before it publishes; if it cannot, the commit is an error
    again    DE2  that is looked at under the lock, as part of publishing
    noted    DE3  who closes anything at the desk takes back what was said to be open, first
    inplace  DE4  where no descriptor is left, another one of the desk is closed for the one that is needed
    plain    DE5  where there is none for direct writes, the plain one does
    desk     DE6  who opens for a commit has the desk, like a leader: nobody's descriptor is closed while it is written to
    spare    DE7  for a commit that is not published only those are closed that no published one may need
    wait     DE8  a published commit that lacks a descriptor tries again, for ever: it does not poison

    python3 descriptors.py               expects 0 wrong
    python3 descriptors.py RULE...       without these
    python3 descriptors.py --all         all of it; exit 0: as expected
"""
import subprocess
import sys
from collections import namedtuple

OUT = {name for name in sys.argv[1:] if not name.startswith("-")}
RULES = ["before", "again", "noted", "inplace", "plain", "desk", "spare", "wait"]
SEGMENT, RING = 2, 3  # commits a segment has, those that may be staged

# pc: where it is; at, to: what it opens or writes; mine: where its commit ends; raced: since then a number was taken away.
Thread = namedtuple("Thread", "pc at to mine raced")
IDLE = Thread("idle", 0, 0, 0, False)
State = namedtuple("State", "threads desk user ready end durable unused taken takes others")


class Size:
    """files: that the desk has room for. lowered: so is the limit, and what is closed can be used by nobody."""

    def __init__(self, numbers, takes, others, threads, files=2, lowered=False):
        self.numbers, self.takes, self.others, self.threads = numbers, takes, others, threads
        self.files, self.lowered = files, lowered


SIZES = [Size(2, 0, 0, 2, files=3, lowered=True), Size(1, 3, 2, 2), Size(2, 3, 2, 2), Size(3, 4, 3, 1), Size(2, 2, 3, 2)]


def of(position):
    return position // SEGMENT


def with_thread(state, me, thread, **changes):
    return state._replace(threads=state.threads[:me] + (thread,) + state.threads[me + 1 :], **changes)


def closing(state, rows):
    ready = state.ready if "noted" in OUT else 0
    unused = state.unused + (0 if SIZE.lowered else len(rows))
    return {"desk": state.desk - rows, "unused": unused, "ready": ready}


def opening(state, row):
    return {"desk": state.desk | {row}, "unused": state.unused - 1}


def closable(state, name):
    """Who is to publish only takes what nobody who has published may need."""
    if name == "lead" or "spare" in OUT:
        return state.desk
    return frozenset(row for row in state.desk if row[0] == "direct" or (row[1] + 1) * SEGMENT <= state.durable)


def windows(state):
    """A number is about to be used again."""
    return any(thread.pc.endswith("again") for thread in state.threads)


def steps_open(state, me, then, lacks):
    """The plain descriptor of the segment at `at`: the program may run between a close and the open after it."""
    thread = state.threads[me]
    segment, name = of(thread.at), thread.pc.removesuffix("-again")
    row = ("plain", segment)
    files = {other for _, other in state.desk}
    if row in state.desk:
        yield then(state)
    elif segment not in files and len(files) >= SIZE.files:
        gone = frozenset(other for other in state.desk if other[1] == min(files))
        yield with_thread(state, me, thread._replace(pc=name + "-again"), **closing(state, gone))
    elif state.unused:
        yield then(state._replace(**opening(state, row)))
    elif closable(state, name) and "inplace" not in OUT and not thread.pc.endswith("again"):
        yield with_thread(state, me, thread._replace(pc=name + "-again"), **closing(state, closable(state, name)))
    else:
        yield lacks(state)


def steps_hold(state, me):
    thread = state.threads[me]

    def then(after):
        at = (of(thread.at) + 1) * SEGMENT
        if at < thread.to:
            return with_thread(after, me, thread._replace(pc="hold", at=at))
        user = after.user if "desk" in OUT else None
        return with_thread(after, me, thread._replace(pc="held"), ready=at, user=user)

    def lacks(after):  # an error of xend: it has left nothing
        return with_thread(after, me, IDLE._replace(pc="failed"), user=after.user if "desk" in OUT else None)

    yield from steps_open(state, me, then, lacks)


def steps_commit(state, me):
    thread = state.threads[me]
    published = thread._replace(pc="wait", mine=state.end + 1, raced=False)
    is_ready = state.end + 1 <= state.ready
    may = is_ready or "before" in OUT or ("again" in OUT and thread.pc == "held")
    if may and state.end - state.durable < RING:
        yield with_thread(state, me, published, end=state.end + 1)
    elif not may and (state.user is None or "desk" in OUT):
        hold = thread._replace(pc="hold", at=state.end, to=state.end + 1)
        yield with_thread(state, me, hold, user=state.user if "desk" in OUT else me)


def steps_lead(state, me):
    thread = state.threads[me]
    segment = of(thread.at)

    def write(after, kind="plain"):
        return with_thread(after, me, thread._replace(pc="write-" + kind))

    def lacks(after):
        if not thread.raced:
            raise Wrong("a published commit lacks a descriptor")
        if "wait" in OUT:
            raise Wrong("poisoned, and nothing had been written")
        return with_thread(after, me, thread._replace(pc="wait"), user=None)

    if ("direct", segment) in state.desk:
        yield write(state, "direct")
    elif thread.pc == "lead" and state.unused and (segment in {s for _, s in state.desk} or len({s for _, s in state.desk}) < SIZE.files):
        yield write(state._replace(**opening(state, ("direct", segment))), "direct")
    elif "plain" in OUT:
        yield lacks(state)
    else:
        yield from steps_open(state, me, write, lacks)


def steps_write(state, me):
    thread = state.threads[me]
    if (thread.pc.removeprefix("write-"), of(thread.at)) not in state.desk:
        raise Wrong("written to a number that may be the program's")
    at = (of(thread.at) + 1) * SEGMENT
    if at < thread.to:
        yield with_thread(state, me, thread._replace(pc="lead", at=at))
    else:
        yield with_thread(state, me, thread._replace(pc="wait"), durable=max(state.durable, thread.to), user=None)


def steps_thread(state, me):
    thread = state.threads[me]
    if thread.pc in ("idle", "held"):
        yield from steps_commit(state, me)
    elif thread.pc.startswith("hold"):
        yield from steps_hold(state, me)
    elif thread.pc.startswith("lead"):
        yield from steps_lead(state, me)
    elif thread.pc.startswith("write"):
        yield from steps_write(state, me)
    elif thread.pc == "wait":
        if state.durable >= thread.mine:
            yield with_thread(state, me, IDLE._replace(pc="done"))
        elif state.user is None:
            yield with_thread(state, me, thread._replace(pc="lead", at=state.durable, to=state.end), user=me)
    elif thread.pc == "done" and state.end < SEGMENT * 3:
        yield with_thread(state, me, IDLE)


def steps(state):
    for me in range(len(state.threads)):
        yield from steps_thread(state, me)
    if state.others < SIZE.others and state.end - state.durable < RING:
        yield state._replace(end=state.end + 1, others=state.others + 1)
    if state.unused and state.takes < SIZE.takes:
        threads = state.threads
        if windows(state):
            threads = tuple(t._replace(raced=t.raced or t.mine > 0) for t in threads)
        yield state._replace(threads=threads, unused=state.unused - 1, taken=state.taken + 1, takes=state.takes + 1)
    if state.taken:
        yield state._replace(unused=state.unused + 1, taken=state.taken - 1)


class Wrong(Exception):
    pass


def explore():
    first = State((IDLE,) * SIZE.threads, frozenset(), None, 0, 0, 0, SIZE.numbers, 0, 0, 0)
    before, open_states, ends = {first: []}, [first], []
    while open_states:
        state = open_states.pop()
        if all(thread.mine == 0 for thread in state.threads) and state.user is None:
            ends.append(state)
        for after in steps(state):
            if after not in before:
                before[after] = []
                open_states.append(after)
            before[after].append(state)
    good, left = set(ends), ends
    while left:
        for state in before[left.pop()]:
            if state not in good:
                good.add(state)
                left.append(state)
    if len(good) != len(before):
        raise Wrong("a published commit waits for ever")
    return len(before)


def main():
    global SIZE
    states = 0
    for SIZE in SIZES:
        try:
            states += explore()
        except Wrong as what:
            print(f"wrong: {what}")
            return 1
    print(f"{states} states, 0 wrong")
    return 0


def expect_all():
    failures = 0
    for left_out in [[]] + [[rule] for rule in RULES]:
        code = subprocess.call([sys.executable, __file__, *left_out])
        as_expected = (code != 0) == bool(left_out)
        print(f"{'without ' + left_out[0] if left_out else 'with all rules'}: {'as expected' if as_expected else 'NOT AS EXPECTED'}")
        failures += not as_expected
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(expect_all() if "--all" in sys.argv[1:] else main())
