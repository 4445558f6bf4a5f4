/* SPDX-License-Identifier: MIT */

/*
 * The address of a file: the same in every process, and after a restart, so that a file may hold pointers into itself;
 * and what is said when it cannot be had.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

#define GIB (UINT64_C(1) << 30)

enum { BYTES = 1 << 16 };

static xac_env *open_with(const char *name, const xac_options *options)
{
        xac_env *env;

        check_ok(xac_open(scratch_path(name), XAC_CREATE | XAC_NOSYNC, options, &env));
        return env;
}

static xac_env *open_env(const char *name)
{
        return open_with(name, NULL);
}

static void *map(xac_env *env, const char *file, int flags)
{
        void *base = xac_mmap(env, file, BYTES, flags);

        check(base != MAP_FAILED);
        return base;
}

/* ---- Pointers in files ---- */

/* A serial list, as anybody writes it: pointers in the file lead into the file. */
struct list {
        struct node *first;
        uint64_t used;
        struct node {
                uint64_t number;
                struct node *next;
        } nodes[];
};

static void push(xac_env *env, struct list *list, uint64_t number)
{
        check_ok(xbegin(env, 0));
        struct node *node = &list->nodes[list->used++];
        *node = (struct node){ number, list->first };
        list->first = node;
        check_ok(xend(env));
}

static void check_list(xac_env *env, const struct list *list, uint64_t count)
{
        check_ok(xbegin(env, XAC_RDONLY));
        for (const struct node *node = list->first; node; node = node->next)
                check_equal(node->number, count--);
        check_equal(count, 0);
        check_ok(xend(env));
}

struct place {
        void *base;
        uint64_t count;
};

static void push_in_a_process(int index, void *arg)
{
        struct place *place = arg;
        xac_env *env = open_env("env");
        struct list *list = map(env, "list", 0);

        (void)index;
        if (place->base)
                check(list == place->base);
        place->base = list;
        push(env, list, ++place->count);
        check_list(env, list, place->count);
        check_ok(xac_close(env));
}

static void pointers_stay_right_from_process_to_process(void)
{
        enum { TIMES = 5 };
        struct place *place = crew_shared(sizeof(*place));

        for (int i = 0; i < TIMES; i++) /* each opens, and restarts, what the one before closed */
                crew_join(crew_fork(push_in_a_process, i, place));
        xac_env *env = open_env("env");
        struct list *list = map(env, "list", 0);
        check(list == place->base);
        crew_join(crew_fork(push_in_a_process, TIMES, place)); /* both at once; it inherited our view, too */
        check_list(env, list, TIMES + 1);
        check_ok(xac_close(env));
}

static void a_view_comes_back_to_its_address(void)
{
        xac_env *env = open_env("env");
        char *base = map(env, "data", 0);

        check_ok(xac_munmap(env, base));
        char *elsewhere = map(env, "data", XAC_ANYWHERE);
        check(elsewhere != base);
        check_ok(xac_munmap(env, elsewhere));
        check(map(env, "data", 0) == base);
        check(map(env, "data", XAC_ANYWHERE) == base); /* the view that is there */
        check(xac_mmap(env, "data", 4 * BYTES, 0) == base);
        check_ok(xac_close(env));
}

/* ---- Several views ---- */

static void view_in_a_thread(int index, void *arg)
{
        uint64_t *first = arg, *mine;
        xac_env *env = open_env("env");

        mine = map(env, "data", 0);
        check(mine != first);
        do {
                check_ok(xbegin(env, 0));
                mine[index] = 7;
        } while (xend(env) == XAC_CONFLICT);
        check_ok(xac_close(env));
}

static void views_of_other_threads_are_elsewhere(void)
{
        xac_env *env = open_env("env");
        uint64_t *first = map(env, "data", 0);

        crew_threads(3, view_in_a_thread, first);
        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < 3; i++)
                check_equal(first[i], 7);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void files_lie_side_by_side(void)
{
        const xac_options options = { .reserve_bytes = 20 * GIB };
        xac_env *env = open_env("env");
        char *one = map(env, "one", 0), *two;

        check_ok(xac_close(env));
        env = open_with("env", &options);
        two = map(env, "two", 0);
        check(two == one + 16 * GIB || two < one); /* at the end of the window it goes on at the beginning */
        check(map(env, "one", 0) == one);
        char *three = map(env, "three", 0);
        check(three == two + 32 * GIB || three < two);
        check_ok(xac_close(env));
}

