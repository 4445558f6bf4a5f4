/* SPDX-License-Identifier: MIT */
#include "tests/libxac/stamped.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xac/translate.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum {
        RUN_PAGES_MAX = 40,
        MOVED_PAGES_MAX = 6,
        SINGLE_PAGES_MAX = 4,
        CHUNK_BYTES = 4096,
        ALL_SLICES = (1 << STAMPED_SLICES) - 1
};

/* ---- What one change does ---- */

/* Whom it is done to: the model's tokens, or the file in a transaction. They fail only in a transaction that is lost.
 */
struct target {
        int (*put)(void *arg, uint32_t page, uint32_t slice, uint64_t token);
        int (*move)(void *arg, uint32_t to, uint32_t from, uint32_t pages);
        void *arg;
};

struct change {
        const struct stamped *stamped;
        const struct target *target;
        struct chance chance;
};

static uint32_t draw(struct change *change, uint32_t below)
{
        return (uint32_t)chance_below(&change->chance, below);
}

static int put_slices(struct change *change, uint32_t page, uint32_t mask)
{
        for (uint32_t slice = 0; slice < STAMPED_SLICES; slice++) {
                uint64_t token = chance_next(&change->chance) | 1;

                if ((mask >> slice & 1) && change->target->put(change->target->arg, page, slice, token) != 0)
                        return -1;
        }
        return 0;
}

static int change_most(struct change *change)
{
        for (uint32_t page = 1; page < change->stamped->pages; page++)
                if (draw(change, 8) != 0 && put_slices(change, page, ALL_SLICES) != 0)
                        return -1;
        return 0;
}

static int change_run(struct change *change)
{
        uint32_t count = change->stamped->pages - 1;
        uint32_t pages = 1 + draw(change, count < RUN_PAGES_MAX ? count : RUN_PAGES_MAX);
        uint32_t first = 1 + draw(change, count - pages + 1);

        for (uint32_t page = first; page < first + pages; page++)
                if (put_slices(change, page, ALL_SLICES) != 0)
                        return -1;
        return 0;
}

static int change_places(struct change *change)
{
        uint32_t count = change->stamped->pages - 1;
        uint32_t pages = 1 + draw(change, count < MOVED_PAGES_MAX ? count : MOVED_PAGES_MAX);
        uint32_t to = 1 + draw(change, count - pages + 1), from = 1 + draw(change, count - pages + 1);

        return change->target->move(change->target->arg, to, from, pages);
}

static int change_few(struct change *change)
{
        for (uint32_t left = 1 + draw(change, SINGLE_PAGES_MAX); left > 0; left--) {
                uint32_t page = 1 + draw(change, change->stamped->pages - 1);

                if (put_slices(change, page, 1 + draw(change, ALL_SLICES)) != 0)
                        return -1;
        }
        return 0;
}

static int change_do(const struct stamped *stamped, uint64_t number, const struct target *target)
{
        struct change change = { stamped, target, { stamped->seed ^ chance_mix(number) } };
        uint32_t kind = draw(&change, 64);

        if (kind == 0)
                return change_most(&change);
        if (kind < 6)
                return change_run(&change);
        if (kind < 12)
                return change_places(&change);
        return change_few(&change);
}

/* ---- The file ---- */

struct file {
        const struct stamped *stamped;
        xac_env *env;
        char *view;
        int way;
};

/* NULL: the transaction is lost. */
static void *writable(const struct file *file, size_t offset)
{
        char *at = file->view + offset;

        if ((file->way & WAY_COMPILED) == WAY_COMPILED)
                return xac_for_write(at);
        return file->way & WAY_DECLARED ? xac_page_write(file->env, at) : at;
}

/* 4 KiB at a time: so far goes what xac_for_write() leads to. */
static int put_in_file(void *file_, uint32_t page, uint32_t slice, uint64_t token)
{
        const struct file *file = file_;
        size_t byte_len = file->stamped->page_bytes / STAMPED_SLICES;
        size_t begin = (size_t)page * file->stamped->page_bytes + slice * byte_len;

        for (size_t done = 0; done < byte_len; done += CHUNK_BYTES) {
                size_t part = byte_len - done < CHUNK_BYTES ? byte_len - done : CHUNK_BYTES;
                volatile uint64_t *words = writable(file, begin + done);

                if (words == NULL)
                        return -1;
                for (size_t i = 0; i < part / sizeof(words[0]); i++)
                        words[i] = token + done / sizeof(words[0]) + i;
        }
        return 0;
}

static int move_in_file(void *file_, uint32_t to, uint32_t from, uint32_t pages)
{
        const struct file *file = file_;
        size_t page_bytes = file->stamped->page_bytes;

        return xac_page_move(file->env, file->view + to * page_bytes, file->view + from * page_bytes, pages);
}

