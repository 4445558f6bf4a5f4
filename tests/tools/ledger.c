/* SPDX-License-Identifier: MIT */

/*
 * The program of docs/OPERATIONS.md: a ledger whose lines are durable when they are printed, and can be recomputed, so
 * that any copy of it shows whether it is whole.
 *
 *      ledger DIR add N       commits N more lines, prints how many there are now
 *      ledger DIR run FILE    commits lines until it is ended; FILE has how many, as of a moment before
 *      ledger DIR [LEAST]     looks at all lines and prints how many there are; fewer than LEAST is a failure
 *
 * The log of the directory `store` is kept in the archive that LEDGER_ARCHIVE names.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

enum { LINES_MAX = 1 << 20, NUMBERS = 4 };

struct line {
        uint64_t number[NUMBERS];
};

struct ledger {
        xac_env *env;
        uint64_t *count;
        struct line *lines;
};

static _Noreturn void fail(const char *what, int err)
{
        fprintf(stderr, "ledger: %s: %s\n", what, xac_strerror(err));
        exit(1);
}

static struct ledger open_ledger(const char *directory)
{
        const xac_options options = { .pool_bytes = 64 << 20,
                                      .log_bytes = 4 << 20,
                                      .archive = strcmp(directory, "store") == 0 ? getenv("LEDGER_ARCHIVE") : NULL };
        struct ledger ledger;
        int err = xac_open(directory, XAC_CREATE, &options, &ledger.env);

        if (err)
                fail(directory, err);
        ledger.count = xac_mmap(ledger.env, "count", sizeof(uint64_t), 0);
        ledger.lines = xac_mmap(ledger.env, "lines", LINES_MAX * sizeof(struct line), 0);
        if (ledger.count == MAP_FAILED || ledger.lines == MAP_FAILED)
                fail("mapping", -errno);
        return ledger;
}

static uint64_t number_of(uint64_t line, unsigned i)
{
        return (line * NUMBERS + i) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t add_line(const struct ledger *ledger)
{
        for (;;) {
                int err = xbegin(ledger->env, 0);
                uint64_t line = *ledger->count;

                if (err || line == LINES_MAX)
                        fail("adding", err ? err : -ENOSPC);
                for (unsigned i = 0; i < NUMBERS; i++)
                        ledger->lines[line].number[i] = number_of(line, i);
                *ledger->count = line + 1;
                err = xend(ledger->env);
                if (!err)
                        return line + 1;
                if (err != XAC_CONFLICT)
                        fail("adding", err);
        }
}

static void run(const struct ledger *ledger, const char *path)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        for (;;) {
                char text[32];
                int len = snprintf(text, sizeof(text), "%-20" PRIu64 "\n", add_line(ledger));

                if (fd < 0 || pwrite(fd, text, (size_t)len, 0) != len)
                        fail(path, -errno);
        }
}

static uint64_t look(const struct ledger *ledger)
{
        int err = xbegin(ledger->env, XAC_RDONLY);
        uint64_t count = *ledger->count;

        for (uint64_t line = 0; line < count && !err; line++)
                for (unsigned i = 0; i < NUMBERS; i++)
                        if (ledger->lines[line].number[i] != number_of(line, i))
                                err = XAC_CORRUPT;
        int end = xend(ledger->env);
        if (err || end)
                fail("looking", err ? err : end);
        return count;
}

int main(int argc, char **argv)
{
        if (argc < 2)
                return 2;
        struct ledger ledger = open_ledger(argv[1]);
        uint64_t least = 0;

        if (argc == 4 && strcmp(argv[2], "run") == 0)
                run(&ledger, argv[3]);
        else if (argc == 4 && strcmp(argv[2], "add") == 0)
                for (uint64_t i = strtoull(argv[3], NULL, 10); i; i--)
                        add_line(&ledger);
        else if (argc == 3)
                least = strtoull(argv[2], NULL, 10);
        uint64_t count = look(&ledger);
        printf("%" PRIu64 " lines\n", count);
        int err = xac_close(ledger.env);
        if (err)
                fail("closing", err);
        return count < least;
}
