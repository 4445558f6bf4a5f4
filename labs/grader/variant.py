#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A student's name draws the constants of a lab's variant.h, each within the
bounds that labs/instructor/LAB/constants says. The same name always draws the
same.

    labs/grader/variant.py LAB NAME         prints the header
"""

import hashlib
import pathlib
import re
import sys

LABS = pathlib.Path(__file__).resolve().parent.parent
CODE_LEAST = 1000  # from here on a number in an answer is no accident


def digest(*words):
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def has_variants(lab):
    return (LABS / "instructor" / lab / "constants").exists()


def constants_of(lab, name):
    """The numbers of the student by their names in the source."""
    drawn = {}
    for line in (LABS / "instructor" / lab / "constants").read_text().splitlines():
        if line and not line.startswith("#"):
            constant, least, most = line.split()
            count = int(most) - int(least) + 1
            drawn[constant] = int(least) + int(digest(lab, name, constant), 16) % count
    return drawn


def header_of(lab, name):
    text = (LABS / lab / "variant.h").read_text()
    for constant, number in constants_of(lab, name).items():
        text, times = re.subn(rf"\b{constant} = -?\d+", f"{constant} = {number}", text)
        if times != 1:
            raise ValueError(f"labs/{lab}/variant.h: {constant} is there {times} times")
    return text


def write_header(lab, name, folder):
    """Writes it to a file of a name that says which variant it is, and returns that."""
    path = folder / f"{digest(lab, name)[:12]}.h"
    text = header_of(lab, name)
    if not path.exists() or path.read_text() != text:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def codes_of(lab, name):
    return {abs(number) for number in constants_of(lab, name).values() if abs(number) >= CODE_LEAST}


def strangers(lab, name, answer, names):
    """Those of `names` whose numbers stand in the files of the answer, where `name` has others."""
    text = "\n".join(path.read_text(errors="replace") for path in sorted(answer.glob("*.[ch]"))
                     if path.is_file() and not path.is_symlink())
    found = {int(number) for number in re.findall(r"\b\d{4,9}\b", text)} - codes_of(lab, name)
    return [other for other in names if other != name and codes_of(lab, other) & found]


if __name__ == "__main__":
    if len(sys.argv) != 3 or not has_variants(sys.argv[1]):
        sys.exit(__doc__)
    sys.stdout.write(header_of(*sys.argv[1:]))
