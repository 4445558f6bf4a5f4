#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Python's faulthandler, switched on before the environment is opened and after: transactions in views go on, and a
# crash of the program's own is reported. Skipped without Python, a shared library, or in builds with sanitizers, which
# Python does not load.

set -eu

builddir=${builddir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip()
{
        echo "$1: faulthandler not tried"
        exit 77
}

command -v python3 >/dev/null || skip 'no python3'
library=$(cd "$builddir" && pwd)/.libs/libxac.so
[ -e "$library" ] || skip 'no shared library'
case ${XAC_CFLAGS-} in
*-fsanitize=*) skip 'built with sanitizers' ;;
esac
python3 -c 'import ctypes, faulthandler' || skip 'a Python without ctypes'

cat >"$work/count.py" <<'END'
import ctypes
import faulthandler
import sys

CREATE, VOLATILE = 0x0001, 0x0008
xac = ctypes.CDLL(sys.argv[1])
xac.xac_mmap.restype = ctypes.c_void_p
xac.xac_mmap.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
xac.xbegin.argtypes = [ctypes.c_void_p, ctypes.c_int]
xac.xend.argtypes = [ctypes.c_void_p]
xac.xac_close.argtypes = [ctypes.c_void_p]
env = ctypes.c_void_p()


def check(result):
    if result:
        sys.exit("a call failed: %d" % result)


def count_up(page):
    check(xac.xbegin(env, 0))
    words[page * 512] += 1
    check(xac.xend(env))


check(xac.xac_open(sys.argv[2].encode(), CREATE | VOLATILE, None, ctypes.byref(env)))
base = xac.xac_mmap(env, b"words", 16 * 4096, 0)
words = (ctypes.c_uint64 * (16 * 512)).from_address(base)
for page in range(16):
    if page == 4 or page == 12:
        faulthandler.enable()
    if page == 8:
        faulthandler.disable()
    count_up(page)
    count_up(0)
check(xac.xbegin(env, 0))
print(sum(words[page * 512] for page in range(16)), flush=True)
check(xac.xend(env))
check(xac.xac_close(env))
ctypes.string_at(8)
END

run()
{
        : >"$work/said"
        status=0
        python3 "$@" "$work/count.py" "$library" "$work/env" >"$work/said" 2>&1 || status=$?
        rm -rf "$work/env"
        cat "$work/said"
        [ "$status" = 139 ] # SIGSEGV
        grep -q '^32$' "$work/said"
        [ "$(grep -c 'Fatal Python error: Segmentation fault' "$work/said")" = 1 ]
        grep -q 'count.py.*line' "$work/said"
}

ulimit -c 0
run
run -X faulthandler
