/* SPDX-License-Identifier: MIT */
#include "tests/backup/story.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "tests/heap/deeds.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/trees/deeds.h"

enum { STAMPED_PAGE = 4096, KEYS = 300, PERIOD = 40, LARGE_PERMILLE = 30, CHANGES = 4, SIZE_MAX_OF_OBJECTS = 9000 };

enum thing { STAMP, DEED, HEAP_DEED, THINGS };

struct event {
        uint64_t thing : 2;
        uint64_t number : 62;
};

static struct story {
        enum xtree_kind kind;
        struct stamped stamped;
        _Atomic bool has_ended;
        _Atomic uint64_t count[STORY_WRITERS];
        struct event events[STORY_WRITERS][STORY_EVENTS];
} * story;

static pid_t writers[STORY_WRITERS];

void story_begin(enum xtree_kind kind, uint32_t pages, uint64_t seed)
{
        if (!story)
                story = crew_shared(sizeof(*story));
        story->kind = kind;
        story->stamped = (struct stamped){ seed, STAMPED_PAGE, pages };
        atomic_store(&story->has_ended, false);
        for (int i = 0; i < STORY_WRITERS; i++)
                atomic_store(&story->count[i], 0);
}

struct story_time story_now(void)
{
        struct story_time now;

        for (int i = 0; i < STORY_WRITERS; i++)
                now.done[i] = atomic_load(&story->count[i]);
        return now;
}

/* ---- An environment, by one process ---- */

struct desk {
        xac_env *env;
        char *view;
        struct deeds deeds;
        struct deeds_desk trees;
        struct heap_deeds heap_deeds;
        struct heap_desk heap;
};

/* Checkpoints follow each other, and go home in batches. */
static void desk_open(struct desk *desk, const char *directory, int flags)
{
        const xac_options options = { .log_bytes = 1 << 20, .area_bytes = 128 << 10 };

        check_ok(xac_open(directory, flags, &options, &desk->env));
        desk->view = xac_mmap(desk->env, "stamped", stamped_byte_len(&story->stamped), XAC_ANYWHERE);
        check(desk->view != MAP_FAILED);
        desk->deeds = (struct deeds){ .kind = story->kind,
                                      .seed = story->stamped.seed,
                                      .lanes = STORY_WRITERS,
                                      .keys = KEYS,
                                      .period = PERIOD,
                                      .large_permille = LARGE_PERMILLE };
        check_ok(deeds_open(&desk->trees, &desk->deeds, desk->env, XAC_ARENA_DECLARED));
        desk->heap_deeds = (struct heap_deeds){
                .seed = story->stamped.seed, .lanes = STORY_WRITERS, .changes = CHANGES, .size_max = SIZE_MAX_OF_OBJECTS
        };
        check_ok(heap_deeds_open(&desk->heap, &desk->heap_deeds, desk->env, XAC_CREATE | XAC_SHARED));
}

static void desk_close(struct desk *desk)
{
        check_ok(deeds_close(&desk->trees));
        check_ok(heap_deeds_close(&desk->heap));
        check_ok(xac_close(desk->env));
}

/* ---- Writers ---- */

static uint64_t commit_heap_deed(struct desk *desk, unsigned lane)
{
        uint64_t number = 0;
        int err;

        do {
                check_ok(xbegin(desk->env, 0));
                err = heap_deeds_do(&desk->heap, lane, UINT64_MAX, &number);
                if (err)
                        xabort(desk->env);
                else
                        err = xend(desk->env);
        } while (err == XAC_CONFLICT);
        check_ok(err);
        return number;
}

static uint64_t commit(struct desk *desk, enum thing thing, unsigned lane)
{
        uint64_t number = 0;

        if (thing == STAMP)
                check_ok(stamped_commit(&story->stamped, desk->env, desk->view, WAY_DECLARED, 0, &number));
        else if (thing == DEED)
                check_ok(deeds_commit(&desk->trees, lane, UINT64_MAX, 0, NULL, NULL, &number));
        else
                number = commit_heap_deed(desk, lane);
        return number;
}

struct errand {
        const char *directory;
        unsigned pause_us;
};

static void be_writer(int number, void *errand_)
{
        const struct errand *errand = errand_;
        struct chance chance = { story->stamped.seed + 7919 * (uint64_t)(number + 1) };
        static struct desk desk;

        desk_open(&desk, errand->directory, 0);
        while (!atomic_load(&story->has_ended)) {
                enum thing thing = (enum thing)chance_below(&chance, THINGS);
                uint64_t count = atomic_load(&story->count[number]);

                check(count < STORY_EVENTS);
                story->events[number][count] = (struct event){ thing, commit(&desk, thing, (unsigned)number) };
                atomic_store(&story->count[number], count + 1);
                if (errand->pause_us)
                        crew_sleep_ms((unsigned)chance_below(&chance, 1 + errand->pause_us / 500));
        }
        desk_close(&desk);
}

