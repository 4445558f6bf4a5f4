/* SPDX-License-Identifier: MIT */
#include "tools/xac/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

int sampler_open(struct sampler *sampler, struct place *place)
{
        *sampler = (struct sampler){ .place = place, .hot = hot_pages_new() };
        return sampler->hot ? 0 : -ENOMEM;
}

static void forget(struct sample *sample)
{
        inspect_free(sample->now);
        free(sample->participant);
        *sample = (struct sample){ .state = SAMPLE_AT_REST };
}

void sampler_close(struct sampler *sampler)
{
        forget(&sampler->sample);
        hot_pages_free(sampler->hot);
}

/* ---- Differences ---- */

/* Counters only grow while nobody has a new beginning. */
static double per_second(uint64_t before, uint64_t now, double seconds)
{
        return now > before ? (double)(now - before) / seconds : 0;
}

static bool is_same_memory(const struct inspection *before, const struct inspection *now)
{
        return before && before->part[0].device == now->part[0].device && before->part[0].inode == now->part[0].inode &&
               before->sequence <= now->sequence;
}

static bool is_same_participant(const struct inspect_participant *before, const struct inspect_participant *now)
{
        return before->row_no == now->row_no && before->pid == now->pid && before->commits <= now->commits &&
               before->conflicts <= now->conflicts && before->read_faults <= now->read_faults &&
               before->write_faults <= now->write_faults;
}

static const struct sample_participant *find_before(const struct sample *before, const struct inspect_participant *now)
{
        for (uint32_t i = 0; i < before->participant_count; i++)
                if (is_same_participant(&before->participant[i].now, now))
                        return &before->participant[i];
        return NULL;
}

/* Somebody who ended a transaction in between has a new snapshot, though the number may be the same. */
static bool holds_on(const struct inspect_participant *before, const struct inspect_participant *now)
{
        return before->snapshot == now->snapshot && before->commits == now->commits &&
               before->conflicts == now->conflicts;
}

static void compare_participant(struct sample_participant *participant, const struct sample *before, uint64_t at_ns,
                                double seconds)
{
        static const struct inspect_participant nothing;
        const struct sample_participant *past = find_before(before, &participant->now);
        const struct inspect_participant *then = past ? &past->now : &nothing;
        const struct inspect_participant *now = &participant->now;

        participant->snapshot_ns = past && holds_on(then, now) ? past->snapshot_ns : at_ns;
        if (seconds > 0)
                participant->rates = (struct rates){
                        .commits = per_second(then->commits, now->commits, seconds),
                        .conflicts = per_second(then->conflicts, now->conflicts, seconds),
                        .read_faults = per_second(then->read_faults, now->read_faults, seconds),
                        .write_faults = per_second(then->write_faults, now->write_faults, seconds),
                };
}

/* Of those that are there, and those that have left. */
struct counts {
        uint64_t commits;
        uint64_t conflicts;
        uint64_t read_faults;
        uint64_t write_faults;
};

static struct counts count_all(const struct inspection *inspection)
{
        struct counts all = { inspection->past_commits, inspection->past_conflicts, inspection->past_read_faults,
                              inspection->past_write_faults };

        for (uint32_t i = 0; i < inspection->participant_count; i++) {
                all.commits += inspection->participant[i].commits;
                all.conflicts += inspection->participant[i].conflicts;
                all.read_faults += inspection->participant[i].read_faults;
                all.write_faults += inspection->participant[i].write_faults;
        }
        return all;
}

static void compare_totals(struct sample *sample, const struct sample *before)
{
        struct counts then = count_all(before->now), now = count_all(sample->now);
        double seconds = sample->seconds;

        sample->total = (struct rates){ .commits = per_second(then.commits, now.commits, seconds),
                                        .conflicts = per_second(then.conflicts, now.conflicts, seconds),
                                        .read_faults = per_second(then.read_faults, now.read_faults, seconds),
                                        .write_faults = per_second(then.write_faults, now.write_faults, seconds) };
        sample->groups = per_second(before->now->groups, sample->now->groups, seconds);
        sample->log_bytes = per_second(before->now->log_end, sample->now->log_end, seconds);
}

