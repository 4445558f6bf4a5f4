# SPDX-License-Identifier: MIT
#
# jansson: the tests of its functions.
#
# shellcheck shell=sh disable=SC2034,SC2046

package=jansson
led='write'
calls='printf: the C library formats text on the heap
qsort: the C library sorts keys on the heap
strto: the C library reads numbers from text on the heap'

build()
{
        sed 's/@json_inline@/inline/; s/@json_have_[a-z_]*@/1/; s/@[a-z_]*@/1/' src/jansson_config.h.in >"$out/jansson_config.h"
        : >"$out/jansson_private_config.h"
        compile "-I$out" -Isrc -DHAVE_STDINT_H -DHAVE_UNISTD_H -DHAVE_LOCALE_H -DHAVE_SETLOCALE -DHAVE_STRTOLL \
                -DHAVE_LOCALECONV -DINITIAL_HASHTABLE_ORDER=3 -- src/*.c test/suites/api/*.c || return
        for file in test/suites/api/*.c; do
                link "$(basename "$file" .c)" $(objects src/*.c "$file") || return
        done
}

exercise()
{
        for file in "$source"/test/suites/api/*.c; do
                run "$(basename "$file" .c)"
        done
}
