/* SPDX-License-Identifier: MIT */

/*
 * A journal whose writer waits for the disk once per batch instead of once per entry.
 *
 * Each entry is a transaction of its own: whole or not there, and seen by others at once. Begun
 * XAC_NOSYNC it does not wait for the disk; xac_sync() then waits once for all that were
 * committed before it, and only after that is anybody told that they are safe. If the machine goes down in
 * between, the newest entries may be lost, but never one of them without all that came after it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xac/xac.h>

enum { BATCHES = 20, BATCH = 250, ENTRIES = BATCHES * BATCH };

struct journal {
        int count;
        long entry[ENTRIES];
};

static void must(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "durable_log: %s: %s\n", what, xac_strerror(err));
                exit(EXIT_FAILURE);
        }
}

struct addition {
        struct journal *journal;
        long value;
};

static int append(void *arg)
{
        const struct addition *add = arg;
        add->journal->entry[add->journal->count++] = add->value;
        return 0;
}

/* What would be there if the machine went down now. */
static int count_durable(xac_env *env, const struct journal *journal)
{
        must(xbegin(env, XAC_RDONLY | XAC_DURABLE), "xbegin");
        int count = journal->count;
        must(xend(env), "xend");
        return count;
}

int main(void)
{
        xac_env *env;
        must(xac_open("journal.xac", XAC_CREATE, NULL, &env), "xac_open");
        struct journal *journal = xac_mmap(env, "journal", sizeof(*journal), 0);
        if (journal == MAP_FAILED) {
                perror("durable_log: xac_mmap");
                return EXIT_FAILURE;
        }
        int promised = 0, is_kept = 1;
        for (int batch = 0; batch < BATCHES; batch++) {
                for (int i = 0; i < BATCH; i++) {
                        struct addition add = { journal, batch * 1000L + i };
                        must(xac_run(env, XAC_NOSYNC, append, &add), "xac_run");
                }
                is_kept &= count_durable(env, journal) >= promised;
                must(xac_sync(env), "xac_sync"); /* from here on the batch is safe */
                promised += BATCH;
                is_kept &= count_durable(env, journal) == promised;
        }
        must(xac_close(env), "xac_close");
        printf("%d entries, %d waits for the disk, every promise %s\n", promised, BATCHES, is_kept ? "kept" : "BROKEN");
        return is_kept ? EXIT_SUCCESS : EXIT_FAILURE;
}
