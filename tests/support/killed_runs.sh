#!/bin/sh
# SPDX-License-Identifier: MIT
#
# `make check-SUITE`, killed by SIGKILL at random moments: after the next start nothing of it is left in /dev/shm and the folder
# of temporary files. In two of the rounds another run goes on beside it, which must pass.
#
#       killed_runs.sh [--kills N] [--suite NAME] [--within SECONDS] [--seed S]
#
# By turns `make` alone is killed, its group, and all that it has started, one after the other. Run it in the
# build directory, with all tests of the suite built (make check-run-kills).

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
test_run=$srcdir/tools/test-run
kills=10
suite=libxac
within=40
seed=${XAC_TEST_SEED:-}
while [ $# -gt 1 ]; do
        case $1 in
        --kills) kills=$2 ;;
        --suite) suite=$2 ;;
        --within) within=$2 ;;
        --seed) seed=$2 ;;
        *) break ;;
        esac
        shift 2
done
if [ $# -ne 0 ]; then
        sed -n '7s/^# */usage: /p' "$0" >&2
        exit 2
fi
[ -n "$seed" ] || seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
echo "seed $seed (XAC_TEST_SEED replays it)"
XAC_TEST_SWEEP=$(pwd)/tests/support/sweep
export XAC_TEST_SWEEP
leader=
beside=

# Places of its own, so that all that lies there is of these runs.
work=$(cd "${TMPDIR:-/tmp}" && mktemp -d "$(pwd -P)/xac-killed.XXXXXX") || exit 1
memory=$(mktemp -d "${XAC_TEST_RUN:-/dev/shm}/xac-killed.XXXXXX") || exit 1
echo "$(cat /proc/sys/kernel/random/boot_id) $(readlink /proc/self/ns/pid)" >"$memory/owner"
mkdir "$work/tmp"
chmod 755 "$work" "$memory" # tests have users of their own

in_places()
{
        TMPDIR=$work/tmp XAC_TEST_RUN=$memory "$@"
}

clean_up()
{
        for group in $leader $beside; do
                kill -s KILL -- "-$group" 2>/dev/null
        done
        in_places "$test_run" true
        "$XAC_TEST_SWEEP" "$memory" "$work/tmp" # of what has failed
        rm -rf "$work" "$memory"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# ---- What is left ----

# Shared memory of environments that lay in these places: their control part says where.
list_environments()
{
        for control in /dev/shm/xac.*.control; do
                if head -c 4096 "$control" 2>/dev/null | tr '\0' '\n' | grep -aq -e "^$work/tmp/$1" -e "^$memory/$1"; then
                        echo "$control"
                fi
        done
}

# Rings do not say whose they are: those that were not there before, and that nobody has mapped.
list_rings()
{
        for rings in /dev/shm/xac-trace.*; do
                [ ! -e "$rings" ] || grep -qsF "$rings" "$work/rings" || grep -qsF "$rings" /proc/[0-9]*/maps || echo "$rings"
        done
}

# list_left RUN...: what there is of the killed one; of others nothing is said.
list_left()
{
        for name in "$@"; do
                ls -d "$work/tmp/$name" "$memory/$name" 2>/dev/null
                list_environments "$name"
                grep -lsazxF "XAC_TEST_RUN=$memory/$name" /proc/[0-9]*/environ
        done
        list_rings
}

runs_now()
{
        (cd "$memory" && ls -d xac-run.*) 2>/dev/null
}

# ---- Killing ----

# moment_of NUMBER: in seconds.
moment_of()
{
        echo "$seed $1" | cksum | awk -v within="$within" '{ printf "%.2f", 1 + $1 % 100003 / 100003 * within }'
}

# all_below PID: it and all that it has started, the youngest first.
all_below()
{
        # shellcheck disable=SC2013 # words
        for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
                all_below "$child"
        done
        echo "$1"
}

kill_run()
{
        case $(($1 % 3)) in
        1) how="$how, make alone," && kill -KILL "$leader" ;;
        2) how="$how, its group," && kill -s KILL -- "-$leader" ;;
        0)
                how="$how, all that it had started,"
                # shellcheck disable=SC2046 # numbers
                kill -KILL $(all_below "$leader")
                ;;
        esac 2>/dev/null
}

# one_round NUMBER
one_round()
{
        how='with SIGKILL'
        moment=$(moment_of "$1")
        before=" $(runs_now | tr '\n' ' ')"
        ls -d /dev/shm/xac-trace.* >"$work/rings" 2>/dev/null
        TMPDIR=$work/tmp XAC_TEST_RUN=$memory setsid make -s -j2 "check-$suite" >"$work/killed.log" 2>&1 &
        leader=$!
        sleep "$moment"
        killed=
        for name in $(runs_now); do
                case $before in
                *" $name "*) ;;
                *) killed="$killed $name" ;;
                esac
        done
        had=$(list_environments '' | wc -l)
        kill -0 "$leader" 2>/dev/null || how='by itself, before it was to be killed'
        kill_run "$1"
        wait "$leader" 2>/dev/null
        leader=
        in_places "$test_run" true 2>"$work/said.log"
        # shellcheck disable=SC2086 # a list of words
        left=$(list_left $killed)
        echo "round $1: ended $how after $moment s, with $had environments: ${left:-nothing is left}"
        sed -n 's/.*no more): /        /p' "$work/said.log"
        [ -z "$left" ]
}

# ---- Beside ----

# Every fourth program of the suite, by itself: two of `make` would write the same logs.
begin_beside()
{
        # shellcheck disable=SC2016 # for make
        make -s --eval 'programs: ; @echo $(filter $(check_PROGRAMS:%$(EXEEXT)=%),$(SUITE_'"$suite"'))' programs |
                tr ' ' '\n' | awk 'NR % 4 == 1' >"$work/programs"
        cat >"$work/beside.sh" <<'SCRIPT'
for program in $(cat "$1"); do
        $program >"$2" 2>&1 </dev/null || { status=$?; [ $status -eq 77 ] || { cat "$2"; echo "$program: $status"; exit 1; }; }
done
SCRIPT
        TMPDIR=$work/tmp XAC_TEST_RUN=$memory setsid "$test_run" sh "$work/beside.sh" "$work/programs" "$work/beside.out" >"$work/beside.log" 2>&1 &
        beside=$!
        sleep 1
}

end_beside()
{
        status=0
        wait "$beside" || status=$?
        beside=
        if [ $status -ne 0 ]; then
                cat "$work/beside.log"
                return 1
        fi
        echo 'the run beside passes'
}

failed=0
number=1
while [ $number -le "$kills" ]; do
        [ $number -gt 2 ] || begin_beside
        one_round $number || failed=1
        [ $number -gt 2 ] || end_beside || failed=1
        number=$((number + 1))
done
left=$(ls "$work/tmp"; runs_now; list_environments '')
[ -z "$left" ] || { echo "left in the end: $left"; failed=1; }
[ $failed -eq 0 ] && echo "$kills runs killed, nothing left of any"
exit $failed
