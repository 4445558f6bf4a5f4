/* SPDX-License-Identifier: MIT */

/*
 * xac trace: its figures are those that were put into the trace; what was written twice counts once; damage is told,
 * and never more than that; what other programs are given is as they expect it.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/crew.h"
#include "tests/tools/json_check.h"
#include "tests/tools/tool.h"
#include "tests/tools/trace_chew.h"
#include "tests/tools/trace_make.h"
#include "tools/xac/trace_sum.h"

enum { US = 1000, MS = 1000000 };

static const struct trace_make_range none = { UINT16_MAX, 0 };

static const char *store(const struct trace_make *make)
{
        const char *path = scratch_path("trace");

        scratch_write_file(path, make->bytes, make->byte_len);
        return path;
}

/* A trace that was read and counted. */
struct counted {
        struct trace_file file;
        struct trace_winners winners;
        struct trace_sum *sum;
};

static void count(struct counted *counted, const struct trace_make *make)
{
        check_ok(trace_file_read(&counted->file, make->bytes, make->byte_len));
        check_ok(trace_winners_find(&counted->file, &counted->winners));
        check_ok(trace_sum_up(&counted->file, &counted->winners, &counted->sum));
}

static void uncount(struct counted *counted)
{
        trace_sum_free(counted->sum);
        trace_winners_free(&counted->winners);
        trace_file_close(&counted->file);
}

static void chew(const void *bytes, size_t byte_len, struct trace_chewed *chewed)
{
        const char *what;

        if (!trace_chew(bytes, byte_len, chewed, &what))
                check_failed(__FILE__, __LINE__, "wrong: %s", what);
}

/* ---- A bank: what is in it, the tests below know ---- */

enum { COMMITS = 500, APART = 30, SAME = 7, READERS = 4, STRANGERS = 3, NAMELESS = 2, TOOK = 900 * MS };

/* Two tellers, each with its own word of page 3, and a counter in page 5 that both increment. The second one dies. */
static void put_conflicts(struct trace_make *make, uint32_t teller, uint32_t other)
{
        const struct trace_make_range mine = { 0, 7 };
        const struct trace_make_range its = { 64, 71 };
        const uint64_t strange = 1000000; /* commits of who is not traced */

        for (uint64_t i = 0; i < APART; i++)
                trace_make_conflict(make, teller, (100 + i) * MS, 100 * US, trace_page(1, 3), 2 * (i + 1), its, mine);
        for (uint64_t i = 0; i < SAME; i++)
                trace_make_conflict(make, other, (200 + i) * MS, 200 * US, trace_page(1, 5), 2 * (i + 1) + 1, mine,
                                    mine);
        for (uint64_t i = 0; i < READERS; i++)
                trace_make_conflict(make, other, (300 + i) * MS, 10 * US, trace_page(2, 9), strange + i, its, none);
        for (uint64_t i = 0; i < STRANGERS; i++)
                trace_make_conflict(make, other, (400 + i) * MS, 10 * US, trace_page(1, 7), 0, none, none);
        for (uint64_t i = 0; i < NAMELESS; i++)
                trace_make_conflict(make, other, (450 + i) * MS, 10 * US, TRACE_PAGE_UNKNOWN, 0, none, none);
}

static void put_other_events(struct trace_make *make, uint32_t teller, uint32_t background)
{
        const unsigned faults[] = { 0, TRACE_WRITE, TRACE_WRITE, TRACE_AGAIN, TRACE_WRITE | TRACE_AGAIN };

        for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
                trace_make_event(make, teller, TRACE_FAULT, faults[i], (500 + i) * MS, 8 * US, trace_page(1, i), 0);
        trace_make_event(make, teller, TRACE_ABORT, 0, 510 * MS, US, 0, 0);
        trace_make_event(make, teller, TRACE_PAUSE, TRACE_EXCLUSIVE, 520 * MS, MS, 17, 0);
        trace_make_event(make, teller, TRACE_WAIT, 0, 530 * MS, 5 * MS, 0, 0);
        trace_make_event(make, teller, TRACE_GROUP, 0, 540 * MS, MS, 3, 30);
        trace_make_event(make, teller, TRACE_GROUP, TRACE_FAILED, 541 * MS, MS, 6, 36);
        trace_make_event(make, background, TRACE_CHECKPOINT, 0, 600 * MS, 20 * MS, 44, 36);
        trace_make_commit(make, teller, TRACE_READ_ONLY, 550 * MS, 10 * US, 0, 0);
}

