/* SPDX-License-Identifier: MIT */

/*
 * A data set that fills two thirds of its disk: all of its pages change again and again, go home by checkpoints in
 * batches, and after crashes by recoveries in batches, which take no more room than the double-write buffers may have.
 *
 *      small_disk [--pages N] [--area-kib N] [--log-kib N] [--rounds N] [--directory DIR]
 *
 * The disk is a small one of its own (tmpfs), skipped where that is not permitted, unless DIR is given, which should be
 * empty. Prints the least room that was left.
 */

#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum {
        PAGE = 4096,
        WORDS = PAGE / 8,
        FILL_PAGES = 128,
        SMALL_PAGES = 16, /* of a small commit */
        CRASH_ROUNDS = 2, /* each of so many rounds */
        DISK_PERCENT = 67,
        SECONDS = 600
};

struct orders {
        uint64_t pages, area_bytes, log_bytes;
        unsigned rounds;
        const char *directory;
};

static struct orders orders = { .pages = 8000, .area_bytes = 4 << 20, .log_bytes = 1 << 20, .rounds = 3 };

struct store {
        char path[4200];
        xac_env *env;
        uint64_t *view;
        uint64_t *versions; /* of each page, shared with children */
        uint64_t least_free, disk_bytes;
};

/* ---- The disk ---- */

static void mount_disk(const char *where)
{
        char options[64];

        check_equal(mkdir(where, 0700), 0);

        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
                isolate_skip("mount namespaces are not permitted here");
        snprintf(options, sizeof(options), "size=%" PRIu64 "k,mode=1777", orders.pages * 4 * 100 / DISK_PERCENT);
        check_equal(mount("none", where, "tmpfs", MS_NOSUID | MS_NODEV, options), 0);
}

static void look_at_disk(struct store *store)
{
        struct statvfs disk;

        check_equal(statvfs(store->path, &disk), 0);
        uint64_t unused = (uint64_t)disk.f_bavail * disk.f_frsize;
        if (unused < store->least_free)
                store->least_free = unused;
        store->disk_bytes = (uint64_t)disk.f_blocks * disk.f_frsize;
}

/* ---- The store ---- */

static void open_store(struct store *store)
{
        const xac_options options = { .area_bytes = orders.area_bytes,
                                      .log_bytes = orders.log_bytes,
                                      .pool_bytes = 4 * orders.pages * PAGE,
                                      .reserve_bytes = orders.pages * PAGE };

        check_ok(xac_open(store->path, XAC_CREATE, &options, &store->env));
        store->view = xac_mmap(store->env, "data", orders.pages * PAGE, 0);
        check(store->view != MAP_FAILED);
}

static void close_store(struct store *store)
{
        look_at_disk(store);
        check_ok(xac_close(store->env));
        look_at_disk(store);
}

static uint64_t filler(uint64_t page, unsigned word)
{
        return chance_mix(page * WORDS + word);
}

static uint64_t *page_at(const struct store *store, uint64_t page)
{
        uint64_t *words = xac_page_write(store->env, store->view + page * WORDS);

        check(words != NULL);
        return words;
}

static void fill(struct store *store)
{
        for (uint64_t first = 0; first < orders.pages; first += FILL_PAGES) {
                check_ok(xbegin(store->env, 0));
                for (uint64_t page = first; page < first + FILL_PAGES && page < orders.pages; page++) {
                        uint64_t *words = page_at(store, page);

                        for (unsigned i = 1; i < WORDS; i++)
                                words[i] = filler(page, i);
                }
                check_ok(xend(store->env));
                look_at_disk(store);
        }
}

/* ---- Commits ---- */

static void change_page(struct store *store, uint64_t page, uint64_t version)
{
        page_at(store, page)[0] = version;
}

static void change_all(struct store *store, uint64_t version)
{
        check_ok(xbegin(store->env, 0));
        for (uint64_t page = 0; page < orders.pages; page++)
                change_page(store, page, version);
        check_ok(xend(store->env));
        for (uint64_t page = 0; page < orders.pages; page++)
                store->versions[page] = version;
        look_at_disk(store);
}

static void change_some(struct store *store, struct chance *chance, uint64_t version)
{
        for (uint64_t i = 0; i < orders.pages; i += SMALL_PAGES) {
                check_ok(xbegin(store->env, XAC_NOSYNC));
                for (unsigned k = 0; k < SMALL_PAGES; k++) {
                        uint64_t page = chance_below(chance, orders.pages);

                        change_page(store, page, version);
                        store->versions[page] = version;
                }
                check_ok(xend(store->env));
        }
        check_ok(xac_sync(store->env));
        look_at_disk(store);
}

