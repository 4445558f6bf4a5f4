#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How large code becomes that xac-cc compiles, at most four times as large as clang's at -O2, twice at -Os (SQLite: 3.1 and
# 1.4). It is nearly nothing but loads and stores: at pointers that are not known before, with calls in between; many by one
# pointer; in 200 loops that clang makes vectors of, in one function. Those run in a view, too.

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
} >"$work/pointers.c"
{
        echo 'struct node { struct node *next; long key; int count; short kind; char letter; double weight; };'
        for i in 1 2 3 4 5 6 7 8 9 10; do
                echo "void set_$i(struct node *node, int by);"
                echo "void set_$i(struct node *node, int by) { node->key += by; node->count -= by;"
                echo "node->kind = $i; node->letter ^= by; node->next = 0; }"
        done
} >"$work/members.c"
{
        echo 'void loops(float *a, const float *b, long n);'
        echo 'void loops(float *a, const float *b, long n) {'
        i=0
        while [ $((i += 1)) -le 200 ]; do
                echo "for (long i = 0; i < n; i++) a[i] = a[i] * 0.$i""f + b[i + $i];"
        done
        echo '}'
} >"$work/loops.c"
cat >"$work/main.c" <<'END'
#include <string.h>
#include <sys/mman.h>
#include <xac/xac.h>

enum { NUMBERS = 5000, SHIFT = 300, BYTES = 4 * (2 * NUMBERS + SHIFT) };

void loops(float *a, const float *b, long n);
static float own[2 * NUMBERS + SHIFT];

int main(int argc, char **argv)
{
        xac_env *env;
        if (argc != 2 || xac_open(argv[1], XAC_CREATE | XAC_VOLATILE, NULL, &env))
                return 1;
        float *view = xac_mmap(env, "numbers", BYTES, XAC_SHARED);
        if (view == MAP_FAILED || xbegin(env, 0))
                return 2;
        for (int i = 0; i < 2 * NUMBERS + SHIFT; i++)
                own[i] = (float)(i % 100), view[i] = own[i];
        loops(own + 1, own + NUMBERS + 1, NUMBERS);
        loops(view + 1, view + NUMBERS + 1, NUMBERS);
        int differs = memcmp(own, view, BYTES) != 0;
        loops(own, view + NUMBERS, NUMBERS);
        loops(view, own + NUMBERS, NUMBERS);
        differs |= memcmp(own, view, BYTES) != 0;
        return xend(env) || differs ? 3 : xac_close(env);
}
END

# text_of FILE
text_of()
{
        size "$1" | awk 'NR == 2 { print $1 }'
}

# is_within FILE LEVEL PERCENT: by clang-$version.
is_within()
{
        "clang-$version" "$2" -c "$work/$1.c" -o "$work/plain.o" || exit 1
        XAC_CLANG=clang-$version "$compiler" "$2" -c "$work/$1.c" -o "$work/$1.o" || exit 1
        percent=$(($(text_of "$work/$1.o") * 100 / $(text_of "$work/plain.o")))
        if [ "$percent" -le "$3" ]; then
                echo "ok: LLVM $version $2, $1: $percent % of clang's text"
        else
                echo "FAILED: LLVM $version $2, $1: $percent % of clang's text, at most $3 are wanted"
                status=1
        fi
}

# runs: what is_within has made of the loops.
runs()
{
        XAC_CLANG=clang-$version "$compiler" "$work/main.c" "$work/loops.o" -o "$work/loops" || exit 1
        if "$work/loops" "$work/env"; then
                echo "ok: LLVM $version: the loops run in a view"
        else
                echo "FAILED: LLVM $version: the loops end with status $? in a view"
                status=1
        fi
        remove_env "$work/env"
}

# Look-ups out of line are for x86-64.
[ "$(uname -m)" = x86_64 ] || exit 77
for version in $versions; do
        is_within pointers -Os 200
        is_within pointers -O2 400
        is_within members -O2 400
        is_within loops -O2 400
        runs
done
exit $status
