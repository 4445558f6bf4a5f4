# SPDX-License-Identifier: MIT
#
# QuickJS: its tests in its own language, but test_std, which starts processes in the middle of a transaction, test_worker,
# which needs a second thread, and that of a library of its own.
#
# shellcheck shell=sh disable=SC2034,SC2046

package=quickjs
led='fopen fread fwrite'
calls='printf: the C library formats text on the heap
realpath: the C library reads a path on the heap'

build()
{
        set -- quickjs.c dtoa.c libregexp.c libunicode.c cutils.c quickjs-libc.c qjs.c
        # What it would compile from its own language: what it says to who types.
        printf 'const unsigned qjsc_repl_size = 0;\nconst unsigned char qjsc_repl[1];\n' >"$out/repl.c"
        compile -I. -D_GNU_SOURCE '-DCONFIG_VERSION="Debian"' -fwrapv -- "$@" &&
                link qjs $(objects "$@") "$out/repl.c" -ldl -lpthread
}

exercise()
{
        ln -sf "$source/tests" tests
        for test in closure language loop bigint cyclic_import; do
                run qjs tests/test_$test.js
        done
        run qjs --std tests/test_builtin.js
}