static void make_bank(struct trace_make *make)
{
        uint32_t background, teller, other;

        trace_make_begin(make);
        background = trace_make_background(make, 0, "bank", 100);
        teller = trace_make_track(make, 0, "bank", 100, 101);
        other = trace_make_track(make, 0, "bank", 200, 201);
        trace_make_name(make, teller, 1, "accounts");
        trace_make_name(make, other, 2, "a file whose name is so long that it takes more events than one");
        for (uint64_t i = 0; i < COMMITS; i++) { /* of `teller` the odd ones, each a microsecond longer */
                trace_make_commit(make, teller, TRACE_WAITED, MS + i * 10 * US, (i + 1) * US, 2 * i + 1, (i + 1) * US);
                trace_make_commit(make, other, 0, MS + i * 10 * US, 5 * US, 2 * (i + 1), 0);
        }
        put_conflicts(make, teller, other);
        put_other_events(make, teller, background);
        trace_make_end(make, background, TRACE_END_LEFT, 0);
        trace_make_end(make, other, TRACE_END_DIED, 700 * MS);
        trace_make_finish(make, TOOK);
}

/* ---- Figures ---- */

static void check_track(const struct counted *counted, uint32_t index, uint64_t commits, uint64_t conflicts)
{
        check_equal(counted->sum->tracks[index].commits, commits);
        check_equal(counted->sum->tracks[index].conflicts, conflicts);
        check_equal(counted->file.tracks[index].is_background, index == 0);
}

static void check_page(const struct trace_sum_page *page, uint32_t page_no, enum trace_sharing sharing,
                       uint64_t conflicts)
{
        check_equal(trace_page_no(page->page), page_no);
        check_equal(page->conflicts, conflicts);
        check_equal(page->by_sharing[sharing], conflicts);
        check_equal(page->sharing, sharing);
}

static void check_pair(const struct trace_sum_pair *pair, uint32_t loser, uint32_t winner, uint64_t conflicts)
{
        check_equal(pair->loser, loser);
        check_equal(pair->winner, winner);
        check_equal(pair->conflicts, conflicts);
}

static void conflicts_are_those_of_the_trace(void)
{
        struct trace_make make;
        struct counted counted;

        make_bank(&make);
        count(&counted, &make);
        check_track(&counted, 0, 0, 0);
        check_track(&counted, 1, COMMITS, APART);
        check_track(&counted, 2, COMMITS, SAME + READERS + STRANGERS + NAMELESS);
        check_equal(counted.sum->page_count, 4);
        check_page(&counted.sum->pages[0], 3, TRACE_SHARING_APART, APART);
        check_page(&counted.sum->pages[1], 5, TRACE_SHARING_SAME, SAME);
        check_page(&counted.sum->pages[2], 9, TRACE_SHARING_READ, READERS);
        check_page(&counted.sum->pages[3], 7, TRACE_SHARING_UNKNOWN, STRANGERS);
        check_equal(counted.sum->pages[0].lost_ns, APART * 100 * US);
        check_equal(counted.sum->unknown_pages, NAMELESS);
        check_equal(counted.sum->pair_count, 4);
        check_pair(&counted.sum->pairs[0], 1, 2, APART);
        check_pair(&counted.sum->pairs[1], 2, 1, SAME);
        check_pair(&counted.sum->pairs[2], 2, TRACE_WINNER_NOT_KNOWN, STRANGERS + NAMELESS);
        check_pair(&counted.sum->pairs[3], 2, TRACE_WINNER_NOT_TRACED, READERS);
        check_equal(counted.file.damage_count, 0);
        uncount(&counted);
        trace_make_free(&make);
}

static void check_near(uint64_t is, uint64_t expected)
{
        check(is >= expected - expected / 100 && is <= expected + expected / 100);
}

