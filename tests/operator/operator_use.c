/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_use.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/operator/operator_judge.h"
#include "tests/operator/operator_place.h"

enum { KILL_PERCENT = 6, KILL_US = 6000 };

void use_note(struct round *round, const char *ended)
{
        if (round->told_len < sizeof(round->told))
                round->told_len +=
                        (size_t)snprintf(round->told + round->told_len, sizeof(round->told) - round->told_len,
                                         "%s -> %s; ", round->run.command, ended);
}

static void note_status(struct round *round)
{
        char status[32];

        snprintf(status, sizeof(status), round->run.signal ? "signal %d" : "%d",
                 round->run.signal ? round->run.signal : round->run.status);
        use_note(round, status);
}

void use_remove_made(void)
{
        image_clear(here.made);
        rmdir(here.made);
}

/* A process that dies leaves shared memory, until the machine goes down, too. */
static void die(struct round *round)
{
        static struct tools_run clean;

        round->was_killed = true;
        round->harm.kinds |= 1U << HARM_DEATH;
        round->harm.of_kind[HARM_DEATH]++;
        round->harm.count++;
        if (chance_percent(&round->chance, 70))
                tools_run(&clean, tools_args("clean", "--force", here.store), 0);
}

void use_run(struct round *round, const char *const *args, bool may_die)
{
        const bool dies = may_die && chance_percent(&round->chance, KILL_PERCENT);

        tools_run(&round->run, args, dies ? 300 + (uint32_t)chance_below(&round->chance, KILL_US) : 0);
        note_status(round);
        if (round->run.is_killed)
                die(round);
}

bool use_is_done(const struct round *round)
{
        return round->run.status == TOOLS_DONE && !round->has_failed;
}

/* May it be that others have changed something, or that nobody knows? Deaths alone leave no doubt. */
static bool may_be_unknown(const struct round *round)
{
        return round->harm.parts & (HARM_DATA | HARM_CHECKSUMS | HARM_MANIFEST) || round->harm.is_log_shortened ||
               round->to_be_seen || (round->has_memory && round->harm.parts & HARM_DOUBLE_WRITE);
}

bool use_judge(struct round *round, const char *tool, bool is_harmed)
{
        return judge_verdict(round, tool, is_harmed, may_be_unknown(round)) && use_is_done(round);
}

bool use_is_known(const struct round *round)
{
        return !round->is_taken;
}
