/* SPDX-License-Identifier: MIT */

#include "labs/grader/stops.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "labs/grader/access.h"
#include "labs/grader/grader.h"
#include "labs/grader/memory.h"

enum { SPIN_NS = 8000 };

static const char *watched;
static size_t watched_len;
static bool watched_is_plain;

/* Asks the test before a step, and waits until that lets it go on; when the test has closed its end, for good. */
static void ask_for_step(bool is_write)
{
        static bool is_free;
        const char kind = is_write ? STOPS_WRITE : STOPS_READ;
        char byte;
        ssize_t got;
        if (is_free)
                return;
        memory_stops()->asked_at = memory_stops()->count;
        if (write(stops_role.said, &kind, 1) != 1)
                is_free = true;
        while (!is_free && (got = read(stops_role.go, &byte, 1)) != 1)
                is_free = got == 0 || errno != EINTR;
}

/* What this process has written last; it is there by now, and nobody else has run. */
static void complete_write(void)
{
        struct stops *stops = memory_stops();
        if (!watched_is_plain || stops->count == 0)
                return;
        struct stops_note *last = &stops->note[stops->count - 1];
        if (last->who == stops_role.who && last->is_write && !last->has_value) {
                memcpy(&last->value, watched + last->offset, sizeof(last->value));
                last->has_value = true;
        }
}

static void take_step(const void *addr, size_t byte_len, bool is_write)
{
        struct stops *stops = memory_stops();
        complete_write();
        if (stops_role.who == 'A')
                ask_for_step(is_write);
        if (stops->count == STOPS_NOTES)
                return;
        struct stops_note *note = &stops->note[stops->count++];
        *note = (struct stops_note){ stops_role.who, is_write, false, (size_t)((const char *)addr - watched), 0 };
        if (!is_write && byte_len == sizeof(note->value)) {
                memcpy(&note->value, addr, sizeof(note->value));
                note->has_value = true;
        }
}

void stops_watch(const void *start, size_t byte_len, bool is_plain)
{
        if (start == NULL && watched != NULL)
                complete_write();
        watched = start;
        watched_len = byte_len;
        watched_is_plain = is_plain;
        access_watch(start, byte_len, start == NULL ? NULL : take_step);
}

void stops_at_end(void)
{
        if (watched != NULL)
                take_step(watched + watched_len, 1, true);
}

/* So that time between two accesses tells nothing. */
static void spin(uint32_t ns)
{
        struct timespec begun, now;
        clock_gettime(CLOCK_MONOTONIC, &begun);
        do
                clock_gettime(CLOCK_MONOTONIC, &now);
        while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < (long)ns);
}

static void stumble(const void *addr, size_t byte_len, bool is_write)
{
        (void)addr;
        (void)byte_len;
        (void)is_write;
        uint32_t chance = grader_random(16);
        if (chance > 7)
                spin(grader_random(SPIN_NS));
        else if (chance == 0)
                nanosleep(&(struct timespec){ 0, 20000 + grader_random(100000) }, NULL);
        else if (chance == 1)
                sched_yield();
}

void stops_stumble(const void *start, size_t byte_len)
{
        access_watch(start, byte_len, start == NULL ? NULL : stumble);
}

static void count_access(const void *addr, size_t byte_len, bool is_write)
{
        (void)addr;
        (void)byte_len;
        (void)is_write;
        atomic_fetch_add(&memory_stops()->accesses, 1);
}

void stops_count(const void *start, size_t byte_len)
{
        access_watch(start, byte_len, start == NULL ? NULL : count_access);
}

long stops_counted(void)
{
        return atomic_load(&memory_stops()->accesses);
}

bool stops_are_full(void)
{
        const int count = memory_stops()->count;
        return count < 0 || count >= STOPS_NOTES;
}

void stops_set_count(long count)
{
        atomic_store(&memory_stops()->accesses, count);
}
