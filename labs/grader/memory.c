/* SPDX-License-Identifier: MIT */

#include "labs/grader/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labs/grader/grader.h"

enum { PAGE_BYTES = 4096 };

struct stops_role stops_role; /* here, as a lab without steps has hosts, too */

static struct part {
        char *start;
        size_t asked, byte_len; /* whole pages */
        int descriptor;
} parts[MEMORY_PARTS] = { [MEMORY_STEPS] = { .descriptor = -1 }, [MEMORY_LAB] = { .descriptor = -1 } };

static void map_part(struct part *part)
{
        part->start = mmap(NULL, part->byte_len, PROT_READ | PROT_WRITE, MAP_SHARED, part->descriptor, 0);
        grader_check(part->start != MAP_FAILED, "mmap: %s", strerror(errno));
}

static char *ask(enum memory_part number, size_t byte_len)
{
        struct part *part = &parts[number];
        if (part->start == NULL) {
                part->asked = byte_len;
                part->byte_len = (byte_len + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
                part->descriptor = memfd_create("shared", MFD_CLOEXEC);
                grader_check(part->descriptor >= 0 && ftruncate(part->descriptor, (off_t)part->byte_len) == 0,
                             "memfd_create: %s", strerror(errno));
                map_part(part);
        }
        grader_check(byte_len <= part->byte_len, "%zu bytes of shared memory: there are %zu", byte_len, part->byte_len);
        return part->start;
}

int memory_descriptor(enum memory_part part)
{
        return parts[part].descriptor;
}

/* Nothing maps it a second time. */
void memory_attach(enum memory_part part, int descriptor)
{
        struct part *mine = &parts[part];
        struct stat stat;
        grader_check(fstat(descriptor, &stat) == 0, "fstat: %s", strerror(errno));
        *mine = (struct part){ .byte_len = (size_t)stat.st_size, .descriptor = descriptor };
        map_part(mine);
        close(descriptor);
        mine->descriptor = -1;
}

void memory_prepare(void)
{
        memory_stops();
}

struct stops *memory_stops(void)
{
        return (struct stops *)ask(MEMORY_STEPS, sizeof(struct stops));
}

void *host_memory(size_t byte_len)
{
        return ask(MEMORY_LAB, byte_len);
}

void memory_check_rest(void)
{
        static const char zeros[PAGE_BYTES];
        const struct part *lab = &parts[MEMORY_LAB];
        grader_check(lab->start == NULL || memcmp(lab->start + lab->asked, zeros, lab->byte_len - lab->asked) == 0,
                     "the answer has written to memory that is not its own");
}
