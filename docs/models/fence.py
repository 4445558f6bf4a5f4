#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A leader that is stopped while it writes a group holds nobody up: every interleaving, the power cut after each step.

Processes lead the writing of the log, one at a time. Any may be stopped between two steps, for as long as it likes, or
die there. Who has waited for long takes the turn and puts a new file in the place of the one that the stopped leader may
still write to. The log is one segment of some blocks; a commit is a block, and a group all blocks that are staged. They
stand in a ring that is shorter than the log: what is written may be staged over, and who wakes up late writes what stands
there by then. The power may fail after each step: what was written and not synced arrived, did not, or is torn; a rename
that was not synced with its directory happened or did not. What is read then must have everything that was said to be
durable, in order, and nothing else in between.

    turn       FR1   descriptors are opened, then the turn is looked at, then it is written
    replace    FR2   who takes the turn from somebody alive replaces the file before it writes
    taken      FR3   it has the turn when it replaces the file
    copy       FR4   the new file has all that is written, synced by somebody or not
    filesync   FR5   the new file is on disk before it gets its name
    dirsync    FR6   and the name before the group is said to be durable
    reopen     FR7   descriptors of files that were replaced are opened anew; the count of those is read before that
    finishing  FR8   a group is said to be durable only by who could mark its turn as finishing, after the write
    help       FR9   a turn that is finishing is not taken from: others finish it
    forward    FR10  finishing moves positions forward only, as it may come late
    names      FR11  who has the turn removes the new files of earlier turns before it uses the log's
    made       FR12  a new file is made before the turn is looked at for the last time: else it may come after FR11
    unfenced   FR13  that somebody may still write is noted with the turn until the file is replaced, whoever dies
    closed     FR14  a group is closed under the lock, and only while the turn stands
    look       FR15  how far others may write is read under the lock: groups may be closed until then
    poison     FR16  a write that fails after its turn was taken poisons nothing
    pin        FR17  a finished group takes back its own pin only

    python3 fence.py               expects 0 wrong
    python3 fence.py RULE...       without these
    python3 fence.py --all         all of it; exit 0: as expected
