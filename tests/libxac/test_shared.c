/* SPDX-License-Identifier: MIT */
#include "libxac/ground/shared.h"

/*
 * Shared memory: what is believed and what is not (R15), what is left when a call fails, and who
 * is alive (R16). The engine's own shared memory is what a second attachment finds.
 */

#include "tests/libxac/engine.h"

enum { FOREIGN_USER = 54321, PARTS = 3 };

static const char *const part_names[PARTS] = { "control", "heads", "pool" };
static struct engine *engine;
static struct shared second;

static int setup(void **state)
{
        (void)state;
        engine = engine_start(256);
        engine->identity.generation = engine->shared.control->generation; /* it grew with the first file */
        memset(&second, 0, sizeof(second));
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        engine_stop(engine);
        return 0;
}

static const char *part_path(const char *part)
{
        static char path[128];

        snprintf(path, sizeof(path), "/dev/shm/xac.%llx.%llx.%s", (unsigned long long)engine->identity.device,
                 (unsigned long long)engine->identity.inode, part);
        return path;
}

static int count_descriptors(void)
{
        DIR *open_now = opendir("/proc/self/fd");
        int count = 0;

        assert_non_null(open_now);
        while (readdir(open_now))
                count++;
        closedir(open_now);
        return count;
}

static void assert_attaches(void)
{
        assert_int_equal(shared_attach(&second, &engine->identity), 0);
        assert_memory_equal(second.control->uuid, engine->identity.uuid, sizeof(engine->identity.uuid));
        shared_detach(&second);
}

static void assert_is_not_believed(void)
{
        const int before = count_descriptors();

        assert_int_equal(shared_attach(&second, &engine->identity), -ENOENT);
        assert_int_equal(count_descriptors(), before);
}

static void test_an_attachment_shares_everything(void **state)
{
        uint64_t page = engine_page(engine, 3);
        uint64_t sequence = engine_put(engine, 0, 3, 33);

        (void)state;
        assert_int_equal(shared_attach(&second, &engine->identity), 0);
        assert_int_equal(atomic_load(&second.control->sequence), sequence);
        assert_false(second.is_creator);
        assert_int_equal(second.page_bytes, ENGINE_PAGE_BYTES);
        assert_non_null(shared_map_heads(&second, engine->file_no));
        uint64_t word = version_visible(&second, page, sequence);
        assert_int_equal(*(uint64_t *)(void *)shared_slot_bytes(&second, version_slot(word)), 33);
        atomic_store(&second.rows[9].snapshot, 5);
        assert_int_equal(atomic_load(&engine->shared.rows[9].snapshot), 5);
        atomic_store(&second.rows[9].snapshot, 0);
        shared_detach(&second);
}

/* ---- What is believed ---- */

/* The field is wrong for a moment. */
static void assert_counts(void *field, size_t byte_len)
{
        unsigned char *bytes = field;

        for (size_t i = 0; i < byte_len; i++) {
                bytes[i] ^= 0x40;
                assert_is_not_believed();
                bytes[i] ^= 0x40;
        }
        assert_attaches();
}

static void test_every_field_of_the_header_counts(void **state)
{
        struct control *control = engine->shared.control;

        (void)state;
        assert_counts(control->magic, sizeof(control->magic));
        assert_counts(&control->version, sizeof(control->version));
        assert_counts(&control->page_bytes, sizeof(control->page_bytes));
        assert_counts(&control->max_participants, sizeof(control->max_participants));
        assert_counts(&control->pool_slots, 1);
        assert_counts(&control->device, sizeof(control->device));
        assert_counts(&control->inode, sizeof(control->inode));
        assert_counts(control->uuid, sizeof(control->uuid));
        assert_counts(control->boot_id, 36);
}

static void test_what_is_not_ready_is_not_there(void **state)
{
        (void)state;
        atomic_store(&engine->shared.control->is_ready, 0);
        assert_is_not_believed();
        shared_mark_ready(&engine->shared);
        assert_attaches();
}

