/* SPDX-License-Identifier: MIT */

/*
 * page_trace FILE TRANSACTIONS: makes a trace for the test of the page that `xac trace --html` writes, and prints how
 * many bars and arrows that page has to have. Two programs with two threads each; the names of one of them and of a
 * file are such that they would end a script, or begin one, if they were not escaped.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/tools/trace_make.h"

enum { THREADS = 4, PAGES = 5 };

struct play {
        struct trace_make make;
        struct chance chance;
        uint32_t track[THREADS];
        uint64_t at[THREADS];
        uint64_t commit; /* the newest, */
        uint32_t winner; /* and whose it is */
        unsigned bars;
        unsigned arrows;
};

static void begin(struct play *play)
{
        uint32_t background;

        trace_make_begin(&play->make);
        for (uint32_t i = 0; i < THREADS; i++) {
                play->track[i] =
                        trace_make_track(&play->make, 0, i < 2 ? "</script><b>" : "ledger", 100 + i / 2, 200 + i);
                play->at[i] = 1000 + 700 * (uint64_t)i;
        }
        background = trace_make_background(&play->make, 0, "ledger", 101);
        trace_make_name(&play->make, play->track[0], 0, "accounts");
        trace_make_name(&play->make, play->track[0], 1, "<script>\"x\\y\"</script>");
        trace_make_event(&play->make, background, TRACE_CHECKPOINT, 0, 3000, 9000, 12, 1);
}

static uint32_t whose_turn(const struct play *play)
{
        uint32_t first = 0;

        for (uint32_t i = 1; i < THREADS; i++)
                if (play->at[i] < play->at[first])
                        first = i;
        return first;
}

static void lose(struct play *play, uint32_t thread, uint64_t begin_ns, uint64_t len_ns)
{
        struct trace_make_range others = { 0, 63 }, own = { 128, 200 };
        uint64_t page = trace_page((uint32_t)chance_below(&play->chance, 2), chance_below(&play->chance, PAGES));

        trace_make_conflict(&play->make, play->track[thread], begin_ns, len_ns, page, play->commit, others, own);
        trace_make_event(&play->make, play->track[thread], TRACE_PAUSE, 0, begin_ns + len_ns, 500, 1, 0);
        play->arrows++;
}

static void win(struct play *play, uint32_t thread, uint64_t begin_ns, uint64_t len_ns)
{
        play->commit++;
        play->winner = thread;
        trace_make_commit(&play->make, play->track[thread], TRACE_WAITED, begin_ns, len_ns, play->commit, len_ns / 3);
}

static void run_one(struct play *play)
{
        uint32_t thread = whose_turn(play), track = play->track[thread];
        uint64_t begin_ns = play->at[thread], len_ns = 2000 + chance_below(&play->chance, 9000);
        unsigned what = (unsigned)chance_below(&play->chance, 100);

        trace_make_event(&play->make, track, TRACE_FAULT, TRACE_WRITE, begin_ns + 100, 700, trace_page(0, what), 0);
        if (what < 10 && play->commit > 1 && play->winner != thread)
                lose(play, thread, begin_ns, len_ns);
        else if (what >= 97)
                trace_make_event(&play->make, track, TRACE_ABORT, 0, begin_ns, len_ns, 0, 0);
        else if (what >= 80)
                trace_make_event(&play->make, track, TRACE_COMMIT, TRACE_READ_ONLY, begin_ns, len_ns, 0,
                                 trace_commit_pack(3, 0, 0));
        else
                win(play, thread, begin_ns, len_ns);
        play->bars++;
        play->at[thread] = begin_ns + len_ns + 1000;
}

static void write_to(const char *path, const struct trace_make *make)
{
        FILE *file = fopen(path, "we");

        check(file != NULL);
        check_equal(fwrite(make->bytes, 1, make->byte_len, file), make->byte_len);
        check_equal(fclose(file), 0);
}

int main(int argc, char **argv)
{
        static struct play play;
        uint64_t end_ns;

        if (argc != 3)
                return 2;
        play.chance.state = 4711;
        begin(&play);
        for (long left = strtol(argv[2], NULL, 10); left > 0; left--)
                run_one(&play);
        end_ns = play.at[whose_turn(&play)];
        trace_make_end(&play.make, play.track[3], TRACE_END_DIED, play.at[3]); /* it has begun another one */
        trace_make_finish(&play.make, end_ns + 30000);
        write_to(argv[1], &play.make);
        trace_make_free(&play.make);
        printf("%u %u\n", play.bars + 1, play.arrows);
        return 0;
}
