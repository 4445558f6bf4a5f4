# SPDX-License-Identifier: MIT
#
# zlib: its example, which tries each function, and infcover, which reaches each line of inflate; minigzip there and back.
#
# shellcheck shell=sh disable=SC2034,SC2046

package=zlib
led='read write'
calls='printf: the C library formats text on the heap'

build()
{
        compile -I. -DHAVE_UNISTD_H -DHAVE_STDARG_H -- *.c test/example.c test/minigzip.c test/infcover.c &&
                link example $(objects *.c test/example.c) &&
                link minigzip $(objects *.c test/minigzip.c) &&
                link infcover $(objects *.c test/infcover.c)
}

exercise()
{
        run example
        run infcover
        cp "$source/ChangeLog" text
        run minigzip -9 text
        cksum text.gz
        run minigzip -d text.gz
        cksum text
}
