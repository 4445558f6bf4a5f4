# SPDX-License-Identifier: MIT
#
# yyjson: all its tests.
#
# shellcheck shell=sh disable=SC2034,SC2046

package=yyjson
led='fread fwrite'
calls='glob64: the C library looks for files whose path is on the heap
strto: the C library reads numbers from text on the heap'

build()
{
        compile -Isrc -Itest/util '-DYYJSON_TEST_DATA_PATH="test"' -- src/yyjson.c test/util/*.c test/test_*.c || return
        for file in test/test_*.c; do
                link "$(basename "$file" .c)" $(objects src/yyjson.c test/util/*.c "$file") || return
        done
}

exercise()
{
        ln -sf "$source/test" test
        for file in "$source"/test/test_*.c; do
                run "$(basename "$file" .c)"
        done
}