static void environments_of_a_process_do_not_meet(void)
{
        enum { MANY = 60 };
        xac_env *env[MANY];
        char name[32];

        for (int i = 0; i < MANY; i++) {
                snprintf(name, sizeof(name), "env%d", i);
                env[i] = open_env(name);
                map(env[i], "data", 0);
        }
        for (int i = 0; i < MANY; i++)
                check_ok(xac_close(env[i]));
}

/* ---- An address of one's own ---- */

static void an_address_can_be_chosen(void)
{
        const uint64_t address = (UINT64_C(1) << 45) + 5 * 16 * GIB;
        const xac_options options = { .address = address }, other = { .address = address + 160 * GIB };
        xac_env *env = open_with("env", &options);

        check_equal((uintptr_t)map(env, "data", 0), address);
        check_equal((uintptr_t)map(env, "next", 0), address + 16 * GIB);
        check_ok(xac_close(env));
        env = open_with("env", &other);
        check_equal((uintptr_t)map(env, "data", 0), address);
        check_equal((uintptr_t)map(env, "third", 0), address + 160 * GIB);
        check_ok(xac_close(env));
}

static void addresses_are_checked(void)
{
        const uint64_t wrong[] = { 4096, 16 * GIB, (UINT64_C(1) << 45) + 4096, UINT64_C(1) << 47, UINT64_MAX };
        xac_env *env;

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
                check_code(xac_open(scratch_path("env"), XAC_CREATE, &(xac_options){ .address = wrong[i] }, &env),
                           -EINVAL);
}

static void a_file_grows_to_the_end_of_its_place(void)
{
        const xac_options large = { .reserve_bytes = 64 * GIB };
        xac_env *env = open_env("env");

        map(env, "small", 0);
        check_ok(xac_close(env));
        env = open_with("env", &large);
        check(map(env, "large", 0) != MAP_FAILED);
        check(xac_mmap(env, "small", 16 * GIB + 1, 0) == MAP_FAILED && errno == ENOMEM);
        check(xac_mmap(env, "large", 64 * GIB + 1, 0) == MAP_FAILED && errno == ENOMEM);
        check(xac_mmap(env, "large", 64 * GIB, 0) != MAP_FAILED);
        check(xac_mmap(env, "small", 16 * GIB + 1, XAC_ANYWHERE) != MAP_FAILED); /* no pointers, no place */
        check_ok(xac_close(env));
        env = open_with("env", &large);
        check(xac_mmap(env, "small", 0, 0) == MAP_FAILED && errno == ENOMEM); /* for ever */
        check(xac_mmap(env, "small", 0, XAC_ANYWHERE) != MAP_FAILED);
        check_ok(xac_close(env));
}

static void a_place_becomes_longer_where_there_is_room(void)
{
        const uint64_t address = UINT64_C(1) << 45; /* at the end of the window there would be no room */
        const xac_options small = { .address = address }, large = { .reserve_bytes = 64 * GIB };
        xac_env *env = open_with("env", &small);
        void *base = map(env, "data", 0);

        check(xac_mmap(env, "data", 16 * GIB + 1, 0) == MAP_FAILED && errno == ENOMEM);
        check_ok(xac_close(env));
        env = open_with("env", &large);
        check(xac_mmap(env, "data", 60 * GIB, 0) == base);
        check(map(env, "next", 0) != MAP_FAILED);
        check_ok(xac_close(env));
        env = open_env("env");
        check(xac_mmap(env, "data", 0, 0) == base);
        check_ok(xac_close(env));
}

/* ---- Taken ---- */

