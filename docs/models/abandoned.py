#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A leader that is stopped while it writes a group holds nobody up: every interleaving, the power cut after each step.

Several processes write groups of commits to the log, one at a time: who leads takes a place, writes, and says that the group
is durable. Any of them may be stopped between two steps, for as long as it likes. After a while another one writes the same
group elsewhere, and goes on; the stopped one may wake up later, at any time, and write. A write is not one step: when the
power fails in its midst it has arrived, has not, or is torn. A place is a piece of the log, one group long; the log is a ring
of places, and checkpoints free those that are behind. Then the log is read. Wrong is whatever is not a prefix of the groups
that has all that were said to be durable.

A group has its number, and the position to which the log was good: both only grow, so what an older group has left in a place
is told apart by them. A leader that has died is one that is stopped for good, and that somebody has seen to be dead.

The rules; each is left out by its name, and is then found out:

    copy       A1  a leader writes from memory of its own: what it writes late is what it was to write
    elsewhere  A2  who takes over writes to the next place: what others were told is durable is never written again
    epoch      A3  who was taken over from says nothing of its group, nor where the log goes on
    gap        A4  a group has the place to which the log was good: what lies between was given up
    number     A5  the reader passes over a group that it has, which somebody wrote twice
    ahead      A6  where there is no good group, the reader looks for one ahead that goes on from there
    reuse      A7  a place is taken again only when nobody may still write to it

    python3 abandoned.py               expects 0 wrong
    python3 abandoned.py RULE...       without these
    python3 abandoned.py --all         all of it; exit 0: as expected
"""
import subprocess
import sys
from collections import namedtuple

OUT = set(sys.argv[1:])
GROUPS, LEADERS, PLACES, TAKEOVERS = 5, 3, 5, 3
TORN = "torn"

# What is written: its number, where the log was good, and the commits in it, by the number they belong to.
Group = namedtuple("Group", "number good commits")
# What a leader does: the step that comes next, and what it has taken.
Leader = namedtuple("Leader", "step epoch number good position")
IDLE = Leader("idle", 0, 0, 0, 0)
# disk: a group, or TORN, or None, for each place. base: the newest group that is home, and where the log goes on then.
State = namedtuple("State", "disk leaders epoch is_led durable good next base base_position takeovers")


def place(position):
    return position % PLACES


def may_take(state):
    """Is there room for a group at `next`?"""
    if state.next - state.base_position >= PLACES:
        return False
    may_write = [leader for leader in state.leaders if leader.step in ("write", "end")]
    return "reuse" in OUT or all(place(leader.position) != place(state.next) for leader in may_write)


def with_leader(state, me, leader, **changes):
    leaders = state.leaders[:me] + (leader,) + state.leaders[me + 1 :]
    return state._replace(leaders=leaders, **changes)


def take(state, me, position):
    leader = Leader("write", state.epoch + 1, state.durable + 1, state.good, position)
    return with_leader(state, me, leader, epoch=state.epoch + 1, is_led=True, next=max(state.next, position + 1))


def written(state, leader):
    """What a write puts there: without a copy, the group that the shared memory has by now."""
    commits = min(state.durable + 1, GROUPS) if "copy" in OUT else leader.number
    return Group(leader.number, leader.position if "gap" in OUT else leader.good, commits)


def put(disk, position, content):
    at = place(position)
    return disk[:at] + (content,) + disk[at + 1 :]


def steps(state):
    for me, leader in enumerate(state.leaders):
        if leader.step == "idle" and state.durable < GROUPS:
            if not state.is_led and may_take(state):
                yield take(state, me, state.next)
            elif state.is_led and state.takeovers < TAKEOVERS:
                if "elsewhere" in OUT:
                    yield take(state, me, state.next - 1)._replace(takeovers=state.takeovers + 1)
                elif may_take(state):
                    yield take(state, me, state.next)._replace(takeovers=state.takeovers + 1)
        elif leader.step == "write":  # begins: from now on it may have arrived
            yield with_leader(state, me, leader._replace(step="end"))
        elif leader.step == "end":
            disk = put(state.disk, leader.position, written(state, leader))
            yield with_leader(state, me, leader._replace(step="say"), disk=disk)
        elif leader.step == "say":
            if leader.epoch == state.epoch and state.is_led:
                yield with_leader(state, me, IDLE, is_led=False, durable=leader.number, good=leader.position + 1)
            elif "epoch" in OUT and leader.number >= state.durable:
                yield with_leader(state, me, IDLE, durable=leader.number, good=leader.position + 1)
            else:
                yield with_leader(state, me, IDLE)
    if state.base < state.durable:  # a checkpoint
        yield state._replace(base=state.durable, base_position=state.good)


def cuts(state):
    """The disks that a power cut may leave."""
    disks = [state.disk]
    for leader in state.leaders:
        if leader.step == "end":
            content = written(state, leader)
            disks = [put(disk, leader.position, now) if now else disk for disk in disks for now in (None, content, TORN)]
    return disks


def group_at(disk, position):
    group = disk[place(position)]
    return None if group == TORN else group


def read(disk, base, position):
    """The groups that are found."""
    found, good, last_good, end = [], position, None, position + PLACES
    while True:
        for at in range(position, min(position + 1, end) if "ahead" in OUT else end):
            group = group_at(disk, at)
            if group and group.number == base + len(found) + 1 and group.good == good:
                found.append(group)
                last_good = good
                break
            if group and found and "number" not in OUT and group.number == found[-1].number and group.good == last_good:
                break
        else:
            return found
        position = good = at + 1


def judge(state, disk):
    found = read(disk, state.base, state.base_position)
    newest = state.base + len(found)
    if any(group.commits != group.number for group in found):
        return "a group with the commits of another one"
    if newest < state.durable:
        return f"groups up to {newest} of {state.durable} that are durable"
    return None


def main():
    first = State((None,) * PLACES, (IDLE,) * LEADERS, 0, False, 0, 0, 0, 0, 0, 0)
    seen, open_states, wrong, looked = {first}, [first], {}, set()
    while open_states:
        state = open_states.pop()
        for disk in cuts(state):
            key = (disk, state.base, state.base_position, state.durable)
            if key not in looked:
                looked.add(key)
                what = judge(state, disk)
                if what:
                    wrong.setdefault(what, (disk, state))
        if wrong:
            break
        for after in steps(state):
            after = after._replace(leaders=tuple(sorted(after.leaders)))
            if after not in seen:
                seen.add(after)
                open_states.append(after)
    print(f"{len(seen)} states, {len(looked)} logs read; wrong: {wrong if wrong else 0}")
    return 1 if wrong else 0


def expect_all():
    rules = ["copy", "elsewhere", "epoch", "gap", "number", "ahead", "reuse"]
    failures = 0
    for left_out in [[]] + [[rule] for rule in rules]:
        code = subprocess.call([sys.executable, __file__, *left_out])
        as_expected = (code != 0) == bool(left_out)
        name = f"without {left_out[0]}" if left_out else "with all rules"
        print(f"{name}: {'as expected' if as_expected else 'NOT AS EXPECTED'}")
        failures += not as_expected
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(expect_all() if "--all" in OUT else main())
