/* SPDX-License-Identifier: MIT */

/*
 * xac trace: any bytes may be in the file. What is read is counted and printed in all ways; the figures must agree with
 * each other, and what is printed must be what it claims to be. Of a trace without damage all events are read.
 *
 *      first byte   bit 0: what stands behind a sound header, as it comes; else a program that makes a trace, and
 *                   bit 1: damages it
 */

#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/tools/trace_chew.h"
#include "tests/tools/trace_make.h"

const char fuzz_target[] = "trace";

enum { STEPS = 200, STEP_NS = 1000, TOOK_NS = 1000000000 };

static struct trace_make make;
static uint64_t events; /* that were put into it, and can be read */
static uint64_t now_ns;
static bool is_renumbered;

/* ---- The program ---- */

static uint32_t any_track(struct fuzz_input *input)
{
        return fuzz_u8(input) % make.track_count;
}

static void put_track(struct fuzz_input *input)
{
        uint8_t how = fuzz_u8(input);

        if (make.track_count == TRACE_MAKE_TRACKS)
                return;
        if (how & 1)
                trace_make_background(&make, how >> 6, "fuzz", how & 6);
        else
                trace_make_track(&make, how >> 6, "fuzz", how & 6, how);
}

static void put_event(struct fuzz_input *input)
{
        static const enum trace_kind kinds[] = { TRACE_COMMIT, TRACE_ABORT,      TRACE_FAULT, TRACE_PAUSE,
                                                 TRACE_GROUP,  TRACE_CHECKPOINT, TRACE_WAIT };
        uint32_t track = any_track(input);
        uint8_t how = fuzz_u8(input);
        enum trace_kind kind = kinds[how % (sizeof(kinds) / sizeof(kinds[0]))];

        trace_make_event(&make, track, kind, fuzz_u8(input), now_ns, how, fuzz_number(input, now_ns / STEP_NS),
                         fuzz_number(input, 10));
        events++;
}

/* To one of the newest commits, or another. */
static void put_conflict(struct fuzz_input *input)
{
        uint32_t track = any_track(input);
        uint64_t page = fuzz_u8(input) & 1 ? trace_page(1, fuzz_u8(input)) : TRACE_PAGE_UNKNOWN;
        struct trace_make_range others = { fuzz_u16(input) % 4096, fuzz_u16(input) % 4096 };
        struct trace_make_range own = { fuzz_u16(input) % 4096, fuzz_u16(input) % 4096 };

        trace_make_conflict(&make, track, now_ns, 10, page, fuzz_number(input, now_ns / STEP_NS), others, own);
        events++;
}

static void put_name(struct fuzz_input *input)
{
        uint32_t track = any_track(input);
        char name[257] = { 0 };

        fuzz_bytes(input, name, fuzz_u8(input));
        trace_make_name(&make, track, fuzz_u8(input) & 3, name);
}

/* As a collector that was killed leaves it, or with numbers that are not the next. */
static void put_block(struct fuzz_input *input)
{
        uint32_t track = any_track(input);
        uint8_t how = fuzz_u8(input);

        if (how & 1 && how & 2) {
                make.track[track].written = fuzz_number(input, make.track[track].written);
                is_renumbered = true;
        }
        make.track[track].lost = how >> 4;
        trace_make_flush(&make, track);
}

static void put_end(struct fuzz_input *input)
{
        uint32_t track = any_track(input);
        uint8_t how = fuzz_u8(input);

        trace_make_end(&make, track, how & 1 ? TRACE_END_DIED : TRACE_END_LEFT, how & 2 ? now_ns : 0);
}

static void run_step(struct fuzz_input *input)
{
        static void (*const steps[])(struct fuzz_input *) = { put_event, put_event, put_conflict, put_conflict,
                                                              put_name,  put_block, put_end,      put_track };

        steps[fuzz_u8(input) % (sizeof(steps) / sizeof(steps[0]))](input);
        now_ns += STEP_NS;
}

/* ---- One input ---- */

static void put_raw(struct fuzz_input *input)
{
        static unsigned char bytes[1 << 16];
        size_t len = fuzz_bytes(input, bytes, sizeof(bytes));

        if (len > sizeof(struct trace_block))
                trace_make_block(&make, (const void *)bytes, bytes + sizeof(struct trace_block),
                                 len - sizeof(struct trace_block));
        is_renumbered = true;
}

static void run_program(struct fuzz_input *input)
{
        put_track(input);
        for (int i = 0; i < STEPS && input->left; i++)
                run_step(input);
}

static void damage(struct fuzz_input *input)
{
        if (fuzz_u8(input) & 1)
                trace_make_header(&make)->byte_len = fuzz_number(input, make.byte_len);
        if (fuzz_u8(input) & 1)
                trace_make_header(&make)->ticks[fuzz_u8(input) & 1] = fuzz_number(input, now_ns);
        for (uint8_t i = fuzz_u8(input) & 7; i > 0; i--)
                fuzz_damage(input, make.bytes, make.byte_len);
        make.byte_len -= fuzz_u8(input) & 128 ? fuzz_u16(input) % make.byte_len : 0;
}

static void check_trace(bool is_damaged)
{
        void *bytes = fuzz_copy(make.bytes, make.byte_len);
        struct trace_chewed chewed;
        const char *what;

        fuzz_check(trace_chew(bytes, make.byte_len, &chewed, &what));
        if (!is_damaged && !is_renumbered) {
                fuzz_check(chewed.err == 0 && chewed.damages == 0);
                fuzz_check(chewed.events == events && chewed.tracks == make.track_count);
        }
        free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        uint8_t how = fuzz_u8(&input);
        bool is_damaged = !(how & 1) && how & 2;
        struct fuzz_input program = input;

        /* What damages comes from the end, as the program takes as much as there is. */
        program.left -= is_damaged ? program.left / 8 : 0;
        input.bytes += program.left;
        input.left -= program.left;
        events = now_ns = 0;
        is_renumbered = false;
        trace_make_begin(&make);
        if (how & 1)
                put_raw(&program);
        else
                run_program(&program);
        trace_make_finish(&make, TOOK_NS);
        if (is_damaged)
                damage(&input);
        check_trace(is_damaged);
        trace_make_free(&make);
        return 0;
}