/* Whoever writes the manifest may die before or after the new generation is on disk. */
static void test_the_generation_in_progress_is_accepted(void **state)
{
        struct control *control = engine->shared.control;

        (void)state;
        control->next_generation++;
        assert_attaches();
        engine->identity.generation++;
        assert_attaches();
        engine->identity.generation++;
        assert_is_not_believed();
        engine->identity.generation -= 2;
        control->generation--;
        assert_is_not_believed();
        control->generation++;
}

/* At each system call of a write: the manifest as it stands on disk is one that the header agrees with. */
static int attach_in_between(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        struct manifest manifest;

        (void)call;
        (void)fd;
        (void)offset;
        (void)byte_len;
        sys_failure_hook hook = sys_fail;
        sys_fail = NULL;
        assert_int_equal(manifest_read(engine->directory, &manifest), 0);
        engine->identity.generation = manifest.generation;
        assert_attaches();
        sys_fail = hook;
        return 0;
}

/* The writer before this one died when the manifest was on disk, and before the header said so. */
static void test_a_successor_is_believed_while_it_writes(void **state)
{
        struct control *control = engine->shared.control;
        struct manifest manifest;

        (void)state;
        control->generation--;
        assert_attaches();
        for (int i = 0; i < 2; i++) {
                assert_int_equal(manifest_read(engine->directory, &manifest), 0);
                sys_fail = attach_in_between;
                shared_lock_as_process(&engine->shared, &control->file_lock);
                int err = shared_write_manifest_locked(&engine->shared, engine->directory, &manifest);
                shared_unlock_as_process(&engine->shared, &control->file_lock);
                sys_fail = NULL;
                assert_int_equal(err, 0);
        }
        assert_int_equal(control->generation, manifest.generation);
}

static void test_durable_and_volatile_do_not_mix(void **state)
{
        (void)state;
        engine->identity.is_volatile = false;
        assert_int_equal(shared_attach(&second, &engine->identity), -EINVAL);
        engine->identity.is_volatile = true;
        assert_attaches();
}

static void test_parts_of_another_size_are_not_believed(void **state)
{
        const int fds[PARTS] = { engine->shared.control_fd, engine->shared.heads_fd, engine->shared.pool_fd };

        (void)state;
        for (int part = 0; part < PARTS; part++) {
                struct stat st;

                assert_int_equal(fstat(fds[part], &st), 0);
                assert_int_equal(ftruncate(fds[part], st.st_size + 4096), 0);
                assert_is_not_believed();
                assert_int_equal(ftruncate(fds[part], st.st_size), 0);
        }
        assert_attaches();
}

static void test_a_part_that_is_missing_is_not_replaced(void **state)
{
        (void)state;
        for (int part = 0; part < PARTS; part++) {
                char aside[160];

                snprintf(aside, sizeof(aside), "%s.aside", part_path(part_names[part]));
                assert_int_equal(rename(part_path(part_names[part]), aside), 0);
                assert_is_not_believed();
                /* and links are not followed */
                assert_int_equal(symlink(aside, part_path(part_names[part])), 0);
                assert_is_not_believed();
                assert_int_equal(rename(aside, part_path(part_names[part])), 0);
        }
        assert_attaches();
}

static void test_what_somebody_else_prepared_is_not_believed(void **state)
{
        const int fds[PARTS] = { engine->shared.control_fd, engine->shared.heads_fd, engine->shared.pool_fd };

        (void)state;
        if (geteuid() != 0)
                skip(); /* only root can make another user's file */
        for (int part = 0; part < PARTS; part++) {
                assert_int_equal(fchown(fds[part], FOREIGN_USER, (gid_t)-1), 0);
                assert_is_not_believed();
                engine->identity.directory_owner = FOREIGN_USER; /* unless it is the owner's directory */
                assert_attaches();
                engine->identity.directory_owner = 0;
                engine->identity.mode = 0606; /* or everybody may write */
                assert_attaches();
                engine->identity.mode = 0600;
                assert_int_equal(fchown(fds[part], 0, (gid_t)-1), 0);
        }
        assert_attaches();
}