static void verify(struct store *store)
{
        check_ok(xbegin(store->env, XAC_RDONLY));
        for (uint64_t page = 0; page < orders.pages; page++) {
                const uint64_t *words = store->view + page * WORDS;

                check_equal(words[0], store->versions[page]);
                for (unsigned i = 1; i < WORDS; i += 37)
                        check_equal(words[i], filler(page, i));
        }
        check_ok(xend(store->env));
}

/* ---- A crash of the machine ---- */

struct victim {
        struct store *store;
        uint64_t version;
};

static void commit_and_die(int index, void *arg)
{
        struct victim *victim = arg;

        (void)index;
        open_store(victim->store);
        change_all(victim->store, victim->version);
        raise(SIGKILL);
}

static void remove_shared_memory(const struct store *store)
{
        static const char *const parts[] = { "control", "heads", "pool" };
        struct stat st;
        char path[128];

        check_equal(stat(store->path, &st), 0);
        for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
                snprintf(path, sizeof(path), "/dev/shm/xac.%" PRIxMAX ".%" PRIxMAX ".%s", (uintmax_t)st.st_dev,
                         (uintmax_t)st.st_ino, parts[i]);
                unlink(path);
        }
}

static void crash(struct store *store, uint64_t version)
{
        struct victim victim = { store, version };

        int status = crew_status(crew_fork(commit_and_die, 0, &victim));
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        remove_shared_memory(store);
        look_at_disk(store);
}

/* ---- All of it ---- */

static void run_round(struct store *store, struct chance *chance, unsigned round)
{
        uint64_t version = (uint64_t)round * 4;

        open_store(store);
        verify(store);
        change_all(store, version + 1);
        check_ok(xac_checkpoint(store->env));
        look_at_disk(store);
        change_some(store, chance, version + 2);
        change_all(store, version + 3);
        close_store(store);
        if (round % CRASH_ROUNDS == 0)
                crash(store, version + 4);
}

static void it_all_works_on_a_small_disk(void)
{
        struct chance chance = { .state = chance_seed() };
        struct store store = { .least_free = UINT64_MAX };
        const char *disk = orders.directory ? orders.directory : scratch_path("disk");

        if (!orders.directory)
                mount_disk(disk);
        snprintf(store.path, sizeof(store.path), "%s/env", disk);
        store.versions = crew_shared(orders.pages * sizeof(uint64_t));
        open_store(&store);
        fill(&store);
        close_store(&store);
        for (unsigned round = 1; round <= orders.rounds; round++)
                run_round(&store, &chance, round);
        open_store(&store);
        verify(&store);
        close_store(&store);
        dprintf(STDOUT_FILENO,
                "%" PRIu64 " MB on a disk of %" PRIu64 " MB: at least %" PRIu64 " MB (%.0f of 100) stayed free\n",
                orders.pages * PAGE / 1000000, store.disk_bytes / 1000000, store.least_free / 1000000,
                100. * (double)store.least_free / (double)store.disk_bytes);
}

/* Buffers that may take more than there is: batches become smaller. */
static void the_buffers_take_what_is_free(void)
{
        orders.area_bytes = 0;
        it_all_works_on_a_small_disk();
}

static int take_order(int option)
{
        uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;

        switch (option) {
        case 'p':
                orders.pages = number;
                return 0;
        case 'a':
                orders.area_bytes = number << 10;
                return 0;
        case 'l':
                orders.log_bytes = number << 10;
                return 0;
        case 'r':
                orders.rounds = (unsigned)number;
                return 0;
        case 'd':
                orders.directory = optarg;
                return 0;
        default:
                return 2;
        }
}

int main(int argc, char **argv)
{
        static const struct option known[] = {
                { "pages", required_argument, NULL, 'p' },     { "area-kib", required_argument, NULL, 'a' },
                { "log-kib", required_argument, NULL, 'l' },   { "rounds", required_argument, NULL, 'r' },
                { "directory", required_argument, NULL, 'd' }, { NULL, 0, NULL, 0 },
        };
        const struct CMUnitTest tests[] = { isolated_timed(it_all_works_on_a_small_disk, SECONDS),
                                            isolated_timed(the_buffers_take_what_is_free, SECONDS) };
        int option;

        while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
                if (take_order(option))
                        return 2;
        return cmocka_run_group_tests_name("small_disk", tests, NULL, NULL);
}
