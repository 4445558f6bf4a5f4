/* SPDX-License-Identifier: MIT */

/* xac_heap_trim: what was freed takes no disk space, and what was not is as it was. */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <xac/heap.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { OBJECTS = 300, KEPT_EACH = 10, SIZES = 3 };

static const size_t sizes[SIZES] = { 500, 20000, 60000 };

static xac_env *env;
static xac_heap *heap;
static unsigned char *objects[OBJECTS];

static void open_heap(void)
{
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
}

static void close_heap(void)
{
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

static void make_objects(void)
{
        for (int i = 0; i < OBJECTS; i++) {
                check_ok(xbegin(env, 0));
                objects[i] = xac_heap_malloc(heap, sizes[i % SIZES]);
                check(objects[i] != NULL);
                memset(objects[i], i % 255 + 1, sizes[i % SIZES]);
                check_ok(xend(env));
        }
}

static void free_most(void)
{
        for (int i = 0; i < OBJECTS; i++)
                if (i % KEPT_EACH)
                        xac_heap_free(heap, objects[i]);
}

static void check_objects(void)
{
        xac_heap_stats stats;

        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < OBJECTS; i += KEPT_EACH) {
                check_equal(objects[i][0], i % 255 + 1);
                check_equal(memcmp(objects[i], objects[i] + 1, sizes[i % SIZES] - 1), 0);
        }
        check_ok(xend(env));
        check_ok(xac_heap_check(heap, &stats, NULL, NULL));
        check_equal(stats.live_objects, OBJECTS / KEPT_EACH);
}

static uint64_t bytes_on_disk(void)
{
        struct stat st;

        check_equal(stat(scratch_path("env/heap"), &st), 0);
        return (uint64_t)st.st_blocks * 512;
}

static void what_was_freed_takes_no_room(void)
{
        uint64_t trimmed, before;

        open_heap();
        make_objects();
        free_most();
        check_ok(xac_checkpoint(env));
        before = bytes_on_disk();
        check_ok(xac_heap_trim(heap, NULL, NULL, &trimmed));
        check_ok(xac_checkpoint(env));
        check(trimmed > before / 2);
        check(bytes_on_disk() <= before - trimmed + 65536);
        check_objects();
        close_heap();
        open_heap();
        check_objects();
        check_ok(xac_heap_trim(heap, NULL, NULL, &trimmed));
        check_equal(trimmed, 0);
        make_objects(); /* its room is used again */
        close_heap();
}

static void it_is_refused_within_a_transaction(void)
{
        open_heap();
        check_ok(xbegin(env, 0));
        check_code(xac_heap_trim(heap, NULL, NULL, NULL), -EBUSY);
        check_ok(xabort(env));
        check_code(xac_heap_trim(NULL, NULL, NULL, NULL), -EINVAL);
        close_heap();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_was_freed_takes_no_room),
                isolated_test(it_is_refused_within_a_transaction),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
