/* SPDX-License-Identifier: MIT */

/*
 * A slot that a checkpoint is looking at is used again between two of its looks: what is newer than the checkpoint does
 * not belong into its double-write buffer. Needs a build with hooks.
 */

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include <xac/xac.h>

#include "base/hook.h"
#include "recovery/manifest.h"
#include "recovery/recover_double_write.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

#ifdef XAC_TEST_HOOKS

enum { PAGE = 4096, PAGES = 2000, REWRITTEN = 24, TAKEN_AT_ONCE = 100, LOOKS = 40 };

static struct crew_turn wanted, done; /* commits of the other thread */
static xac_env *env;
static uint64_t look_no, chosen_look;

/* One word of each of these pages. */
static void write_pages(char *data, unsigned first, unsigned count)
{
        check_ok(xbegin(env, 0));
        for (unsigned i = 0; i < count; i++)
                ++*(uint64_t *)xac_page_write(env, data + (size_t)(first + i) * PAGE);
        check_equal(xend(env), 0);
}

/* It displaces versions one by one, so that it has free slots, and when it is asked to, it takes all of them at once.
 */
static void work(int unused, void *unused_arg)
{
        char *data = xac_mmap(env, "data", (size_t)PAGES * PAGE, 0);
        (void)unused, (void)unused_arg;
        for (uint32_t turn = 0; turn < LOOKS; turn++) {
                crew_turn_await(&wanted, 2 * turn + 1);
                for (unsigned i = 0; i < REWRITTEN * 4; i++)
                        write_pages(data, i % REWRITTEN, 1);
                crew_turn_pass(&done);
                crew_turn_await(&wanted, 2 * turn + 2);
                write_pages(data, 100, TAKEN_AT_ONCE);
                crew_turn_pass(&done);
        }
        check_ok(xac_munmap(env, data));
}

static void ask_for_commits(void)
{
        uint32_t number = atomic_load(&done.number) + 1;
        crew_turn_pass(&wanted);
        crew_turn_await(&done, number);
}

static void on_step(enum hook_step step)
{
        if (step == HOOK_SLOT_SEEN && ++look_no == chosen_look)
                ask_for_commits();
}

static int expect_not_newer(void *sequence, const struct page_image *image)
{
        check(image->sequence <= *(uint64_t *)sequence);
        return 0;
}

static void check_buffer(void)
{
        struct manifest manifest;
        struct double_write_damage damage;
        int directory = open(scratch_path("env"), O_RDONLY | O_DIRECTORY);
        check_ok(manifest_read(directory, &manifest));
        struct double_write_id id = recover_double_write_id(&manifest);
        const struct double_write_visitor visitor = { .visit = expect_not_newer, .arg = &id.sequence };
        check_ok(double_write_read(directory, manifest.buffer, &id, manifest.buffer_checksum, &visitor, &damage));
        close(directory);
}

static void look_while_slots_are_taken(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        for (chosen_look = 1; chosen_look <= LOOKS; chosen_look++) {
                ask_for_commits();
                look_no = 0;
                hook_on_step = on_step;
                check_ok(xac_checkpoint(env));
                hook_on_step = NULL;
                check_buffer();
                if (look_no < chosen_look)
                        ask_for_commits();
        }
}

static void take_part(int index, void *unused)
{
        (index ? work : look_while_slots_are_taken)(index, unused);
}

static void test_the_buffer_has_nothing_newer_than_the_checkpoint(void)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        crew_threads(2, take_part, NULL);
        check_ok(xac_close(env));
}

#else

static void test_the_buffer_has_nothing_newer_than_the_checkpoint(void)
{
        isolate_skip("built without hooks");
}

#endif

int main(void)
{
        const struct CMUnitTest tests[] = { isolated_timed(test_the_buffer_has_nothing_newer_than_the_checkpoint, 60) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