/* Nobody waits for its lock either. */
static void test_a_stranger_holds_up_nobody(void **state)
{
        char aside[160];
        int fd;

        (void)state;
        if (geteuid() != 0)
                skip();
        snprintf(aside, sizeof(aside), "%s.aside", part_path("control"));
        assert_int_equal(rename(part_path("control"), aside), 0);
        assert_int_equal(sys_open(AT_FDCWD, part_path("control"), O_RDWR | O_CREAT | O_EXCL, 0666, &fd), 0);
        assert_int_equal(fchown(fd, FOREIGN_USER, (gid_t)-1), 0);
        assert_int_equal(sys_lock_byte(fd, SHARED_USE_BYTE, false), 0);
        assert_is_not_believed();
        sys_close(fd);
        assert_int_equal(rename(aside, part_path("control")), 0);
        assert_attaches();
}

static void test_a_group_that_shares_trusts_itself(void **state)
{
        (void)state;
        if (geteuid() != 0)
                skip();
        engine->identity.directory_group = FOREIGN_USER;
        assert_int_equal(fchown(engine->shared.control_fd, FOREIGN_USER, FOREIGN_USER), 0);
        assert_is_not_believed();
        engine->identity.mode = 0660;
        assert_attaches();
        assert_int_equal(fchown(engine->shared.control_fd, FOREIGN_USER, FOREIGN_USER + 1), 0);
        assert_is_not_believed();
        engine->identity.mode = 0600;
        assert_int_equal(fchown(engine->shared.control_fd, 0, 0), 0);
}

/* ---- What is made ---- */

static void test_new_shared_memory_replaces_the_old(void **state)
{
        (void)state;
        engine_put(engine, 0, 3, 33);
        assert_int_equal(shared_create(&second, &engine->identity), 0);
        assert_true(second.is_creator);
        assert_int_equal(atomic_load(&second.control->sequence), 1);
        assert_is_not_believed(); /* not before it is marked */
        shared_mark_ready(&second);
        shared_detach(&second);
        assert_int_equal(shared_attach(&second, &engine->identity), 0);
        assert_int_equal(atomic_load(&second.control->sequence), 1);
        assert_int_not_equal(stat(part_path("control"), &(struct stat){ 0 }), -1);
        shared_detach(&second);
        shared_remove(&engine->identity);
        for (int part = 0; part < PARTS; part++)
                assert_int_equal(access(part_path(part_names[part]), F_OK), -1);
}

static void test_parts_have_the_environments_permissions(void **state)
{
        (void)state;
        engine->identity.mode = 0664;
        assert_int_equal(shared_create(&second, &engine->identity), 0);
        for (int part = 0; part < PARTS; part++) {
                struct stat st;

                assert_int_equal(stat(part_path(part_names[part]), &st), 0);
                assert_int_equal(st.st_mode & 0777, 0664);
        }
        shared_detach(&second);
}

/* Nothing half made stays, whichever call fails. */
static void test_a_failed_creation_leaves_nothing(void **state)
{
        const int before = count_descriptors();
        int err = -1;

        (void)state;
        for (int nth = 1; err; nth++) {
                scratch_fail(nth, -ENOMEM, 0);
                err = shared_create(&second, &engine->identity);
                sys_fail = NULL;
                if (!err)
                        break;
                assert_int_equal(count_descriptors(), before);
                for (int part = 0; part < PARTS; part++)
                        if (scratch_failed() && nth > PARTS) /* the first calls are those that unlink */
                                assert_int_equal(access(part_path(part_names[part]), F_OK), -1);
        }
        assert_int_equal(count_descriptors(), before + PARTS);
        shared_detach(&second);
}

