/* SPDX-License-Identifier: MIT */
#include "tests/crash/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/crash/look.h"
#include "tests/crash/recorder.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"

enum { LIFE_SECONDS = 120, SECOND_HISTORY_MAX = 12 };

/* ---- Lives ---- */

static void go_on(struct life_of_image *life)
{
        uint64_t k = 0, expected = life->told->found[0] + 1;

        for (unsigned lane = 0; lane < life->world.workload->lanes; lane++)
                look_expect_ok(life, workload_map(&life->seat, lane, expected, life->trace), "mapping");
        look_expect_ok(life, workload_commit(&life->seat, 0, UINT64_MAX, 0, life->trace, &k), "one more commit");
        if (k != expected)
                look_wrong(life, "one more commit was number %" PRIu64 " instead of %" PRIu64, k, expected);
        life->told->found[0] = k;
        if (life->trace)
                trace_required(life->trace, 0, k);
}

/* From here on lane 0 goes another way. */
static void branch(struct world *world, uint64_t from)
{
        uint32_t number = world->branch_count++;
        uint64_t salt = chance_mix(world->seed + number + 1 + from);

        check(number < TRACE_BRANCHES);
        world->branches[number] = (struct trace_branch){ .lane = 0, .from = from, .salt = salt };
}

static void first_life(struct life_of_image *life)
{
        uint64_t found[TRACE_CHANNELS];

        life->told->found[WORLD_CREATED] = look_offline(life);
        look_open(life);
        look_inside(life);
        memcpy(found, life->told->found, sizeof(found));
        branch(&life->world, found[0]);
        go_on(life);
        memcpy(life->told->found, found, sizeof(found));
        look_leave(0); /* the environment stays open: the power goes */
}

static void expect_found(struct life_of_image *life, const uint64_t *found)
{
        for (unsigned lane = 0; lane < life->world.workload->lanes; lane++)
                if (life->told->found[lane] != found[lane])
                        look_wrong(life, "opened again, lane %u is at %" PRIu64 ", but was at %" PRIu64, lane,
                                   life->told->found[lane], found[lane]);
}

static void second_life(struct life_of_image *life)
{
        uint64_t found[TRACE_CHANNELS];

        memcpy(found, life->told->found, sizeof(found));
        branch(&life->world, found[0]);
        found[0]++;
        for (int i = 0; i < 2; i++) {
                if (!look_offline(life))
                        look_wrong(life, "the manifest is gone");
                look_open(life);
                look_inside(life);
                expect_found(life, found);
                look_close(life);
        }
        found[0]--;
        memcpy(life->told->found, found, sizeof(found));
        look_leave(0);
}

/* As many as a group that was lost may have had, so that the log ends just before what came behind that. */
static unsigned second_history(const struct life_of_image *life)
{
        return 1 + (unsigned)(chance_mix(life->world.seed ^ life->told->found[0]) % SECOND_HISTORY_MAX);
}

static void recorded_life(struct life_of_image *life)
{
        unsigned commits;

        look_open(life);
        trace_required(life->trace, WORLD_CREATED, 1);
        look_inside(life);
        branch(&life->world, life->told->found[0]);
        commits = second_history(life);
        for (unsigned i = 0; i < commits; i++)
                go_on(life);
        look_close(life);
        look_leave(0);
}

/* ---- Running a life ---- */

static bool end_of_life(struct told *told, pid_t child, const char *name)
{
        int status;
        pid_t done;

        do
                done = waitpid(child, &status, 0);
        while (done < 0 && errno == EINTR);
        check_equal(done, child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return true;
        if (WIFSIGNALED(status))
                snprintf(told->text, sizeof(told->text), "%s life: ended by signal %d%s", name, WTERMSIG(status),
                         WTERMSIG(status) == SIGKILL ? ": it hung" : "");
        else if (WEXITSTATUS(status) != LIFE_WRONG)
                snprintf(told->text, sizeof(told->text), "%s life: ended with status %d", name, WEXITSTATUS(status));
        return false;
}

static bool run_life(struct life_of_image *life, void (*body)(struct life_of_image *), const char *name)
{
        pid_t child;
        bool is_sound;

        fflush(NULL);
        child = fork();
        check(child >= 0);
        if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                crew_limit_s(LIFE_SECONDS);
                body(life);
                look_leave(0);
        }
        is_sound = end_of_life(life->told, child, name);
        workload_remove_shared_memory(life->directory);
        return is_sound;
}

