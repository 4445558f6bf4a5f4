/* SPDX-License-Identifier: MIT */

/*
 * The heap's calls: what C programs expect of malloc() and its kin, in transactions, from several threads and
 * processes.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <xac/heap.h>
#include <xac/translate.h>

#include "tests/heap/tables.h"
#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

struct place {
        xac_env *env;
        xac_heap *heap;
};

static struct place open_place_with(int env_flags, int heap_flags)
{
        struct place place;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | env_flags, NULL, &place.env));
        check_ok(xac_heap_open(place.env, "heap", XAC_CREATE | heap_flags, &place.heap));
        return place;
}

static struct place open_place(void)
{
        return open_place_with(XAC_VOLATILE, 0);
}

static void close_place(struct place place)
{
        check_ok(xac_heap_close(place.heap));
        check_ok(xac_close(place.env));
}

static uint64_t live_objects(xac_heap *heap)
{
        xac_heap_stats stats;

        check_ok(xac_heap_check(heap, &stats, NULL, NULL));
        return stats.live_objects;
}

/* Else its pointers would lead nowhere, and its own close as well. */
static void a_heap_keeps_its_environment_open(void)
{
        struct place place = open_place();
        void *object;

        check_code(xac_close(place.env), -EBUSY);
        check_ok(xbegin(place.env, 0)); /* nothing was done */
        object = xac_heap_malloc(place.heap, 100);
        check(object != NULL);
        check_ok(xend(place.env));
        close_place(place);
}

/* ---- one object ---- */

static void objects_are_as_large_as_asked(void)
{
        struct place place = open_place();
        const size_t sizes[] = { 0,           1,
                                 16,          17,
                                 100,         500,
                                 2000,        2032,
                                 2033,        4096,
                                 4097,        100000,
                                 511 * 4096,  511 * 4096 + 1,
                                 1023 * 4096, 1023 * 4096 + 1 };
        enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
        char *object[COUNT];

        check_ok(xbegin(place.env, 0));
        for (int i = 0; i < COUNT; i++) {
                object[i] = xac_heap_malloc(place.heap, sizes[i]);
                check(object[i] != NULL && (uintptr_t)object[i] % 16 == 0);
                check(xac_heap_usable_size(place.heap, object[i]) >= sizes[i]);
                memset(object[i], i, sizes[i]); /* by faults */
        }
        check_ok(xend(place.env));
        check_equal(live_objects(place.heap), COUNT);
        check_ok(xbegin(place.env, 0));
        for (int i = 0; i < COUNT; i++) {
                for (size_t at = 0; at < sizes[i]; at++)
                        check_equal(object[i][at], i);
                xac_heap_free(place.heap, object[i]);
        }
        check_ok(xend(place.env));
        check_equal(live_objects(place.heap), 0);
        close_place(place);
}

static void too_much_is_refused(void)
{
        struct place place = open_place();

        errno = 0;
        check(!xac_heap_malloc(place.heap, SIZE_MAX) && errno == ENOMEM);
        check(!xac_heap_calloc(place.heap, SIZE_MAX / 2, 3) && errno == ENOMEM);
        check(!xac_heap_aligned_alloc(place.heap, 24, 100) && errno == EINVAL);
        check(!xac_heap_aligned_alloc(place.heap, 8192, 100) && errno == EINVAL);
        check_equal(xac_heap_usable_size(place.heap, NULL), 0);
        xac_heap_free(place.heap, NULL);
        check_equal(live_objects(place.heap), 0);
        close_place(place);
}

static void an_object_is_found_at_its_offset_alone(void)
{
        struct place place = open_place();
        const size_t sizes[] = { 1, 2033, 10000, 512 * 4096 };
        const uint64_t nowhere[] = { 0, 1, 4096, 8192, UINT64_C(1) << 40, UINT64_MAX - 4095, UINT64_MAX };

        for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
                check_code(xac_heap_find(place.heap, nowhere[i], NULL), -ENOENT);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                size_t size = 0;
                char *object = xac_heap_malloc(place.heap, sizes[i]);
                const uint64_t offset = xac_heap_offset(place.heap, object);
                check_ok(xac_heap_find(place.heap, offset, &size));
                check_equal(size, xac_heap_usable_size(place.heap, object));
                for (uint64_t at = 1; at <= size; at += at < 64 ? 1 : 4096 - at % 4096)
                        check_code(xac_heap_find(place.heap, offset + at, NULL), -ENOENT);
                xac_heap_free(place.heap, object);
                check_code(xac_heap_find(place.heap, offset, NULL), -ENOENT);
        }
        check_code(xac_heap_find(NULL, 4096, NULL), -EINVAL);
        close_place(place);
}

