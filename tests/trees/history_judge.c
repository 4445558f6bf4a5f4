/* SPDX-License-Identifier: MIT */
#include "tests/trees/history_judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/trees/xtree.h"

enum { REPORTS_MAX = 4, CHANGES_MAX = SCRIPT_WORDS_MAX };

/* What a key had from this commit on. */
struct version {
        uint64_t sequence;
        uint64_t tag; /* 0: nothing */
};

struct object {
        struct version *versions; /* in the order of their commits; the first is older than the round */
        uint32_t count;
        uint32_t room;
};

struct change {
        unsigned tree, key;
        uint64_t tag;
        bool was_changed; /* by this attempt before */
        uint64_t before;
};

struct attempt {
        const struct record *record;
        uint32_t worker;
        int flags;
        /* Where it reads, and where it stands for those that come after, in halves of commits: 2 n is commit n, 2 n + 1
         * who saw that. */
        uint64_t reads_at, ends_at;
        bool is_promised;
};

struct judge {
        const struct history_options *options;
        struct object objects[HISTORY_TREES][HISTORY_KEYS_MAX];
        uint64_t differences;
        uint32_t round;
        struct attempt *attempts;
        uint32_t count;

        /* The attempt that is being played: what it sees, and its own changes. */
        const struct attempt *attempt;
        uint64_t as_of;
        unsigned depth;
        uint32_t level_start[SCRIPT_DEPTH_MAX + 1];
        uint32_t change_count;
        struct change changes[CHANGES_MAX];
        uint64_t own_tag[HISTORY_TREES][HISTORY_KEYS_MAX];
        bool is_own[HISTORY_TREES][HISTORY_KEYS_MAX];
        unsigned at[HISTORY_TREES]; /* of the cursors */
};

/* ---- saying what is wrong ---- */

static void print_attempt(const struct judge *judge, const struct attempt *attempt)
{
        const struct record *record = attempt->record;

        printf("  worker %u, script seed %#" PRIx64 ", way %d, flags %#x, tag %#" PRIx64 ", saw %" PRIu64
               ", commit %" PRIu64 ", outcome %d%s, %u calls, %" PRIu64 " to %" PRIu64 " ns (round %u)\n",
               attempt->worker, record->seed, script_way(record->seed), (unsigned)attempt->flags, record->tag,
               record->snapshot, record->sequence, record->outcome, record->was_stopped ? " (stopped)" : "",
               record->calls, record->begin_ns, record->end_ns, judge->round);
}

/* True: it is to be printed. */
static bool differs(struct judge *judge, const struct attempt *attempt, const char *what)
{
        if (judge->differences++ >= REPORTS_MAX)
                return false;
        printf("DIFFERENCE (run seed %" PRIu64 "): %s\n", judge->options->seed, what);
        print_attempt(judge, attempt);
        return true;
}

/* ---- plain memory ---- */

/* Scripts name no tag 0. */
static uint64_t tag_as_of(const struct object *object, uint64_t sequence)
{
        for (uint32_t i = object->count; i-- > 0;)
                if (object->versions[i].sequence <= sequence)
                        return object->versions[i].tag;
        return 0;
}

static uint64_t look(const struct judge *judge, unsigned tree, unsigned key)
{
        if (judge->is_own[tree][key])
                return judge->own_tag[tree][key];
        return tag_as_of(&judge->objects[tree][key], judge->as_of);
}

static void change(struct judge *judge, unsigned tree, unsigned key, uint64_t tag)
{
        struct change *change = &judge->changes[judge->change_count++];

        check(judge->change_count < CHANGES_MAX);
        *change = (struct change){ tree, key, tag, judge->is_own[tree][key], judge->own_tag[tree][key] };
        judge->is_own[tree][key] = true;
        judge->own_tag[tree][key] = tag;
}

static void undo_down_to(struct judge *judge, uint32_t count)
{
        while (judge->change_count > count) {
                const struct change *change = &judge->changes[--judge->change_count];

                judge->is_own[change->tree][change->key] = change->was_changed;
                judge->own_tag[change->tree][change->key] = change->before;
        }
}

