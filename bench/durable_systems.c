/* SPDX-License-Identifier: MIT */
#include "bench/durable_systems.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/measure.h"
#include "bench/support/scratch.h"

const struct work commit_work = { .ints = 1, .repeats = 1 };

/* ---- commit: the first word of a page is counted up ---- */

struct commit_seat {
        struct scratch scratch;
        uint64_t random;
        unsigned sum_before;
};

enum { COUNTER = 0, SCRIBBLE = 1 }; /* words of a page */

xac_env *commit_seat_env(void *seat)
{
        return ((struct commit_seat *)seat)->scratch.env;
}

static unsigned sum_counters(const struct scratch *scratch)
{
        unsigned sum = 0;

        must(xbegin(scratch->env, XAC_RDONLY), "xbegin");
        for (size_t p = 0; p < scratch->pages; p++) {
                const uint64_t *page = xac_page_read(scratch->env, scratch_page(scratch, p));
                sum += page ? (unsigned)page[COUNTER] : 0;
        }
        must(xend(scratch->env), "xend");
        return sum;
}

/* One transaction that adds 1 to a word of a page; -1 = lost, to be repeated. */
static int add_one(const struct scratch *scratch, uint64_t page_no, int word, int flags)
{
        must(xbegin(scratch->env, flags), "xbegin");
        uint64_t *page = xac_page_write(scratch->env, scratch_page(scratch, page_no));
        if (page)
                page[word]++;
        int err = xend(scratch->env);
        if (err == XAC_CONFLICT)
                return -1;
        must(err, "xend");
        return 0;
}

/* Every page gets a version in the pool, as after long use. */
static void touch_all(const struct scratch *scratch)
{
        for (size_t p = 0; p < scratch->pages; p++)
                while (add_one(scratch, p, SCRIBBLE, XAC_NOSYNC))
                        ;
        must(xac_sync(scratch->env), "xac_sync");
}

static void *commit_open(const struct task *task)
{
        struct commit_seat *seat = crew_new_seat(sizeof(*seat));

        seat->scratch.pages = COMMIT_PAGES;
        seat->scratch.is_durable = true;
        seat->scratch.options = task->options;
        snprintf(seat->scratch.directory, SCRATCH_PATH, "%s", task->directory);
        scratch_open(&seat->scratch, 0);
        seat->random = 88172645463325252u + (uint64_t)task->worker;
        if (task->worker == 0)
                touch_all(&seat->scratch);
        seat->sum_before = sum_counters(&seat->scratch);
        return seat;
}

static void commit_close(void *arg)
{
        struct commit_seat *seat = arg;
        scratch_close(&seat->scratch);
        free(seat);
}

static uint64_t commit_transaction(void *arg)
{
        struct commit_seat *seat = arg;
        uint64_t page_no = (measure_random(&seat->random) >> 16) % seat->scratch.pages, lost = 0;

        while (add_one(&seat->scratch, page_no, COUNTER, 0))
                lost++;
        return lost;
}

static unsigned commit_sum(void *arg)
{
        struct commit_seat *seat = arg;
        return sum_counters(&seat->scratch) - seat->sum_before;
}

const struct system system_commit = {
        "libxac", false, NULL, commit_open, commit_close, commit_transaction, commit_sum
};

/* Whole pages of noise, so that the log has as many bytes: it says by itself what changed. (Commits that do not wait
 * would be logged merged, each page once.) */
static void write_noise(const struct scratch *scratch, uint64_t byte_len)
{
        enum { PAGES_AT_ONCE = 64, WORDS = SCRATCH_PAGE / sizeof(uint64_t) };
        uint64_t random = 88172645463325252u, page_no = 0;

        for (uint64_t done = 0; done < byte_len; done += (uint64_t)PAGES_AT_ONCE * SCRATCH_PAGE) {
                must(xbegin(scratch->env, 0), "xbegin");
                for (int i = 0; i < PAGES_AT_ONCE; i++) {
                        uint64_t *page = xac_page_write(scratch->env, scratch_page(scratch, page_no));
                        for (size_t w = SCRIBBLE; page && w < WORDS; w++)
                                page[w] = measure_random(&random);
                        page_no = (page_no + 1) % scratch->pages;
                }
                must(xend(scratch->env), "xend");
        }
}

enum { KEEPERS_MAX = 4 };

/* Processes that keep environments open. */
static struct keeper {
        const struct scratch *scratch; /* NULL: none */
        pid_t pid;
        int line; /* a byte this way: the environment is ready; and that way: it is not needed any more */
} keepers[KEEPERS_MAX];