"""
import subprocess
import sys
from collections import namedtuple

ARGUMENTS = set(sys.argv[1:])
OUT = {name for name in ARGUMENTS if not name.startswith("-")}
TORN, GARBAGE_FREE = -1, 0

# A process. turn: its own. fd: of the inode that it has open, and the count of replacements that it knows (gen).
# start: where its group begins; to: where it ends; synced: or pushed. made: inode of its new file. may: how far others may
# write. then: where it goes when it has helped.
Proc = namedtuple("Proc", "pc turn fd gen start to synced made may ok then")
# The turn: its number, whether it is free, finishing, and whether somebody may still write.
Turn = namedtuple("Turn", "no free fin unfenced")
# What was closed last: by which turn, up to where, synced or not. exposed: how far anybody may write.
# files: inode -> (cache, disk). log: the inode with the log's name; named: those that may have it on disk.
# tmps: (turn, inode) of new files that have a name of their own.
# base: what was home when the process began is not modelled. pin, seq: durable_next, durable_sequence.
State = namedtuple(
    "State",
    "procs turn lock closed exposed end written durable pin seq gen files log named tmps poison takeovers deaths fails pushes",
)
IDLE = Proc("idle", 0, None, -1, 0, 0, True, None, 0, True, None)


class Size:
    def __init__(self, procs, commits, ring, takeovers, deaths, fails, pushes):
        self.procs, self.commits, self.ring, self.takeovers = procs, commits, ring, takeovers
        self.deaths, self.fails, self.pushes = deaths, fails, pushes


# Two stops, with commits enough to fill the ring again; a death; failing writes and pushes.
SIZES = [Size(3, 3, 2, 2, 0, 0, 0), Size(3, 2, 2, 2, 1, 0, 0), Size(2, 3, 2, 2, 1, 1, 1)]
SIZE = SIZES[0]


def put(content, blocks):
    content = list(content)
    for block, value in blocks:
        content[block] = value
    return tuple(content)


def ring_at(state, block):
    """What stands in the memory of that block by now: commits are numbered from 1 on."""
    newest = state.end - 1
    while newest >= 0 and newest % SIZE.ring != block % SIZE.ring:
        newest -= 1
    return newest + 1


def with_file(state, inode, cache=None, disk=None):
    old = state.files[inode]
    new = (old[0] if cache is None else cache, old[1] if disk is None else disk)
    return state._replace(files=state.files[:inode] + (new,) + state.files[inode + 1 :])


def with_proc(state, me, proc, **changes):
    return state._replace(procs=state.procs[:me] + (proc,) + state.procs[me + 1 :], **changes)


def holder(state):
    for proc in state.procs:
        if proc.turn == state.turn.no and proc.pc not in ("copy", "copied", "take"):
            return proc
    return None


def stands(state, proc):
    return state.turn.no == proc.turn and not state.turn.free


def make_file(state, turn_no):
    empty = (GARBAGE_FREE,) * SIZE.commits
    inode = len(state.files)
    return inode, state._replace(files=state.files + ((empty, empty),), tmps=state.tmps + ((turn_no, inode),))


def copied(state, inode):
    upto = state.durable if "copy" in OUT else state.written
    source = state.files[state.log][0]
    return with_file(state, inode, cache=source[:upto] + (GARBAGE_FREE,) * (SIZE.commits - upto))


def synced_file(state, inode):
    return with_file(state, inode, disk=state.files[inode][0])


def rename(state, inode):
    tmps = tuple(t for t in state.tmps if t[1] != inode)
    named = state.named if inode in state.named else state.named + (inode,)
    return state._replace(log=inode, named=named, tmps=tmps)


def has_name(state, inode):
    return any(t[1] == inode for t in state.tmps)


def leave(state, me, proc, **changes):
    after = with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen), **changes)
    if stands(state, proc):
        after = after._replace(turn=after.turn._replace(free=True, fin=False))
    return after


def steps_idle(state, me, proc):
    if state.poison or state.durable >= SIZE.commits:
        return
    turn = state.turn
    nxt = turn.no + 1
    if turn.free:
        if state.end > state.durable:
            yield with_proc(state, me, proc._replace(pc="lock", turn=nxt), turn=Turn(nxt, False, False, turn.unfenced))
        return
    owner = holder(state)
    is_dead = owner is not None and owner.pc == "dead"
    if turn.fin and "help" not in OUT:
        if state.takeovers < SIZE.takeovers or is_dead:
            helper = proc._replace(pc="mark", turn=turn.no, to=state.closed[1], synced=state.closed[2], then=turn)
            yield with_proc(state, me, helper, takeovers=state.takeovers + (not is_dead))
        return
    if is_dead:
        unfenced = turn.unfenced and "unfenced" not in OUT
        yield with_proc(state, me, proc._replace(pc="lock", turn=nxt), turn=Turn(nxt, False, False, unfenced))
    elif state.takeovers < SIZE.takeovers:
        taker = proc._replace(turn=nxt, then=turn, may=state.exposed, made=None)
        after = state._replace(takeovers=state.takeovers + 1)
        if "replace" in OUT or state.exposed <= state.written:
            yield with_proc(after, me, taker._replace(pc="take"))
        elif "made" in OUT:
            yield with_proc(after, me, taker._replace(pc="take"))
        else:
            made, after = make_file(after, nxt)
            yield with_proc(after, me, taker._replace(pc="copy", made=made))


def steps_take(state, me, proc):
    if proc.pc == "copy":
        yield with_proc(copied(state, proc.made), me, proc._replace(pc="copied"))
    elif proc.pc == "copied":
        after = state if "filesync" in OUT else synced_file(state, proc.made)
        if "taken" in OUT:
            after = rename(after, proc.made)
        yield with_proc(after, me, proc._replace(pc="take"))
    elif proc.pc == "take":
        if state.turn == proc.then:
            turn = Turn(proc.turn, False, False, "replace" not in OUT)
            yield with_proc(state, me, proc._replace(pc="lock", then=None), turn=turn)
        else:
            tmps = tuple(t for t in state.tmps if t[1] != proc.made)
            yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen), tmps=tmps)


def steps_close(state, me, proc):
    if proc.pc == "lock" and not state.lock:
        if not stands(state, proc) and "closed" not in OUT:
            yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen))
        elif state.end == state.durable:
            yield leave(state, me, proc)
        else:
            yield with_proc(state, me, proc._replace(pc="close"), lock=True)
    elif proc.pc == "close":
        may = proc.may if "look" in OUT else state.exposed
        start = state.written
        fences = state.turn.unfenced and stands(state, proc) and may > start
        for is_synced in (True, False):
            if not is_synced and (state.pushes >= SIZE.pushes or state.end == start):
                continue
            after = proc._replace(pc="fence" if fences else "fenced", start=start, to=state.end, synced=is_synced, may=may)
            changes = {"closed": (proc.turn, state.end, is_synced), "exposed": max(state.exposed, state.end), "lock": False}
            if is_synced:
                changes["pin"] = state.end
            yield with_proc(state, me, after, pushes=state.pushes + (not is_synced), **changes)


def steps_fence(state, me, proc):
    if proc.pc == "fence":
        if proc.made is None:
            if "made" in OUT and not stands(state, proc):
                yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen))
            else:
                yield with_proc(state, me, proc._replace(pc="make"))
        else:
            yield with_proc(state, me, proc._replace(pc="old"))
    elif proc.pc == "make":
        made, after = make_file(state, proc.turn)
        yield with_proc(after, me, proc._replace(pc="confirm", made=made))
    elif proc.pc == "confirm":
        if not stands(state, proc) and "made" not in OUT:
            tmps = tuple(t for t in state.tmps if t[1] != proc.made)
            yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen), tmps=tmps)
        else:
            yield with_proc(copied(state, proc.made), me, proc._replace(pc="confirmed"))
    elif proc.pc == "confirmed":
        yield with_proc(synced_file(state, proc.made), me, proc._replace(pc="old"))
    elif proc.pc == "old":
        tmps = state.tmps if "names" in OUT else tuple(t for t in state.tmps if t[0] >= proc.turn)
        yield with_proc(state, me, proc._replace(pc="rename"), tmps=tmps)
    elif proc.pc == "rename":
        if has_name(state, proc.made):
            yield with_proc(rename(state, proc.made), me, proc._replace(pc="dirsync"))
        elif state.log == proc.made:  # "taken"
            yield with_proc(state, me, proc._replace(pc="dirsync"))
        else:
            yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen))
    elif proc.pc == "dirsync":
        after = state if "dirsync" in OUT else state._replace(named=(state.log,))
        yield with_proc(after, me, proc._replace(pc="count", made=None))
    elif proc.pc == "count":
        yield with_proc(state, me, proc._replace(pc="fenced"), gen=state.gen + 1)
    elif proc.pc == "fenced":
        if stands(state, proc):
            yield with_proc(state, me, proc._replace(pc="open", made=None), turn=state.turn._replace(unfenced=False))
        elif proc.made is None and ("closed" in OUT or "turn" in OUT):
            yield with_proc(state, me, proc._replace(pc="open"))
        else:
            tmps = tuple(t for t in state.tmps if t[1] != proc.made)
            yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen), tmps=tmps)


def steps_write(state, me, proc):
    if proc.pc == "open":
        if "turn" in OUT:  # the other way round
            if stands(state, proc):
                yield with_proc(state, me, proc._replace(pc="opening"))
            else:
                yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen))
        else:
            yield with_proc(state, me, opened(state, proc)._replace(pc="check"))
    elif proc.pc == "opening":
        yield with_proc(state, me, opened(state, proc)._replace(pc="write"))
    elif proc.pc == "check":
        if stands(state, proc):
            yield with_proc(state, me, proc._replace(pc="write"))
        else:
            yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen))
    elif proc.pc == "write":
        yield with_proc(state, me, proc._replace(pc="end"))
        if state.fails < SIZE.fails:
            yield with_proc(state, me, proc._replace(pc="failed", ok=proc.fd == state.log), fails=state.fails + 1)
    elif proc.pc == "end":
        blocks = [(block, ring_at(state, block)) for block in range(proc.start, proc.to)]
        after = with_file(state, proc.fd, cache=put(state.files[proc.fd][0], blocks))
        if proc.synced and proc.start == state.durable:
            after = with_file(after, proc.fd, disk=put(after.files[proc.fd][1], blocks))
        elif proc.synced:
            after = synced_file(after, proc.fd)
        yield with_proc(after, me, proc._replace(pc="written"))
    elif proc.pc == "failed":
        if stands(state, proc) or "poison" in OUT:
            yield leave(state, me, proc, poison=1 if proc.ok else 2)
        else:
            yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen))
    elif proc.pc == "written":
        if stands(state, proc):
            yield with_proc(state, me, proc._replace(pc="mark"), turn=state.turn._replace(fin=True))
        elif "finishing" in OUT:
            yield with_proc(state, me, proc._replace(pc="mark"))
        else:
            yield with_proc(state, me, IDLE._replace(fd=proc.fd, gen=proc.gen))


def opened(state, proc):
    if proc.fd is not None and ("reopen" in OUT or proc.gen == state.gen):
        return proc
    return proc._replace(fd=state.log, gen=state.gen)


def forward(old, new):
    return new if "forward" in OUT else max(old, new)


def steps_finish(state, me, proc):
    """Of a helper, too: what was closed is its turn's as long as that is so after it was read, and here both are one step."""
    if proc.pc == "mark":
        if proc.synced:
            yield with_proc(state, me, proc._replace(pc="unpin"), seq=forward(state.seq, proc.to))
        else:
            yield with_proc(state, me, proc._replace(pc="forward"))
    elif proc.pc == "unpin":
        pin = 0 if state.pin == proc.to or "pin" in OUT else state.pin
        yield with_proc(state, me, proc._replace(pc="forward"), pin=pin)
    elif proc.pc == "forward":
        yield with_proc(state, me, proc._replace(pc="durable"), written=forward(state.written, proc.to))
    elif proc.pc == "durable":
        durable = forward(state.durable, proc.to) if proc.synced else state.durable
        yield with_proc(state, me, proc._replace(pc="leave"), durable=durable)
    elif proc.pc == "leave":
        yield leave(state, me, proc)


