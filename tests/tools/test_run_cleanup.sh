#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A run of tests leaves nothing behind (tools/test-run). A small one is killed: its `make` alone, all of it, one of its
# tests. After the next start, or its own end, nothing of it is left: neither processes nor folders nor shared memory, also that
# of an environment whose directory is gone. Another run that lives beside it keeps what it has, and so do others.

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
# shellcheck source=tests/support/leeway.sh
. "$srcdir/tests/support/leeway.sh"
test_run="$srcdir/tools/test-run"
ledger=$builddir/tests/tools/ledger
XAC_TEST_SWEEP=$builddir/tests/support/sweep
export XAC_TEST_SWEEP
failed=0
leaders=

# Places of its own, as if a run went on around them: nobody else's runs are looked at.
work=$(cd "${TMPDIR:-/tmp}" && mktemp -d "$(pwd -P)/xac-cleanup.XXXXXX") || exit 1
memory=$(mktemp -d "${XAC_TEST_RUN:-/dev/shm}/xac-cleanup.XXXXXX") || exit 1
echo "$(cat /proc/sys/kernel/random/boot_id) $(readlink /proc/self/ns/pid)" >"$memory/owner"
mkdir "$work/tmp" "$work/user"
TMPDIR=$work/tmp XAC_TEST_RUN=$memory
export TMPDIR XAC_TEST_RUN

