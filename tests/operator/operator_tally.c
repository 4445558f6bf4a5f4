/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_tally.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static void lock(struct tally *tally)
{
        while (atomic_flag_test_and_set(&tally->lock))
                sched_yield();
}

static void unlock(struct tally *tally)
{
        atomic_flag_clear(&tally->lock);
}

void tally_verdict(struct tally *tally, const char *tool, int status)
{
        int i = 0;

        lock(tally);
        while (i < TALLY_TOOLS - 1 && tally->tool[i][0] && strcmp(tally->tool[i], tool) != 0)
                i++;
        snprintf(tally->tool[i], sizeof(tally->tool[i]), "%s", tool);
        tally->verdict[i][status >= 0 && status < TALLY_STATUSES ? status : TALLY_SIGNAL]++;
        unlock(tally);
}

uint64_t tally_failure(struct tally *tally, const char *name, uint64_t round)
{
        uint64_t count;
        int i = 0;

        lock(tally);
        while (i < TALLY_CLASSES - 1 && tally->class[i].name[0] && strcmp(tally->class[i].name, name) != 0)
                i++;
        snprintf(tally->class[i].name, sizeof(tally->class[i].name), "%s", name);
        count = ++tally->class[i].count;
        if (count <= TALLY_SEEDS)
                tally->class[i].round[count - 1] = round;
        unlock(tally);
        atomic_fetch_add(&tally->failures, 1);
        return count;
}

static void print_verdicts(const struct tally *tally)
{
        printf("\n%-24s %9s %9s %9s %9s %9s %9s %9s\n", "verdicts", "0", "1", "2", "3", "4", "signal", "killed");
        for (int i = 0; i < TALLY_TOOLS && tally->tool[i][0]; i++) {
                printf("%-24s", tally->tool[i]);
                for (int status = 0; status < TALLY_STATUSES; status++)
                        printf(" %9" PRIu64, tally->verdict[i][status]);
                printf("\n");
        }
}

static void print_class(const struct tally_class *class)
{
        printf("%8" PRIu64 "  %s\n%10srounds", class->count, class->name, "");
        for (uint64_t i = 0; i < class->count && i < TALLY_SEEDS; i++)
                printf(" %" PRIu64, class->round[i]);
        printf("\n");
}

void tally_print(const struct tally *tally, double seconds)
{
        printf("\nharms\n");
        for (int kind = 0; kind < HARM_KINDS; kind++)
                printf("%-24s %9" PRIu64 "\n", harm_name[kind], atomic_load(&tally->of_kind[kind]));
        print_verdicts(tally);
        if (atomic_load(&tally->failures))
                printf("\nfailures\n");
        for (int i = 0; i < TALLY_CLASSES && tally->class[i].count; i++)
                print_class(&tally->class[i]);
        printf("\n%" PRIu64 " harms in %" PRIu64 " rounds, %.0f s, %.0f harms a second; %" PRIu64
               " known limits; %" PRIu64 " failures\n",
               atomic_load(&tally->harms), atomic_load(&tally->rounds), seconds, (double)tally->harms / seconds,
               atomic_load(&tally->exceptions), atomic_load(&tally->failures));
}