def steps(state):
    if state.end < SIZE.commits and state.end < state.written + SIZE.ring and not state.lock:
        yield state._replace(end=state.end + 1)
    for me, proc in enumerate(state.procs):
        if proc.pc == "dead":
            continue
        if proc.pc == "idle":
            yield from steps_idle(state, me, proc)
        for some in (steps_take, steps_close, steps_fence, steps_write, steps_finish):
            yield from some(state, me, proc)
        if proc.pc != "idle" and state.deaths < SIZE.deaths:
            lock = state.lock and proc.pc != "close"
            turn = -1 if proc.pc in ("copy", "copied", "take") else proc.turn  # which it has not got
            yield with_proc(state, me, IDLE._replace(pc="dead", turn=turn), deaths=state.deaths + 1, lock=lock)


def disks(state):
    """What may be read after a power cut: for each file that may have the name, what each block may hold."""
    for inode in state.named:
        cache, disk = state.files[inode]
        may = [{now, then, TORN} if now != then else {now} for now, then in zip(cache, disk)]
        for proc in state.procs:
            if proc.pc == "end" and proc.fd == inode:
                for block in range(proc.start, proc.to):
                    may[block] = may[block] | {ring_at(state, block), TORN}
        yield may


def judge(state):
    promised = max(state.durable, state.seq)
    for may in disks(state):
        for block in range(promised):
            if may[block] != {block + 1}:
                return f"commit {block + 1} of {promised} that are durable: {may[block]}"
    if state.poison == 2:
        return "poisoned by one whose file had been replaced"
    turn, to, is_synced = state.closed
    if state.turn.no == turn and not state.turn.free and is_synced and max(state.pin, state.seq) < to:
        return "the group that is being written is not pinned"
    if state.durable > state.written or state.written > state.end:
        return "positions out of order"
    return None


