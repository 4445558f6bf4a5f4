/* SPDX-License-Identifier: MIT */

/*
 * Traces that somebody has made on purpose, or that are larger than any other: `xac trace` keeps a bounded number of
 * everything, says what it has left out, and what it has kept is right; and it reads no more of a file than there is.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/crew.h"
#include "tests/support/leeway.h"
#include "tests/tools/tool.h"
#include "tests/tools/trace_make.h"
#include "tools/xac/trace_html.h"
#include "tools/xac/trace_report.h"

enum { US = 1000, MS = 1000000 };

static const struct trace_make_range word = { 8, 15 };

static struct trace_make make;
static struct trace_file file;
static struct trace_winners winners;
static struct trace_sum *sum;

static void begin(void)
{
        trace_make_begin(&make);
        trace_make_track(&make, 0, "test", 1, 2);
}

static void count(void)
{
        trace_make_finish(&make, 900 * MS);
        check_ok(trace_file_read(&file, make.bytes, make.byte_len));
        check_ok(trace_winners_find(&file, &winners));
        check_ok(trace_sum_up(&file, &winners, &sum));
}

static void end(void)
{
        trace_sum_free(sum);
        trace_winners_free(&winners);
        trace_file_close(&file);
        trace_make_free(&make);
}

static const char *store(void)
{
        const char *path = scratch_path("trace");

        trace_make_finish(&make, 900 * MS);
        scratch_write_file(path, make.bytes, make.byte_len);
        return path;
}

static void lose(uint64_t page, uint64_t winner)
{
        trace_make_conflict(&make, 0, MS, US, page, winner, word, word);
}

/* ---- Pages, pairs, winners ---- */

enum { FREQUENT = 100, TIMES = 50 };

/* Pages on which much is lost, and between their conflicts ever so many pages on which one transaction lost. */
static void lose_on_pages(uint64_t pages)
{
        for (uint64_t i = 0; i < pages; i++) {
                lose(trace_page(2, i), 0);
                if (i % (pages / (FREQUENT * TIMES)) == 0)
                        lose(trace_page(1, i % FREQUENT), 0);
        }
}

static uint64_t conflicts_told(void)
{
        uint64_t conflicts = 0;

        for (uint32_t i = 0; i < sum->page_count; i++)
                conflicts += sum->pages[i].conflicts;
        return conflicts;
}

static void pages_are_exact_as_long_as_they_fit(void)
{
        begin();
        lose_on_pages(TRACE_SUM_PAGES_MAX - FREQUENT);
        count();
        check_equal(sum->page_count, TRACE_SUM_PAGES_MAX);
        check_equal(sum->other_pages.count, 0);
        check_equal(conflicts_told(), sum->all.conflicts);
        end();
}

static void frequent_pages_outlast_rare_ones(void)
{
        uint64_t frequent = 0;

        begin();
        lose_on_pages(3 * (uint64_t)TRACE_SUM_PAGES_MAX);
        count();
        check(sum->page_count <= TRACE_SUM_PAGES_MAX);
        check_equal(conflicts_told() + sum->other_pages.conflicts, sum->all.conflicts);
        check(sum->page_count + sum->other_pages.count >= 3 * (uint64_t)TRACE_SUM_PAGES_MAX + FREQUENT);
        for (uint32_t i = 0; i < FREQUENT; i++) {
                check_equal(trace_page_file(sum->pages[i].page), 1);
                frequent += sum->pages[i].conflicts;
        }
        check(frequent >= FREQUENT * TIMES);
        check_xac(0, "trace", store());
        check_said("pages with few conflicts, of which there are no figures");
        check_xac(0, "trace", "--json", scratch_path("trace"));
        check_said("\"conflicts_on_pages_left_out\"");
        end();
}