static int plain_get(void *judge, unsigned tree, unsigned key, uint64_t *tag)
{
        *tag = look(judge, tree, key);
        return *tag ? 0 : -ENOENT;
}

static int plain_put(void *judge, unsigned tree, unsigned key, uint64_t tag, int flags)
{
        if (flags & XAC_TREE_NOOVERWRITE && look(judge, tree, key))
                return -EEXIST;
        change(judge, tree, key, tag);
        return 0;
}

static int plain_remove(void *judge, unsigned tree, unsigned key)
{
        if (!look(judge, tree, key))
                return -ENOENT;
        change(judge, tree, key, 0);
        return 0;
}

static int plain_scan(void *judge_, unsigned tree, unsigned from, unsigned to,
                      int (*visit)(void *arg, unsigned key, uint64_t tag), void *arg)
{
        const struct judge *judge = judge_;
        int outcome = 0;

        for (unsigned key = from; !outcome && key < to && key < judge->options->script.keys; key++)
                if (look(judge, tree, key))
                        outcome = visit(arg, key, look(judge, tree, key));
        return 0;
}

static int plain_count(void *judge_, unsigned tree, uint64_t *records)
{
        const struct judge *judge = judge_;

        *records = 0;
        for (unsigned key = 0; key < judge->options->script.keys; key++)
                *records += look(judge, tree, key) != 0;
        return 0;
}

/* The first record from `key` on, upwards or downwards. */
static int place(struct judge *judge, unsigned tree, int64_t key, bool is_forward)
{
        while (key >= 0 && key < judge->options->script.keys && !look(judge, tree, (unsigned)key))
                key += is_forward ? 1 : -1;
        if (key < 0 || key >= judge->options->script.keys)
                return -ENOENT;
        judge->at[tree] = (unsigned)key;
        return 0;
}

static int plain_seek(void *judge_, unsigned tree, unsigned how, unsigned key)
{
        struct judge *judge = judge_;

        if (how == SCRIPT_EQ && !look(judge, tree, key))
                return -ENOENT;
        if (how == SCRIPT_FIRST)
                key = 0;
        if (how == SCRIPT_LAST)
                key = judge->options->script.keys - 1;
        return place(judge, tree, key, how != SCRIPT_LE && how != SCRIPT_LAST);
}

static int plain_step(void *judge_, unsigned tree, bool is_forward)
{
        struct judge *judge = judge_;

        return place(judge, tree, (int64_t)judge->at[tree] + (is_forward ? 1 : -1), is_forward);
}

static int plain_record(void *judge_, unsigned tree, unsigned *key, uint64_t *tag)
{
        const struct judge *judge = judge_;

        *key = judge->at[tree];
        *tag = look(judge, tree, *key);
        return *tag ? 0 : -ENOENT;
}

static int plain_remove_here(void *judge_, unsigned tree)
{
        struct judge *judge = judge_;

        return plain_remove(judge, tree, judge->at[tree]);
}

static int plain_begin(void *judge_, int flags)
{
        struct judge *judge = judge_;

        (void)flags;
        judge->level_start[++judge->depth] = judge->change_count;
        return 0;
}

static int plain_end(void *judge)
{
        ((struct judge *)judge)->depth--;
        return 0;
}

static int plain_abort(void *judge_)
{
        struct judge *judge = judge_;

        undo_down_to(judge, judge->level_start[judge->depth--]);
        return 0;
}

static const struct script_target plain_target = {
        .get = plain_get,
        .put = plain_put,
        .remove = plain_remove,
        .scan = plain_scan,
        .count = plain_count,
        .seek = plain_seek,
        .step = plain_step,
        .record = plain_record,
        .remove_here = plain_remove_here,
        .begin = plain_begin,
        .end = plain_end,
        .abort = plain_abort,
};

/* ---- one attempt ---- */

static void print_difference(const struct record *record, const struct script *script, unsigned at)
{
        unsigned step = at;
        uint64_t word;

        while (step > 0 && !script_step_name(record_told(record)[step]))
                step--;
        word = record_told(record)[step];
        printf("  word %u: the trees gave %#" PRIx64 ", serial replay gives %#" PRIx64
               "; %u words after: %s, tree %u, key %u\n",
               at, at < record->word_count ? record_told(record)[at] : 0,
               at < script->word_count ? script->words[at] : 0, at - step,
               script_step_name(word) ? script_step_name(word) : "?", (unsigned)(word >> 40 & 0xff),
               (unsigned)(word >> 16 & 0xffffff));
}