static void without_a_transaction_a_call_is_one(void)
{
        struct place place = open_place();
        char *object = xac_heap_calloc(place.heap, 10, 10);

        check(object != NULL);
        check_equal(live_objects(place.heap), 1);
        object = xac_heap_realloc(place.heap, object, 10000);
        check(object != NULL && xac_heap_usable_size(place.heap, object) >= 10000);
        xac_heap_free(place.heap, object);
        check_equal(live_objects(place.heap), 0);
        close_place(place);
}

static void a_realloc_to_nothing_frees(void)
{
        struct place place = open_place();
        const size_t sizes[] = { 1, 100, 10000 };

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                void *object = xac_heap_realloc(place.heap, NULL, sizes[i]);
                check(object != NULL);
                errno = 0;
                check(!xac_heap_realloc(place.heap, object, 0) && !errno);
                check_equal(live_objects(place.heap), 0);
        }
        close_place(place);
}

static void what_is_aborted_never_happened(void)
{
        struct place place = open_place();
        void *kept = xac_heap_malloc(place.heap, 100), *large = xac_heap_malloc(place.heap, 10000);

        for (int i = 0; i < 100; i++) {
                check_ok(xbegin(place.env, 0));
                for (int n = 0; n < 50; n++)
                        check(xac_heap_malloc(place.heap, 100) != NULL);
                check(xac_heap_malloc(place.heap, 9000) != NULL);
                xac_heap_free(place.heap, kept);
                xac_heap_free(place.heap, large);
                check_ok(xabort(place.env));
                check_equal(live_objects(place.heap), 2);
        }
        xac_heap_free(place.heap, kept);
        xac_heap_free(place.heap, large);
        check_equal(live_objects(place.heap), 0);
        close_place(place);
}

static void an_inner_abort_undoes_the_inner_objects(void)
{
        struct place place = open_place();

        check_ok(xbegin(place.env, 0));
        char *outer = xac_heap_malloc(place.heap, 64);
        check_ok(xbegin(place.env, XAC_NESTED));
        for (int i = 0; i < 1000; i++)
                check(xac_heap_malloc(place.heap, 64) != NULL);
        xac_heap_free(place.heap, outer);
        check_ok(xabort(place.env));
        strcpy(outer, "still there");
        check_ok(xend(place.env));
        check_equal(live_objects(place.heap), 1);
        close_place(place);
}

/* ---- a file that cannot grow ---- */

enum { GROUP_BYTES = 2 << 20 };

static struct crew_turn *turn;

static struct place open_small_place(unsigned groups)
{
        const xac_options options = { .reserve_bytes = (uint64_t)groups * GROUP_BYTES };
        struct place place;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &place.env));
        check_ok(xac_heap_open(place.env, "heap", XAC_CREATE, &place.heap));
        return place;
}

static void allocate_and_stay(int index, void *unused)
{
        struct place place = open_small_place(2);

        (void)unused;
        crew_turn_await(turn, (uint32_t)index);
        check(xac_heap_malloc(place.heap, 10000) != NULL);
        crew_turn_pass(turn);
        crew_turn_await(turn, 4);
        close_place(place);
}

/* Each takes pages from a group of its own, and there are two of them. */
static void where_a_file_cannot_grow_others_make_room(void)
{
        pid_t pid[3];

        turn = crew_shared(sizeof(*turn));
        for (int i = 0; i < 3; i++)
                pid[i] = crew_fork(allocate_and_stay, i, NULL);
        crew_turn_await(turn, 3);
        struct place place = open_small_place(2);
        check(xac_heap_malloc(place.heap, 100) != NULL);
        check(xac_heap_malloc(place.heap, 10000) != NULL);
        errno = 0;
        check(!xac_heap_malloc(place.heap, GROUP_BYTES) && errno == ENOMEM);
        crew_turn_pass(turn);
        for (int i = 0; i < 3; i++)
                crew_join(pid[i]);
        check_equal(live_objects(place.heap), 5);
        close_place(place);
}

