#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Random programs (generate.c), compiled by xac-cc, do the same in a view as in ordinary memory. PROGRAMS of them, from
# XAC_TEST_SEED on, by the versions of LLVM and levels of optimisation in turn, every seventh optimised when it is linked.

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

# Those whose clang can have the linker optimise.
linked=' '
echo 'int main(void) { return 0; }' >"$work/empty.c"
for version in $versions; do
        ! "clang-$version" -flto=thin "$work/empty.c" -o "$work/empty" >"$work/said" 2>&1 || linked="$linked$version "
done
export srcdir compiler versions linked work
"${CC:-cc}" -O1 -o "$work/generate" "$srcdir/tests/compiler/generate.c" || exit 1

cat >"$work/try" <<'END'
. "$srcdir/tests/support/remove-env.sh"
seed=$1
own=$work/$seed
mkdir "$own"
set -- $versions
shift $((seed % $#))
arguments="-O$((seed / 3 % 4)) $([ $((seed % 5)) -eq 0 ] && echo -march=native)"
case $linked in
*" $1 "*) [ $((seed % 7)) -gt 0 ] || arguments="$arguments -flto=$([ $((seed % 2)) -eq 0 ] && echo full || echo thin)" ;;
esac
"$work/generate" "$seed" >"$own/program.c"
XAC_CLANG=clang-$1 "$compiler" -w $arguments -I"$srcdir" "$own/program.c" -o "$own/program" >"$own/said" 2>&1 &&
        "$own/program" "$own/env" >>"$own/said" 2>&1 || {
        echo "FAILED: LLVM $1 $arguments, seed $seed: $(tail -n 2 "$own/said" | cut -c 1-200)"
        remove_env "$own/env"
        echo "  again: PROGRAMS=1 XAC_TEST_SEED=$seed tests/compiler/test_programs.sh"
        exit 255
}
rm -rf "$own"
END

first=${XAC_TEST_SEED:-1}
count=${PROGRAMS:-50}
if seq "$first" $((first + count - 1)) | xargs -P "$(nproc)" -n 1 sh "$work/try"; then
        echo "ok: $count programs from seed $first"
else
        exit 1
fi
