#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Transfers between accounts by several threads and processes, and processes that are killed (SIGKILL), as they are tested
# by page faults and by declared access (tests/libxac, tests/kill, examples): the same sources, compiled by xac-cc. They
# must take no page fault (no_faults.c). And with one file compiled otherwise they must fail.
#
# BANK_SECONDS: each loop of deaths for so long, with each LLVM; else 1 second, with the one that XAC_TEST_SEED is for.

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

flags="-std=gnu11 -D_GNU_SOURCE -O2 -pthread -fexceptions -w -I$srcdir -I$srcdir/include"
wrap=-Wl,--wrap=xac_mmap,--wrap=xac_close
seconds=${BANK_SECONDS:-1}
export builddir # for programs that find no way on

# run COMMAND...: what it says is in $work/said. Waits for all its processes, which hold the pipe.
run()
{
        (cd "$work" && timeout $((seconds + $(leeway_s 60))) "$@" 2>&1; echo $? >"$work/ended") 2>&1 | cat >"$work/said"
        return "$(cat "$work/ended")"
}

# passes WHAT COMMAND...
passes()
{
        what=$1
        shift
        if run "$@"; then
                echo "ok: $what: $(grep -E 'PASSED|every|total|kills in|rounds, ev|deaths' "$work/said" | tail -n 1 | tr -s ' ')"
        else
                echo "FAILED: $what: $*"
                grep -B 5 -A 3 FAILED "$work/said" | head -n 40
                tail -n 5 "$work/said"
                status=1
        fi
}

# Whoever has touched a view by faults can share it with nobody.
symptoms='threads share this view\|faults in compiled code\|MAP_FAILED'

# is_missed WHAT COMMAND...: it fails, because of accesses that were not translated.
is_missed()
{
        what=$1
        shift
        if run "$@"; then
                echo "FAILED: $what: nobody misses the translations"
                status=1
        elif ! grep "$symptoms" "$work/said" >"$work/symptom"; then
                echo "FAILED: $what: it fails for another reason: $(tail -n 1 "$work/said")"
                status=1
        else
                echo "ok: $what: $(head -n 1 "$work/symptom" | cut -c 1-100)"
        fi
}

# example NAME
example()
{
        # shellcheck disable=SC2086 # words
        "$compiler" $flags $wrap "$srcdir/examples/$1.c" "$srcdir/tests/compiler/no_faults.c" -o "$work/$1" || exit 1
}

common=$(cd "$srcdir" && echo tests/support/*.c tests/kill/audit.c tests/compiler/no_faults.c)
programs="tests/libxac/test_processes.c tests/libxac/test_threads.c tests/kill/random.c tests/kill/rounds.c
        tests/kill/single_step.c tests/kill/stage.c tests/kill/tally.c tests/kill/trace.c tests/kill/watch.c
        tests/kill/worker.c"

compile()
{
        # shellcheck disable=SC2016,SC2086 # for the shells that xargs starts; words
        echo $common $programs | tr ' ' '\n' | xargs -P "$(nproc)" -n 1 sh -c \
                '"$0" $1 -c "$3/$4" -o "$2/$(basename "$4" .c).o" || exit 255' "$compiler" "$flags" "$work" "$srcdir" ||
                exit 1
}

link_all()
{
        rm -f "$work/libcommon.a"
        for source in $common; do
                ar q "$work/libcommon.a" "$work/$(basename "$source" .c).o" 2>/dev/null
        done
        link test_processes
        link test_threads
        link random tally watch worker
        link rounds tally worker
        link single_step stage trace
}

# link PROGRAM OBJECT...
link()
{
        # shellcheck disable=SC2046,SC2086 # words
        "$compiler" $flags $wrap $(printf "$work/%s.o " "$@") "$work/libcommon.a" "$builddir/.libs/libxac-core.a" \
                $archive_libs -lcmocka -lm -o "$work/$1" || exit 1
}

# shellcheck disable=SC2086 # words
set -- $versions
[ -n "${BANK_SECONDS-}" ] || { shift $((${XAC_TEST_SEED:-1} % $#)); set -- "$1"; }
for version in $versions; do
        XAC_CLANG=clang-$version
        export XAC_CLANG
        for name in bank_threads bank_processes; do
                example $name
                passes "$name, LLVM $version" "./$name"
                remove_env "$work/bank.xac"
        done
done
for version in "$@"; do
        XAC_CLANG=clang-$version
        compile
        link_all
        passes "processes, LLVM $version" ./test_processes
        passes threads ./test_threads
        passes kill ./random --seconds "$seconds"
        passes 'kill, durable' ./random --seconds "$seconds" --durable
        passes 'kill all' ./rounds --seconds "$seconds"
        for region in touch commit-view view-sync; do
                passes "$region" ./single_step --only $region ${BANK_SECONDS:+--seconds "$BANK_SECONDS"}
        done
        [ -n "${BANK_SECONDS-}" ] || continue
        passes 'processes, on disk' env XAC_TEST_DURABLE=1 ./test_processes
        passes 'kill, large pages' ./random --seconds "$seconds" --durable --page-bytes 65536
done

for name in bank_threads bank_processes; do
        XAC_PASS_LEAVES_OUT=load example $name
        is_missed "$name without load" "./$name"
        remove_env "$work/bank.xac"
done
unset XAC_CLANG
# shellcheck disable=SC2086 # words
for file in kill/worker support/seat; do
        "${CC:-cc}" $flags -c "$srcdir/tests/$file.c" -o "$work/${file#*/}.o" || exit 1
done
link_all
is_missed 'a worker compiled otherwise' ./random --seconds 1
is_missed 'a bank compiled otherwise' ./test_processes
exit $status
