# SPDX-License-Identifier: MIT
#
# lz4: its fuzzers of blocks and of frames with one seed, and what tests parts of blocks.
#
# shellcheck shell=sh disable=SC2034,SC2046

package=lz4
calls=

build()
{
        set -- lib/lz4.c lib/lz4hc.c lib/lz4frame.c lib/xxhash.c
        compile -Ilib -Iprograms -DXXH_NAMESPACE=LZ4_ -- "$@" tests/fuzzer.c tests/frametest.c tests/decompress-partial.c \
                tests/decompress-partial-usingDict.c tests/checkFrame.c || return
        for name in fuzzer frametest decompress-partial decompress-partial-usingDict; do
                link $name $(objects "$@" tests/$name.c) || return
        done
}

# fuzz NAME ARGUMENT...: without the figures of how far it is.
fuzz()
{
        run "$@" | tr '\r' '\n' | grep -v '^ *$\|^Press\|^ *[0-9]*/\|^ *[0-9]* *$\|^Duration\|seed = '
}

exercise()
{
        fuzz fuzzer -s1 -i20
        fuzz frametest -s1 -i20
        run decompress-partial
        run decompress-partial-usingDict
}
