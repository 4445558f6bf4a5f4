/* SPDX-License-Identifier: MIT */
#include "tests/support/seat.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <xac/translate.h>

#include "tests/support/check.h"
#include "tests/support/scratch.h"

_Thread_local struct seat seat;

int seat_is_durable(void)
{
        return getenv("XAC_TEST_DURABLE") != NULL;
}

int seat_open_flags(int way)
{
        int mode = seat_is_durable() ? 0 : XAC_VOLATILE;

        return XAC_CREATE | mode | (way & WAY_TRACK ? XAC_TRACK : 0);
}

static int seat_is_compiled(void)
{
        return (seat.way & WAY_COMPILED) == WAY_COMPILED;
}

long long seat_take(uint64_t way)
{
        seat.way = (int)way;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(seat.way), NULL, &seat.env));
        seat.words = xac_mmap(seat.env, "words", SEAT_PAGES * SEAT_PAGE_BYTES, seat_is_compiled() ? XAC_SHARED : 0);
        check(seat.words != MAP_FAILED);
        if (!xac_in_window(seat.words)) /* nobody can map there, under ThreadSanitizer */
                seat.way &= ~(WAY_COMPILED & ~WAY_DECLARED);
        return 0;
}

long long seat_leave(uint64_t unused)
{
        (void)unused;
        check_ok(xac_munmap(seat.env, seat.words));
        check_ok(xac_close(seat.env));
        seat.env = NULL;
        return 0;
}

uint64_t seat_get(size_t word)
{
        const uint64_t *address = seat.words + word;

        if (seat_is_compiled())
                address = xac_for_read(address);
        else if (seat.way & WAY_DECLARED)
                address = xac_page_read(seat.env, address);
        check(address != NULL);
        return *(const volatile uint64_t *)address;
}

void seat_put(size_t word, uint64_t value)
{
        uint64_t *address = seat.words + word;

        if (seat_is_compiled())
                address = xac_for_write(address);
        else if (seat.way & WAY_DECLARED)
                address = xac_page_write(seat.env, address);
        check(address != NULL);
        *(volatile uint64_t *)address = value;
}

int seat_move(unsigned to, unsigned from, size_t pages)
{
        return xac_page_move(seat.env, seat.words + seat_word(to, 0), seat.words + seat_word(from, 0), pages);
}

long long seat_read(uint64_t word)
{
        if ((seat.way & WAY_COMPILED) == WAY_DECLARED && xac_page_read(seat.env, seat.words + word) == NULL)
                return -1;
        return (long long)seat_get(word);
}

long long seat_add(uint64_t word)
{
        uint64_t value = seat_get(word) + 1;

        if ((seat.way & WAY_COMPILED) == WAY_DECLARED && xac_page_write(seat.env, seat.words + word) == NULL)
                return -1;
        seat_put(word, value);
        return (long long)value;
}

long long seat_begin(uint64_t flags)
{
        return xbegin(seat.env, (int)flags);
}

long long seat_end(uint64_t unused)
{
        (void)unused;
        return xend(seat.env);
}

long long seat_abort(uint64_t unused)
{
        (void)unused;
        return xabort(seat.env);
}

long long seat_commit_add(uint64_t word)
{
        long long value = 0;

        run_until_committed(seat.env, 0) value = seat_add(word);
        return value;
}

long long seat_commit_get(uint64_t word)
{
        long long value = 0;

        check_ok(xbegin(seat.env, XAC_RDONLY));
        value = seat_read(word);
        check_ok(xend(seat.env));
        return value;
}

xac_stats seat_stats(void)
{
        xac_stats stats;

        check_ok(xac_stat(seat.env, &stats));
        return stats;
}

int seat_began(xac_env *env, int flags)
{
        check_ok(xbegin(env, flags));
        return 1;
}

int seat_ended(xac_env *env)
{
        int outcome = xend(env);

        if (outcome != XAC_CONFLICT)
                check_ok(outcome);
        return outcome;
}
