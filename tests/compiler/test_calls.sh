#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Calls that xac-cc compiles otherwise than clang: a program's own strdup() counts in all of its files, and structs by value
# take no more stack for many calls than for one.

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

cat >"$work/own.c" <<'END'
#include <stddef.h>
char *strdup(const char *text);
char *strdup(const char *text)
{
        (void)text;
        static char own[] = "own";
        return own;
}
int bcmp(const void *a, const void *b, size_t len);
int bcmp(const void *a, const void *b, size_t len)
{
        return a && b ? 77 : (int)len;
}
END
cat >"$work/calls.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct large {
        long words[128];
};

static volatile int one = 1;

static __attribute__((noinline)) long sum_of(struct large by_value)
{
        return by_value.words[0] + by_value.words[127];
}

#define FOUR(what)    what what what what
#define SIXTEEN(what) FOUR(FOUR(what))

/* Of one frame for each call, each of 128 KiB where all have rooms of their own, 80 do not fit a stack of 8 MiB. */
static __attribute__((noinline)) long recurse(struct large *there, int depth)
{
        long sum = 0;
        FOUR(SIXTEEN(sum += sum_of(*there); sum += sum_of(*there);))
        there->words[0] = 1;
        return depth ? sum + recurse(there, depth - 1) : sum;
}

static __attribute__((noinline)) char *copy_of(const char *text)
{
        return strdup(text);
}

static __attribute__((noinline)) int compare(const char *a, const char *b, size_t len)
{
        return bcmp(a, b, len) * 10 + (memcmp(a, b, len) != 0);
}

int main(void)
{
        struct large own = { { 1, 2 } };
        own.words[127] = 2;
        char text[] = "text", same[] = "text";
        text[0] = same[0] = (char)one;
        printf("%s %d %ld\n", copy_of(text), compare(text, same, (size_t)one + 3), recurse(&own, 80));
        return 0;
}
END
expected='own 770 31104'
for version in $versions; do
        for level in -O0 -O2; do
                if XAC_CLANG=clang-$version "$compiler" $level -fno-builtin -fno-optimize-sibling-calls -D_GNU_SOURCE -Wall \
                        -Wextra -Werror -o "$work/calls" "$work/own.c" "$work/calls.c" &&
                        said=$(ulimit -s 8192 && "$work/calls") && [ "$said" = "$expected" ]; then
                        echo "ok: LLVM $version $level"
                else
                        echo "FAILED: LLVM $version $level: '$said' instead of '$expected'"
                        status=1
                fi
        done
done
exit $status
