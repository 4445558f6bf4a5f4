/* SPDX-License-Identifier: MIT */

/*
 * A pool that has grown gives memory back: when a process joins whose control group allows less, and when others in the
 * group need what it has (R46). What was committed is there afterwards, and the kernel ends nobody.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "bench/support/little_memory.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { MIB = 1 << 20, PAGE_BYTES = 4096, EACH = 128, FULL_MAX = 10000, PATIENCE_MS = 60000 };
enum { SMALL_GROUP = 64 * MIB, GROUP = 256 * MIB, HOG = 180 * MIB, HOG_STEP = 2 * MIB };

static const int ways[] = { XAC_VOLATILE, XAC_NOSYNC };

/* Of both processes. */
struct meeting {
        int way;
        uint64_t pages;
        struct little_memory *group;
        struct crew_turn filled, done;
};

static char *map_pages(xac_env *env, const struct meeting *meeting)
{
        char *view = xac_mmap(env, "f", meeting->pages * PAGE_BYTES, XAC_ANYWHERE);
        check(view != MAP_FAILED);
        return view;
}

static int change(xac_env *env, char *view, uint64_t first)
{
        check_ok(xbegin(env, 0));
        for (uint64_t page = first; page < first + EACH; page++) {
                uint64_t *words = xac_page_write(env, view + page * PAGE_BYTES);
                if (!words) {
                        (void)xabort(env);
                        return XAC_FULL;
                }
                words[7] = page + 1;
        }
        return xend(env);
}

/* Others' pages may be on their way home. */
static void change_all(xac_env *env, char *view, uint64_t pages)
{
        int full = 0;
        for (uint64_t first = 0; first < pages;) {
                const int err = change(env, view, first);
                if (!err) {
                        first += EACH;
                        continue;
                }
                check_equal(err, XAC_FULL);
                check(++full < FULL_MAX);
                crew_sleep_ms(1);
        }
}

static void check_all(xac_env *env, const char *view, uint64_t pages)
{
        for (uint64_t first = 0; first < pages; first += EACH) {
                check_ok(xbegin(env, XAC_RDONLY));
                for (uint64_t page = first; page < first + EACH; page++) {
                        const uint64_t *words = xac_page_read(env, view + page * PAGE_BYTES);
                        check(words != NULL && words[7] == page + 1);
                }
                check_ok(xend(env));
        }
}

/* Of the one environment that this process has open. */
static uint64_t pool_memory(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[512];
        struct stat st = { .st_blocks = 0 };
        check(maps != NULL);
        while (fgets(line, sizeof(line), maps)) {
                char *path = strstr(line, "/dev/shm/xac.");
                line[strcspn(line, "\n")] = '\0';
                if (path && strcmp(path + strlen(path) - strlen(".pool"), ".pool") == 0)
                        check_equal(stat(path, &st), 0);
        }
        (void)fclose(maps);
        check(st.st_blocks > 0);
        return (uint64_t)st.st_blocks * 512;
}

static void await_pool_of(uint64_t most)
{
        uint64_t now = pool_memory();
        for (unsigned waited = 0; now > most; now = pool_memory()) {
                check(waited < PATIENCE_MS);
                crew_sleep_ms(50);
                waited += 50;
        }
}

/* ---- Somebody of a smaller group joins ---- */

static void join(void *meeting_)
{
        struct meeting *meeting = meeting_;
        xac_env *env;
        check_equal(little_memory_enter(meeting->group), 0);
        crew_turn_await(&meeting->filled, 1);
        check_ok(xac_open(scratch_path("env"), ways[meeting->way], NULL, &env));
        await_pool_of(SMALL_GROUP / 8 * 7);
        const char *view = map_pages(env, meeting);
        check_all(env, view, meeting->pages);
        check_ok(xac_close(env));
        crew_turn_pass(&meeting->done);
}

/* Afterwards the pool grows again to what it was made for. */
static void fill(void *meeting_)
{
        struct meeting *meeting = meeting_;
        const xac_options options = { .pool_bytes = (uint64_t)GROUP };
        xac_env *env;
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | ways[meeting->way], &options, &env));
        char *view = map_pages(env, meeting);
        change_all(env, view, meeting->pages);
        check(pool_memory() > SMALL_GROUP);
        crew_turn_pass(&meeting->filled);
        crew_turn_await(&meeting->done, 1);
        for (unsigned waited = 0; pool_memory() <= SMALL_GROUP; waited += 10) {
                check(waited < PATIENCE_MS);
                change_all(env, view, meeting->pages);
                crew_sleep_ms(10);
        }
        check_all(env, view, meeting->pages);
        check_ok(xac_close(env));
}

static void meet(int index, void *meeting)
{
        (index ? join : fill)(meeting);
}

static void with_group(int way, uint64_t bytes, uint64_t file_bytes, void (*body)(struct meeting *))
{
        struct little_memory group;
        struct meeting *meeting = crew_shared(sizeof(*meeting));
        if (!little_memory_make(&group, bytes)) {
                check(geteuid() != 0); /* root of a machine with control groups has the right */
                isolate_skip("no control group can be made here");
        }
        meeting->way = way;
        meeting->pages = file_bytes / PAGE_BYTES;
        meeting->group = &group;
        body(meeting);
        little_memory_remove(&group);
}

static void let_both_meet(struct meeting *meeting)
{
        crew_processes(2, meet, meeting);
}

static void somebody_of_a_smaller_group_joins(int way)
{
        with_group(way, SMALL_GROUP, 100 * MIB, let_both_meet);
}

/* ---- Others in the group need memory ---- */

static void need_memory(int unused, void *meeting_)
{
        const struct meeting *meeting = meeting_;
        (void)unused;
        check_equal(little_memory_enter(meeting->group), 0);
        char *memory = mmap(NULL, HOG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(memory != MAP_FAILED);
        for (uint64_t had = 0; had < HOG; had += HOG_STEP) {
                memset(memory + had, 1, HOG_STEP);
                crew_sleep_ms(200);
        }
}

static void use_all_of_the_group(int unused, void *meeting_)
{
        const struct meeting *meeting = meeting_;
        const xac_options options = { .pool_bytes = (uint64_t)1024 * MIB };
        xac_env *env;
        (void)unused;
        check_equal(little_memory_enter(meeting->group), 0);
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | ways[meeting->way], &options, &env));
        char *view = map_pages(env, meeting);
        change_all(env, view, meeting->pages);
        const uint64_t before = pool_memory();
        check(before > GROUP - HOG);
        crew_join(crew_fork(need_memory, 0, meeting_));
        check(pool_memory() < GROUP - HOG);
        check_all(env, view, meeting->pages);
        check_ok(xac_close(env));
}

static void let_both_share(struct meeting *meeting)
{
        crew_join(crew_fork(use_all_of_the_group, 0, meeting));
}

static void others_in_the_group_need_memory(int way)
{
        with_group(way, GROUP, 200 * MIB, let_both_share);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(somebody_of_a_smaller_group_joins, 0, "volatile"),
                isolated_way(somebody_of_a_smaller_group_joins, 1, "not synced"),
                isolated_way(others_in_the_group_need_memory, 0, "volatile"),
                isolated_way(others_in_the_group_need_memory, 1, "not synced"),
        };
        return cmocka_run_group_tests_name("pool_shrinks", tests, NULL, NULL);
}
