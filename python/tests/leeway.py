# SPDX-License-Identifier: MIT
"""Limits of time that know how busy the machine is: tests/support/leeway.h for Python."""

import os


def leeway(seconds):
    """Seconds of an idle machine are how many now? Times the tasks that want to run per processor, 30 at most."""
    processors = os.cpu_count() or 1
    try:
        with open("/proc/loadavg") as file:
            minute, _, _, now, _ = file.read().split()
        tasks = max(float(minute), float(now.split("/")[0]))
    except OSError:
        tasks = 1
    return seconds * min(30, max(1, tasks / processors)) * max(1, int(os.environ.get("XAC_TEST_PATIENCE", "1")))