def tidy(state):
    """What nobody can reach any more is forgotten, and files are numbered anew; processes have no names."""
    used = {state.log, *state.named, *(t[1] for t in state.tmps)}
    used |= {proc.fd for proc in state.procs if proc.fd is not None and proc.pc != "dead"}
    used |= {proc.made for proc in state.procs if proc.made is not None}
    order = sorted(used)
    number = {inode: at for at, inode in enumerate(order)}
    lost = ((GARBAGE_FREE,) * SIZE.commits,) * 2
    reachable = {state.log, *state.named, *(t[1] for t in state.tmps)}
    files = tuple(state.files[inode] if inode in reachable else lost for inode in order)
    procs = []
    for proc in state.procs:
        fd = number.get(proc.fd) if proc.pc != "dead" else None
        procs.append(proc._replace(fd=fd, made=number.get(proc.made)))
    procs.sort(key=repr)
    return state._replace(
        procs=tuple(procs),
        files=files,
        log=number[state.log],
        named=tuple(sorted(number[inode] for inode in state.named)),
        tmps=tuple(sorted((turn, number[inode]) for turn, inode in state.tmps)),
    )


def explore(most):
    empty = (GARBAGE_FREE,) * SIZE.commits
    first = State(
        (IDLE,) * SIZE.procs, Turn(0, True, False, False), False, (0, 0, True), 0, 0, 0, 0, 0, 0, 0,
        ((empty, empty),), 0, (0,), (), 0, 0, 0, 0, 0,
    )  # fmt: skip
    seen, open_states = {first: None}, [first]
    finished = False
    while open_states and len(seen) < most:
        state = open_states.pop()
        what = judge(state)
        if what:
            return len(seen), what, state, seen
        finished = finished or state.durable == SIZE.commits
        for after in steps(state):
            after = tidy(after)
            if after not in seen:
                seen[after] = state if "--trail" in ARGUMENTS else None
                open_states.append(after)
    return len(seen), None if finished or most < sys.maxsize else "never finished", None, seen


def main():
    global SIZE
    total = 0
    sweeps = [200000, sys.maxsize] if OUT else [sys.maxsize]  # an error may be near in a later one
    for most, SIZE in [(most, size) for most in sweeps for size in SIZES]:
        count, what, state, seen = explore(most)
        total += count
        if what:
            trail = []
            while state:
                trail.append(state)
                state = seen[state]
            for state in reversed(trail if "--trail" in ARGUMENTS else []):
                print(state)
            print(f"{total} states; wrong: {what}")
            return 1
    print(f"{total} states; wrong: 0")
    return 0


def expect_all():
    rules = [line.split()[0] for line in __doc__.splitlines() if "  FR" in line]
    failures = 0
    for left_out in [[]] + [[rule] for rule in rules]:
        code = subprocess.call([sys.executable, __file__, *left_out])
        as_expected = (code != 0) == bool(left_out)
        name = f"without {left_out[0]}" if left_out else "with all rules"
        print(f"{name}: {'as expected' if as_expected else 'NOT AS EXPECTED'}", flush=True)
        failures += not as_expected
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(expect_all() if "--all" in ARGUMENTS else main())
