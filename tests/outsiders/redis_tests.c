/* SPDX-License-Identifier: MIT */

/*
 * Runs one of Redis' own tests of its data structures, as `redis-server test NAME` does in a build with REDIS_TEST,
 * without the server; and what these structures take from it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __failed_tests, __test_num; /* NOLINT(bugprone-reserved-identifier): Redis' names */

double fast_float_strtod(const char *text, char **end);
void _serverAssert(const char *condition, const char *file, int line); /* NOLINT(bugprone-reserved-identifier) */

double fast_float_strtod(const char *text, char **end)
{
        return strtod(text, end);
}

void _serverAssert(const char *condition, const char *file, int line) /* NOLINT(bugprone-reserved-identifier) */
{
        fprintf(stderr, "%s:%d: %s\n", file, line, condition);
        abort();
}

typedef int test(int count, char **arguments, int flags);
test ziplistTest, quicklistTest, intsetTest, zipmapTest, sha1Test, utilTest, endianconvTest, crc64Test, sdsTest,
        mstrTest, dictTest, listpackTest, kvstoreTest, ebucketsTest;

static const struct named {
        const char *name;
        test *run;
} tests[] = { { "ziplist", ziplistTest },
              { "quicklist", quicklistTest },
              { "intset", intsetTest },
              { "zipmap", zipmapTest },
              { "sha1test", sha1Test },
              { "util", utilTest },
              { "endianconv", endianconvTest },
              { "crc64", crc64Test },
              { "sds", sdsTest },
              { "mstr", mstrTest },
              { "dict", dictTest },
              { "listpack", listpackTest },
              { "kvstore", kvstoreTest },
              { "ebuckets", ebucketsTest } };

const char *monotonicInit(void);

int main(int count, char **arguments)
{
        if (count < 3)
                return 2;
        monotonicInit();
        for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
                if (!strcmp(tests[i].name, arguments[2]))
                        return tests[i].run(count, arguments, 0) || __failed_tests;
        }
        return 2;
}