static void life_init(struct life_of_image *life, struct verifier *verifier, const struct trace *trace)
{
        memset(life, 0, sizeof(*life));
        life->directory = verifier->directory;
        life->told = verifier->shared;
        life->world.workload = workload_find(trace->workload);
        check(life->world.workload != NULL);
        life->world.seed = trace->seed;
        life->world.branch_count = trace->branch_count;
        memcpy(life->world.branches, trace->branches, sizeof(trace->branches));
        memset(life->told->found, 0, sizeof(life->told->found));
        life->told->text[0] = '\0';
}

static void judge(void *arg, const struct trace *trace, const struct image *image, struct verdict *verdict)
{
        struct verifier *verifier = arg;
        struct life_of_image life;

        life_init(&life, verifier, trace);
        image_store(image, verifier->directory);
        verdict->is_sound = run_life(&life, first_life, "first") && run_life(&life, second_life, "second");
        memcpy(verdict->found, life.told->found, sizeof(verdict->found));
        snprintf(verdict->text, sizeof(verdict->text), "%s", life.told->text);
}

/* ---- Recording one ---- */

static void trace_image(struct trace *trace, const struct image *image, const char *directory)
{
        char path[400];
        struct stat st;

        for (unsigned i = 0; i < image->count; i++) {
                const struct image_file *file = &image->files[i];
                struct trace_event *event = trace_add(trace, TRACE_FILE, (uint32_t)strlen(file->name) + 1);

                snprintf(path, sizeof(path), "%s/%s", directory, file->name);
                check_equal(stat(path, &st), 0);
                strcpy((char *)event->bytes, file->name);
                event->file = st.st_ino;
                event = trace_add(trace, TRACE_WRITE, (uint32_t)file->size);
                event->file = st.st_ino;
                if (file->size)
                        memcpy(event->bytes, file->bytes, file->size);
        }
}

static void trace_base(struct trace *trace, const struct workload *workload, const uint64_t *found)
{
        trace_add(trace, TRACE_BASE, 0);
        for (unsigned c = 0; c < TRACE_CHANNELS; c++)
                trace_required(trace, c, found[c]);
        for (unsigned lane = 0; lane < workload->lanes; lane++)
                trace_allowed(trace, lane, found[lane]);
}

static void record(void *arg, const struct trace *trace, const struct image *image, const struct verdict *verdict,
                   struct trace *deeper)
{
        struct verifier *verifier = arg;
        struct world world;
        struct life_of_image life;

        life_init(&life, verifier, trace);
        life.trace = deeper;
        image_store(image, verifier->directory);
        recorder_start(deeper, verifier->directory);
        trace_image(deeper, image, verifier->directory);
        trace_base(deeper, life.world.workload, verdict->found);
        world = life.world;
        branch(&world, verdict->found[0]);
        memcpy(deeper->workload, trace->workload, sizeof(deeper->workload));
        deeper->seed = trace->seed;
        deeper->branch_count = world.branch_count;
        memcpy(deeper->branches, world.branches, sizeof(world.branches));
        if (!run_life(&life, recorded_life, "recorded")) {
                fprintf(stderr, "recording what was sound before: %s\n", life.told->text);
                check(!"sound twice");
        }
        recorder_stop();
}

void verifier_init(struct verifier *verifier, const char *directory)
{
        snprintf(verifier->directory, sizeof(verifier->directory), "%s", directory);
        verifier->shared = crew_shared(sizeof(struct told));
        verifier->judge = (struct judge){ .arg = verifier, .judge = judge, .record = record };
}