clean_up()
{
        for leader in $leaders; do
                kill -s KILL -- "-$leader" 2>/dev/null
        done
        "$test_run" true
        "$XAC_TEST_SWEEP" "$memory" "$TMPDIR" # of what has failed
        rm -f "$(parts_of "$work/user/env")"control "$(parts_of "$work/user/env")"heads "$(parts_of "$work/user/env")"pool
        rm -rf "$work" "$memory"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

complain()
{
        echo "FAIL: $*" >&2
        failed=1
}

# parts_of DIRECTORY: what the names of its shared memory begin with.
parts_of()
{
        echo "/dev/shm/xac.$(stat -c %D "$1").$(printf %x "$(stat -c %i "$1")")."
}

# wait_for COMMAND...: for a minute at most, of a machine that is not busy.
wait_for()
{
        end=$(($(date +%s) + $(leeway_s 60)))
        until "$@" 2>/dev/null; do
                [ "$(date +%s)" -lt "$end" ] || { complain "in vain: $*"; return 1; }
                sleep 0.05
        done
}

# ---- The run ----

# Three tests: with an environment among files, with one in memory, and with one that a killed process leaves and whose directory
# goes. They say in which folders, and whose shared memory there is.
cat >"$work/Makefile" <<RULES
all:
	@$test_run \$(MAKE) -f $work/Makefile files memory gone
files:
	@cd "\$\$TMPDIR" && echo \$\$\$\$ >pid && exec $ledger env run begun
memory:
	@cd "\$\$XAC_TEST_RUN" && exec $ledger env run begun
gone:
	@sh "$work/gone" >"\$\$TMPDIR/gone.list" && mv "\$\$TMPDIR/gone.list" "\$\$TMPDIR/gone.is" && exec sleep 1000
.PHONY: all files memory gone
RULES
cat >"$work/gone" <<'SCRIPT'
cd "$TMPDIR" && mkdir gone plain || exit 1
"$1" gone/env run gone/begun &
until [ -s gone/begun ]; do sleep 0.02; done
kill -KILL $!
echo "/dev/shm/xac.$(stat -c %D gone/env).$(printf %x "$(stat -c %i gone/env)")."
rm -rf gone
SCRIPT
sed -i "s|\"\$1\"|$ledger|" "$work/gone"

# begin NAME: a run, in a group of processes of its own. Sets leader, run and files.
begin()
{
        # shellcheck disable=SC2012 # names of ours
        before=" $(ls "$memory" | tr '\n' ' ')"
        setsid make -s -j3 -f "$work/Makefile" >"$work/$1.log" 2>&1 &
        leader=$!
        leaders="$leaders $leader"
        wait_for is_begun || { cat "$work/$1.log" >&2; exit 1; }
        files=$TMPDIR/$run run=$memory/$run
}

is_begun()
{
        for run in "$memory"/xac-run.*; do
                run=${run##*/}
                case $before in
                *" $run "*) continue ;;
                esac
                [ -s "$memory/$run/begun" ] && [ -s "$TMPDIR/$run/begun" ] && [ -e "$TMPDIR/$run/gone.is" ] && return
        done
        return 1
}

# note: what a run has in /dev/shm, to be looked for later; what is gone may be taken from a run that lives.
note()
{
        list="$(parts_of "$files/env") $(parts_of "$run/env")"
        for parts in $list; do
                [ -e "${parts}control" ] || complain "there is no ${parts}control"
        done
        kept=$list
        list="$list $(cat "$files/gone.is")"
}

# is_left PARTS: of the run; a directory of somebody else may have got the number of the one that is gone.
is_left()
{
        if [ -e "${1}control" ]; then
                head -c 4096 "${1}control" | tr '\0' '\n' | grep -aq -e "^$files/" -e "^$run/"
        else
                [ -e "${1}heads" ] || [ -e "${1}pool" ]
        fi
}

# expect_nothing WHEN
expect_nothing()
{
        for parts in $list; do
                ! is_left "$parts" || complain "$1: ${parts}control is left, or heads or pool"
        done
        [ ! -e "$run" ] || complain "$1: $run is left"
        [ ! -e "$files" ] || complain "$1: $files is left"
        ! grep -qsazxF "XAC_TEST_RUN=$run" /proc/[0-9]*/environ || complain "$1: a process goes on"
}

expect_living()
{
        for parts in $kept; do
                [ -e "${parts}control" ] && [ -e "${parts}pool" ] || complain "the other run has lost $parts*"
        done
        [ -e "$run/begun" ] && [ -e "$files/begun" ] || complain 'the other run has lost files'
        kill -0 "$leader" || complain 'the other run was ended'
}

next_start()
{
        "$test_run" true || complain 'the next run does not start'
}

# ---- What is not a run's ----

# A user's environment, left by a killed process; and one whose directory went, and whose name has become that of a directory
# of the run.
(cd "$work/user" && exec "$ledger" env run begun) &
user=$!
wait_for test -s "$work/user/begun"
kill -KILL $user
wait $user 2>/dev/null
users=$(parts_of "$work/user/env")

begin other
other_leader=$leader other_run=$run other_files=$files
note
other_kept=$kept other_list=$list

# ---- Killed ----

begin owner
note
strangers=$(parts_of "$files/plain")
for part in control heads pool; do
        ln "$users$part" "$strangers$part"
done
kill -KILL "$leader"
wait "$leader" 2>/dev/null
! XAC_TEST_RUN=$run "$test_run" --is-on 2>/dev/null || complain 'tests go on though make was killed'
[ -e "$files" ] || complain 'the test shows nothing'
next_start
expect_nothing 'make was killed'
for part in control heads pool; do
        [ -e "$strangers$part" ] || complain "$strangers$part, which was not the run's, has gone"
        rm -f "$strangers$part"
done

begin group
note
kill -s KILL -- "-$leader"
wait "$leader" 2>/dev/null
next_start
expect_nothing 'all was killed'

begin test
note
kill -KILL "$(cat "$files/pid")"
kill -TERM "$leader"
wait "$leader" 2>/dev/null
wait_for test ! -d "$run" || cat "$work/test.log" >&2
expect_nothing 'a test was killed'

# Somebody looks at the shared memory, as `xac clean` does, while the run ends.
begin held
note
# shellcheck disable=SC2016 # of perl
perl -e 'open(my $file, "+<", $ARGV[0]) or die; my $lock = pack("ssx4qql", 0, 0, 0, 1, 0); fcntl($file, 6, $lock) or die;
         print "held\n"; close(STDOUT); sleep 2' "$(parts_of "$files/env")control" >"$work/holds" &
holder=$!
wait_for test -s "$work/holds"
kill -TERM "$leader"
wait "$leader" 2>/dev/null
wait_for test ! -d "$run" || cat "$work/held.log" >&2
expect_nothing 'somebody looked at it'
wait $holder

# ---- Others ----

kept=$other_kept list=$other_list run=$other_run files=$other_files leader=$other_leader
expect_living
for part in control heads pool; do
        [ -e "$users$part" ] || complain "$users$part, a user's, has gone"
done
kill -TERM "$leader"
wait "$leader" 2>/dev/null
wait_for test ! -d "$run" || cat "$work/other.log" >&2
expect_nothing 'it was ended'
[ "$(ls "$memory")" = owner ] || complain "left in memory: $(ls "$memory")"
[ -z "$(ls "$TMPDIR")" ] || complain "left among files: $(ls "$TMPDIR")"
exit $failed
