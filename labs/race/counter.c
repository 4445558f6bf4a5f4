/* SPDX-License-Identifier: MIT */

#include "labs/race/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "labs/grader/grader.h"

static atomic_long *receipts; /* shared by all processes of a test */

void receipts_begin(void)
{
        receipts = mmap(NULL, sizeof(*receipts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(receipts != MAP_FAILED, "mmap: %s", strerror(errno));
}

void print_receipt(int from, int to, long amount)
{
        (void)from;
        (void)to;
        (void)amount;
        if (receipts != NULL)
                atomic_fetch_add(receipts, 1);
}

long receipts_printed(void)
{
        return atomic_load(receipts);
}

struct bank *plain_bank(void)
{
        int fd = open("plain", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        grader_check(fd >= 0 && ftruncate(fd, sizeof(struct bank)) == 0, "plain: %s", strerror(errno));
        struct bank *bank = mmap(NULL, sizeof(*bank), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        grader_check(bank != MAP_FAILED, "mmap: %s", strerror(errno));
        close(fd);
        return bank;
}

void account_name(size_t offset, char *name, size_t name_bytes)
{
        snprintf(name, name_bytes, "account %zu", offset / sizeof(long));
}
