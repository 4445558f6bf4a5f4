/* SPDX-License-Identifier: MIT */

/*
 * Snapshots at the ends: of threads and environments, of a process that forks, and of one that writes where it may only
 * read.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/seat.h"

static const struct stand small = { .stamped = { 1, 4096, 40 } };

/* ---- Threads ---- */

static void open_it(int index, void *out)
{
        struct stand mine = small;

        (void)index;
        stand_open(&mine);
        stand_commits(&mine, 20);
        *(xac_snapshot **)out = stand_snapshot(&mine, 0);
        stand_map(&mine, *(xac_snapshot **)out);
        stand_close(&mine);
}

/* The thread that opened it has ended; this one has no part in the environment but by it. */
static void it_outlives_its_thread(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot, *fresh;

        stand.model = stamped_model_new(&stand.stamped);
        crew_threads(1, open_it, &snapshot);
        stand_check(&stand, stand_map(&stand, snapshot), 20);
        fresh = stand_refresh(snapshot);
        check_ok(xac_snapshot_close(snapshot));
        stand_check(&stand, stand_map(&stand, fresh), 20);
        check_ok(xac_snapshot_close(fresh));
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        stamped_model_free(&stand.model);
}

/* ---- The environment's end ---- */

static void check_file(const struct stamped *stamped, uint64_t number)
{
        struct stamped_model model = stamped_model_new(stamped);
        char *bytes = malloc(stamped_byte_len(stamped));

        check(bytes != NULL);
        scratch_read_file(scratch_path("env/stamped"), bytes, stamped_byte_len(stamped));
        check_equal(stamped_check(&model, bytes), number);
        free(bytes);
        stamped_model_free(&model);
}

static void snapshots_keep_the_environment_open(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot, *other, *fresh;
        const char *bytes;

        stand_open(&stand);
        stand_commits(&stand, 20);
        snapshot = stand_snapshot(&stand, 0);
        bytes = stand_map(&stand, snapshot);
        stand_commits(&stand, 20);
        other = stand_snapshot(&stand, 0);
        check_ok(xac_close(stand.env));
        stand_check(&stand, bytes, 20);
        stand_check(&stand, stand_map(&stand, other), 40); /* for the first time */
        fresh = stand_refresh(snapshot);
        stand_check(&stand, stand_map(&stand, fresh), 40);
        check_ok(xac_snapshot_close(fresh));
        check(scratch_shared_memory_of(scratch_path("env")) != 0);
        check_ok(xac_snapshot_close(snapshot));
        check(scratch_shared_memory_of(scratch_path("env")) != 0);
        stand_check(&stand, stand_map(&stand, other), 40);
        check_ok(xac_snapshot_close(other));
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        check_file(&stand.stamped, 40);
        stamped_model_free(&stand.model);

        stand_open(&stand);
        check_equal(stand_commit(&stand), 41);
        stand_close(&stand);
        check_file(&stand.stamped, 41);
}

/* Opened again while a snapshot keeps it open: it is the same environment. */
static void it_is_opened_again_meanwhile(void)
{
        struct stand stand = small, again;
        xac_snapshot *snapshot;

        stand_open(&stand);
        stand_commits(&stand, 20);
        snapshot = stand_snapshot(&stand, 0);
        stand_close(&stand);
        again = small;
        stand_open(&again);
        check_equal(stand_commits(&again, 10), 30);
        check_equal(stamped_check(&again.model, stand_map(&again, snapshot)), 20);
        check_ok(xac_checkpoint(again.env));
        check_equal(stamped_check(&again.model, stand_map(&again, snapshot)), 20);
        check_ok(xac_snapshot_close(snapshot));
        check_equal(stand_commit(&again), 31);
        stand_close(&again);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        check_file(&again.stamped, 31);
}

static void open_and_close(int index, void *snapshot)
{
        (void)index;
        check_ok(xac_snapshot_close(snapshot));
}

/* The last close, and with it that of the environment, is another thread's than the one that opened. */
static void another_thread_closes_it(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot;

        stand_open(&stand);
        stand_commits(&stand, 20);
        snapshot = stand_snapshot(&stand, 0);
        stand_check(&stand, stand_map(&stand, snapshot), 20);
        stand_close(&stand);
        crew_threads(1, open_and_close, snapshot);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        check_file(&stand.stamped, 20);
}