/* Those of `teller` took 1, 2, ... 500 us. */
static void times_are_those_of_the_trace(void)
{
        struct trace_make make;
        struct counted counted;

        make_bank(&make);
        count(&counted, &make);
        check_equal(counted.file.span_ns, TOOK);
        check_equal(counted.sum->durable.count, COMMITS);
        check_near(histogram_at(&counted.sum->durable, 5000), 250 * US);
        check_near(histogram_at(&counted.sum->durable, 9000), 450 * US);
        check_near(histogram_at(&counted.sum->durable, 9900), 495 * US);
        check_near(histogram_at(&counted.sum->durable, 9990), 500 * US);
        check_equal(counted.sum->durable.most, 500 * US);
        check_equal(counted.sum->writers.count, 2 * COMMITS);
        check_equal(counted.sum->writers.sum, 5 * US * COMMITS + UINT64_C(1000) * (COMMITS * (COMMITS + 1) / 2));
        check_equal(counted.sum->readers.count, 1);
        check_equal(counted.sum->all.lost_ns,
                    APART * 100 * US + SAME * 200 * US + (READERS + STRANGERS + NAMELESS) * 10 * US);
        check_equal(counted.file.tracks[2].how, TRACE_END_DIED);
        check_equal(counted.file.tracks[2].open_ns, UINT64_C(700) * MS);
        check_equal(counted.file.tracks[1].how, 0);
        uncount(&counted);
        trace_make_free(&make);
}

static void other_events_are_those_of_the_trace(void)
{
        struct trace_make make;
        struct counted counted;
        const struct trace_sum *sum;

        make_bank(&make);
        count(&counted, &make);
        sum = counted.sum;
        check_equal(sum->faults[0].count, 1);
        check_equal(sum->faults[1].count, 2);
        check_equal(sum->faults[2].count, 1);
        check_equal(sum->faults[3].count, 1);
        check_equal(sum->faults[1].took_ns, 16 * US);
        check_equal(sum->all.aborts, 1);
        check_equal(sum->groups.took.count, 2);
        check_equal(sum->groups.items, 9);
        check_equal(sum->groups.most_items, 6);
        check_equal(sum->groups.failed, 1);
        check_equal(sum->checkpoints.items, 44);
        check_equal(sum->pauses.most_items, 17);
        check_equal(sum->pauses.exclusive, 1);
        check_equal(sum->waits.took.sum, 5 * MS);
        uncount(&counted);
        trace_make_free(&make);
}

/* ---- What a person reads ---- */

static void advice_is_given(void)
{
        struct trace_make make;

        make_bank(&make);
        check_xac(0, "trace", store(&make));
        check_said("900 ms");
        check_said("/data/env0, pages of 4096 bytes");
        check_said("1000 wrote, 1 only read; 46 lost (4.4 %), 1 were undone");
        check_said("Participants: 3, of which 1 died");
        check_said("died in a transaction begun at 700 ms");
        check_said("page 3 of accounts: 30 conflicts, 3.00 ms lost");
        check_said("FALSE SHARING: bytes 0-7 and 64-71 of page 3 of accounts are written by different transactions");
        check_said("alignas(4096)");
        check_said("xac_heap_aligned_alloc(heap, 4096, size)");
        check_not_said("pad to");
        check_said("by the clock");
        check_said("True sharing: all write bytes 0-7: a counter");
        check_said("page 9 of a file whose name is so long that it takes more events than one: 4 conflicts");
        check_said("Readers lose: others write bytes 64-71");
        check_said("2 conflicts on a page that is not known");
        check_said("nobody knows");
        check_said("bank 100/101 to bank 200/201");
        check_said("bank 200/201 to who is not traced");
        check_said("4.5 commits in a group to the log on average, 6 at most; 1 failed");
        check_not_said("DAMAGED");
        trace_make_free(&make);
}

/* A loser that is off the processor for 98 of 100 ms has lost 2. Who was short needs no event, and had one. */
static void time_without_a_processor_is_told_apart(void)
{
        const struct trace_make_range mine = { 0, 7 };
        struct trace_make make;
        uint32_t loser;

        trace_make_begin(&make);
        make.has_processor = true;
        loser = trace_make_track(&make, 0, "bank", 100, 101);
        trace_make_conflict(&make, loser, MS, 100 * MS, trace_page(1, 3), 1, mine, mine);
        trace_make_processor(&make, loser, 2 * MS);
        trace_make_conflict(&make, loser, 200 * MS, 100 * MS, TRACE_PAGE_UNKNOWN, 1, none, none);
        trace_make_processor(&make, loser, 1000 * MS); /* no longer than it took */
        trace_make_commit(&make, loser, 0, 400 * MS, 34 * MS, 2, 0);
        trace_make_event(&make, loser, TRACE_ABORT, 0, 500 * MS, 300 * MS, 0, 0);
        trace_make_processor(&make, loser, 68 * MS);
        trace_make_finish(&make, TOOK);
        check_xac(0, "trace", store(&make));
        check_said("200 ms in transactions that lost, 37.5 % of the time in transactions\n");
        check_said("102 ms of it had a processor, 50.0 % of the time in transactions that had one");
        check_said("1 conflict, 100 ms lost, 2.00 ms of it with a processor");
        check_not_said("DAMAGED");
        check_xac(0, "trace", "--json", store(&make));
        check_said("\"transactions_processor_ns\": 204000000");
        check_said("\"lost_processor_ns\": 102000000");
        check_said("\"has_processor_ns\": true");
        trace_make_free(&make);
}

