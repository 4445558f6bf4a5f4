/* SPDX-License-Identifier: MIT */
#include "bench/support/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/support/scratch.h"

enum { THREADS_MAX = 16 };

static void *map(size_t byte_len, int flags)
{
        void *memory = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        return memory;
}

char *memory_reserve(size_t byte_len)
{
        return map(byte_len, MAP_PRIVATE);
}

char *memory_make(size_t byte_len)
{
        char *memory = memory_reserve(byte_len);
        memset(memory, 1, byte_len);
        return memory;
}

/* What is mapped too much stays until the program ends. */
char *memory_make_huge(size_t byte_len)
{
        char *memory = memory_reserve(byte_len + HUGE_PAGE);
        memory += -(uintptr_t)memory & (HUGE_PAGE - 1);
        madvise(memory, byte_len, MADV_HUGEPAGE);
        memset(memory, 1, byte_len);
        return memory;
}

void *memory_share(size_t byte_len)
{
        return map(byte_len, MAP_SHARED);
}

void memory_free(void *memory, size_t byte_len)
{
        munmap(memory, byte_len);
}

void memory_warm(size_t byte_len)
{
        memory_free(memory_make(byte_len), byte_len);
}

uint64_t memory_mappings(void)
{
        FILE *lines = fopen("/proc/self/maps", "re");
        uint64_t count = 0;

        must(lines ? 0 : -errno, "/proc/self/maps");
        for (int c; (c = getc(lines)) != EOF;)
                count += c == '\n';
        fclose(lines);
        return count;
}

/* ---- the scan ---- */

uint64_t memory_sum(const char *bytes, size_t byte_len)
{
        const uint64_t *word = (const uint64_t *)bytes;
        uint64_t a = 0, b = 0, c = 0, d = 0;

        for (size_t i = 0; i < byte_len / sizeof(*word); i += 4) {
                a += word[i];
                b += word[i + 1];
                c += word[i + 2];
                d += word[i + 3];
        }
        return a + b + c + d;
}

struct part {
        pthread_t thread;
        const char *bytes;
        size_t byte_len;
        uint64_t sum;
};

static void *sum_part(void *arg)
{
        struct part *part = arg;
        part->sum = memory_sum(part->bytes, part->byte_len);
        return NULL;
}

uint64_t memory_sum_by(int threads, const char *bytes, size_t byte_len)
{
        struct part part[THREADS_MAX] = { { 0 } };
        const size_t each = byte_len / (size_t)threads / SCRATCH_PAGE * SCRATCH_PAGE;
        uint64_t sum = 0;

        for (int i = 0; i < threads; i++) {
                part[i].bytes = bytes + (size_t)i * each;
                part[i].byte_len = i == threads - 1 ? byte_len - (size_t)i * each : each;
                if (i)
                        must(-pthread_create(&part[i].thread, NULL, sum_part, &part[i]), "pthread_create");
        }
        sum_part(&part[0]);
        for (int i = 0; i < threads; i++) {
                if (i)
                        pthread_join(part[i].thread, NULL);
                sum += part[i].sum;
        }
        return sum;
}
