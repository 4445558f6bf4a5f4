#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Usage: tests/fuzz/run.sh [TARGET...]
#
# Builds the fuzz targets with clang, libFuzzer and the sanitizers in fuzz-build/ of the current folder, and
# runs each for FUZZ_RUNS executions (1,000,000) or FUZZ_SECONDS seconds (0: no limit), beginning with the
# inputs that are checked in and those found in earlier runs (fuzz-build/found-TARGET). A finding ends it; the
# input is kept beside them. FUZZ_JOBS targets run at once (1). XAC_TEST_SEED is the fuzzer's seed, if it is set. Run by `make check-fuzz`. Without clang it
# says so and succeeds.

set -eu

srcdir=$(cd "${srcdir:-.}" && pwd)
runs=${FUZZ_RUNS:-1000000}
seconds=${FUZZ_SECONDS:-0}
jobs=${FUZZ_JOBS:-1}
build=$(pwd)/fuzz-build
targets=${*:-diff replay double_write archive backup tar checksums rings manifest log_reader bpnode bptree cobtree ehash heap trace range request get sender}

clang=
for candidate in ${FUZZ_CLANG:-clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14}; do
        if command -v "$candidate" >/dev/null && echo 'int LLVMFuzzerTestOneInput(const char *b, long n);
int LLVMFuzzerTestOneInput(const char *b, long n) { return b && n < 0; }' |
                "$candidate" -x c -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null; then
                clang=$candidate
                break
        fi
done
if [ -z "$clang" ]; then
        echo 'check-fuzz: skipped, for there is no clang with libFuzzer (Debian: clang, libclang-rt-dev)'
        exit 0
fi

# ---- Build ----

mkdir -p "$build"
sanitizers='-fsanitize=address,undefined -fno-sanitize-recover=all'
flags="-std=gnu11 -D_GNU_SOURCE -DPACKAGE_VERSION=\"fuzz\" -O1 -g -fno-omit-frame-pointer -I$srcdir/include -I$srcdir"

# sources KIND SOURCE...: lines for compile. Loops over every byte are no news for the fuzzer: they are compiled without its
# counters, KIND quiet.
sources()
{
        kind=$1
        shift
        printf "$kind %s\n" "$@"
}

# below FOLDER...: their sources, as paths from $srcdir.
below()
{
        # shellcheck disable=SC2068 # patterns, of folders in $srcdir
        (cd "$srcdir" && find $@ -maxdepth 1 -name '*.c')
}

all_sources()
{
        sources quiet base/checksum.c
        sources counted $(below base | grep -v '/checksum\.c$')
        # without libzstd: an archive is the one thing that it packs
        sources counted $(below recovery | grep -v '/zstd\.c$')
        # without liburing
        sources counted $(below pages trees heap) $(below send | grep -v '/uring\.c$')
        sources counted backup/tar.c
        sources quiet $(below rewire trace) $(below backup | grep -v '/tar\.c$') $(below "libxac/*" | grep -v '/fault_sigsegv\.c$')
        sources quiet tests/fuzz/fuzz.c tests/fuzz/model.c tests/fuzz/log_image.c tests/support/chance.c \
                tests/support/check.c tests/trees/sorted.c tests/trees/xtree.c tests/trees/xtree_hash.c tests/send/stream.c \
                tests/tools/json_check.c tests/tools/trace_chew.c tests/tools/trace_make.c tools/xac/tool.c
        for source in histogram json text trace_cursor trace_data trace_file trace_heap trace_json trace_list trace_perfetto trace_ranges \
                trace_rare trace_report trace_sum trace_winner trace_words address get_list get_pages peer; do
                sources counted "tools/xac/$source.c"
        done
}

# object SOURCE
object()
{
        echo "$build/$(echo "$1" | tr / _).o"
}

# On all processors; xargs gives each shell one line, of two words.
compile_all()
{
        # shellcheck disable=SC2016 # for the shells that xargs starts
        all_sources | xargs -P "$(nproc)" -L 1 sh -c '
                counters=-fsanitize=fuzzer-no-link
                [ "$3" = counted ] || counters=
                $0 $counters -c "$1/$4" -o "$2/$(echo "$4" | tr / _).o" || exit 255' \
                "$clang $flags $sanitizers" "$srcdir" "$build"
}

# What each target has of its own.
more_of()
{
        case $1 in
        bptree | cobtree) echo "$srcdir/tests/fuzz/fuzz_tree.c $srcdir/tests/fuzz/stage.c" ;;
        ehash) echo "$srcdir/tests/fuzz/stage.c" ;;
        esac
}

link_all()
{
        objects=$(all_sources | while read -r kind source; do object "$source"; done)
        # shellcheck disable=SC2086 # lists of words
        for target in $targets; do
                echo "$srcdir/tests/fuzz/fuzz_$target.c" $(more_of "$target") $objects -lurcu-common -lpthread \
                        -o "$build/fuzz_$target"
        done | xargs -P "$(nproc)" -L 1 $clang $flags $sanitizers -fsanitize=fuzzer
}

echo "check-fuzz: building with $clang"
compile_all
link_all

# ---- Run ----

# In memory, and removed also when a target ends by a signal.
scratch=$(mktemp -d "${XAC_TEST_RUN:-/dev/shm}/xac-fuzz-XXXXXX" 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
TMPDIR=$scratch XAC_TEST_QUICK=$scratch
ASAN_OPTIONS=quarantine_size_mb=4:${ASAN_OPTIONS-}
export TMPDIR XAC_TEST_QUICK ASAN_OPTIONS

run_one()
{
        target=$1
        mkdir -p "$build/found-$target"
        status=0
        length=8192
        if [ "$target" = double_write ]; then
                length=20500 # a whole file of a few pages
        fi
        "$build/fuzz_$target" -seed="${XAC_TEST_SEED:-0}" -runs="$runs" -max_total_time="$seconds" -max_len=$length -timeout=60 \
                -verbosity=0 -print_final_stats=1 -artifact_prefix="$build/finding-$target-" \
                "$build/found-$target" "$srcdir/tests/fuzz/corpus/$target" >"$build/$target.log" 2>&1 || status=$?
        executed=$(sed -n 's/^stat::number_of_executed_units: //p' "$build/$target.log")
        if [ $status -ne 0 ]; then
                tail -n 60 "$build/$target.log" >&2
                echo "check-fuzz: $target: a FINDING after ${executed:-?} executions; its input: $build" >&2
                return 1
        fi
        echo "check-fuzz: $target: $executed executions, nothing found"
}

failures=0
set --
for target in $targets; do
        run_one "$target" &
        set -- "$@" $!
        if [ $# -ge "$jobs" ]; then
                wait "$1" || failures=$((failures + 1))
                shift
        fi
done
for job in "$@"; do
        wait "$job" || failures=$((failures + 1))
done
[ $failures -eq 0 ]
