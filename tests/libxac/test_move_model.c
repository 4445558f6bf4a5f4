/* SPDX-License-Identifier: MIT */

/*
 * xac_page_move at random, against a model: what the pages say after any moves, writes and levels, in views and by
 * declared access, and what recovery makes of it.
 */

#include <stdbool.h>
#include <string.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

/* ---- The model ---- */

enum { MODEL_PAGES = 24, LEVELS = 4, RUN_PAGES = 6, WORDS = 3, STEPS = 60 };

struct model {
        struct chance chance;
        int way;
        unsigned depth;
        uint64_t word[LEVELS + 1][MODEL_PAGES][WORDS]; /* [0] is what is committed */
};

static size_t model_word(unsigned page, unsigned i)
{
        return seat_word(page, i * ((SEAT_PAGE_WORDS - 1) / (WORDS - 1)));
}

static unsigned draw(struct model *model, unsigned below)
{
        return (unsigned)chance_below(&model->chance, below);
}

/* By plain pointers where the seat has a way for both. */
static void change_way(struct model *model)
{
        seat.way = model->way & WAY_DECLARED || draw(model, 2) ? WAY_DECLARED : model->way;
}

static void model_check(struct model *model)
{
        for (unsigned page = 0; page < MODEL_PAGES; page++)
                for (unsigned i = 0; i < WORDS; i++) {
                        change_way(model);
                        check_equal(seat_get(model_word(page, i)), model->word[model->depth][page][i]);
                }
}

static void model_move(struct model *model)
{
        unsigned pages = 1 + draw(model, RUN_PAGES);
        unsigned to = draw(model, MODEL_PAGES - pages + 1), from = draw(model, MODEL_PAGES - pages + 1);
        uint64_t(*now)[WORDS] = model->word[model->depth];
        uint64_t moved[RUN_PAGES][WORDS];

        check_ok(seat_move(to, from, pages));
        memcpy(moved, now[from], pages * sizeof(now[0]));
        memset(now[from], 0, pages * sizeof(now[0]));
        memcpy(now[to], moved, pages * sizeof(now[0]));
}

static void model_access(struct model *model)
{
        unsigned page = draw(model, MODEL_PAGES), i = draw(model, WORDS);

        change_way(model);
        if (draw(model, 2)) {
                uint64_t value = chance_next(&model->chance);

                seat_put(model_word(page, i), value);
                model->word[model->depth][page][i] = value;
        }
        check_equal(seat_get(model_word(page, i)), model->word[model->depth][page][i]);
}

static void model_enter(struct model *model)
{
        check_ok(xbegin(seat.env, 0));
        model->depth++;
        memcpy(model->word[model->depth], model->word[model->depth - 1], sizeof(model->word[0]));
}

static void model_leave(struct model *model)
{
        if (draw(model, 3)) {
                check_ok(xend(seat.env));
                memcpy(model->word[model->depth - 1], model->word[model->depth], sizeof(model->word[0]));
        } else {
                check_ok(xabort(seat.env));
        }
        model->depth--;
}

static void model_transaction(struct model *model)
{
        model_enter(model);
        for (unsigned steps = draw(model, STEPS); steps > 0; steps--) {
                unsigned what = draw(model, 16);

                if (what < 5)
                        model_move(model);
                else if (what < 12)
                        model_access(model);
                else if (what < 14 && model->depth < LEVELS)
                        model_enter(model);
                else if (model->depth > 1)
                        model_leave(model);
        }
        if (draw(model, 4) == 0)
                model_check(model);
        while (model->depth > 0)
                model_leave(model);
}

/* ---- Whatever happens ---- */

static void whatever_happens_a_model_agrees(int way)
{
        static struct model model;

        model = (struct model){ .chance = { chance_seed() }, .way = way };
        seat_take((uint64_t)way);
        for (int i = 0; i < 400; i++) {
                model_transaction(&model);
                if (draw(&model, 40) == 0)
                        check_ok(xac_checkpoint(seat.env));
                if (draw(&model, 80) == 0) {
                        seat_leave(0);
                        seat_take((uint64_t)way);
                }
                if (i % 10 == 0) {
                        check_ok(xbegin(seat.env, XAC_RDONLY));
                        model_check(&model);
                        check_ok(xend(seat.env));
                }
        }
        seat_leave(0);
}

/* ---- Recovery ---- */

struct doomed_run {
        struct model model;
        struct crew_turn done;
};

static void run_and_be_killed(int index, void *arg)
{
        enum { TRANSACTIONS = 150 };
        struct doomed_run *run = arg;

        (void)index;
        seat_take((uint64_t)run->model.way);
        for (int i = 0; i < TRANSACTIONS; i++) {
                model_transaction(&run->model);
                if (i == TRANSACTIONS / 3)
                        check_ok(xac_checkpoint(seat.env));
        }
        crew_turn_pass(&run->done);
        for (;;)
                crew_sleep_ms(1000);
}

static void recovery_moves_as_well(int way)
{
        struct doomed_run *run = crew_shared(sizeof(*run));
        pid_t pid;

        if (!seat_is_durable())
                isolate_skip("the environment is volatile");
        run->model.chance.state = chance_seed();
        run->model.way = way;
        pid = crew_fork(run_and_be_killed, 0, run);
        crew_turn_await(&run->done, 1);
        crew_kill(pid);
        scratch_shared_memory_left(1); /* the machine's memory is gone, too */
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        model_check(&run->model);
        check_ok(xend(seat.env));
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(whatever_happens_a_model_agrees),
                isolated_by_access(recovery_moves_as_well),
        };
        return cmocka_run_group_tests_name("move_model", tests, NULL, NULL);
}
