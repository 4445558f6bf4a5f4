# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# Limits of time that know how busy the machine is: leeway.h for scripts.
#
#       . "$srcdir/tests/support/leeway.sh"
#       timeout "$(leeway_s 60)" COMMAND...

# leeway_s SECONDS: of an idle machine. Prints how many they are now: times the tasks that want to run per processor, and
# what waiting for memory and disks adds, 30 times as many at most; times XAC_TEST_PATIENCE.
leeway_s()
{
        cat /proc/loadavg /proc/pressure/memory /proc/pressure/io 2>/dev/null |
                awk -v seconds="$1" -v processors="$(nproc 2>/dev/null || echo 1)" -v asked="${XAC_TEST_PATIENCE:-1}" '
                        NF == 5 && $4 ~ /\// { split($4, now, "/"); tasks = $1 + 0 > now[1] + 0 ? $1 : now[1] }
                        $1 == "some" { split($2, part, "="); waiting += part[2] }
                        END {
                                factor = tasks > processors ? tasks / processors : 1
                                factor *= 100 / (100 - (waiting > 80 ? 80 : waiting))
                                print int(seconds * (factor > 30 ? 30 : factor) * (asked > 1 ? asked : 1) + 0.999)
                        }'
}
