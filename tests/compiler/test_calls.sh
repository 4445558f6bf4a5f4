#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Calls that xac-cc compiles otherwise than clang: a program's own strdup() counts in all of its files, structs by value take
# no more stack for many calls than for one, and functions that copy or search take no fault where the program's malloc()
# gives memory in a view.

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
cat >"$work/exchanged.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/translate.h>
#include <xac/xac.h>

/* The linker's names. */
void *__wrap_malloc(size_t byte_len);
void __wrap_free(void *object);

enum { MEMORY = 1 << 20, PART = 3000, TEXT = 20000, PLACE = 9000 };

static char *memory;
static size_t taken;

void *__wrap_malloc(size_t byte_len)
{
        void *object = memory + taken;
        taken += (byte_len + 15) & ~(size_t)15;
        return object;
}

void __wrap_free(void *object)
{
        (void)object;
}

static int must(int is_so, const char *what)
{
        if (!is_so)
                printf("it is not so: %s\n", what);
        return is_so;
}
#define MUST(what) must(what, #what)

static int search(void *unused)
{
        (void)unused;
        char *text = malloc(TEXT + 1), *part = malloc(PART + 1);
        memset(text, 'a', TEXT);
        memset(part, 'a', PART);
        text[TEXT] = part[PART] = '\0';
        text[PLACE + PART - 1] = part[PART - 1] = 'b';
        const size_t before = taken;
        const int is_found = MUST(strstr(text, part) == text + PLACE) & MUST(strcasestr(text, part) == text + PLACE) &
                             MUST(memmem(text, TEXT, part, PART) == text + PLACE);
        return !(is_found & MUST(taken == before));
}

static int copy(void *unused)
{
        (void)unused;
        char *whole = strdup("which is copied"), *some = strndup(whole, 5);
        return !(MUST(xac_in_window(whole)) & MUST(xac_in_window(some)) & MUST(!strcmp(whole, "which is copied")) &
                 MUST(!strcmp(some, "which")));
}

int main(int count, char **arguments)
{
        xac_env *env;
        xac_stats stats;
        if (count < 2 || xac_open(arguments[1], XAC_CREATE | XAC_VOLATILE, NULL, &env))
                return 1;
        memory = xac_mmap(env, "memory", MEMORY, 0);
        if (memory == MAP_FAILED || xac_run(env, 0, copy, NULL) || xac_run(env, 0, search, NULL) || xac_stat(env, &stats))
                return 1;
        printf("%llu faults\n", (unsigned long long)(stats.read_faults + stats.write_faults));
        return xac_close(env) != 0;
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
        said=
        if XAC_CLANG=clang-$version "$compiler" -O2 -D_GNU_SOURCE -Wall -Wextra -Werror "-I$srcdir/include" \
                -Wl,--wrap=malloc,--wrap=free -o "$work/exchanged" "$work/exchanged.c" &&
                said=$("$work/exchanged" "$work/env") && [ "$said" = '0 faults' ]; then
                echo "ok: LLVM $version: malloc() gives memory in a view"
        else
                echo "FAILED: LLVM $version: malloc() gives memory in a view: '$said' instead of '0 faults'"
                status=1
        fi
        remove_env "$work/env"
done
exit $status
