/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_harm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/operator/operator_harm_file.h"
#include "tests/operator/operator_place.h"
#include "tests/support/check.h"

const char *const harm_name[HARM_KINDS] = { "flip",  "cut",       "zero",  "zero-both", "remove", "swap",
                                            "older", "cp",        "rsync", "tar",       "back",   "touch",
                                            "full",  "read-only", "away",  "empty",     "clock",  "death" };

void harm_begin(struct harm *harm, const struct pool *pool, const struct moment *moment)
{
        memset(harm, 0, sizeof(*harm));
        harm->pool = pool;
        harm->moment = moment;
}

void harm_say(struct harm *harm, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        if (harm->what_len < sizeof(harm->what))
                harm->what_len += (size_t)vsnprintf(harm->what + harm->what_len, sizeof(harm->what) - harm->what_len,
                                                    format, args);
        va_end(args);
}

/* ---- Several files of another moment ---- */

struct mixing {
        struct harm *harm;
        const struct moment *other;
        bool keeps_times, removes;
        unsigned percent; /* of the files, at random */
        uint32_t first;   /* or so many of them */
};

static bool is_taken(const struct mixing *mixing, struct chance *chance, uint32_t i)
{
        return mixing->percent ? chance_percent(chance, mixing->percent) : i < mixing->first;
}

static void mix_one(const struct mixing *mixing, const struct image_file *file, size_t most)
{
        struct image_file part = *file;
        const struct image_file *mine = image_find(&mixing->harm->moment->store, file->name);

        part.byte_len = file->byte_len < most ? file->byte_len : most;
        if (part.byte_len == file->byte_len || !harm_file_replace_first(here.store, file, most))
                image_put_file(&part, here.store, mixing->keeps_times);
        /* The same bytes with another time look changed. */
        if (!image_is_same(mine, file) || !mixing->keeps_times)
                harm_file_note(mixing->harm, harm_part_of(file->name), mixing->keeps_times);
        if (!image_is_same(mine, file) && harm_part_of(file->name) == HARM_LOG)
                harm_file_note_log(mixing->harm, mixing->other);
        harm_say(mixing->harm, " %s", file->name);
}

/* An update that was ended midway: `order` says which file comes when. */
static void mix(const struct mixing *mixing, struct chance *chance, const uint32_t *order)
{
        const struct image *theirs = &mixing->other->store;

        harm_say(mixing->harm, "as of moment %d%s:", (int)(mixing->other - mixing->harm->pool->moment),
                 mixing->keeps_times ? " with times" : "");
        for (uint32_t i = 0; i < theirs->count; i++) {
                const bool is_last = !mixing->percent && i + 1 == mixing->first && chance_percent(chance, 30);

                if (is_taken(mixing, chance, i))
                        mix_one(mixing, &theirs->file[order[i]],
                                is_last ? chance_below(chance, theirs->file[order[i]].byte_len + 1) : SIZE_MAX);
        }
        if (mixing->removes)
                harm_file_remove_others(mixing->harm, here.store, theirs);
        harm_say(mixing->harm, "; ");
}

static bool do_mix(struct harm *harm, struct chance *chance, enum harm_kind kind)
{
        struct mixing mixing = { .harm = harm, .other = pool_draw(harm->pool, chance) };
        const uint32_t count = mixing.other->store.count;
        uint32_t order[IMAGE_FILES] = { 0 };

        if (mixing.other == harm->moment)
                return false;
        mixing.keeps_times = kind == HARM_TAR || kind == HARM_BACK || chance_percent(chance, 50);
        mixing.removes = kind == HARM_BACK || (kind == HARM_RSYNC && chance_percent(chance, 40));
        mixing.percent = kind == HARM_CP ? 10 + (unsigned)chance_below(chance, 80) : kind == HARM_BACK ? 100 : 0;
        mixing.first = 1 + (uint32_t)chance_below(chance, count);
        for (uint32_t i = 0; i < count; i++)
                order[i] = i;
        for (uint32_t i = count; kind == HARM_TAR && i > 1; i--) {
                const uint32_t j = (uint32_t)chance_below(chance, i), kept = order[i - 1];

                order[i - 1] = order[j];
                order[j] = kept;
        }
        mix(&mixing, chance, order);
        return true;
}

/* ---- Disks ---- */

static bool do_full(struct harm *harm, struct chance *chance)
{
        const enum place_disk disk = chance_percent(chance, 50) ? PLACE_OF_STORE : PLACE_OF_ARCHIVE;

        harm_say(harm, "the disk of the %s is full; ", disk == PLACE_OF_STORE ? "environment" : "archive");
        return place_fill(disk);
}

static bool do_read_only(struct harm *harm)
{
        harm_say(harm, "the disk of the archive is read-only; ");
        return place_set_read_only(PLACE_OF_ARCHIVE, true);
}

static bool do_away(struct harm *harm, bool is_empty)
{
        if (harm->is_away || rename(here.archive, here.away))
                return false;
        harm->is_away = true;
        harm->is_empty = is_empty;
        harm_say(harm, "the archive is away%s; ", is_empty ? ", and an empty directory in its place" : "");
        return !is_empty || mkdir(here.archive, 0700) == 0;
}

void harm_heal(struct harm *harm)
{
        if (here.has_disks)
                place_set_read_only(PLACE_OF_ARCHIVE, false);
        place_make_room(PLACE_OF_STORE);
        place_make_room(PLACE_OF_ARCHIVE);
        if (harm->is_away) {
                image_clear(here.archive);
                rmdir(here.archive);
                check_equal(rename(here.away, here.archive), 0);
        }
        harm->is_away = false;
        harm->kinds &= ~(1U << HARM_FULL | 1U << HARM_READ_ONLY);
}

bool harm_is_disturbed(const struct harm *harm)
{
        return harm->is_away || harm->kinds & (1U << HARM_FULL | 1U << HARM_READ_ONLY);
}

/* ---- One of them ---- */

static enum harm_kind draw(struct chance *chance)
{
        static const unsigned char weight[HARM_KINDS] = { 22, 10, 10, 8, 7, 3, 8, 7, 9, 4, 1, 2, 2, 2, 2, 2, 0, 0 };
        uint64_t left;
        unsigned sum = 0;

        for (int kind = 0; kind < HARM_KINDS; kind++)
                sum += weight[kind];
        left = chance_below(chance, sum);
        for (int kind = 0;; kind++) {
                if (left < weight[kind])
                        return (enum harm_kind)kind;
                left -= weight[kind];
        }
}

static bool do_kind(struct harm *harm, struct chance *chance, enum harm_kind kind)
{
        switch (kind) {
        case HARM_CP:
        case HARM_RSYNC:
        case HARM_TAR:
        case HARM_BACK:
                return do_mix(harm, chance, kind);
        case HARM_FULL:
                return do_full(harm, chance);
        case HARM_READ_ONLY:
                return do_read_only(harm);
        case HARM_AWAY:
        case HARM_EMPTY:
                return do_away(harm, kind == HARM_EMPTY);
        default:
                return harm_file_do(harm, chance, kind);
        }
}

void harm_do(struct harm *harm, struct chance *chance)
{
        const enum harm_kind kind = draw(chance);

        harm_say(harm, "%s: ", harm_name[kind]);
        /* A disk that is full takes no other harm. */
        if (!harm_is_disturbed(harm) && do_kind(harm, chance, kind)) {
                harm->kinds |= 1U << kind;
                harm->count++;
                harm->of_kind[kind]++;
        } else {
                harm_say(harm, "(not done); ");
        }
}
