#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What is said of code that cannot be compiled, or that does what it must not; and what must be compiled without a word.

set -u

srcdir=${srcdir:-.}
builddir=${builddir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$srcdir/tests/support/remove-env.sh"
status=0

if [ ! -x "$builddir/compiler/build-cc" ]; then
        echo 'there is no clang with headers of LLVM: xac-cc was not built'
        exit 77
fi

# is_said TEXT: the file $work/said has it.
is_said()
{
        if grep -q -e "$1" "$work/said"; then
                echo "ok: $1"
        else
                echo "FAILED: not said: $1"
                cat "$work/said"
                status=1
        fi
}

is_not_said()
{
        if grep -q -e "$1" "$work/said"; then
                echo "FAILED: said: $1"
                cat "$work/said"
                status=1
        fi
}

# Compiled code, between transactions. A function of the program with the name of one of the C library's is its own.
cat >"$work/index.c" <<'END'
int index(const long *numbers, long number);
int index(const long *numbers, long number)
{
        int i = 0;
        while (numbers[i] != number)
                i++;
        return i;
}
END
"$builddir/compiler/build-cc" -O2 -fno-builtin -Wall -Wextra -Werror -I"$srcdir/include" -o "$work/outside" \
        "$srcdir/tests/compiler/outside.c" "$work/index.c" || exit 1
"$work/outside" "$work/env" >"$work/said" 2>&1
is_said '^now$'
is_said 'access to numbers at offset 0x18: outside of a transaction'
remove_env "$work/env"

# An intrinsic that is not known.
if [ "$(uname -m)" = x86_64 ]; then
        cat >"$work/flush.c" <<'END'
#include <emmintrin.h>
void flush(const void *p);
void flush(const void *p)
{
        _mm_clflush(p);
}
END
        "$builddir/compiler/build-cc" -c "$work/flush.c" -o "$work/flush.o" >"$work/said" 2>&1
        is_said 'error: .*clflush are not translated; what meets no view can be in a file that clang compiles'
fi

# What others than the pass access, by a pointer that they are given: a warning each. Assembly without text is none.
cat >"$work/warned.c" <<'END'
#include <setjmp.h>
int warned(jmp_buf *there, long *numbers);
int warned(jmp_buf *there, long *numbers)
{
        jmp_buf own;
        long number = 0;
        __asm__ volatile("# %0" : : "r"(numbers) : "memory");
        __asm__ volatile("# %0" : "+m"(*numbers));
        __asm__ volatile("" : : "r"(numbers) : "memory");
        __asm__ volatile("# %0 %1" : : "r"(&number), "r"(number) : "memory");
        return setjmp(own) ? 0 : setjmp(*there);
}
END
"$builddir/compiler/build-cc" -c "$work/warned.c" -o "$work/warned.o" >"$work/said" 2>&1
is_said 'warned.c.*warning: .*inline assembly accesses is not translated: give it no addresses in views'
is_said 'warned.c.*warning: .*what setjmp() writes is not translated: have the buffer on the stack'
is_said '^3 warnings generated'

# A report: of a file, what is not in it; of a program, what nobody compiles. Without -g by the name of the function.
cat >"$work/sort.c" <<'END'
#include <stdlib.h>
#include <string.h>
long sum_of(const long *numbers);
void sort(long *numbers, size_t count, int (*compare)(const void *a, const void *b));
void sort(long *numbers, size_t count, int (*compare)(const void *a, const void *b))
{
        qsort(numbers, count, sizeof(*numbers), compare);
        __asm__ volatile("# %0" : : "r"(numbers) : "memory");
        numbers[0] = sum_of(numbers) + (long)strlen((char *)numbers);
}
END
cat >"$work/sum.c" <<'END'
long sum_of(const long *numbers);
long sum_of(const long *numbers)
{
        return numbers[0] + numbers[1];
}
int main(void)
{
        return 0;
}
END
report()
{
        "$builddir/compiler/build-cc" --xac-report -O2 -w "$@" >"$work/said" 2>&1 || status=1
}
report -g -c "$work/sort.c" -o "$work/sort.o"
is_said 'sort.c:7: qsort: is given a pointer, and is not in this file'
is_said 'sort.c:8: memory that inline assembly accesses is not translated'
is_said 'sort.c:9: sum_of: is given a pointer, and is not in this file'
is_not_said strlen
report -c "$work/sum.c" -o "$work/sum.o"
is_not_said .
report "$work/sort.o" "$work/sum.o" -o "$work/a program"
is_said 'sort.c:7: qsort: is given a pointer, and is not compiled by xac-cc'
is_said 'sort.c:8: memory that inline assembly accesses is not translated'
is_not_said sum_of
report "$work/sort.c" "$work/sum.c" -o "$work/at-once"
is_said '^in sort: qsort: is given a pointer, and is not compiled by xac-cc'
is_not_said sum_of
# A name of letters that are two bytes each, before what could be digits of them.
cp "$work/sort.c" "$work/année.c"
report -g "$work/année.c" "$work/sum.c" -o "$work/at-once"
is_said 'année.c:7: qsort: is given a pointer, and is not compiled by xac-cc'

# C++ by xac-cc, however that is said.
cp "$work/warned.c" "$work/warned"
for language in '-x c++' -xc++ '--language c++' --language=c++; do
        # shellcheck disable=SC2086 # words
        "$builddir/compiler/build-cc" $language '-###' -c "$work/warned" >"$work/said" 2>&1
        is_said containers.h
done

# The header that xac-c++ includes, with all warnings that there are.
echo 'typedef int nothing;' >"$work/nothing.cc"
if ! "$builddir/compiler/build-c++" -Weverything -Werror -c "$work/nothing.cc" -o "$work/nothing.o"; then
        echo 'FAILED: a warning of containers.h'
        status=1
fi
exit $status