static void no_more_is_told_than_asked_for(void)
{
        struct trace_make make;

        make_bank(&make);
        check_xac(0, "trace", "--top", "1", store(&make));
        check_said("page 3 of accounts");
        check_not_said("page 5 of accounts");
        check_said("and 3 more (--top)");
        check_said("died in a transaction"); /* who died is told besides */
        trace_make_free(&make);
}

static void losses_of_the_trace_itself_are_told(void)
{
        struct trace_make make;

        make_bank(&make);
        trace_make_header(&make)->lost = 4711;
        trace_make_header(&make)->untraced = 3;
        trace_make_header(&make)->ended = -EFBIG;
        check_xac(0, "trace", store(&make));
        check_said("4711 that found no room are lost: all figures are too small");
        check_said("3 participants found no room");
        check_said("XAC_TRACE_BYTES");
        check_xac(0, "trace", "--json", store(&make));
        check_said("\"lost_events\": 4711");
        check_said("\"untraced_participants\": 3");
        trace_make_free(&make);
}

/* All commits of three threads, one after the other: a loser finds that "others" have changed all their words. */
static void who_keeps_to_own_bytes_is_recognised(void)
{
        const struct trace_make_range all = { 0, 23 };
        struct trace_make make;
        struct counted counted;

        trace_make_begin(&make);
        for (uint32_t i = 0; i < 3; i++)
                trace_make_track(&make, 0, "crowd", 1, 10 + i);
        for (uint32_t i = 0; i < 60; i++) {
                const struct trace_make_range own = { i % 3 * 8, i % 3 * 8 + 7 };

                trace_make_conflict(&make, i % 3, (1 + i) * MS, US, trace_page(1, 3), 0, all, own);
        }
        trace_make_finish(&make, TOOK);
        count(&counted, &make);
        check_equal(counted.sum->pages[0].by_sharing[TRACE_SHARING_SAME], 60);
        check_equal(counted.sum->pages[0].sharing, TRACE_SHARING_APART);
        uncount(&counted);
        check_xac(0, "trace", store(&make));
        check_said("FALSE SHARING: bytes 0-7, 8-15 and 16-23 of page 3 of file 1");
        trace_make_free(&make);
}

/* The numbers of commits are those of an environment, and so are those of files. */
static void environments_are_kept_apart(void)
{
        struct trace_make make;

        trace_make_begin(&make);
        for (uint32_t i = 0; i < 2; i++) {
                trace_make_track(&make, i, "both", 1, 10);
                trace_make_name(&make, i, 1, i ? "second" : "first");
                trace_make_commit(&make, i, 0, MS, US, 5, 0);
                trace_make_conflict(&make, i, 2 * MS, US, trace_page(1, i), i ? 5 : 6, none, none);
        }
        trace_make_finish(&make, TOOK);
        check_xac(0, "trace", store(&make));
        check_said("page 0 of first in /data/env0");
        check_said("page 1 of second in /data/env1");
        check_said("both 1/10 to who is not traced");
        check_said("both 1/10 to both 1/10");
        trace_make_free(&make);
}

/* ---- A trace that the library made ---- */

enum { ROUNDS = 5, PAGE = 3, WORD = 100 };

struct turns {
        int go[2], done[2]; /* pipes */
};

static void take_turn(int from, int to)
{
        char token = 't';

        if (to >= 0)
                check_equal(write(to, &token, 1), 1);
        if (from >= 0)
                check_equal(read(from, &token, 1), 1);
}

/* Commits whenever the other one has a transaction open; then is killed in the middle of one, when nobody else is there
 * to bring it to the file. */
static void win(int unused, void *turns_)
{
        const struct turns *turns = turns_;
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused;
        for (int i = 0; i < ROUNDS; i++) {
                take_turn(turns->go[0], -1);
                tool_commit(env, words, PAGE, 0);
                take_turn(-1, turns->done[1]);
        }
        take_turn(turns->go[0], -1);
        check_ok(xbegin(env, 0));
        words[0]++;
        kill(getpid(), SIGKILL);
}

