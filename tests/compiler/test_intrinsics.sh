#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Each intrinsic of LLVM that accesses memory is in one of the pass's lists, for each LLVM that there is a plug-in for.
# docs/COMPILER.md has the same lists. A use of each that is translated, and of each refused one of this machine, is
# compiled: the one without a word, the other with an error that has its name.

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

fails()
{
        echo "FAILED: $*"
        status=1
}

# in_source LIST: what is between its braces.
in_source()
{
        sed -n "/\*$1\[\] = {/,/};/s/^ *\"\(.*\)\",$/\1/p" "$srcdir/compiler/intrinsics.cc"
}

# in_document LIST
in_document()
{
        sed -n "/^<!-- intrinsics: $1 -->\$/,/^<!-- end -->\$/p" "$srcdir/docs/COMPILER.md" | sed '/^<!--/d; /^```/d' |
                tr -s ' ' '\n' | sed '/^$/d'
}

for list in translated harmless refused; do
        in_source "$(echo $list | tr a-z A-Z)" >"$work/source"
        in_document $list >"$work/document"
        [ -s "$work/source" ] || fails "compiler/intrinsics.cc has no list $list"
        if diff "$work/source" "$work/document" >"$work/difference"; then
                echo "ok: $list: $(wc -l <"$work/source") names"
        else
                fails "docs/COMPILER.md has another list $list than compiler/intrinsics.cc:"
                cat "$work/difference"
        fi
done

# uses VERSION: a program that uses those with types of their own, and what is said of it.
uses()
{
        echo >"$work/nothing.c"
        XAC_PASS_PRINTS_INTRINSICS=1 XAC_CLANG=clang-$1 "$compiler" -c -o "$work/nothing.o" "$work/nothing.c" \
                >"$work/uses.ll" || fails "LLVM $1: the intrinsics are not printed"
        XAC_CLANG=clang-$1 "$compiler" -Wno-override-module -ferror-limit=0 -x ir -S -emit-llvm -o /dev/null \
                "$work/uses.ll" >"$work/said" 2>&1
        sed -n 's/.*accesses of llvm\.\([^ ]*\) are not translated.*/\1/p' "$work/said" | sort >"$work/complained"
}

for version in $versions; do
        uses "$version"
        if grep -E '^; (none|several) ' "$work/uses.ll"; then
                fails "LLVM $version: these are not in one of the lists of compiler/intrinsics.cc, but in none or several"
        fi
        sed -n 's/^define .*@use_\([^( ]*\)(.*/\1/p' "$work/uses.ll" | sort >"$work/used"
        sed -n 's/^; refused //p' "$work/uses.ll" | sort | comm -12 - "$work/used" >"$work/refused"
        if diff "$work/refused" "$work/complained" >"$work/difference" && [ -s "$work/refused" ]; then
                echo "ok: LLVM $version: $(wc -l <"$work/refused") are refused, of $(wc -l <"$work/used") that are used"
        else
                fails "LLVM $version: refused by the lists (<), by the pass (>):"
                cat "$work/difference" "$work/said"
        fi
done
exit $status
