/* SPDX-License-Identifier: MIT */

/*
 * The log is damaged before the checkpoint's end, where fragments of a commit keep it from being recycled; what is
 * damaged is given up (R36). Everything up to the checkpoint is home, and programs go on from there, also with an
 * archive.
 */

#include "base/sys.h"
#include "libxac/care/checkpoint.h"
#include "recovery/log_files.h"
#include "recovery/log_header.h"
#include "recovery/recover.h"
#include "tests/libxac/backlog_stand.h"

enum { MAPPED = 64 };

static bool has_archive;
static uint64_t *redo; /* outlives the machine */

static void open_it(void)
{
        const xac_options options = { .log_bytes = 256 << 10, .archive = has_archive ? scratch_path("archive") : NULL };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        map_pages(MAPPED);
}

/* As if a commit had a fragment at *redo, and were not decided when the checkpoint is made, which ends within a group.
 */
static void checkpoint_and_die(void)
{
        struct thread *thread;

        open_it();
        duty_stop(env);
        commit(0, 0, 1);
        check_ok(thread_of(env, &thread));
        *redo = end_of_log();
        commit(0, 1, 2);
        commit(0, 2, 3);
        atomic_store(&thread->self.row->fragment_start, *redo);
        atomic_store(&thread->self.row->fragment_last, end_of_log());
        commit(XAC_NOSYNC, 3, 4);
        check_ok(xac_checkpoint(env));
        check_equal(atomic_load(&control()->redo_position), *redo);
        promise();
}

static void damage_log(int directory, const struct manifest *manifest)
{
        struct log_files files;
        uint32_t culprit;
        char name[LOG_NAME_BYTES];

        check_ok(log_files_open(&files, directory, manifest->uuid, manifest->segment_bytes, 0, &culprit));
        log_file_name(name, log_files_at(&files, *redo)->file_no);
        log_files_close(&files);
        int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
        check_equal(pwrite(fd, "x", 1, (off_t)(LOG_HEADER_BYTES + *redo % manifest->segment_bytes + 9)), 1);
        close(fd);
}

static void give_up(void)
{
        struct manifest manifest;
        struct recovery recovery = { 0 };

        check_ok(sys_open(AT_FDCWD, scratch_path("env"), O_RDONLY | O_DIRECTORY, 0, &recovery.directory));
        check_ok(manifest_read(recovery.directory, &manifest));
        check(manifest.base_position % LOG_BLOCK != 0);
        damage_log(recovery.directory, &manifest);
        check_code(recover_run(&recovery, &manifest), XAC_CORRUPT);
        recovery.gives_up_damaged = true;
        check_ok(recover_run(&recovery, &manifest));
        check(recovery.has_given_up);
        close(recovery.directory);
}

static void play(void)
{
        set_up();
        redo = crew_shared(sizeof(*redo));
        check_equal(mkdir(scratch_path("archive"), 0700), 0);
        then_the_machine_goes_down(checkpoint_and_die);
        give_up();
        open_it();
        check_pages(truth->durable);
        memcpy(truth->now, truth->durable, sizeof(truth->now));
        commit(0, 5, 6);
        leave();
        open_it();
        check_pages(truth->now);
        leave();
}

static void what_is_home_stays(void)
{
        play();
}

static void an_archive_goes_on_behind_it(void)
{
        has_archive = true;
        play();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_is_home_stays),
                isolated_test(an_archive_goes_on_behind_it),
        };
        return cmocka_run_group_tests_name("damage of the log that was given up", tests, NULL, NULL);
}