static _Noreturn void keep(struct scratch *scratch, int line)
{
        char byte = 0;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        scratch_open(scratch, 0);
        write_noise(scratch, scratch->options->log_bytes);
        must(xac_checkpoint(scratch->env), "xac_checkpoint");
        if (write(line, &byte, 1) == 1)
                (void)!read(line, &byte, 1);
        scratch_close(scratch);
        _exit(EXIT_SUCCESS);
}

static struct keeper *keeper_of(const struct scratch *scratch)
{
        for (int i = 0; i < KEEPERS_MAX; i++)
                if (keepers[i].scratch == scratch)
                        return &keepers[i];
        scratch_fail(-ENOMEM, "keepers of environments");
}

void commit_make_used(struct scratch *scratch, const xac_options *options)
{
        struct keeper *keeper = keeper_of(NULL);
        int ends[2];
        char byte;

        scratch_make(scratch, COMMIT_PAGES);
        scratch->is_durable = true;
        scratch->options = options;
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? -errno : 0, "socketpair");
        fflush(NULL);
        *keeper = (struct keeper){ scratch, fork(), ends[0] };
        if (keeper->pid == 0)
                keep(scratch, ends[1]);
        close(ends[1]);
        if (keeper->pid < 0 || read(keeper->line, &byte, 1) != 1)
                scratch_fail(keeper->pid < 0 ? -errno : -EIO, "a process that keeps the environment open");
}

void commit_remove_used(struct scratch *scratch)
{
        struct keeper *keeper = keeper_of(scratch);
        char byte = 0;

        if (write(keeper->line, &byte, 1) != 1 || waitpid(keeper->pid, NULL, 0) != keeper->pid)
                scratch_fail(-errno, "a process that keeps the environment open");
        close(keeper->line);
        keeper->scratch = NULL;
        scratch_remove(scratch);
}

/* ---- bare: the write alone ---- */

enum { BARE_BLOCK = 4096, BARE_BLOCKS = 4096 };

struct bare_seat {
        char path[SCRATCH_PATH + 8];
        int fd;
        bool is_direct;
        uint64_t *block; /* aligned; its first word is the number of the write */
        uint64_t count;
};

static void check_write(ssize_t written)
{
        if (written != BARE_BLOCK)
                scratch_fail(written < 0 ? -errno : -EIO, "bare write");
}

static void fill_with_zeros(struct bare_seat *seat)
{
        int fd = open(seat->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0)
                scratch_fail(-errno, seat->path);
        for (int i = 0; i < BARE_BLOCKS; i++)
                check_write(write(fd, seat->block, BARE_BLOCK));
        if (fsync(fd) != 0)
                scratch_fail(-errno, "fsync");
        close(fd);
}

static void *bare_open(const struct task *task)
{
        struct bare_seat *seat = crew_new_seat(sizeof(*seat));

        if (posix_memalign((void **)&seat->block, BARE_BLOCK, BARE_BLOCK) != 0)
                scratch_fail(-ENOMEM, "a block");
        memset(seat->block, 0, BARE_BLOCK);
        snprintf(seat->path, sizeof(seat->path), "%s/bare%d", task->directory, task->worker);
        fill_with_zeros(seat);
        seat->fd = open(seat->path, O_WRONLY | O_DIRECT | O_DSYNC | O_CLOEXEC);
        seat->is_direct = seat->fd >= 0;
        if (seat->fd < 0)
                seat->fd = open(seat->path, O_WRONLY | O_CLOEXEC);
        if (seat->fd < 0)
                scratch_fail(-errno, seat->path);
        return seat;
}

static off_t bare_place(uint64_t number)
{
        return (off_t)(number % BARE_BLOCKS * BARE_BLOCK);
}

static uint64_t bare_write(void *arg)
{
        struct bare_seat *seat = arg;

        *seat->block = seat->count;
        check_write(pwrite(seat->fd, seat->block, BARE_BLOCK, bare_place(seat->count)));
        if (!seat->is_direct && fdatasync(seat->fd) != 0)
                scratch_fail(-errno, "fdatasync");
        seat->count++;
        return 0;
}

/* As the file has it. */
static unsigned bare_sum(void *arg)
{
        struct bare_seat *seat = arg;
        int fd = open(seat->path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                scratch_fail(-errno, seat->path);
        check_write(pread(fd, seat->block, BARE_BLOCK, bare_place(seat->count - 1)));
        close(fd);
        return (unsigned)(*seat->block + 1);
}

static void bare_close(void *arg)
{
        struct bare_seat *seat = arg;
        close(seat->fd);
        unlink(seat->path);
        free(seat->block);
        free(seat);
}

const struct system system_bare = { "bare", true, NULL, bare_open, bare_close, bare_write, bare_sum };