static void make_copy(void)
{
        char command[1024];
        xac_env *env = open_env("original");

        map(env, "data", 0);
        check_ok(xac_close(env));
        snprintf(command, sizeof(command), "cp -r '%s' '%s'", scratch_path("original"), scratch_path("copy"));
        check_equal(system(command), 0);
}

static void map_both(int flags, void *expected_of_copy)
{
        xac_env *original = open_env("original"), *copy = open_env("copy");

        map(original, "data", 0);
        void *base = xac_mmap(copy, "data", BYTES, flags);
        if (expected_of_copy == MAP_FAILED)
                check(base == MAP_FAILED && errno == EADDRNOTAVAIL);
        else
                check(base != MAP_FAILED);
        check_ok(xac_close(copy));
        check_ok(xac_close(original));
}

static void map_copy_beside(int index, void *arg)
{
        (void)arg;
        if (index == 1)
                map_both(XAC_ANYWHERE, NULL);
        if (index == 2)
                check_equal(setenv("XAC_ANYWHERE", "1", 1), 0);
        if (index != 1)
                map_both(0, index == 2 ? NULL : MAP_FAILED);
}

static void a_copy_beside_the_original_is_refused(void)
{
        struct crash crash;

        make_copy();
        crash_run(map_copy_beside, 0, NULL, &crash);
        check_equal(crash.status, 0);
        check_equal(crash_lines(&crash), 1);
        check(strstr(crash.said, "'data' in ") && strstr(crash.said, "/copy ") && strstr(crash.said, "XAC_ANYWHERE"));
        for (int i = 1; i <= 2; i++) {
                crash_run(map_copy_beside, i, NULL, &crash);
                check_equal(crash.status, 0);
                check_equal(crash_lines(&crash), 0);
        }
}

static void map_beside_something_else(int index, void *arg)
{
        void *address = arg;
        xac_env *env = open_env("env");

        (void)index;
        check(mmap(address, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == address);
        check(xac_mmap(env, "data", BYTES, 0) == MAP_FAILED && errno == EADDRNOTAVAIL);
        check(xac_mmap(env, "data", BYTES, XAC_ANYWHERE) != MAP_FAILED);
        check_ok(xac_close(env));
}

static void what_others_have_mapped_stays(void)
{
        struct crash crash;
        xac_env *env = open_env("env");
        void *base = map(env, "data", 0);

        check_ok(xac_close(env));
        crash_run(map_beside_something_else, 0, base, &crash);
        check_equal(crash.status, 0);
        check_equal(crash_lines(&crash), 1);
        check(strstr(crash.said, "not of libxac"));
}

static uint64_t address_space_in_use(void)
{
        FILE *file = fopen("/proc/self/statm", "r");
        unsigned long long pages = 0;

        check(file && fscanf(file, "%llu", &pages) == 1);
        fclose(file);
        return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Too little address space is another matter. */
static void a_limit_is_enomem(void)
{
        struct rlimit limit, usual;
        xac_env *env = open_env("env");

        map(env, "one", 0);
        check_equal(getrlimit(RLIMIT_AS, &usual), 0);
        limit = usual;
        limit.rlim_cur = address_space_in_use() + 4 * GIB;
        check_equal(setrlimit(RLIMIT_AS, &limit), 0);
        check(xac_mmap(env, "data", BYTES, 0) == MAP_FAILED && errno == ENOMEM);
        check_equal(setrlimit(RLIMIT_AS, &usual), 0);
        map(env, "data", 0);
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(pointers_stay_right_from_process_to_process),
                isolated_test(a_view_comes_back_to_its_address),
                isolated_test(views_of_other_threads_are_elsewhere),
                isolated_test(files_lie_side_by_side),
                isolated_test(environments_of_a_process_do_not_meet),
                isolated_test(an_address_can_be_chosen),
                isolated_test(addresses_are_checked),
                isolated_test(a_file_grows_to_the_end_of_its_place),
                isolated_test(a_place_becomes_longer_where_there_is_room),
                isolated_test(a_copy_beside_the_original_is_refused),
                isolated_test(what_others_have_mapped_stays),
                isolated_test(a_limit_is_enomem),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
