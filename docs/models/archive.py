#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The archive of the log: brute force over every order of steps and every cut.

The log is a row of commits in segments of two. A commit is appended, then synced. A segment that is full and durable is
archived: its file is written, synced, linked to its name, and the directory synced. A checkpoint recycles segments. A process
may die at any step (what was written stays), or the power fail (what was not synced stays or does not). Recovery decides where
the log ends, and writes that to the manifest; the log goes on behind it, at the next block of two, in a
new session. What recovery finds may be damaged, once: then somebody may cut it, and commits that were durable are given up. A
backup may be made, once. Wrong is

    hole      a commit that the log has given up is not in the archive
    other     the archive has, at some position, another commit than the environment
    mixed     the archive takes the backup to a state that never was: the commits of two logs, one behind the other

The rules (R33, R36); each is left out by its name, and is then found out:

    hold      segments are recycled only when the archive has them
    file      a part's file is synced before it counts
    name      ... and its directory
    durable   only what is durable is archived while the environment is in use
    decide    what a session has left is archived only after recovery has decided, on disk, where it ends
    catchup   ... and before the log is given up
    history   a log that was cut goes on in another history; a backup is taken on by its own history alone

    python3 archive.py               expects 0 wrong
    python3 archive.py RULE...       without these
    python3 archive.py --all         all of it; exit 0: as expected
