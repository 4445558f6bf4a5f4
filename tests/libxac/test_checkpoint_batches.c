/* SPDX-License-Identifier: MIT */

/* Checkpoints of more pages than the double-write buffers may have: what stands in the files, and how long the buffers
 * are. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum {
        PAGE = 4096,
        WORDS = PAGE / 8,
        PAGES = 2000,
        MANY_PAGES = 80000,
        MANY_MOVES = 33000, /* more than shared memory has room for */
        BUFFER_BYTES = 1 << 20,
        BUFFER_MAX = BUFFER_BYTES * 5 / 8, /* of one, with its tables */
        SECONDS = 100
};

static xac_env *env;
static uint64_t *words;

static void enter(unsigned pages)
{
        const xac_options options = { .area_bytes = BUFFER_BYTES, .pool_bytes = UINT64_C(3) * MANY_PAGES * PAGE };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        words = xac_mmap(env, "words", (size_t)pages * PAGE, 0);
        check(words != MAP_FAILED);
}

static void leave(void)
{
        check_ok(xac_close(env));
}

static void write_all(unsigned first, unsigned pages, uint64_t value)
{
        check_ok(xbegin(env, 0));
        for (unsigned page = first; page < first + pages; page++) {
                uint64_t *at = xac_page_write(env, words + (size_t)page * WORDS);

                check(at != NULL);
                at[0] = value + page;
        }
        check_ok(xend(env));
}

static void expect_file(unsigned first, unsigned pages, uint64_t value)
{
        static uint64_t bytes[(size_t)MANY_PAGES * WORDS];

        scratch_read_file(scratch_path("env/words"), bytes, (size_t)(first + pages) * PAGE);
        for (unsigned page = first; page < first + pages; page++)
                check_equal(bytes[(size_t)page * WORDS], value + page);
}

static long long double_write_size(void)
{
        long long a = scratch_file_size(scratch_path("env/xac.area.0"));
        long long b = scratch_file_size(scratch_path("env/xac.area.1"));

        return a > b ? a : b;
}

static void the_buffers_stay_small(void)
{
        enter(PAGES);
        for (uint64_t round = 1; round < 6; round++) {
                write_all(0, PAGES, round * 10000);
                check_ok(xac_checkpoint(env));
                expect_file(0, PAGES, round * 10000);
                check(double_write_size() > BUFFER_MAX / 2 && double_write_size() <= BUFFER_MAX);
        }
        leave();
        expect_file(0, PAGES, 50000);
}

/* What a reader holds back stands in the buffers, and goes home when it has ended. */
static void a_reader_holds_pages_back(void)
{
        xac_snapshot *snapshot;

        enter(PAGES);
        write_all(0, PAGES, 10000);
        check_ok(xac_checkpoint(env));
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        for (uint64_t round = 2; round < 5; round++) {
                write_all(100, 1500, round * 10000);
                check_ok(xac_checkpoint(env));
                expect_file(0, PAGES, 10000);
                check(double_write_size() > 1500 * PAGE && double_write_size() < 2 * 1600 * PAGE);
        }
        check_ok(xac_snapshot_close(snapshot));
        check_ok(xac_checkpoint(env));
        expect_file(100, 1500, 40000);
        expect_file(1700, 300, 10000);
        write_all(0, PAGES, 50000); /* and then the buffers are small again */
        check_ok(xac_checkpoint(env));
        write_all(0, PAGES, 60000);
        check_ok(xac_checkpoint(env));
        check(double_write_size() <= BUFFER_MAX);
        leave();
        expect_file(0, PAGES, 60000);
}

/* ---- Who goes on ---- */

static unsigned buffer_writes; /* so far */
static unsigned fails_at;      /* that one */
static uint64_t home_bytes;    /* written before the first buffer */

static bool is_of_file(int fd, const char *name)
{
        struct stat of_fd, of_name;

        return fstat(fd, &of_fd) == 0 && stat(scratch_path(name), &of_name) == 0 && of_fd.st_ino == of_name.st_ino;
}

static void supersede(int index, void *arg)
{
        (void)index, (void)arg;
        uint64_t *view = xac_mmap(env, "words", (size_t)PAGES * PAGE, XAC_ANYWHERE);

        check(view != MAP_FAILED);
        check_ok(xbegin(env, XAC_NOSYNC));
        for (unsigned page = 0; page < PAGES; page++) {
                uint64_t *at = xac_page_write(env, view + (size_t)page * WORDS);

                check(at != NULL);
                at[0] = 20000 + page;
        }
        check_ok(xend(env));
}

static bool is_of_buffer(int fd)
{
        return is_of_file(fd, "env/xac.area.0") || is_of_file(fd, "env/xac.area.1");
}

/* All pages get other versions while the first buffer is written, and the write of a later buffer fails. */
static int let_one_fail(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        if (call != SYS_PWRITE || !is_of_buffer(fd))
                return 0;
        if (buffer_writes++ == 0)
                crew_threads(1, supersede, NULL);
        return buffer_writes == fails_at ? -ENOMEM : 0;
}

static void count_home(const struct sys_change *change)
{
        if (!change->is_done || change->call != SYS_PWRITE)
                return;
        buffer_writes += is_of_buffer(change->fd);
        if (!buffer_writes && is_of_file(change->fd, "env/words"))
                home_bytes += (uint64_t)change->result;
}

/* CP11: what the batches before have brought home is not written again. */
static void who_goes_on_writes_what_the_named_buffer_has(void)
{
        enter(PAGES);
        write_all(0, PAGES, 10000);
        fails_at = 11; /* of some batch in the middle */
        sys_fail = let_one_fail;
        check_equal(xac_checkpoint(env), -ENOMEM);
        sys_fail = NULL;
        buffer_writes = 0;
        sys_record = count_home;
        check_ok(xac_checkpoint(env));
        sys_record = NULL;
        check(buffer_writes > 0 && home_bytes > 0);
        if (home_bytes > BUFFER_MAX)
                check_failed(__FILE__, __LINE__, "%llu pages were written home before the next buffer",
                             (unsigned long long)home_bytes / PAGE);
        leave();
        expect_file(0, PAGES, 20000);
}

static void commit_moves_and_die(int index, void *arg)
{
        (void)index;
        (void)arg;
        enter(MANY_PAGES);
        check_ok(xbegin(env, 0));
        check_ok(xac_page_move(env, words + (size_t)MANY_MOVES * WORDS, words, MANY_MOVES));
        check_ok(xend(env));
        check_ok(xac_checkpoint(env));
        expect_file(MANY_MOVES, MANY_MOVES, 1000000 - MANY_MOVES);
        write_all(0, PAGES, 7);
        raise(SIGKILL);
}

/* Nobody knows what was moved from which any more: it all goes home at once. */
static void more_moves_than_can_be_noted(void)
{
        enter(MANY_PAGES);
        for (unsigned first = 0; first < MANY_MOVES; first += 1000)
                write_all(first, 1000, 1000000);
        leave();
        int status = crew_status(crew_fork(commit_moves_and_die, 0, NULL));
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        check(scratch_shared_memory_left(1) > 0); /* the machine went down */
        enter(MANY_PAGES);
        leave();
        expect_file(0, PAGES, 7);
        expect_file(MANY_MOVES, MANY_MOVES, 1000000 - MANY_MOVES);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(the_buffers_stay_small),
                isolated_test(a_reader_holds_pages_back),
                isolated_test(who_goes_on_writes_what_the_named_buffer_has),
                isolated_timed(more_moves_than_can_be_noted, SECONDS),
        };

        return cmocka_run_group_tests_name("checkpoint_batches", tests, NULL, NULL);
}