/* ---- The addresses of others ---- */

enum { BLOCKS_MAX = 4096, STEP_BYTES = 2 << 20 };
#define LARGEST (UINT64_C(16) << 30)
#define WRITTEN (UINT64_C(64) << 20) /* the program uses those that are no longer than that */

/* Memory of the program, in all the gaps between what is mapped, and below. */
struct gaps {
        char *bottom;
        unsigned count;
        struct {
                char *at;
                uint64_t byte_len;
        } block[BLOCKS_MAX];
};

static char *map_anywhere(uint64_t byte_len)
{
        char *at = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        check(at != MAP_FAILED);
        check_equal(madvise(at, byte_len, MADV_NOHUGEPAGE), 0);
        return at;
}

static void gaps_use(const struct gaps *gaps, void (*use)(char *))
{
        for (unsigned i = 0; i < gaps->count; i++)
                for (uint64_t at = 0; gaps->block[i].byte_len <= WRITTEN && at < gaps->block[i].byte_len;
                     at += STEP_BYTES)
                        use(gaps->block[i].at + at);
}

static void put_own_address(char *at)
{
        const uintptr_t own = (uintptr_t)at;
        memcpy(at, &own, sizeof(own));
}

static void check_own_address(char *at)
{
        const uintptr_t own = (uintptr_t)at;
        check(memcmp(at, &own, sizeof(own)) == 0);
}

static void gaps_add(struct gaps *gaps, char *at, uint64_t byte_len)
{
        check(gaps->count < BLOCKS_MAX);
        gaps->block[gaps->count].at = at;
        gaps->block[gaps->count++].byte_len = byte_len;
}

/* The kernel takes the highest gap that is large enough: they are full when it goes below what there was. */
static void gaps_fill(struct gaps *gaps)
{
        char *at;

        gaps->count = 0;
        gaps->bottom = map_anywhere(4 * LARGEST);
        gaps_add(gaps, gaps->bottom + 4 * LARGEST - WRITTEN, WRITTEN);
        for (uint64_t byte_len = LARGEST; byte_len >= STEP_BYTES; byte_len /= 2) {
                while ((at = map_anywhere(byte_len)) > gaps->bottom)
                        gaps_add(gaps, at, byte_len);
                check_equal(munmap(at, byte_len), 0);
        }
        gaps_use(gaps, put_own_address);
}

static void gaps_check_and_leave(struct gaps *gaps)
{
        gaps_use(gaps, check_own_address);
        for (unsigned i = 0; i < gaps->count; i++)
                check_equal(munmap(gaps->block[i].at, gaps->block[i].byte_len), 0);
        check_equal(munmap(gaps->bottom, 4 * LARGEST), 0);
}

/* Mappings of snapshots come and go, of a file that is at home; they leave no addresses to others in between. */
static void what_the_program_maps_stays(void)
{
        struct stand stand = { .stamped = { 1, 4096, 4 * 512 } };
        static struct gaps gaps;
        uint64_t number;

        stand_open(&stand);
        number = stand_commits(&stand, 70);
        stand_close(&stand);
        stand_open(&stand);
        for (int i = 0; i < 6; i++) {
                xac_snapshot *snapshot = stand_snapshot(&stand, 0);

                stand_check(&stand, stand_map(&stand, snapshot), number);
                gaps_fill(&gaps);
                check_ok(xac_snapshot_close(snapshot));
                gaps_check_and_leave(&gaps);
        }
        stand_close(&stand);
}

/* Pages go home, so that what views show is hidden at their next begin. */
static void flip(int index, void *stand)
{
        struct stand mine = *(struct stand *)stand;
        uint64_t *other;

        (void)index;
        stand_open(&mine);
        other = xac_mmap(mine.env, "other", 4096, 0);
        check(other != MAP_FAILED);
        run_until_committed(mine.env, 0) other[0]++;
        check_ok(xac_checkpoint(mine.env));
        stand_close(&mine);
}

