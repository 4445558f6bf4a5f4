#!/bin/sh
# SPDX-License-Identifier: MIT
#
# mixes.c: compiled and other code on the same pages. With each seed one run; XAC_TEST_SEED is the first.

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

flags="-O2 -Wall -Wextra -Werror -I$srcdir -I$srcdir/include"
# shellcheck disable=SC2086 # words
"${CC:-cc}" $flags -c "$srcdir/tests/compiler/mixes_other.c" -o "$work/other.o" || exit 1
seed=${XAC_TEST_SEED:-1}
for run in 1 2 3 4; do
        level=-O$((run % 4))
        # shellcheck disable=SC2086 # words
        "$compiler" $flags $level "$srcdir/tests/compiler/mixes.c" "$work/other.o" -o "$work/mixes" ||
                exit 1
        "$work/mixes" "$work/env" "$seed" "${MIXES:-25000}" || {
                echo "FAILED: $level, seed $seed (XAC_TEST_SEED=$seed repeats it)"
                remove_env "$work/env"
                exit 1
        }
        remove_env "$work/env"
        echo "ok: $level, ${MIXES:-25000} mixes, seed $seed"
        seed=$((seed + 1))
done