static void compare(struct judge *judge, const struct script *script)
{
        const struct record *record = judge->attempt->record;
        unsigned at = 0;

        while (at < record->word_count && at < script->word_count && record_told(record)[at] == script->words[at])
                at++;
        if (at == record->word_count && at == script->word_count)
                return;
        if (differs(judge, judge->attempt, "no serial order: it was told something else"))
                print_difference(record, script, at);
}

/* Plays it; its changes stand afterwards. */
static void play(struct judge *judge, const struct attempt *attempt)
{
        static struct script script;
        const struct record *record = attempt->record;

        judge->attempt = attempt;
        judge->as_of = attempt->reads_at / 2 - (attempt->reads_at % 2 ? 0 : 1);
        judge->depth = 0;
        script.world = &judge->options->script;
        script.on = &plain_target;
        script.target = judge;
        script.seed = record->seed;
        script.tag = record->tag;
        script.shrinks = round_shrinks(judge->round);
        script.calls_max = record->was_stopped ? record->calls : UINT32_MAX;
        script_play(&script);
        compare(judge, &script);
}

static void version_add(struct object *object, uint64_t sequence, uint64_t tag)
{
        if (object->count && object->versions[object->count - 1].sequence == sequence) {
                object->versions[object->count - 1].tag = tag;
                return;
        }
        if (object->count == object->room) {
                object->room = object->room ? 2 * object->room : 4;
                object->versions = realloc(object->versions, object->room * sizeof(object->versions[0]));
                check(object->versions != NULL);
        }
        object->versions[object->count++] = (struct version){ sequence, tag };
}

/* Makes its changes those of its commit. */
static void publish(struct judge *judge, const struct attempt *attempt)
{
        for (uint32_t i = 0; i < judge->change_count; i++) {
                const struct change *change = &judge->changes[i];
                struct object *object = &judge->objects[change->tree][change->key];
                const struct version *newest = object->count ? &object->versions[object->count - 1] : NULL;

                if (newest && newest->sequence > judge->as_of && newest->sequence != attempt->record->sequence)
                        differs(judge, attempt, "lost update: somebody had changed in between what it changed");
                version_add(object, attempt->record->sequence, change->tag);
        }
}

/* ---- a round ---- */

static int compare_sequences(const void *a, const void *b)
{
        uint64_t x = ((const struct attempt *)a)->record->sequence, y = ((const struct attempt *)b)->record->sequence;

        return x < y ? -1 : x > y;
}

static int compare_begins(const void *a, const void *b)
{
        uint64_t x = ((const struct attempt *)a)->record->begin_ns, y = ((const struct attempt *)b)->record->begin_ns;

        return x < y ? -1 : x > y;
}

static int compare_ends(const void *a, const void *b)
{
        uint64_t x = ((const struct attempt *)a)->record->end_ns, y = ((const struct attempt *)b)->record->end_ns;

        return x < y ? -1 : x > y;
}

static struct attempt attempt_of(const struct judge *judge, const struct record *record, uint32_t worker)
{
        struct attempt attempt = { .record = record, .worker = worker };
        bool is_waiting = !(judge->options->open_flags & (XAC_NOSYNC | XAC_VOLATILE));

        attempt.flags = script_flags(&judge->options->script, record->seed);
        attempt.reads_at = attempt.ends_at = 2 * record->snapshot + 1;
        if (record->sequence)
                attempt.ends_at = 2 * record->sequence;
        if (record->sequence && !(attempt.flags & XAC_SNAPSHOT_ISOLATION))
                attempt.reads_at = attempt.ends_at;
        attempt.is_promised = (record->sequence && is_waiting) || attempt.flags & XAC_DURABLE;
        return attempt;
}