/* Each loser a track of its own; no two pairs are the same. */
static void pairs_are_bounded(void)
{
        const uint64_t pairs = TRACE_SUM_PAIRS_MAX + 1000;

        begin();
        for (uint32_t i = 1; i <= pairs; i++) {
                const struct trace_event event = { trace_make_header(&make)->ticks[0], trace_what(TRACE_CONFLICT, 0, 1),
                                                   TRACE_PAGE_UNKNOWN, 0 };
                const struct trace_block block = { .kind = TRACE_BLOCK_EVENTS, .byte_len = sizeof(event), .track = i };

                trace_make_block(&make, &block, &event, sizeof(event));
        }
        count();
        check(sum->pair_count <= TRACE_SUM_PAIRS_MAX);
        check_equal(sum->pair_count + sum->other_pairs.conflicts, pairs);
        end();
}

static void winners_are_bounded(void)
{
        enum { MORE = 10 };

        begin();
        for (uint64_t i = 1; i <= (uint64_t)TRACE_WINNERS_MAX + MORE; i++)
                trace_make_event(&make, 0, TRACE_CONFLICT, 0, MS, US, TRACE_PAGE_UNKNOWN, i);
        count();
        check_equal(winners.count, TRACE_WINNERS_MAX);
        check_equal(winners.left_out, MORE);
        check_equal(sum->pair_count, 2);
        check_equal(sum->pairs[0].winner, TRACE_WINNER_NOT_TRACED);
        check_equal(sum->pairs[1].winner, TRACE_WINNER_NOT_KNOWN);
        check_equal(sum->pairs[1].conflicts, MORE);
        end();
}

/* ---- Participants, environments, names ---- */

static void participants_are_bounded(void)
{
        begin();
        for (uint32_t i = 1; i <= TRACE_FILE_TRACKS_MAX + 9; i++) {
                const struct trace_end left = { .how = TRACE_END_LEFT };
                const struct trace_block block = { .kind = TRACE_BLOCK_END, .byte_len = sizeof(left), .track = i };

                trace_make_block(&make, &block, &left, sizeof(left));
        }
        count();
        check_equal(file.track_count, TRACE_FILE_TRACKS_MAX);
        check(file.has_full_tracks);
        check(strstr(file.damage[0].text, "more than 262144 participants") != NULL);
        end();
}

/* A participant of an environment of its own. */
static void enter_environment(uint32_t no)
{
        struct trace_track track = { .page_bytes = TRACE_MAKE_PAGE, .path = "/data" };
        const struct trace_block block = { .kind = TRACE_BLOCK_TRACK, .byte_len = sizeof(track), .track = no };

        memcpy(track.uuid, &no, sizeof(no));
        trace_make_block(&make, &block, &track, sizeof(track));
}

static void environments_are_bounded(void)
{
        begin();
        for (uint32_t i = 1; i <= TRACE_FILE_ENVS_MAX + 9; i++)
                enter_environment(i);
        count();
        check(file.env_count <= TRACE_FILE_ENVS_MAX + 1); /* and the one that is not known */
        check(file.has_full_envs);
        check(!file.tracks[file.track_count - 1].is_introduced);
        check(strstr(file.damage[0].text, "more than 4096 environments") != NULL);
        end();
}

static void names_are_bounded(void)
{
        begin();
        for (uint32_t i = 0; i < TRACE_FILE_NAMES_MAX + 9; i++)
                trace_make_name(&make, 0, i, "name");
        count();
        check_equal(file.name_count, TRACE_FILE_NAMES_MAX);
        check(trace_file_name(&file, 1, 0) || trace_file_name(&file, 0, 0));
        check(strstr(file.damage[0].text, "more than 16384 names") != NULL);
        end();
}

/* ---- Numbers that want the same slot of a map without keys ---- */

enum { COLLIDING = 1 << 18 };

/* The inverse of an odd number, by Newton's method: each step doubles the bits that are right. */
static uint64_t inverse(uint64_t odd)
{
        uint64_t inverse = odd;

        for (int i = 0; i < 6; i++)
                inverse *= 2 - odd * inverse;
        return inverse;
}