void story_start_writers(const char *directory, unsigned pause_us)
{
        static struct errand errand;
        static struct desk desk;

        errand = (struct errand){ directory, pause_us };
        desk = (struct desk){ 0 };
        desk_open(&desk, directory, XAC_CREATE);
        for (int i = 0; i < STORY_WRITERS; i++)
                writers[i] = crew_fork(be_writer, i, &errand);
        desk_close(&desk);
}

void story_end_writers(void)
{
        atomic_store(&story->has_ended, true);
        for (int i = 0; i < STORY_WRITERS; i++)
                crew_join(writers[i]);
}

/* ---- What is in an environment ---- */

struct found {
        uint64_t stamps;
        uint64_t deeds[STORY_WRITERS];
        uint64_t heap_deeds[STORY_WRITERS];
};

static void find_stamps(struct desk *desk, struct found *found)
{
        struct stamped_model model = stamped_model_new(&story->stamped);

        check_ok(xbegin(desk->env, XAC_RDONLY));
        found->stamps = stamped_check(&model, desk->view);
        check_ok(xend(desk->env));
        stamped_model_free(&model);
}

static void find_deeds(struct desk *desk, struct found *found)
{
        static struct deeds_state state;
        char text[512];

        check_ok(xbegin(desk->env, XAC_RDONLY));
        for (unsigned lane = 0; lane < STORY_WRITERS; lane++)
                check_ok(deeds_counter(&desk->trees, lane, &found->deeds[lane]));
        deeds_go_to(&state, &desk->deeds, found->deeds);
        if (!deeds_are_done(&state, &desk->trees, text, sizeof(text)))
                check_failed(__FILE__, __LINE__, "trees: %s", text);
        check_ok(xend(desk->env));
        deeds_forget(&state);
}

static void find_heap_deeds(struct desk *desk, struct found *found)
{
        static struct heap_lane lanes[STORY_WRITERS];
        char text[512];

        check_ok(xbegin(desk->env, XAC_RDONLY));
        for (unsigned lane = 0; lane < STORY_WRITERS; lane++) {
                found->heap_deeds[lane] = heap_deeds_counter(&desk->heap, lane);
                heap_deeds_go_to(&lanes[lane], &desk->heap_deeds, lane, found->heap_deeds[lane]);
        }
        if (!heap_deeds_are_done(lanes, &desk->heap, text, sizeof(text)))
                check_failed(__FILE__, __LINE__, "heap: %s", text);
        check_ok(xend(desk->env));
}

static bool has(const struct found *found, int writer, const struct event *event)
{
        if (event->thing == STAMP)
                return event->number <= found->stamps;
        return event->number <= (event->thing == DEED ? found->deeds[writer] : found->heap_deeds[writer]);
}

/* One that is there after one that is not there: no prefix. One more than was noted may be there: it was on its way. */
static void check_prefix(const struct found *found, int writer, uint64_t since, uint64_t until)
{
        const struct event *events = story->events[writer];
        uint64_t count = atomic_load(&story->count[writer]), there = 0;

        while (there < count && has(found, writer, &events[there]))
                there++;
        for (uint64_t i = there; i < count; i++)
                if (has(found, writer, &events[i]))
                        check_failed(__FILE__, __LINE__,
                                     "writer %d: commit %" PRIu64 " is there, and %" PRIu64 " before it is not", writer,
                                     i, there);
        if (there < since || there > until + 1)
                check_failed(__FILE__, __LINE__,
                             "writer %d: %" PRIu64 " commits are there, of %" PRIu64 " when it began and %" PRIu64
                             " when it ended",
                             writer, there, since, until);
}

struct checking {
        const char *directory;
        const struct story_time *since, *until;
};

static void check_in(int unused, void *checking_)
{
        const struct checking *checking = checking_;
        static struct desk desk;
        struct found found = { 0 };

        (void)unused;
        desk_open(&desk, checking->directory, 0);
        find_stamps(&desk, &found);
        find_deeds(&desk, &found);
        find_heap_deeds(&desk, &found);
        for (int i = 0; i < STORY_WRITERS; i++)
                check_prefix(&found, i, checking->since->done[i], checking->until->done[i]);
        desk_close(&desk);
}

void story_check(const char *directory, const struct story_time *since, const struct story_time *until)
{
        struct checking checking = { directory, since, until };

        crew_join(crew_fork(check_in, 0, &checking));
}
