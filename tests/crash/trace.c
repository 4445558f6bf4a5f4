/* SPDX-License-Identifier: MIT */
#include "tests/crash/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/check.h"

static const char MAGIC[8] = "XACTRAC2";

struct trace *trace_new(uint64_t capacity)
{
        struct trace *trace = mmap(NULL, sizeof(*trace) + capacity, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        pthread_mutexattr_t attr;

        check(trace != MAP_FAILED);
        trace->capacity = capacity;
        pthread_mutexattr_init(&attr);
        pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
        check_equal(pthread_mutex_init(&trace->adding, &attr), 0);
        check_equal(pthread_mutex_init(&trace->order, &attr), 0);
        pthread_mutexattr_destroy(&attr);
        return trace;
}

void trace_lock(pthread_mutex_t *mutex)
{
        int err = pthread_mutex_lock(mutex);

        if (err == EOWNERDEAD)
                err = pthread_mutex_consistent(mutex);
        check_equal(err, 0);
}

void trace_free(struct trace *trace)
{
        munmap(trace, sizeof(*trace) + trace->capacity);
}

/* Events are found zeroed, so what was used is zeroed here. */
void trace_clear(struct trace *trace)
{
        uint64_t used = atomic_load(&trace->end);

        memset(trace->events, 0, used < trace->capacity ? used : trace->capacity);
        atomic_store(&trace->end, 0);
        trace->branch_count = 0;
}

int trace_is_full(const struct trace *trace)
{
        return atomic_load(&trace->end) > trace->capacity;
}

static uint64_t room_of(uint32_t bytes_len)
{
        return (sizeof(struct trace_event) + bytes_len + 7) & ~UINT64_C(7);
}

struct trace_event *trace_add(struct trace *trace, enum trace_kind kind, uint32_t bytes_len)
{
        static _Thread_local struct trace_event *nowhere;
        uint64_t room = room_of(bytes_len), place;
        struct trace_event *event;

        trace_lock(&trace->adding);
        place = atomic_load(&trace->end);
        event = (void *)(trace->events + place);
        if (place + room > trace->capacity) {
                free(nowhere);
                event = nowhere = calloc(1, room);
                check(event != NULL);
        }
        event->bytes_len = bytes_len;
        event->kind = kind;
        atomic_store(&trace->end, place + room);
        pthread_mutex_unlock(&trace->adding);
        return event;
}

uint64_t trace_place(const struct trace *trace, const struct trace_event *event)
{
        return (uint64_t)((const unsigned char *)event - trace->events);
}

static void add_value(struct trace *trace, enum trace_kind kind, uint32_t channel, uint64_t value)
{
        struct trace_event *event = trace_add(trace, kind, 0);

        event->channel = channel;
        event->value = (int64_t)value;
}

void trace_required(struct trace *trace, uint32_t channel, uint64_t value)
{
        add_value(trace, TRACE_REQUIRED, channel, value);
}

void trace_allowed(struct trace *trace, uint32_t channel, uint64_t value)
{
        add_value(trace, TRACE_ALLOWED, channel, value);
}

const struct trace_event *trace_next(const struct trace *trace, const struct trace_event *event)
{
        uint64_t end = atomic_load(&trace->end);
        uint64_t place = event ? trace_place(trace, event) + room_of(event->bytes_len) : 0;

        return place < end && end <= trace->capacity ? (const void *)(trace->events + place) : NULL;
}

uint64_t trace_count(const struct trace *trace)
{
        const struct trace_event *event = NULL;
        uint64_t count = 0;

        while ((event = trace_next(trace, event)) != NULL)
                count++;
        return count;
}

/* ---- For people ---- */

/* What the file was made as; its number may be used again later. */
static const char *name_of(const struct trace *trace, uint64_t file, const struct trace_event *until)
{
        const struct trace_event *event = NULL;
        const char *name = file == trace->directory ? "." : "?";

        while ((event = trace_next(trace, event)) != NULL && event <= until)
                if (event->kind == TRACE_FILE && event->file == file)
                        name = (const char *)event->bytes;
        return name;
}

void trace_print(const struct trace *trace)
{
        static const char *const kinds[TRACE_KINDS] = { "file",   "link",     "rename",  "unlink", "size",
                                                        "extend", "write",    "written", "sync",   "synced",
                                                        "base",   "required", "allowed" };
        const struct trace_event *event = NULL;
        uint64_t number = 0;

        while ((event = trace_next(trace, event)) != NULL) {
                printf("%6" PRIu64 " @%-8" PRIu64 " %-8s ", ++number, trace_place(trace, event), kinds[event->kind]);
                if (event->kind == TRACE_LINK || event->kind == TRACE_RENAME || event->kind == TRACE_UNLINK)
                        printf("%s\n", (const char *)event->bytes);
                else if (event->kind == TRACE_REQUIRED || event->kind == TRACE_ALLOWED)
                        printf("channel %u: %" PRId64 "\n", event->channel, event->value);
                else if (event->kind == TRACE_WRITTEN || event->kind == TRACE_SYNCED)
                        printf("%s of @%" PRIu64 " %" PRId64 "%s\n", name_of(trace, event->file, event), event->begin,
                               event->value, event->flags & TRACE_IS_DURABLE ? " durable" : "");
                else
                        printf("%s offset %" PRIu64 " bytes %u value %" PRId64 "\n", name_of(trace, event->file, event),
                               event->offset, event->bytes_len, event->value);
        }
}

/* ---- Files ---- */

void trace_save(const struct trace *trace, const char *path)
{
        FILE *file = fopen(path, "wb");

        check(file != NULL);
        check(fwrite(MAGIC, sizeof(MAGIC), 1, file) == 1);
        check(fwrite(trace, sizeof(*trace), 1, file) == 1);
        check(fwrite(trace->events, 1, atomic_load(&trace->end), file) == atomic_load(&trace->end));
        check(fclose(file) == 0);
}

struct trace *trace_load(const char *path)
{
        FILE *file = fopen(path, "rb");
        struct trace *trace = NULL;
        struct trace header;
        char magic[8];

        if (file == NULL)
                return NULL;
        if (fread(magic, sizeof(magic), 1, file) == 1 && memcmp(magic, MAGIC, sizeof(magic)) == 0 &&
            fread(&header, sizeof(header), 1, file) == 1) {
                uint64_t used = atomic_load(&header.end);

                trace = trace_new(used);
                memcpy(trace, &header, sizeof(header));
                trace->capacity = used;
                check(fread(trace->events, 1, used, file) == used);
        }
        fclose(file);
        return trace;
}