/* Owns a group, in which nothing is. */
static void free_and_stay(int index, void *unused)
{
        struct place place = open_small_place(3);

        (void)unused;
        crew_turn_await(turn, (uint32_t)index);
        xac_heap_free(place.heap, xac_heap_malloc(place.heap, 10000));
        crew_turn_pass(turn);
        crew_turn_await(turn, 4);
        close_place(place);
}

/* The last two of three groups are free, but are those of others, who go on to find room. */
static void where_a_file_cannot_grow_groups_of_others_are_taken_whole(void)
{
        pid_t pid[3];

        turn = crew_shared(sizeof(*turn));
        for (int i = 0; i < 3; i++)
                pid[i] = crew_fork(free_and_stay, i, NULL);
        crew_turn_await(turn, 3);
        struct place place = open_small_place(3);
        void *huge = xac_heap_malloc(place.heap, GROUP_BYTES + 100000);
        check(huge != NULL);
        check(!xac_heap_malloc(place.heap, GROUP_BYTES) && errno == ENOMEM);
        crew_turn_pass(turn);
        for (int i = 0; i < 3; i++)
                crew_join(pid[i]);
        check_equal(live_objects(place.heap), 1);
        xac_heap_free(place.heap, huge);
        check_equal(live_objects(place.heap), 0);
        close_place(place);
}

/* ---- what is no object ---- */

enum { PAGE = 4096 };

static char *page_of(xac_heap *heap, char *object)
{
        return object - xac_heap_offset(heap, object) % PAGE;
}

/* What lies in a larger object has all bytes of a page of small ones. */
static void free_a_copy(xac_heap *heap, char *small, char *to)
{
        char *page = page_of(heap, to + PAGE - 1);

        memcpy(xac_for_write(page), xac_for_read(page_of(heap, small)), PAGE);
        xac_heap_free(heap, page + (small - page_of(heap, small)));
}

/* And a map says that an object begins there. */
static void free_a_map(xac_heap *heap, char *large, char *huge)
{
        char *base = large - xac_heap_offset(heap, large);
        const uint64_t group = xac_heap_offset(heap, large) / GROUP_BYTES * GROUP_BYTES;
        char *map = huge + GROUP_BYTES - xac_heap_offset(heap, huge) % GROUP_BYTES;
        const uint32_t number = (uint32_t)(xac_heap_offset(heap, map) / GROUP_BYTES);
        char *copy = xac_for_write(map);

        memcpy(copy, xac_for_read(base + group), PAGE);
        memcpy(copy + sizeof(number), &number, sizeof(number));
        xac_heap_free(heap, map + (large - base - (ptrdiff_t)group));
}

static void free_something(int which, void *heap_)
{
        xac_heap *heap = heap_;
        char *small = xac_heap_malloc(heap, 100), *large = xac_heap_malloc(heap, 5000);
        char *huge = which >= 8 ? xac_heap_malloc(heap, 2 * GROUP_BYTES) : NULL;

        if (which == 0)
                xac_heap_free(heap, small + 8);
        if (which == 1)
                xac_heap_free(heap, large + 4096);
        if (which == 2 || which == 3)
                xac_heap_free(heap, which == 2 ? small : large);
        if (which == 2 || which == 3)
                xac_heap_free(heap, which == 2 ? small : large);
        if (which == 4)
                xac_heap_free(heap, &small);
        if (which == 5)
                xac_heap_free(heap, small + (UINT64_C(1) << 33));
        if (which == 6)
                (void)xac_heap_realloc(heap, (void *)16, 32);
        if (which == 7)
                free_a_copy(heap, small, large + PAGE);
        if (which == 8) /* where a map would be, if it were not of one object */
                free_a_copy(heap, small, huge + GROUP_BYTES);
        if (which == 9)
                free_a_map(heap, large, huge);
}

static void free_in_a_child(int which, void *unused)
{
        struct place place = open_place();

        (void)unused;
        check_ok(xbegin(place.env, 0));
        free_something(which, place.heap);
}

