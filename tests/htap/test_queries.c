/* SPDX-License-Identifier: MIT */

/*
 * The seven queries: on a snapshot they say the same for ever, whatever is committed; and both engines say the same
 * after the same transactions. What they say is compared with SQL elsewhere (bench/papers/anker/htap/htap --experiment
 * answers).
 */

#include "bench/papers/anker/htap/generator.h"
#include "bench/papers/anker/htap/olap.h"
#include "bench/papers/anker/htap/oltp.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { SCALE_PERMILLE = 2, TRANSACTIONS = 20000, EACH = 4, ANSWERS = EACH * OLAP_KINDS };

struct shop {
        const struct engine_ops *ops;
        const struct tables *tables;
        struct engine *engine;
        struct session *session, *reading;
};

static void open_shop(struct shop *shop, const struct engine_ops *ops, const struct tables *tables, uint64_t collect_ms)
{
        const struct engine_plan plan = { .isolation = ISOLATION_SERIALIZABLE,
                                          .refresh_commits = 1,
                                          .collect_ms = collect_ms,
                                          .directory = scratch_path("htap") };

        *shop = (struct shop){ .ops = ops, .tables = tables };
        check_ok(ops->open(&plan, tables, &shop->engine));
        check_ok(ops->join(shop->engine, &shop->session));
        check_ok(ops->join(shop->engine, &shop->reading));
}

static void close_shop(struct shop *shop)
{
        shop->ops->leave(shop->session);
        shop->ops->leave(shop->reading);
        shop->ops->close(shop->engine);
}

static void trade(struct shop *shop, uint64_t seed)
{
        uint64_t random = chance_mix(seed) | 1;
        for (int t = 0; t < TRANSACTIONS; t++) {
                const struct oltp oltp = oltp_draw(shop->tables, OLTP_KINDS, &random);
                check_ok(oltp_run(shop->ops, shop->tables, shop->session, &oltp));
        }
}

static void ask(const struct shop *shop, const struct reader *reader, struct answer answers[ANSWERS])
{
        uint64_t random = 4711;
        for (int a = 0; a < ANSWERS; a++) {
                const struct olap olap = olap_draw((enum olap_kind)(a % OLAP_KINDS), &random);
                check_ok(olap_run(reader, shop->tables, &olap, &answers[a]));
        }
}

static int count_differences(const struct answer *a, const struct answer *b)
{
        int count = 0;
        for (int i = 0; i < ANSWERS; i++)
                count += !answer_is_equal(&a[i], &b[i]);
        return count;
}

static struct answer before[ANSWERS], during[ANSWERS], after[ANSWERS], others[ANSWERS];

/* Answers on one snapshot before and after the transactions, and afterwards on a new one. */
static void ask_around(struct shop *shop, uint64_t seed, struct answer *later)
{
        struct reader reader;

        check_ok(shop->ops->read_begin(shop->reading, &reader));
        ask(shop, &reader, before);
        trade(shop, seed);
        ask(shop, &reader, during);
        shop->ops->read_end(shop->reading, &reader);
        check_equal(count_differences(before, during), 0);
        check_ok(shop->ops->read_begin(shop->reading, &reader));
        ask(shop, &reader, later);
        shop->ops->read_end(shop->reading, &reader);
        check(count_differences(before, later) > ANSWERS / 2);
}

static void answers_stay_and_agree(void)
{
        const uint64_t seed = chance_seed();
        struct tables tables;
        struct shop shop;

        check_ok(generator_run(&tables, SCALE_PERMILLE, seed));
        open_shop(&shop, &engine_homogeneous, &tables, 1);
        ask_around(&shop, seed, after);
        close_shop(&shop);
        open_shop(&shop, &engine_heterogeneous, &tables, 0);
        ask_around(&shop, seed, others);
        close_shop(&shop);
        check_equal(count_differences(after, others), 0);
        tables_free(&tables);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(answers_stay_and_agree),
        };

        return cmocka_run_group_tests_name("htap/queries", tests, NULL, NULL);
}