/* -1: the transaction is lost, and its end says why. */
static int change_file(struct file *file, uint64_t *number)
{
        const struct target target = { put_in_file, move_in_file, file };
        volatile uint64_t *word = writable(file, 0);

        if (word == NULL)
                return -1;
        *number = ++*word;
        return change_do(file->stamped, *number, &target);
}

int stamped_change(const struct stamped *stamped, xac_env *env, void *view, int way)
{
        struct file file = { stamped, env, view, way };
        uint64_t number;

        return change_file(&file, &number);
}

int stamped_commit(const struct stamped *stamped, xac_env *env, void *view, int way, int flags, uint64_t *number)
{
        struct file file = { stamped, env, view, way };
        int outcome;

        do {
                outcome = xbegin(env, flags);
                if (outcome != 0)
                        return outcome;
                (void)change_file(&file, number);
                outcome = xend(env);
        } while (outcome == XAC_CONFLICT);
        return outcome;
}

/* ---- The model ---- */

struct stamped_model stamped_model_new(const struct stamped *stamped)
{
        struct stamped_model model = { .stamped = stamped };

        model.token = calloc((size_t)stamped->pages * STAMPED_SLICES, sizeof(model.token[0]));
        check(model.token != NULL);
        return model;
}

void stamped_model_free(struct stamped_model *model)
{
        free(model->token);
}

static uint64_t *page_tokens(struct stamped_model *model, uint32_t page)
{
        return model->token + (size_t)page * STAMPED_SLICES;
}

static int put_in_model(void *model, uint32_t page, uint32_t slice, uint64_t token)
{
        page_tokens(model, page)[slice] = token;
        return 0;
}

static int move_in_model(void *model, uint32_t to, uint32_t from, uint32_t pages)
{
        uint64_t moved[MOVED_PAGES_MAX * STAMPED_SLICES];
        size_t byte_len = pages * STAMPED_SLICES * sizeof(moved[0]);

        memcpy(moved, page_tokens(model, from), byte_len);
        memset(page_tokens(model, from), 0, byte_len);
        memcpy(page_tokens(model, to), moved, byte_len);
        return 0;
}

static void model_go(struct stamped_model *model, uint64_t number)
{
        const struct target target = { put_in_model, move_in_model, model };

        if (number < model->number) {
                memset(model->token, 0, (size_t)model->stamped->pages * STAMPED_SLICES * sizeof(model->token[0]));
                model->number = 0;
        }
        while (model->number < number)
                (void)change_do(model->stamped, ++model->number, &target);
}

/* ---- Comparing ---- */

uint64_t stamped_number(const void *bytes)
{
        return *(const volatile uint64_t *)bytes;
}

static void check_slice(struct stamped_model *model, const uint64_t *words, uint32_t page, uint32_t slice)
{
        uint64_t token = page_tokens(model, page)[slice];
        size_t count = model->stamped->page_bytes / STAMPED_SLICES / sizeof(words[0]);

        words += slice * count;
        for (size_t i = 0; i < count; i++) {
                uint64_t expected = token != 0 ? token + i : 0;

                if (words[i] != expected)
                        check_failed(__FILE__, __LINE__,
                                     "page %u of %u of %u bytes, slice %u, word %zu is %" PRIx64 " instead of %" PRIx64
                                     " after %" PRIu64 " changes",
                                     page, model->stamped->pages, model->stamped->page_bytes, slice, i, words[i],
                                     expected, model->number);
        }
}

static void check_first_page(const uint64_t *words, size_t count)
{
        for (size_t i = 1; i < count; i++)
                if (words[i] != 0)
                        check_failed(__FILE__, __LINE__, "page 0, word %zu is %" PRIx64 " instead of 0", i, words[i]);
}

uint64_t stamped_check_pages(struct stamped_model *model, const void *bytes, uint32_t first, uint32_t pages)
{
        const struct stamped *stamped = model->stamped;

        model_go(model, stamped_number(bytes));
        for (uint32_t page = first; page < first + pages; page++) {
                const uint64_t *words = (const uint64_t *)bytes + (size_t)page * (stamped->page_bytes / 8);

                if (page == 0)
                        check_first_page(words, stamped->page_bytes / 8);
                for (uint32_t slice = 0; slice < STAMPED_SLICES && page > 0; slice++)
                        check_slice(model, words, page, slice);
        }
        return model->number;
}

uint64_t stamped_check(struct stamped_model *model, const void *bytes)
{
        return stamped_check_pages(model, bytes, 0, model->stamped->pages);
}