static void what_is_no_object_ends_the_program(void)
{
        struct crash crash;
        struct place place = open_place(); /* the child's is undone when it dies, not lost */

        for (int which = 0; which < 10; which++) {
                crash_run(free_in_a_child, which, NULL, &crash);
                check_equal(crash.signal, SIGABRT);
                check_equal(crash_lines(&crash), 1);
                check(strstr(crash.said, "was given to a function of the heap"));
        }
        check_ok(xac_heap_check(place.heap, NULL, NULL, NULL));
        close_place(place);
}

/* ---- roots ---- */

static int count_root(void *count, const xac_heap_root *root)
{
        check(strncmp(root->name, "root ", 5) == 0);
        ++*(int *)count;
        return 0;
}

static void roots_are_found_again(void)
{
        enum { COUNT = 200 }; /* of more than one page */
        struct place place = open_place();
        xac_heap_root root, again;
        char name[64];
        int count = 0;

        for (int i = 0; i < COUNT; i++) {
                snprintf(name, sizeof(name), "root %d", i);
                check_ok(xac_heap_root_create(place.heap, name, (size_t)i * 20 + 1, (uint64_t)i, &root));
        }
        check_code(xac_heap_root_create(place.heap, "root 7", 8, 0, &root), -EEXIST);
        check_equal(root.tag, 7);
        close_place(place);
        place = open_place();
        check_ok(xac_heap_root_find(place.heap, "root 7", &again));
        check(again.object == root.object && again.size == 7 * 20 + 1);
        check_code(xac_heap_root_find(place.heap, "root", &root), -ENOENT);
        check_ok(xac_heap_root_list(place.heap, count_root, &count));
        check_equal(count, COUNT);
        check_equal(live_objects(place.heap), COUNT);
        for (int i = 0; i < COUNT; i++) {
                snprintf(name, sizeof(name), "root %d", i);
                check_ok(xac_heap_root_remove(place.heap, name));
        }
        check_code(xac_heap_root_remove(place.heap, "root 7"), -ENOENT);
        check_equal(live_objects(place.heap), 0);
        close_place(place);
}

static void names_are_checked(void)
{
        struct place place = open_place();
        xac_heap_root root;
        char name[XAC_HEAP_NAME_MAX + 2] = { 0 };

        memset(name, 'x', XAC_HEAP_NAME_MAX);
        check_ok(xac_heap_root_create(place.heap, name, 8, 0, &root));
        check(!strcmp(root.name, name));
        name[XAC_HEAP_NAME_MAX] = 'x';
        check_code(xac_heap_root_create(place.heap, name, 8, 0, &root), -EINVAL);
        check_code(xac_heap_root_create(place.heap, "", 8, 0, &root), -EINVAL);
        check_code(xac_heap_root_create(place.heap, "nothing", 0, 0, &root), -EINVAL);
        close_place(place);
}

/* ---- opening ---- */

static void a_heap_is_made_once(void)
{
        struct place place = open_place();
        xac_heap *heap;

        check_code(xac_heap_open(place.env, "heap", XAC_CREATE | XAC_EXCL, &heap), -EEXIST);
        check_code(xac_heap_open(place.env, "other", 0, &heap), -ENOENT);
        check_code(xac_heap_open(place.env, "heap", XAC_RDONLY, &heap), -EINVAL);
        check_ok(xbegin(place.env, 0));
        check_code(xac_heap_open(place.env, "heap", 0, &heap), -EBUSY);
        check_code(xac_heap_close(place.heap), -EBUSY);
        check_ok(xend(place.env));
        uint64_t *words = xac_mmap(place.env, "words", 4096, 0);
        check_ok(xbegin(place.env, 0));
        words[0] = 1;
        check_ok(xend(place.env));
        check_code(xac_heap_open(place.env, "words", XAC_CREATE, &heap), XAC_FORMAT);
        close_place(place);
}

static void open_in_a_thread(int flags, void *expected)
{
        struct place place;
        int err;

        check_ok(xac_open(scratch_path("env"), XAC_VOLATILE, NULL, &place.env));
        err = xac_heap_open(place.env, "heap", flags == 1 ? XAC_SHARED : 0, &place.heap);
        check_equal(err, *(int *)expected);
        if (!err)
                check_ok(xac_heap_close(place.heap));
        check_ok(xac_close(place.env));
}

static void open_in_the_child(int flags, void *expected)
{
        struct place place = open_place_with(XAC_VOLATILE, flags == 1 ? XAC_SHARED : 0);

        crew_threads(flags + 1, open_in_a_thread, expected);
        close_place(place);
}

