/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_round.h"

#include <stdio.h>
#include <string.h>

#include "tests/operator/operator_back.h"
#include "tests/operator/operator_judge.h"
#include "tests/operator/operator_look.h"
#include "tests/operator/operator_place.h"
#include "tests/support/check.h"

enum { UNHARMED_PERCENT = 5, TOOLS_MAX = 5, GAP_PERCENT = 8, ON_PERCENT = 10, MEMORY_LOST_PERCENT = 40 };

static void choose_backups(struct round *round)
{
        const struct pool *pool = round->pool;
        struct chance *chance = &round->chance;

        for (uint32_t i = 0; i < pool->backups; i++) {
                const struct pool_backup *backup = &pool->backup[i];

                /* Made before the moment. (Of the same session: the moment behind it, or the one before.) */
                if (backup->session > round->moment->session || backup->commit > round->moment->least)
                        continue;
                if (backup->after < 0 && (!round->full || chance_percent(chance, 50))) {
                        round->full = backup;
                        round->next = NULL;
                } else if (round->full && backup->after == (int)(round->full - pool->backup)) {
                        round->next = backup;
                }
        }
}

static void put_all(struct round *round)
{
        place_reset();
        check_equal(image_store(&round->moment->store, here.store), 0);
        check_equal(image_store(&round->moment->archive, here.archive), 0);
        if (round->full)
                check_equal(image_store(&round->full->image, here.full), 0);
        if (round->next)
                check_equal(image_store(&round->next->image, here.next), 0);
}

static void lose_memory(struct round *round)
{
        static struct tools_run clean;

        tools_run(&clean, tools_args("clean", "--force", here.store), 0);
        round->has_memory = false;
}

/* A program goes on from the moment, and is killed: its shared memory is there, until the machine goes down. */
static bool go_on(struct round *round)
{
        const struct moment *moment = pool_go_on(round->pool, round->moment, &round->chance);

        if (!moment) {
                judge_fail(round, "a program", "could not go on from a moment", "");
                lose_memory(round);
                return false;
        }
        round->moment = moment;
        round->is_on = true;
        round->has_memory = !moment->is_closed;
        if (chance_percent(&round->chance, MEMORY_LOST_PERCENT))
                lose_memory(round);
        return true;
}

static void harm_all(struct round *round)
{
        struct chance *chance = &round->chance;
        uint32_t harms = chance_percent(chance, UNHARMED_PERCENT) ? 0 : 1;

        while (harms && harms < 4 && chance_percent(chance, 30))
                harms++;
        harm_begin(&round->harm, round->pool, round->moment);
        for (uint32_t i = 0; i < harms; i++)
                harm_do(&round->harm, chance);
}

/* Only disks, the archive's being there, and deaths were in the way. */
static bool is_all_to_come_back(const struct round *round)
{
        const unsigned not_of_this = HARM_FULL_BACKUP | HARM_NEXT_BACKUP | HARM_LOCK;

        return !(round->harm.parts & ~not_of_this) && !round->is_taken && !round->is_given_up && !round->is_forced;
}

static void count(struct round *round)
{
        atomic_fetch_add(&round->tally->rounds, 1);
        atomic_fetch_add(&round->tally->harms, round->harm.count);
        for (int kind = 0; kind < HARM_KINDS; kind++)
                atomic_fetch_add(&round->tally->of_kind[kind], round->harm.of_kind[kind]);
}

/* One tool. False: it was not for this round. */
static bool use_any(struct round *round)
{
        static bool (*const tools[])(struct round * round) = {
                look_check,      look_check,      look_check,   look_check_backup, look_scrub,
                look_scrub,      look_recover,    look_backup,  look_backup,       look_repair,
                look_repair,     look_program,    look_log,     look_stat,         look_clean,
                back_by_archive, back_by_archive, back_restore, back_look,         back_keep,
        };

        return tools[chance_below(&round->chance, sizeof(tools) / sizeof(tools[0]))](round);
}

void round_run(struct round *round)
{
        const size_t mark = image_mark();
        const uint32_t tools = 1 + (uint32_t)chance_below(&round->chance, TOOLS_MAX);

        round->moment = pool_draw(round->pool, &round->chance);
        choose_backups(round);
        put_all(round);
        if (chance_percent(&round->chance, ON_PERCENT) && !go_on(round))
                return;
        harm_all(round);
        judge_begin(round);
        for (uint32_t i = 0; i < tools && !round->has_failed; i++) {
                while (!use_any(round))
                        ;
                if (harm_is_disturbed(&round->harm) && chance_percent(&round->chance, 15))
                        harm_heal(&round->harm);
        }
        if (!round->has_failed && is_all_to_come_back(round) &&
            (round->harm.kinds || chance_percent(&round->chance, GAP_PERCENT)))
                back_look_for_gap(round);
        count(round);
        image_forget(mark);
        /* Shared memory must not meet the next moment: of what was killed, or could not write home. It is found by the
         * files, which may be harmed, as may be the disk. */
        place_reset();
        check_equal(image_store(&round->moment->store, here.store), 0);
        lose_memory(round);
        if (round->is_on)
                pool_go_back(round->pool);
}