static void collect(struct judge *judge, const struct record_log *logs)
{
        const uint32_t workers = (uint32_t)(judge->options->processes * judge->options->threads);
        uint64_t count = 0;

        for (uint32_t worker = 0; worker < workers; worker++)
                count += logs[worker].attempts;
        free(judge->attempts);
        judge->attempts = calloc(count + 1, sizeof(judge->attempts[0]));
        check(judge->attempts != NULL);
        judge->count = 0;
        for (uint32_t worker = 0; worker < workers; worker++) {
                const uint64_t *at = logs[worker].words;

                for (uint64_t i = 0; i < logs[worker].attempts; i++) {
                        const struct record *record = (const struct record *)at;

                        judge->attempts[judge->count++] = attempt_of(judge, record, worker);
                        at += record_words(record);
                }
        }
}

/* In the order of their commits, which stand first where it is by sequence; readers see versions, so theirs does not
 * matter. */
static void play_all(struct judge *judge)
{
        uint32_t readers = 0;

        qsort(judge->attempts, judge->count, sizeof(judge->attempts[0]), compare_sequences);
        while (readers < judge->count && !judge->attempts[readers].record->sequence)
                readers++;
        for (uint32_t i = 0; i < judge->count; i++) {
                const struct attempt *attempt = &judge->attempts[(readers + i) % judge->count];

                play(judge, attempt);
                if (attempt->record->sequence)
                        publish(judge, attempt);
                undo_down_to(judge, 0);
        }
        for (uint32_t i = readers; i + 1 < judge->count; i++)
                if (judge->attempts[i].record->sequence == judge->attempts[i + 1].record->sequence)
                        differs(judge, &judge->attempts[i], "two commits have the same number");
}

/* Nobody may stand before somebody who had ended before it began. */
static void compare_with_clock(struct judge *judge)
{
        struct attempt *by_end = calloc(judge->count + 1, sizeof(by_end[0]));
        const struct attempt *latest = NULL, *latest_promised = NULL;
        uint32_t ended = 0;

        check(by_end != NULL);
        memcpy(by_end, judge->attempts, judge->count * sizeof(by_end[0]));
        qsort(by_end, judge->count, sizeof(by_end[0]), compare_ends);
        qsort(judge->attempts, judge->count, sizeof(judge->attempts[0]), compare_begins);
        for (uint32_t i = 0; i < judge->count; i++) {
                const struct attempt *attempt = &judge->attempts[i];

                for (; ended < judge->count && by_end[ended].record->end_ns < attempt->record->begin_ns; ended++) {
                        const struct attempt *one = &by_end[ended];

                        if (!latest || one->ends_at > latest->ends_at)
                                latest = one;
                        if (one->is_promised && (!latest_promised || one->ends_at > latest_promised->ends_at))
                                latest_promised = one;
                }
                const struct attempt *before = attempt->flags & XAC_DURABLE ? latest_promised : latest;
                if (before && before->ends_at > attempt->reads_at &&
                    differs(judge, attempt, "it did not see what had ended before it began:"))
                        print_attempt(judge, before);
        }
        free(by_end);
}

static void forget_old(struct object *object)
{
        if (object->count > 1)
                object->versions[0] = object->versions[object->count - 1];
        object->count = object->count > 0;
}

uint64_t judge_round(struct judge *judge, const struct record_log *logs, uint32_t round)
{
        judge->round = round;
        collect(judge, logs);
        if (judge->count) {
                play_all(judge);
                compare_with_clock(judge);
        }
        for (unsigned tree = 0; tree < HISTORY_TREES; tree++)
                for (unsigned key = 0; key < HISTORY_KEYS_MAX; key++)
                        forget_old(&judge->objects[tree][key]);
        return judge->differences;
}

uint64_t judge_tag(const struct judge *judge, unsigned tree, unsigned key)
{
        return tag_as_of(&judge->objects[tree][key], UINT64_MAX);
}

struct judge *judge_new(const struct history_options *options)
{
        struct judge *judge = calloc(1, sizeof(*judge));

        check(judge != NULL);
        judge->options = options;
        return judge;
}

void judge_free(struct judge *judge)
{
        for (unsigned tree = 0; tree < HISTORY_TREES; tree++)
                for (unsigned key = 0; key < HISTORY_KEYS_MAX; key++)
                        free(judge->objects[tree][key].versions);
        free(judge->attempts);
        free(judge);
}