/* What cannot be looked at is not taken for absent: there may be commits in it. */
static void test_a_failed_look_is_told_apart(void **state)
{
        const int before = count_descriptors();
        int err;
        int nth = 0;

        (void)state;
        do {
                scratch_fail(++nth, -EMFILE, 0);
                err = shared_attach(&second, &engine->identity);
                if (!scratch_failed())
                        break;
                assert_int_equal(err, -EMFILE);
                assert_int_equal(count_descriptors(), before);
        } while (true);
        assert_int_equal(err, 0);
        assert_true(nth > 8);
        shared_detach(&second);
        assert_int_equal(count_descriptors(), before);
}

static void test_heads_are_mapped_once(void **state)
{
        _Atomic uint64_t *heads;

        (void)state;
        assert_int_equal(shared_attach(&second, &engine->identity), 0);
        scratch_fail(1, -ENOMEM, 1);
        assert_null(shared_map_heads(&second, 5));
        sys_fail = NULL;
        heads = shared_map_heads(&second, 5);
        assert_non_null(heads);
        assert_ptr_equal(shared_map_heads(&second, 5), heads);
        assert_ptr_not_equal(shared_map_heads(&second, 6), heads);
        shared_detach(&second);
}

/* ---- Who is alive ---- */

static void test_the_kernel_says_who_is_alive(void **state)
{
        struct shared *shared = &engine->shared;
        const uint32_t row_no = engine->participant[2].row_no;
        int other;

        (void)state;
        assert_int_equal(sys_open(engine->directory, "xac.lock", O_RDWR, 0, &other), 0);
        assert_true(shared_is_process_alive(shared, shared->process_no));
        assert_false(shared_is_process_alive(shared, 7));
        assert_int_equal(shared_is_any_other_alive(shared, 64), 0);

        assert_int_equal(sys_lock_byte(other, 7 + 1, false), 0); /* as process 7 would */
        assert_true(shared_is_process_alive(shared, 7));
        assert_true(shared_is_alive(shared, control_owner_of_process(7)));
        assert_int_equal(shared_is_any_other_alive(shared, 64), 1);
        atomic_store(&shared->rows[row_no].process_no, 7);
        assert_true(shared_is_alive(shared, control_owner_of_row(row_no)));
        sys_close(other); /* however it ends */
        assert_false(shared_is_alive(shared, control_owner_of_row(row_no)));
        assert_false(shared_is_process_alive(shared, 7));

        scratch_fail(1, -ENOLCK, 1);
        assert_true(shared_is_process_alive(shared, 7)); /* unsure: nothing is taken from it */
        assert_int_equal(shared_is_any_other_alive(shared, 64), -ENOLCK);
        sys_fail = NULL;
        atomic_store(&shared->rows[row_no].process_no, shared->process_no);
}

#define SHARED_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                SHARED_TEST(test_an_attachment_shares_everything),
                SHARED_TEST(test_every_field_of_the_header_counts),
                SHARED_TEST(test_what_is_not_ready_is_not_there),
                SHARED_TEST(test_the_generation_in_progress_is_accepted),
                SHARED_TEST(test_a_successor_is_believed_while_it_writes),
                SHARED_TEST(test_durable_and_volatile_do_not_mix),
                SHARED_TEST(test_parts_of_another_size_are_not_believed),
                SHARED_TEST(test_a_part_that_is_missing_is_not_replaced),
                SHARED_TEST(test_what_somebody_else_prepared_is_not_believed),
                SHARED_TEST(test_a_stranger_holds_up_nobody),
                SHARED_TEST(test_a_group_that_shares_trusts_itself),
                SHARED_TEST(test_new_shared_memory_replaces_the_old),
                SHARED_TEST(test_parts_have_the_environments_permissions),
                SHARED_TEST(test_a_failed_creation_leaves_nothing),
                SHARED_TEST(test_a_failed_look_is_told_apart),
                SHARED_TEST(test_heads_are_mapped_once),
                SHARED_TEST(test_the_kernel_says_who_is_alive),
        };

        return cmocka_run_group_tests_name("libxac/shared", tests, NULL, NULL);
}