static void scan(struct stand *stand, uint64_t number)
{
        check_ok(xbegin(stand->env, XAC_RDONLY));
        stand_check(stand, stand->view, number);
        check_ok(xend(stand->env));
}

/* The same in a view. */
static void what_the_program_maps_stays_beside_a_view(void)
{
        struct stand stand = { .stamped = { 1, 4096, 4 * 512 } };
        static struct gaps gaps;
        uint64_t number;

        stand_open(&stand);
        number = stand_commits(&stand, 70);
        check_ok(xac_checkpoint(stand.env));
        for (int i = 0; i < 12; i++) {
                scan(&stand, number);
                gaps_fill(&gaps);
                crew_threads(1, flip, &stand);
                scan(&stand, number);
                gaps_check_and_leave(&gaps);
        }
        stand_close(&stand);
}

/* ---- fork ---- */

struct inherited {
        struct stand *stand;
        xac_snapshot *snapshot;
        const char *bytes;
};

static void child_tries_everything(int index, void *inherited_)
{
        const struct inherited *inherited = inherited_;
        struct stand own = small;
        xac_snapshot *snapshot;
        size_t length;

        (void)index;
        check_code(xac_snapshot_open(inherited->stand->env, 0, &snapshot), XAC_FORKED);
        check_code(xac_snapshot_open_at(inherited->stand->env, 3, &snapshot), XAC_FORKED);
        check_code(xac_snapshot_refresh(inherited->snapshot, &snapshot), XAC_FORKED);
        check_map_fails(xac_snapshot_map(inherited->snapshot, "stamped", &length), ECHILD);
        check_code(xac_snapshot_close(inherited->snapshot), XAC_FORKED);
        stand_open(&own);
        snapshot = stand_snapshot(&own, 0);
        check_equal(stamped_check(&own.model, stand_map(&own, snapshot)), 25);
        stand_commit(&own);
        check_equal(stamped_check(&own.model, stand_map(&own, snapshot)), 25);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&own);
}

static void child_touches(int index, void *inherited_)
{
        const struct inherited *inherited = inherited_;

        check(((const volatile char *)inherited->bytes)[index] == 77);
}

static void a_child_has_none(void)
{
        struct stand stand = small;
        struct inherited inherited = { .stand = &stand };
        struct crash crash;

        stand_open(&stand);
        stand_commits(&stand, 20);
        inherited.snapshot = stand_snapshot(&stand, 0);
        inherited.bytes = stand_map(&stand, inherited.snapshot);
        for (int is_touched = 0; is_touched < 2; is_touched++) {
                crash_run(child_touches, is_touched * 4097, &inherited, &crash);
                check_equal(crash.signal, SIGSEGV);
                check_equal(crash_lines(&crash), 1);
                check(strstr(crash.said, "libxac: ") == crash.said && strstr(crash.said, "parent process") != NULL);
                stand_check(&stand, inherited.bytes, 20);
        }
        stand_commits(&stand, 5);
        crew_join(crew_fork(child_tries_everything, 0, &inherited));
        stand_check(&stand, inherited.bytes, 20);
        check_equal(stand_commit(&stand), 27);
        check_ok(xac_snapshot_close(inherited.snapshot));
        stand_close(&stand);
}

/* ---- Forbidden accesses ---- */

enum { STORE_UNTOUCHED, STORE_TOUCHED, STORE_AT_HOME, BEYOND_THE_END, AFTER_CLOSE, CUT_FILE };

static void crashes(int how, void *unused)
{
        struct stand stand = small;
        xac_snapshot *snapshot;
        volatile char *bytes;

        (void)unused;
        stand_open(&stand);
        stand_commits(&stand, 20);
        if (how == STORE_AT_HOME || how == CUT_FILE) {
                check_ok(xac_checkpoint(stand.env));
                stand_close(&stand);
                stand_open(&stand);
        }
        snapshot = stand_snapshot(&stand, 0);
        bytes = (volatile char *)stand_map(&stand, snapshot);
        if (how == CUT_FILE)
                check_equal(truncate(scratch_path("env/stamped"), 4096), 0);
        else if (how != STORE_UNTOUCHED)
                stand_check(&stand, (const char *)bytes, 20);
        if (how == AFTER_CLOSE)
                check_ok(xac_snapshot_close(snapshot));
        if (how <= STORE_AT_HOME)
                bytes[5000] = 1;
        else
                check(bytes[how == BEYOND_THE_END ? stamped_byte_len(&stand.stamped) : 5000] == 77);
}