static void lose(struct turns *turns)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        for (int i = 0; i < ROUNDS; i++) {
                check_ok(xbegin(env, 0));
                words[PAGE * 512 + WORD]++;
                take_turn(turns->done[0], turns->go[1]);
                check_equal(xend(env), XAC_CONFLICT);
        }
        tool_commit(env, words, 5, 0);
        check_ok(xac_close(env));
}

static void what_a_program_recorded_is_told(void)
{
        const char *path = scratch_path("recorded");
        struct turns turns;
        char text[128];
        pid_t pid;

        check_equal(setenv("XAC_TRACE", path, 1), 0);
        check_equal(pipe(turns.go) | pipe(turns.done), 0);
        pid = crew_fork(win, 0, &turns);
        lose(&turns);
        take_turn(-1, turns.go[1]);
        check(WIFSIGNALED(crew_status(pid)));
        check_equal(unsetenv("XAC_TRACE"), 0);
        tool_sum(); /* so that the environment is closed */
        check_xac(0, "trace", path);
        check_said("6 wrote, 0 only read; 5 lost (45.5 %), 0 were undone");
        check_said("page 3 of accounts: 5 conflicts");
        check_said("others changed byte 40\n");
        check_said("losers changed byte 800\n");
        check_said("FALSE SHARING: bytes 40 and 800 of page 3 of accounts are written by different transactions");
        check_said("died in a transaction begun at ");
        snprintf(text, sizeof(text), "test_trace %d/%d to test_trace %d/%d", (int)getpid(), (int)getpid(), (int)pid,
                 (int)pid);
        check_said(text);
}

/* ---- What programs read ---- */

static char *read_text(const char *path, size_t *byte_len)
{
        long long len = scratch_file_size(path);
        char *text;

        check(len >= 0);
        text = calloc(1, (size_t)len + 1);
        check(text != NULL);
        scratch_read_file(path, text, (size_t)len);
        *byte_len = (size_t)len;
        return text;
}

static unsigned count_text(const char *text, const char *word)
{
        unsigned found = 0;

        for (; (text = strstr(text, word)) != NULL; text += strlen(word))
                found++;
        return found;
}

static void perfetto_has_all_bars_and_arrows(void)
{
        const unsigned others = 5 + 1 + 1 + 1 + 2 + 1 + 1; /* put_other_events() */
        const unsigned conflicts = APART + SAME + READERS + STRANGERS + NAMELESS;
        struct trace_make make;
        const char *out = scratch_path("out.json");
        size_t byte_len;
        char *text;

        make_bank(&make);
        check_xac(0, "trace", "--perfetto", out, store(&make));
        text = read_text(out, &byte_len);
        check(json_check(text, byte_len));
        check_equal(count_text(text, "{\"ph\":\"X\""), 2 * COMMITS + conflicts + others + 1); /* and what was open */
        check_equal(count_text(text, "{\"ph\":\"s\""), APART + SAME);
        check_equal(count_text(text, "{\"ph\":\"f\""), APART + SAME);
        check_equal(count_text(text, "\"thread_name\""), 3);
        check_equal(count_text(text, "\"name\":\"died\""), 1);
        check_equal(count_text(text, "\"page\":\"page 3 of accounts\",\"others changed\":\"64-71\""), APART);
        free(text);
        check_xac(1, "trace", "--perfetto", scratch_path("absent/out.json"), store(&make));
        check_said("No such file");
        trace_make_free(&make);
}

static void json_has_the_figures(void)
{
        struct trace_make make;

        make_bank(&make);
        check_xac(0, "trace", "--json", store(&make));
        check(json_check(tool.said, tool.said_len));
        check_said("\"span_ns\": 900000000");
        check_said("\"conflicts\": 46");
        check_said("\"sharing\": \"apart\"");
        check_said("\"file\": \"accounts\"");
        check_said("\"winner\": \"not traced\"");
        check_said("\"open_since_ns\": 700000000");
        check_said("\"by_track\": 1");
        check_said("\"most\": 44");
        trace_make_free(&make);
}