/* What is to be given to a map whose places are these known ones, so that the place is `place` << 32 | 0. */
static uint64_t number_for(uint64_t place)
{
        const uint64_t first = UINT64_C(0xbf58476d1ce4e5b9), second = UINT64_C(0x94d049bb133111eb);
        uint64_t number = place << 32 | place; /* whose lower half becomes 0 by ^ >> 32 */

        number *= inverse(second);
        number ^= number >> 29 ^ number >> 58;
        return number * inverse(first);
}

static void chosen_numbers_do_not_collide(void)
{
        const uint64_t begun_ns = crew_clock_ns();
        struct trace_map map = { 0 };

        for (uint32_t i = 0; i < COLLIDING; i++)
                check_ok(trace_map_add(&map, number_for(i), 0, i));
        for (uint32_t i = 0; i < COLLIDING; i++)
                check_equal(trace_map_find(&map, number_for(i), 0), i);
        check(crew_clock_ns() - begun_ns < leeway_ms(1000) * MS);
        trace_map_free(&map);
}

/* ---- Perfetto ---- */

enum { EVENTS = 50000 };

/* Of this process, so that it matters little what else the machine does. */
static uint64_t used_ns(void)
{
        struct timespec used;

        check_ok(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used));
        return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static uint64_t drawing_ns(uint32_t envs)
{
        FILE *nowhere = fopen("/dev/null", "we");
        uint64_t begun_ns;

        check(nowhere != NULL);
        begin();
        for (uint32_t i = 1; i < envs; i++)
                enter_environment(i);
        for (uint32_t i = 0; i < EVENTS; i++)
                trace_make_event(&make, 0, TRACE_FAULT, 0, MS, US, trace_page(1, i), 0);
        count();
        const struct trace_report report = { .path = (char[]){ "a trace" }, .file = file, .sum = sum };

        begun_ns = used_ns();
        trace_report_perfetto(&report, nowhere);
        begun_ns = used_ns() - begun_ns;
        check_equal(fclose(nowhere), 0);
        end();
        return begun_ns;
}

/* What an event costs does not depend on how many environments there are. Their names cost something, too. */
static void environments_are_not_counted_for_each_event(void)
{
        uint64_t of_two = UINT64_MAX, of_many = UINT64_MAX;

        for (int i = 0; i < 3; i++) {
                const uint64_t two = drawing_ns(2), many = drawing_ns(TRACE_FILE_ENVS_MAX);

                of_two = two < of_two ? two : of_two;
                of_many = many < of_many ? many : of_many;
        }
        check(of_many < 2 * of_two);
}

/* ---- The page ---- */

static uint64_t number_behind(const char *path, const char *key)
{
        const long long byte_len = scratch_file_size(path);
        char *text = calloc(1, (size_t)byte_len + 1);
        const char *found;
        uint64_t number;

        check(text != NULL);
        scratch_read_file(path, text, (size_t)byte_len);
        found = strstr(text, key);
        check(found != NULL);
        number = strtoull(found + strlen(key), NULL, 10);
        free(text);
        return number;
}

static void a_page_has_a_bounded_number_of_events(void)
{
        const uint64_t events = TRACE_HTML_ITEMS_MAX + 1000;
        const char *page = scratch_path("page.html");

        begin();
        for (uint64_t i = 0; i < events; i++)
                trace_make_event(&make, 0, i % 2 ? TRACE_ABORT : TRACE_WAIT, 0, MS, US, i, 0);
        check_xac(0, "trace", "--html", page, store());
        check_equal(number_behind(page, "\"items\":"), TRACE_HTML_ITEMS_MAX);
        check_equal(number_behind(page, "\"left_out\":"), 1000);
        trace_make_free(&make);
}

/* ---- Holes ---- */

