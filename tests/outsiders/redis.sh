# SPDX-License-Identifier: MIT
#
# Redis: the tests of its data structures (REDIS_TEST), without the server (redis_tests.c).
#
# shellcheck shell=sh disable=SC2034,SC2046

package=redis
calls='printf: the C library formats text on the heap
qsort: the C library sorts pairs on the heap
fwrite: the C library writes text on the heap'

build()
{
        printf '#define REDIS_GIT_SHA1 "0"\n#define REDIS_GIT_DIRTY "0"\n#define REDIS_BUILD_ID_RAW "0"\n' >"$out/release.h"
        set -- deps/fpconv/fpconv_dtoa.c
        for name in adlist crc64 crccombine crcspeed dict ebuckets endianconv intset kvstore listpack lzf_c lzf_d mstr \
                mt19937-64 quicklist rax sds sha1 sha256 siphash util strl ziplist zipmap zmalloc monotonic; do
                set -- "$@" src/$name.c
        done
        compile -DREDIS_TEST "-I$out" -Isrc -Ideps/hiredis -Ideps/linenoise -Ideps/lua/src -Ideps/hdr_histogram -Ideps/fpconv \
                -Ideps/fast_float -- "$@" &&
                link redis_tests "$here/redis_tests.c" $(objects "$@")
}

# Without times, and numbers that are drawn anew.
exercise()
{
        for test in ziplist intset zipmap sha1test util endianconv crc64 sds mstr dict listpack quicklist kvstore ebuckets; do
                run redis_tests test $test | grep '^\$\|^status\|[Ff]ail\|PASS\|[Aa]ssert'
        done
}