static void pointers_that_would_lead_elsewhere_are_told(void)
{
        struct crash crash;
        int expected = -EADDRNOTAVAIL;

        crash_run(open_in_the_child, 0, &expected, &crash);
        check_equal(crash.status, 0);
        check_equal(crash_lines(&crash), 1);
        check(strstr(crash.said, "XAC_SHARED"));
}

static void a_heap_of_offsets_lies_anywhere(void)
{
        struct place place = open_place_with(XAC_VOLATILE, XAC_ANYWHERE);
        int expected = 0;

        crew_threads(1, open_in_a_thread, &expected);
        void *object = xac_heap_malloc(place.heap, 100);
        check(xac_heap_address(place.heap, xac_heap_offset(place.heap, object)) == object);
        check(xac_heap_offset(place.heap, NULL) == 0 && xac_heap_address(place.heap, 0) == NULL);
        close_place(place);
}

/* ---- at random ---- */

enum { TRANSACTIONS = 300, OPERATIONS = 60, LARGE = 100000, HUGE = 8 << 20 };

static void change_at_random(struct place place, int number, uint64_t seed, int transactions)
{
        struct chance chance = { chance_mix(seed + (uint64_t)number) };
        struct table *table = table_open(place.heap, number);

        for (int i = 0; i < transactions; i++) {
                struct chance before = chance;
                int err;
                do {
                        chance = before;
                        check_ok(xbegin(place.env, 0));
                        for (uint64_t n = chance_below(&chance, OPERATIONS); n--;)
                                table_change(place.heap, table, &chance, chance_percent(&chance, 2) ? HUGE : LARGE);
                        err = chance_percent(&chance, 20) ? xabort(place.env) : xend(place.env);
                } while (err == XAC_CONFLICT);
                check_ok(err);
        }
}

static void random_operations_lose_nothing(void)
{
        const uint64_t seed = chance_seed();

        for (int round = 0; round < 3; round++) {
                struct place place = open_place();
                for (int i = 0; i < 10; i++) {
                        change_at_random(place, 0, seed + (uint64_t)(round * 10 + i), TRANSACTIONS / 10);
                        tables_check(place.env, place.heap);
                }
                close_place(place);
        }
}

static void change_in_a_process(int index, void *seed)
{
        struct place place = open_place();

        change_at_random(place, index, *(uint64_t *)seed, TRANSACTIONS);
        close_place(place);
}

static void processes_allocate_at_once(void)
{
        uint64_t seed = chance_seed();
        struct place place = open_place();

        crew_processes(4, change_in_a_process, &seed);
        tables_check(place.env, place.heap);
        close_place(place);
}

static void change_in_a_thread(int index, void *seed)
{
        struct place place = open_place_with(XAC_VOLATILE, XAC_SHARED);

        change_at_random(place, index, *(uint64_t *)seed, TRANSACTIONS);
        close_place(place);
}

static void threads_allocate_at_once(void)
{
        uint64_t seed = chance_seed();

        crew_threads(4, change_in_a_thread, &seed);
        struct place place = open_place();
        tables_check(place.env, place.heap);
        close_place(place);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(objects_are_as_large_as_asked),
                isolated_test(too_much_is_refused),
                isolated_test(an_object_is_found_at_its_offset_alone),
                isolated_test(without_a_transaction_a_call_is_one),
                isolated_test(a_realloc_to_nothing_frees),
                isolated_test(what_is_aborted_never_happened),
                isolated_test(an_inner_abort_undoes_the_inner_objects),
                isolated_test(where_a_file_cannot_grow_others_make_room),
                isolated_test(where_a_file_cannot_grow_groups_of_others_are_taken_whole),
                isolated_test(what_is_no_object_ends_the_program),
                isolated_test(roots_are_found_again),
                isolated_test(names_are_checked),
                isolated_test(a_heap_is_made_once),
                isolated_test(a_heap_keeps_its_environment_open),
                isolated_test(pointers_that_would_lead_elsewhere_are_told),
                isolated_test(a_heap_of_offsets_lies_anywhere),
                isolated_test(random_operations_lose_nothing),
                isolated_test(processes_allocate_at_once),
                isolated_test(threads_allocate_at_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