/* ---- Participants ---- */

static int by_work(const void *left_, const void *right_)
{
        const struct sample_participant *left = left_, *right = right_;
        double mine = left->rates.commits + left->rates.conflicts, its = right->rates.commits + right->rates.conflicts;

        if (mine != its)
                return mine > its ? -1 : 1;
        return left->now.row_no < right->now.row_no ? -1 : left->now.row_no > right->now.row_no;
}

static void find_oldest(struct sample *sample)
{
        for (uint32_t i = 0; i < sample->participant_count; i++) {
                const struct sample_participant *participant = &sample->participant[i];

                if (participant->now.snapshot &&
                    (!sample->oldest || participant->now.snapshot < sample->oldest->now.snapshot))
                        sample->oldest = participant;
        }
}

static int list_participants(struct sample *sample, const struct sample *before)
{
        const struct inspection *now = sample->now;

        sample->participant = calloc((size_t)now->participant_count + 1, sizeof(*sample->participant));
        if (!sample->participant)
                return -ENOMEM;
        for (uint32_t i = 0; i < now->participant_count; i++) {
                struct sample_participant *participant = &sample->participant[sample->participant_count];

                if (now->participant[i].is_on_duty)
                        continue;
                participant->now = now->participant[i];
                compare_participant(participant, before, sample->at_ns, sample->seconds);
                sample->participant_count++;
        }
        qsort(sample->participant, sample->participant_count, sizeof(*sample->participant), by_work);
        find_oldest(sample);
        return 0;
}

static uint32_t count_alive(const struct inspection *inspection)
{
        uint32_t alive = 0;

        for (uint32_t i = 0; i < inspection->process_count; i++)
                alive += inspection->process[i].is_alive;
        return alive;
}

/* ---- Taking ---- */

static int fill(struct sampler *sampler, struct sample *sample, const struct sample *before)
{
        static const struct sample nothing;

        sample->processes = count_alive(sample->now);
        sample->state = sample->processes ? SAMPLE_IN_USE : SAMPLE_ABANDONED;
        if (!is_same_memory(before->now, sample->now)) {
                hot_pages_reset(sampler->hot);
                return list_participants(sample, &nothing);
        }
        sample->seconds = (double)(sample->at_ns - before->at_ns) / 1e9;
        if (sample->seconds > 0)
                compare_totals(sample, before);
        return list_participants(sample, before);
}

/* No shared memory that could be seen: is nobody there? */
static int fill_without(const struct sampler *sampler, struct sample *sample)
{
        int in_use = place_is_in_use(sampler->place);

        if (in_use < 0)
                return in_use;
        sample->state = in_use ? SAMPLE_UNSEEN : SAMPLE_AT_REST;
        hot_pages_reset(sampler->hot);
        return 0;
}

int sampler_take(struct sampler *sampler)
{
        struct sample before = sampler->sample, sample = { .state = SAMPLE_AT_REST };
        int err = sampler->place->has_lock_file ? live_take(sampler->place, &sample.now) : -ENOENT;

        sample.at_ns = sys_monotonic_ns();
        if (!err)
                err = fill(sampler, &sample, &before);
        else if (err == -ENOENT)
                err = fill_without(sampler, &sample);
        sampler_look(sampler);
        if (!err && sample.now)
                sample.page_count = hot_pages_take(sampler->hot, sample.page, SAMPLE_PAGES);
        sampler->looking_ns = 0;
        if (err)
                forget(&sample);
        forget(&before);
        sampler->sample = sample;
        return err;
}

/* What cannot be seen now is missing from the sample. */
void sampler_look(struct sampler *sampler)
{
        (void)hot_pages_look(sampler->hot, sampler->place, &sampler->looking_ns);
}
