#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How large code becomes that xac-cc compiles, which is nearly nothing but loads and stores at pointers that are not known
# before, with calls in between: at most four times as large as clang's at -O2, twice at -Os. (SQLite: 3.5 and 1.4.)

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

{
        echo 'struct node { struct node *next; long key; int count; short kind; char letter; double weight; };'
        echo 'void other(struct node *node);'
        for i in 1 2 3 4 5 6 7 8 9 10; do
                echo "void change_$i(struct node *node, int count);"
                echo "void change_$i(struct node *node, int count) {"
                echo "other(node); if (node->next->count == count + $i) node->next->kind = $i;"
                echo "other(node->next); node->next->key++; if (node->next->next) node->next->letter = 'a';"
                echo "other(node->next->next); node->next->weight *= 2; }"
        done
} >"$work/sizes.c"

# text_of FILE
text_of()
{
        size "$1" | awk 'NR == 2 { print $1 }'
}

# is_within LEVEL PERCENT: by clang-$version.
is_within()
{
        "clang-$version" "$1" -c "$work/sizes.c" -o "$work/plain.o" || exit 1
        XAC_CLANG=clang-$version "$compiler" "$1" -c "$work/sizes.c" -o "$work/compiled.o" || exit 1
        percent=$(($(text_of "$work/compiled.o") * 100 / $(text_of "$work/plain.o")))
        if [ "$percent" -le "$2" ]; then
                echo "ok: LLVM $version $1: $percent % of clang's text"
        else
                echo "FAILED: LLVM $version $1: $percent % of clang's text, at most $2 are wanted"
                status=1
        fi
}

# Look-ups out of line are for x86-64.
[ "$(uname -m)" = x86_64 ] || exit 77
for version in $versions; do
        is_within -O2 400
        is_within -Os 200
done
exit $status