/* A signal, with a line on stderr. */
static void check_crash(int how, int signal, const char *why)
{
        struct crash crash;

        crash_run(crashes, how, NULL, &crash);
        check_equal(crash.signal, signal);
        if (crash_lines(&crash) != 1 || strstr(crash.said, why) == NULL)
                check_failed(__FILE__, __LINE__, "said: %s", crash.said);
        scratch_shared_memory_left(1);
        scratch_clear();
}

static void a_store_into_it_is_a_crash(void)
{
        check_crash(STORE_UNTOUCHED, SIGSEGV, "a snapshot is read-only");
        check_crash(STORE_TOUCHED, SIGSEGV, "a snapshot is read-only");
        check_crash(STORE_AT_HOME, SIGSEGV, "a snapshot is read-only");
}

static void a_read_where_nothing_is_is_a_crash(void)
{
        check_crash(BEYOND_THE_END, SIGSEGV, "libxac: access to stamped at offset 0x28000: ");
        check_crash(AFTER_CLOSE, SIGSEGV, "libxac: access to stamped at offset 0x1388: the snapshot is closed");
}

/* Nobody could be told of zeros later. */
static void a_file_that_was_cut_is_a_crash(void)
{
        check_crash(CUT_FILE, SIGBUS, "cannot be read");
}

/* What the program closes is closed, though a snapshot keeps the environment. */
static void closing_undoes_what_is_open_beside_a_snapshot(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot;

        stand_open(&stand);
        stand_commits(&stand, 3);
        snapshot = stand_snapshot(&stand, 0);
        check_ok(xbegin(stand.env, 0));
        check_code(xac_close(stand.env), XAC_UNENDED);
        check_code(xac_close(stand.env), -EINVAL); /* once was enough */
        stand_check(&stand, stand_map(&stand, snapshot), 3);
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &stand.env));
        check_equal(xac_txn_id(stand.env), 0);
        check_ok(xac_snapshot_close(snapshot));
        check_ok(xac_close(stand.env));
}

static _Atomic int is_begun, may_end;

static void stay_in_a_transaction(int index, void *env)
{
        (void)index;
        check_ok(xbegin(env, 0));
        is_begun = 1;
        while (!may_end)
                crew_sleep_ms(1);
        check_ok(xend(env));
}

static void close_beside_it(int index, void *arg)
{
        struct stand *stand = arg;
        if (index == 0) {
                stay_in_a_transaction(index, stand->env);
                return;
        }
        while (!is_begun)
                crew_sleep_ms(1);
        check_code(xac_close(stand->env), -EBUSY);
        may_end = 1;
}

static void another_threads_transaction_is_not_closed_beside_a_snapshot(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot;

        stand_open(&stand);
        stand_commits(&stand, 3);
        snapshot = stand_snapshot(&stand, 0);
        crew_threads(2, close_beside_it, &stand);
        check_ok(xac_close(stand.env));
        check_ok(xac_snapshot_close(snapshot));
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(closing_undoes_what_is_open_beside_a_snapshot),
                isolated_test(another_threads_transaction_is_not_closed_beside_a_snapshot),
                isolated_test(it_outlives_its_thread),
                isolated_test(snapshots_keep_the_environment_open),
                isolated_test(it_is_opened_again_meanwhile),
                isolated_test(another_thread_closes_it),
                isolated_test(what_the_program_maps_stays),
                isolated_test(what_the_program_maps_stays_beside_a_view),
                isolated_test(a_child_has_none),
                isolated_test(a_store_into_it_is_a_crash),
                isolated_test(a_read_where_nothing_is_is_a_crash),
                isolated_test(a_file_that_was_cut_is_a_crash),
        };
        return cmocka_run_group_tests_name("snapshot_ends", tests, NULL, NULL);
}
