/* SPDX-License-Identifier: MIT */

/* The public tests of the lab. */

#include <stdio.h>
#include <string.h>

#include "labs/grader/grader.h"
#include "labs/recovery/acts.h"
#include "labs/recovery/engine.h"
#include "labs/recovery/log.h"
#include "labs/recovery/story.h"

static void judge(const char *story, const char *second, enum engine_where where)
{
        struct tally tally;
        engine_judge(story, second, where, &tally);
        printf("story \"%s\": %llu power cuts, %llu disks, and after a recovery (\"%s\") %llu more%s\n", story,
               (unsigned long long)tally.cuts, (unsigned long long)tally.images, second ? second : "-",
               (unsigned long long)tally.second_images, tally.is_complete ? "" : "; there are more than were tried");
        grader_check(tally.images > 0, "nothing was written, so no power cut could be tried");
}

/* All that was written has arrived, and was not even synced: a process has ended, no power has failed. */
static void test_replay(void)
{
        static struct disk disk;
        static struct history history;
        struct log log = { .disk = &disk };
        log_format(&disk);
        history_begin(&history);
        answer_recover(&log);
        story_run("aAasraAsraAcr", &log, &history);
}

static void test_tail(void)
{
        judge("as", NULL, ENGINE_EVERYWHERE);
        judge("aAsaAs", NULL, ENGINE_EVERYWHERE);
        judge("asAaa", NULL, ENGINE_EVERYWHERE);
}

static void test_checkpoint(void)
{
        judge("asc", NULL, ENGINE_IN_CHECKPOINTS);
        judge("AsAcAsc", NULL, ENGINE_IN_CHECKPOINTS);
        judge("AcasAcasc", NULL, ENGINE_IN_CHECKPOINTS);
}

static void test_recycled(void)
{
        judge("asaAscasaAscasaAsc", NULL, ENGINE_EVERYWHERE);
        judge("aasAasaasacaasAasaasacaas", NULL, ENGINE_EVERYWHERE);
}

static void test_again(void)
{
        judge("AscaAs", "", ENGINE_EVERYWHERE);
        judge("AsAcAs", "Ac", ENGINE_EVERYWHERE);
}

/* Each recovery begins a life with the next number, and the manifest says it. */
static void check_lives(void)
{
        static struct disk disk;
        const struct change change = { 1, 1 };
        log_format(&disk);
        for (uint32_t life = 1; life < 6; life++) {
                struct log log = { .disk = &disk }, on_disk = log;
                answer_recover(&log);
                grader_check(log.incarnation == life + 1,
                             "log_recover() finds incarnation %u on disk, and goes on with %u; should with %u", life,
                             log.incarnation, life + 1);
                grader_check(manifest_read(&on_disk) && on_disk.manifest.incarnation == life + 1,
                             "after log_recover() the manifest has incarnation %u, should have %u",
                             on_disk.manifest.incarnation, life + 1);
                log_append(&log, &change, 1);
                log_sync(&log);
        }
}

static void test_discarded(void)
{
        judge("aa", "as", ENGINE_EVERYWHERE);
        judge("Aaa", "asas", ENGINE_EVERYWHERE);
        check_lives();
}

static const struct grader_test tests[] = {
        { "replay", "a process ends, and another opens the log", 15, 0, test_replay },
        { "tail", "power cuts while commits are written", 20, 0, test_tail },
        { "checkpoint", "power cuts around checkpoints", 25, 0, test_checkpoint },
        { "recycled", "power cuts when the log goes round", 10, 0, test_recycled },
        { "again", "power cuts in the recovery from a power cut", 15, 0, test_again },
        { "discarded", "what a recovery has discarded never comes back", 15, 0, test_discarded },
        { NULL, NULL, 0, 0, NULL },
};

int main(int argc, char **argv)
{
        static const struct grader_lab lab = { "recovery", tests, hidden_tests, NULL };
        return grader_main(argc, argv, &lab);
}