"""
import itertools
import subprocess
import sys

OUT = set(sys.argv[1:])
BLOCK, SEGMENT, COMMITS, CUTS = 2, 2, 5, 2
PAD = (0, 0, 0)

# A state: log: of commits, each (number, session, history); synced: how many are durable; low: where the log begins; session, and where
# it began; parts: (from, content, session, step), step 1 written, 2 synced, 3 linked, 4 directory synced; held: archived up to
# here; made: commits drawn so far; cuts; phase: 0 open, 1 to be recovered, 2 decided; history; given_up: the log as it was before it was cut; backup: the
# commits that it has, and its history.
FIELDS = "log synced low session began parts held made cuts phase history given_up backup".split()


def state_of(**fields):
    return tuple(fields.get(name) for name in FIELDS)


def update(state, **changes):
    return tuple(changes.get(name, value) for name, value in zip(FIELDS, state))


def put_part(parts, begin, content, session, step):
    kept = [part for part in parts if (part[0], len(part[1]), part[2]) != (begin, len(content), session)]
    return tuple(sorted(kept + [(begin, content, session, step)], key=repr))


def steps(state):
    """What may happen next."""
    log, synced, low, session, began, parts, held, made, cuts, phase, history, given_up, backup = state
    if phase == 0:
        if len(log) < COMMITS and made < COMMITS + 2:
            yield update(state, log=log + ((made, session, history),), made=made + 1)
        if synced < len(log):
            yield update(state, synced=len(log))
        yield from archive_steps(state)
        bound = synced if "hold" in OUT else min(synced, held)
        if low + SEGMENT <= bound:
            yield update(state, low=low + SEGMENT)  # a checkpoint has brought its commits home
        if backup is None and synced > began:
            yield update(state, backup=(log[:synced], history))
    if cuts < CUTS:
        yield update(state, cuts=cuts + 1, phase=1, held=0)  # a process dies: the page cache stays
        yield from power_cuts(state)
    if phase == 1:
        if "decide" in OUT:  # archives first
            yield update(catch_up(state), phase=3)
        yield decide(state)
        yield from cut_log(state)
    if phase == 3:
        yield decide(state)
    if phase == 2:
        yield begin_session(state if "catchup" in OUT or "decide" in OUT else catch_up(state))


def archive_steps(state):
    log, synced, low, session, began, parts, held, made, cuts, phase, history, given_up, backup = state
    end = (held // SEGMENT + 1) * SEGMENT
    limit = len(log) if "durable" in OUT else synced
    if end > limit or held < low:
        return
    content = log[held:end]
    step = next((part[3] for part in parts if part[:3] == (held, content, session)), 0)
    order = [1] + ([] if "file" in OUT else [2]) + [3] + ([] if "name" in OUT else [4])
    following = [number for number in order if number > step]
    if following:
        step = following[0]
        state = update(state, parts=put_part(parts, held, content, session, step))
    if step == order[-1]:
        state = update(state, held=end)
    yield state


def power_cuts(state):
    log, synced, low, session, began, parts, held, made, cuts, phase, history, given_up, backup = state
    choices = []
    for part in parts:
        begin, content, its, step = part
        if step == 4 and "file" not in OUT:
            choices.append([part])
        elif step == 4:
            choices.append([part, (begin, (None,) * len(content), its, 4)])  # torn: its checksum says so
        else:
            choices.append([None] + ([(begin, content, its, 4)] if step == 3 else []))
    for length in range(max(synced, low), len(log) + 1):
        for kept in itertools.product(*choices):
            found = tuple(sorted((part for part in kept if part), key=repr))
            changed = update(state, log=log[:length], synced=min(synced, length), parts=found, held=0, cuts=cuts + 1)
            yield update(changed, phase=1 if phase in (0, 3) else phase)


def decide(state):
    """The manifest is on disk: the log ends here."""
    return update(state, phase=2, synced=len(state[0]))


def cut_log(state):
    """The log is damaged somewhere, and somebody would rather lose what lies behind."""
    log, synced, low, session, began, parts, held, made, cuts, phase, history, given_up, backup = state
    for length in range(low, len(log)) if given_up is None else ():
        cut = update(state, log=log[:length], given_up=log, history=history if "history" in OUT else history + 1)
        yield decide(cut)


def catch_up(state):
    """Everything of the session that is there still, the last segment in part. Durable, at once."""
    log, synced, low, session, began, parts, held, made, cuts, phase, history, given_up, backup = state
    for begin in range(low, len(log), SEGMENT):
        content = log[begin : begin + SEGMENT]
        begin = max(begin, began)
        content = log[begin : begin - begin % SEGMENT + SEGMENT]
        if content:
            parts = put_part(parts, begin, content, session, 4)
    return update(state, parts=parts)


def begin_session(state):
    log, synced, low, session, began, parts, held, made, cuts, phase, history, given_up, backup = state
    log += (PAD,) * (-len(log) % BLOCK)
    low = len(log) // SEGMENT * SEGMENT
    return update(state, log=log, synced=len(log), low=low, session=session + 1, began=len(log), held=len(log), phase=0)


def line_of(parts):
    """What the archive says: of each session up to where the next one begins."""
    line = {}
    begins = sorted({its: begin for begin, content, its, step in reversed(parts)}.items())
    for begin, content, its, step in sorted(parts, key=lambda part: (part[2], part[0], len(part[1]))):
        if step < 3:
            continue
        limit = min([at for other, at in begins if other > its] or [99])
        for at, commit in enumerate(content, begin):
            if commit is not None and (at < limit):
                line[at] = commit
    return line


def restored(line, backup):
    """The backup, and what the archive has behind it of the same history."""
    commits, history = backup
    for at in itertools.count(len(commits)):
        if at not in line or line[at] != PAD and line[at][2] != history:
            return commits
        commits += (line[at],)


def begins_with(log, commits):
    return log is not None and log[: len(commits)] == commits


def wrong(state):
    """Asked while the environment is open."""
    log, synced, low, session, began, parts, held, made, cuts, phase, history, given_up, backup = state
    line = line_of(parts)
    if phase == 0 and any(at not in line and log[at] != PAD for at in range(low)):
        return "hole"
    given_up = given_up or ()
    known = {at: {log[at]} | set(given_up[at : at + 1]) for at in range(len(log))}
    if phase == 0 and any(at >= len(log) or line[at] not in known[at] for at in line if at < began):
        return "other"
    if phase == 0 and backup:
        commits = restored(line, backup)
        if not begins_with(log, commits) and not begins_with(given_up, commits):
            return "mixed"
    return None


def run():
    first = state_of(log=(), synced=0, low=0, session=1, began=0, parts=(), held=0, made=0, cuts=0, phase=0, history=0)
    seen, todo, found = {first}, [first], {}
    while todo:
        state = todo.pop()
        kind = wrong(state)
        if kind:
            found[kind] = found.get(kind, 0) + 1
            continue
        for following in steps(state):
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return len(seen), found


def run_all():
    failed = False
    for rules in ["", "hold", "file", "name", "durable", "decide", "catchup", "history"]:
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
