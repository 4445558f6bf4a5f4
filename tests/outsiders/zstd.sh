# SPDX-License-Identifier: MIT
#
# zstd: its fuzzers of blocks and of streams, each with one seed and behind the tests of functions, which need threads; frames
# that a generator makes of the format alone; dictionaries that are no good, and frames of each older format.
#
# shellcheck shell=sh disable=SC2034,SC2046

package=libzstd
calls=

build()
{
        set -- lib/common/*.c lib/compress/*.c lib/decompress/*.c lib/dictBuilder/*.c lib/legacy/*.c programs/util.c \
                programs/timefn.c programs/datagen.c programs/lorem.c tests/seqgen.c tests/external_matchfinder.c
        compile -Ilib -Ilib/common -Ilib/compress -Ilib/dictBuilder -Ilib/legacy -Iprograms -Itests -DZSTD_DISABLE_ASM \
                -DZSTD_LEGACY_SUPPORT=1 -DXXH_NAMESPACE=ZSTD_ -- "$@" tests/fuzzer.c tests/zstreamtest.c \
                tests/decodecorpus.c tests/invalidDictionaries.c tests/legacy.c || return
        for name in fuzzer zstreamtest invalidDictionaries legacy; do
                link $name $(objects "$@" tests/$name.c) || return
        done
        link decodecorpus $(objects "$@" tests/decodecorpus.c | grep -v 'lib_compress_zstd_compress\.c')
}

# counted NAME ARGUMENT...: without the figures of how far it is.
counted()
{
        run "$@" | tr '\r' '\n' | grep -v '^ *[0-9]*/ *[0-9]* *$'
}

exercise()
{
        counted fuzzer -s1 -t1 -i40
        counted zstreamtest -s1 -t1 -i60
        counted decodecorpus -t -s1 -n500
        run invalidDictionaries
        run legacy
}