static void make_longer(const char *path, uint64_t byte_len)
{
        struct trace_header header;
        const int fd = open(path, O_RDWR | O_CLOEXEC);

        check(fd >= 0);
        scratch_read_file(path, &header, sizeof(header));
        header.byte_len = byte_len;
        check_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
        check_ok(ftruncate(fd, (off_t)byte_len));
        close(fd);
}

/* Blocks that claim 4 GiB each of a file that has hardly any bytes: a reader that goes through them has 2^36 of them.
 */
static void holes_are_not_read(void)
{
        enum { BLOCKS = 16 };
        const uint64_t each = UINT64_C(0xffffffe0);
        const char *path;
        int fd;

        begin();
        trace_make_event(&make, 0, TRACE_WAIT, 0, MS, US, 0, 0);
        path = store();
        fd = open(path, O_RDWR | O_CLOEXEC);
        check(fd >= 0);
        for (uint64_t i = 0; i < BLOCKS; i++) {
                struct trace_block block = { .kind = TRACE_BLOCK_EVENTS, .byte_len = (uint32_t)each, .first = 1 };

                check_equal(pwrite(fd, &block, sizeof(block), (off_t)(make.byte_len + i * (each + sizeof(block)))),
                            sizeof(block));
        }
        close(fd);
        make_longer(path, make.byte_len + BLOCKS * (each + sizeof(struct trace_block)));
        check_ok(trace_file_open(path, &file));
        check(file.damage_count > 0);
        check(strstr(file.damage[1].text, "are a hole in the file") != NULL);
        check_equal(file.tracks[0].events, 1);
        check(file.odd_events < UINT64_C(1) << 20); /* what is beside the blocks' heads on their pages of the disk */
        trace_file_close(&file);
        trace_make_free(&make);
}

/* What lies behind a hole within one block keeps its number. */
static void events_behind_a_hole_are_read(void)
{
        enum { BEFORE = 1, HOLE_EVENTS = 1 << 20 };
        const uint64_t count_all = BEFORE + HOLE_EVENTS + 1;
        struct trace_event event = { 0 };
        struct trace_block block = { .kind = TRACE_BLOCK_EVENTS, .byte_len = (uint32_t)(count_all * sizeof(event)) };
        const char *path;
        int fd;

        begin();
        path = store();
        event = (struct trace_event){ trace_make_header(&make)->ticks[0], trace_what(TRACE_WAIT, 0, 1), 0, 0 };
        fd = open(path, O_RDWR | O_CLOEXEC);
        check(fd >= 0);
        check_equal(pwrite(fd, &block, sizeof(block), (off_t)make.byte_len), sizeof(block));
        check_equal(pwrite(fd, &event, sizeof(event), (off_t)(make.byte_len + sizeof(block))), sizeof(event));
        check_equal(pwrite(fd, &event, sizeof(event),
                           (off_t)(make.byte_len + sizeof(block) + (count_all - 1) * sizeof(event))),
                    sizeof(event));
        close(fd);
        make_longer(path, make.byte_len + sizeof(block) + block.byte_len);
        check_ok(trace_file_open(path, &file));
        check_equal(file.tracks[0].events, 2);
        check(file.tracks[0].missing > 0 && file.tracks[0].missing + file.odd_events == HOLE_EVENTS);
        trace_file_close(&file);
        trace_make_free(&make);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(pages_are_exact_as_long_as_they_fit),
                isolated_test(frequent_pages_outlast_rare_ones),
                isolated_test(pairs_are_bounded),
                isolated_test(winners_are_bounded),
                isolated_test(participants_are_bounded),
                isolated_test(environments_are_bounded),
                isolated_test(names_are_bounded),
                isolated_test(chosen_numbers_do_not_collide),
                isolated_test(environments_are_not_counted_for_each_event),
                isolated_test(a_page_has_a_bounded_number_of_events),
                isolated_test(holes_are_not_read),
                isolated_test(events_behind_a_hole_are_read),
        };

        return cmocka_run_group_tests_name("bounds of a trace", tests, NULL, NULL);
}
