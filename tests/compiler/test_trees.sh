#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The trees a fourth time: trees/ and their tests, as they are, compiled by xac-cc. The way "view" is by plain pointers then,
# but must take no page fault (XAC_TEST_NO_FAULTS, tests/trees/ways.c).

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"
flags="-std=gnu11 -D_GNU_SOURCE -O2 -pthread -fexceptions -w -I$srcdir -I$srcdir/include"

# What both trees and their tests consist of, but for the programs.
sources=$(cd "$srcdir" && echo pages/*.c trees/*.c tests/support/*.c tests/trees/*.c | tr ' ' '\n' | grep -v tests/trees/test_)
# shellcheck disable=SC2016,SC2086 # for the shells that xargs starts; words
(cd "$srcdir" && echo $sources | tr ' ' '\n' | xargs -P "$(nproc)" -n 1 sh -c \
        '"$0" $1 -c "$3" -o "$2/$(echo "$3" | tr / -).o" || exit 255' "$compiler" "$flags" "$work") || exit 1
ar cr "$work/libtrees.a" "$work"/*.o

# run NAME WHAT COMMAND...: says what of it went well.
run()
{
        name=$1
        what=$2
        shift 2
        if "$@" >"$work/said" 2>&1; then
                echo "ok: $name$(grep -c "$what" "$work/said" | sed 's/^/, /; s/^, 0$//')"
        else
                echo "FAILED: $name: $*"
                grep -B 5 -A 3 'FAILED' "$work/said" | head -n 40
                tail -n 3 "$work/said"
                status=1
        fi
}

# build NAME ARGUMENT...
build()
{
        name=$1
        shift
        # shellcheck disable=SC2086 # words
        "$compiler" $flags "$srcdir/tests/trees/$name.c" "$@" "$work/libtrees.a" -lurcu-common -lcmocka -lm -o "$work/$name" || exit 1
}

for name in test_tree test_tree_cursor test_tree_model test_tree_names; do
        build $name
        run $name '  OK ' env XAC_TEST_NO_FAULTS=1 "$work/$name"
done
# What is written in a read-only transaction goes into private copies, which a view shows by faults.
build test_tree_transactions
run test_tree_transactions '  OK ' "$work/test_tree_transactions"

# It looks inside of libxac, too.
# shellcheck disable=SC2086 # words
"$compiler" $flags "$srcdir/tests/trees/history.c" -Wl,--wrap=arena_run "$work/libtrees.a" "$builddir/.libs/libxac-core.a" \
        $archive_libs -lcmocka -lm -o "$work/history" || exit 1
for tree in bptree cobtree; do
        run "history of a $tree" '^$' "$work/history" --tree $tree --mode view --transactions 3000 --processes 2 \
                --threads 2 --steps 8 --snapshots --seed "${XAC_TEST_SEED:-1}"
done
exit $status