static void strange_names_do_no_harm(void)
{
        struct trace_make make;

        trace_make_begin(&make);
        trace_make_track(&make, 0, "a\"b\\c\n\xff\x1b", 1, 2);
        trace_make_name(&make, 0, 1, "\xc3\xa4 \xc3( \"}");
        trace_make_conflict(&make, 0, MS, US, trace_page(1, 1), 0, none, none);
        trace_make_finish(&make, TOOK);
        check_xac(0, "trace", "--json", store(&make));
        check(json_check(tool.said, tool.said_len));
        check_said("a\\\"b\\\\c\\\\x0a\\\\xff\\\\x1b");
        check_said("\xc3\xa4 \\\\xc3( \\\"}");
        trace_make_free(&make);
}

/* Root looks at the trace of another user: nothing of it is written to, and nothing is mapped that its owner could make
 * shorter meanwhile. */
static void a_trace_of_somebody_else_is_read(void)
{
        struct trace_make make;
        const char *path;
        struct stat st;

        if (geteuid() != 0)
                isolate_skip("only root can be two users");
        make_bank(&make);
        path = store(&make);
        trace_make_free(&make);
        check_ok(chown(path, 65534, 65534));
        check_ok(utimensat(AT_FDCWD, path, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0));
        check_xac(0, "trace", path);
        check_said("conflicts");
        check_ok(stat(path, &st));
        check_equal(st.st_mtim.tv_sec, 1);
        check_ok(truncate(path, (off_t)TRACE_FILE_COPY_MAX + 8));
        check_xac(1, "trace", path);
        check_said("too long for that");
        check_ok(chown(path, 0, 0)); /* one's own may be as long */
        check_xac(0, "trace", path);
}

/* ---- Blocks as they may stand there ---- */

/* A collector was killed when it had written a block, and its successor wrote it again, with what came then. */
static void what_was_written_twice_counts_once(void)
{
        struct trace_make make;
        struct counted counted;
        struct trace_event events[20];
        struct trace_block block = { .kind = TRACE_BLOCK_EVENTS };

        make_bank(&make);
        for (uint64_t i = 0; i < 20; i++)
                events[i] = (struct trace_event){ trace_make_header(&make)->ticks[0] + i, trace_what(TRACE_WAIT, 0, 1),
                                                  0, 0 };
        for (uint64_t first = 0; first < 20; first += 5) { /* 0-9, 5-14, 10-19, 15-19 */
                uint64_t events_left = 20 - first < 10 ? 20 - first : 10;

                block.byte_len = (uint32_t)(events_left * sizeof(events[0]));
                block.first = make.track[0].written + first;
                trace_make_block(&make, &block, &events[first], block.byte_len);
        }
        trace_make_finish(&make, TOOK);
        count(&counted, &make);
        check_equal(counted.sum->waits.took.count, 1 + 20);
        check_equal(counted.file.damage_count, 0);
        uncount(&counted);
        trace_make_free(&make);
}

/* One event in each block. */
static void names_and_bytes_may_be_cut_by_blocks(void)
{
        const struct trace_make_range word = { 8, 15 };
        struct trace_make whole, cut;
        struct counted counted;

        trace_make_begin(&whole);
        trace_make_track(&whole, 0, "cut", 1, 2);
        trace_make_name(&whole, 0, 4, "a name of forty bytes, which are two events");
        trace_make_conflict(&whole, 0, MS, US, trace_page(4, 1), 0, word, word);
        cut = whole; /* the blocks so far */
        cut.track[0].pending_count = 0;
        for (uint32_t i = 0; i < whole.track[0].pending_count; i++) {
                cut.track[0].pending[0] = whole.track[0].pending[i];
                cut.track[0].pending_count = 1;
                trace_make_flush(&cut, 0);
        }
        trace_make_finish(&cut, TOOK);
        count(&counted, &cut);
        check_equal(counted.file.damage_count, 0);
        check_equal(counted.sum->by_sharing[TRACE_SHARING_SAME], 1);
        check(strcmp(trace_file_name(&counted.file, counted.file.tracks[0].env, 4),
                     "a name of forty bytes, which are two events") == 0);
        uncount(&counted);
        trace_make_free(&cut); /* whose bytes were moved from `whole` */
}

static void missing_events_are_told(void)
{
        struct trace_make make;

        make_bank(&make);
        make.track[1].written += 12;
        trace_make_commit(&make, 1, 0, 800 * MS, US, 5000, 0);
        trace_make_finish(&make, TOOK);
        check_xac(1, "trace", store(&make));
        check_said("12 events of track 1 are missing");
        check_said("1001 wrote");
        trace_make_free(&make);
}

