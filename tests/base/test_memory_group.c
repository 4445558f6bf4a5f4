/* SPDX-License-Identifier: MIT */
#include "base/memory_group.h"

/* How much memory a control group leaves, read from a folder that plays /proc and /sys. */

#include <sys/stat.h>

#include "tests/base/scratch.h"
#include "tests/support/leeway.h"

static const char *root;

/* Makes the folders above it, too. */
static void put(const char *name, const char *text)
{
        char path[512];
        snprintf(path, sizeof(path), "%s%s", root, name);
        for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
                *at = '\0';
                assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
                *at = '/';
        }
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
}

static void expect(uint64_t left, uint64_t limit)
{
        struct memory_group group;
        struct memory_room room;
        memory_group_find(root, 0, &group);
        memory_group_look(&group, &room);
        assert_int_equal(room.left, left);
        assert_int_equal(room.limit, limit);
}

static void test_no_groups(void **state)
{
        (void)state;
        expect(UINT64_MAX, UINT64_MAX);
        put("/proc/self/cgroup", "");
        put("/proc/self/mountinfo", "garbage\n - \n1 2 3\n");
        expect(UINT64_MAX, UINT64_MAX);
}

static void put_old(const char *group, const char *limit, const char *used, const char *stat)
{
        char name[256];
        snprintf(name, sizeof(name), "/sys/memory%s/memory.limit_in_bytes", group);
        put(name, limit);
        snprintf(name, sizeof(name), "/sys/memory%s/memory.usage_in_bytes", group);
        put(name, used);
        snprintf(name, sizeof(name), "/sys/memory%s/memory.stat", group);
        put(name, stat);
}

/* The smallest room on the way up counts; what is clean in the page cache is room, memory files are not. */
static void test_version_1(void **state)
{
        (void)state;
        put("/proc/self/cgroup", "12:cpu,cpuacct:/other\n4:memory:/a/b\n0::/elsewhere\n");
        put("/proc/self/mountinfo", "30 23 0:28 / /sys/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                    "35 31 0:32 / /sys/memory rw,relatime shared:1 - cgroup cgroup rw,memory\n");
        put_old("", "9223372036854771712\n", "5000000\n", "");
        put_old("/a", "9223372036854771712\n", "5000000\n", "");
        put_old("/a/b", "9223372036854771712\n", "5000000\n", "");
        expect(UINT64_MAX, UINT64_MAX);
        put_old("/a/b", "8000000\n", "5000000\n", "cache 1\ntotal_active_file 1\n");
        expect(3000001, 8000000);
        put_old("/a/b", "8000000\n", "5000000\n",
                "shmem 4000000\ndirty 100\nactive_file 77\ntotal_dirty 300000\ntotal_writeback 200000\n"
                "total_inactive_file 1000000\ntotal_active_file 500000\n");
        expect(4000000, 8000000);
        put_old("/a", "6000000\n", "5500000\n", "");
        expect(500000, 6000000);
        put_old("/a", "6000000\n", "6500000\n", "");
        expect(0, 6000000);
}

static void test_version_2(void **state)
{
        (void)state;
        put("/proc/self/cgroup", "0::/box/inner\n");
        put("/proc/self/mountinfo", "30 23 0:28 /box /sys/groups rw,relatime - cgroup2 cgroup rw\n");
        put("/sys/groups/inner/memory.max", "max\n");
        put("/sys/groups/inner/memory.high", "max\n");
        put("/sys/groups/inner/memory.current", "1000\n");
        expect(UINT64_MAX, UINT64_MAX);
        put("/sys/groups/memory.max", "1000000\n");
        put("/sys/groups/memory.high", "max\n");
        put("/sys/groups/memory.current", "400000\n");
        put("/sys/groups/memory.stat",
            "anon 1\nfile 350000\nshmem 1\nfile_dirty 30000\nfile_writeback 20000\nactive_file 100000\n"
            "inactive_file 50000\n");
        expect(700000, 1000000);
        put("/sys/groups/inner/memory.high", "300000\n");
        expect(299000, 300000);
}

/* A container may see another path than what is mounted in it: then what is mounted counts. */
static void test_elsewhere(void **state)
{
        (void)state;
        put("/proc/self/cgroup", "4:memory:/docker/1234\n");
        put("/proc/self/mountinfo", "35 31 0:32 /docker/12 /sys/memory rw - cgroup cgroup rw,memory\n");
        put_old("", "7000000\n", "1000000\n", "");
        expect(6000000, 7000000);
        put("/proc/self/cgroup", "4:memory:/docker/12/../..\n");
        expect(6000000, 7000000);
        put("/proc/self/cgroup", "4:memory:/docker/12\n");
        expect(6000000, 7000000);
        put("/proc/self/cgroup", "4:memory:/docker/12/gone\n");
        expect(6000000, 7000000);
}

/* Lines before and behind what is looked for, more than one buffer of them, and one that is longer than that. */
static void test_many_mounts(void **state)
{
        static char lines[40000];
        size_t length = 0;
        (void)state;
        for (int i = 0; i < 150; i++)
                length += (size_t)snprintf(lines + length, sizeof(lines) - length,
                                           "%d 1 0:9 / /mnt/%d rw - ext4 d rw\n", i, i);
        memset(lines + length, 'x', 9000);
        length += 9000;
        snprintf(lines + length, sizeof(lines) - length, "\n35 31 0:32 / /sys/memory rw - cgroup cgroup rw,memory\n%s",
                 "36 1 0:9 / /mnt rw - ext4 d rw\n");
        put("/proc/self/mountinfo", lines);
        put("/proc/self/cgroup", "4:memory:/a\n");
        put_old("/a", "7000000\n", "1000000\n", "");
        expect(6000000, 7000000);
}

static int setup(void **state)
{
        const int directory = scratch_make(state);
        root = *state;
        return directory < 0;
}

static int teardown(void **state)
{
        char command[600];
        snprintf(command, sizeof(command), "rm -rf '%s'", (const char *)*state);
        free(*state);
        return system(command);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_no_groups, setup, teardown),
                cmocka_unit_test_setup_teardown(test_version_1, setup, teardown),
                cmocka_unit_test_setup_teardown(test_version_2, setup, teardown),
                cmocka_unit_test_setup_teardown(test_elsewhere, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many_mounts, setup, teardown),
        };

        leeway_alarm(60);
        return cmocka_run_group_tests_name("base/memory_group", tests, NULL, NULL);
}