static void a_track_without_a_beginning_is_told(void)
{
        const struct trace_event event = { UINT64_MAX / 2, trace_what(TRACE_COMMIT, 0, 1), 1, 0 };
        const struct trace_block block = { .kind = TRACE_BLOCK_EVENTS, .byte_len = sizeof(event), .track = 9999 };
        struct trace_make make;

        make_bank(&make);
        trace_make_block(&make, &block, &event, sizeof(event));
        trace_make_finish(&make, TOOK);
        check_xac(1, "trace", store(&make));
        check_said("the beginning of track 9999 is missing");
        check_said("1 events of track 9999, from here on, make no sense"); /* it was at no time of this trace */
        trace_make_free(&make);
}

/* ---- Damage ---- */

static void cut_anywhere_gives_what_is_there(void)
{
        struct trace_make make;
        struct trace_chewed chewed;
        uint64_t before = 0;

        make_bank(&make);
        for (size_t len = 0; len < make.byte_len; len += len < TRACE_HEADER_BYTES ? 97 : 37) {
                void *bytes = malloc(len + 1);

                check(bytes != NULL);
                memcpy(bytes, make.bytes, len);
                chew(bytes, len, &chewed);
                check(len < TRACE_HEADER_BYTES ? chewed.err != 0 : chewed.err == 0 && chewed.damages > 0);
                check(chewed.events >= before);
                before = chewed.events;
                free(bytes);
        }
        scratch_write_file(scratch_path("cut"), make.bytes, make.byte_len / 2);
        check_xac(1, "trace", scratch_path("cut"));
        check_said("the file ends here");
        check_said("cut is damaged: that is what can be read");
        trace_make_free(&make);
}

static void headers_may_lie(void)
{
        struct trace_make make;
        struct trace_header *header;

        make_bank(&make);
        header = trace_make_header(&make);
        header->byte_len = UINT64_MAX;
        check_xac(1, "trace", store(&make));
        check_said("should have 18446744073709551615 bytes");
        check_said("1000 wrote");
        header->byte_len = 17;
        check_xac(1, "trace", store(&make));
        check_said("the header says that the file has 17 bytes");
        check_said("1000 wrote");
        header->byte_len = make.byte_len;
        header->ticks[1] = 0;
        check_xac(1, "trace", store(&make));
        check_said("does not say how long a tick is");
        check_said("1000 wrote");
        header->ticks[0] = UINT64_MAX - 10;
        header->ticks[1] = UINT64_MAX;
        check_xac(1, "trace", store(&make));
        check_said("make no sense and are left out");
        trace_make_free(&make);
}

/* Bytes are flipped, words get numbers that are likely to do harm, runs are copied elsewhere. */
static void damage(struct chance *chance, unsigned char *bytes, size_t byte_len)
{
        const uint64_t numbers[] = { 0, 1, 31, 32, UINT32_MAX, UINT64_MAX, INT64_MAX, byte_len };
        size_t at = chance_below(chance, 2) ? chance_below(chance, byte_len) : chance_below(chance, 8192) % byte_len;
        uint64_t number = numbers[chance_below(chance, sizeof(numbers) / sizeof(numbers[0]))];
        size_t from = chance_below(chance, byte_len);
        size_t len;

        switch (chance_below(chance, 3)) {
        case 0:
                bytes[at] ^= (unsigned char)(1 << chance_below(chance, 8));
                break;
        case 1:
                at &= ~(size_t)3;
                memcpy(bytes + at, &number, byte_len - at < 8 ? byte_len - at : 8);
                break;
        default:
                len = 8 * chance_below(chance, 32);
                if (at + len <= byte_len && from + len <= byte_len)
                        memmove(bytes + (at & ~(size_t)7), bytes + (from & ~(size_t)7), len);
        }
}

static void any_bytes_are_survived(void)
{
        struct chance chance = { chance_seed() };
        struct trace_make make;
        struct trace_chewed chewed;

        make_bank(&make);
        for (int round = 0; round < 400; round++) {
                unsigned char *bytes = malloc(make.byte_len);

                check(bytes != NULL);
                memcpy(bytes, make.bytes, make.byte_len);
                for (uint64_t i = 1 + chance_below(&chance, 12); i-- > 0;)
                        damage(&chance, bytes, make.byte_len);
                chew(bytes, make.byte_len, &chewed);
                if (round % 20 == 0) {
                        scratch_write_file(scratch_path("any"), bytes, make.byte_len);
                        tool_xac(tool_args("trace", scratch_path("any")));
                        check_equal(tool.status, chewed.err || chewed.damages ? 1 : 0);
                }
                free(bytes);
        }
        trace_make_free(&make);
}

static void what_is_no_trace_is_told(void)
{
        struct trace_make make;

        scratch_write_file(scratch_path("text"), "once upon a time", 16);
        check_xac(1, "trace", scratch_path("text"));
        check_said("it is no trace");
        scratch_write_file(scratch_path("empty"), "", 0);
        check_xac(1, "trace", scratch_path("empty"));
        check_said("it is no trace");
        check_xac(1, "trace", scratch_path("absent"));
        check_said("No such file");
        check_xac(1, "trace", scratch_path("."));
        check_said("directory");
        make_bank(&make);
        scratch_write_file(scratch_path("short"), make.bytes, 100);
        check_xac(1, "trace", scratch_path("short"));
        check_said("ends before it should");
        trace_make_header(&make)->version++;
        check_xac(1, "trace", store(&make));
        check_said("another version");
        trace_make_free(&make);
}

/* ---- traces that grow ---- */

enum { GROWING_BLOCKS = 20000 };

/* As the collector does: first a block, then the header that speaks of it. */
static void let_grow(int index, void *make_)
{
        struct trace_make *make = make_;
        int fd = open(scratch_path("trace"), O_WRONLY);

        (void)index;
        check(fd >= 0);
        for (int i = 0; i < GROWING_BLOCKS; i++) {
                const size_t at = make->byte_len;
                trace_make_event(make, 0, TRACE_ABORT, 0, 1, 1, 0, 0);
                trace_make_finish(make, MS);
                check_equal(pwrite(fd, make->bytes + at, make->byte_len - at, (off_t)at), make->byte_len - at);
                check_equal(pwrite(fd, make->bytes, TRACE_HEADER_BYTES, 0), TRACE_HEADER_BYTES);
        }
        close(fd);
}

static void a_trace_that_grows_is_not_damaged(void)
{
        struct trace_make make;
        int status = 0;

        trace_make_begin(&make);
        trace_make_track(&make, 0, "test", 1, 1);
        trace_make_finish(&make, MS);
        const char *path = store(&make);
        pid_t writer = crew_fork(let_grow, 0, &make);
        while (waitpid(writer, &status, WNOHANG) == 0) {
                struct trace_file file;
                check_ok(trace_file_open(path, &file));
                check_equal(file.damage_count, 0);
                trace_file_close(&file);
        }
        check_equal(status, 0);
        trace_make_free(&make);
}

static void usage_is_told(void)
{
        check_xac(0, "trace", "--help");
        check_said("Usage: xac trace ");
        check_xac(0, "help", "trace");
        check_said("--perfetto");
        check_xac(2, "trace");
        check_said("--help");
        check_xac(2, "trace", "a", "b");
        check_xac(2, "trace", "--top", "many", "a");
        check_said("takes a number");
        check_xac(2, "trace", "--nonsense", "a");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(conflicts_are_those_of_the_trace),
                isolated_test(times_are_those_of_the_trace),
                isolated_test(other_events_are_those_of_the_trace),
                isolated_test(advice_is_given),
                isolated_test(time_without_a_processor_is_told_apart),
                isolated_test(no_more_is_told_than_asked_for),
                isolated_test(losses_of_the_trace_itself_are_told),
                isolated_test(who_keeps_to_own_bytes_is_recognised),
                isolated_test(environments_are_kept_apart),
                isolated_test(what_a_program_recorded_is_told),
                isolated_test(perfetto_has_all_bars_and_arrows),
                isolated_test(json_has_the_figures),
                isolated_test(strange_names_do_no_harm),
                isolated_test(a_trace_of_somebody_else_is_read),
                isolated_test(what_was_written_twice_counts_once),
                isolated_test(names_and_bytes_may_be_cut_by_blocks),
                isolated_test(missing_events_are_told),
                isolated_test(a_track_without_a_beginning_is_told),
                isolated_test(cut_anywhere_gives_what_is_there),
                isolated_test(headers_may_lie),
                isolated_test(any_bytes_are_survived),
                isolated_test(what_is_no_trace_is_told),
                isolated_test(a_trace_that_grows_is_not_damaged),
                isolated_test(usage_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
