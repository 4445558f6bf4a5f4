/* SPDX-License-Identifier: MIT */
#include "examples/demo/lexicon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- opening and closing ---- */

static void close_trees(struct lexicon *lexicon)
{
        for (int i = 0; i < lexicon->workers; i++)
                xac_tree_close(lexicon->done[i]);
        xac_tree_close(lexicon->entries);
        xac_arena_close(lexicon->arena);
}

static int open_trees(struct lexicon *lexicon)
{
        char name[24];
        int err = xac_tree_open(lexicon->arena, "identifiers", XAC_TREE_CREATE, NULL, &lexicon->entries);
        for (int i = 0; !err && i < lexicon->workers; i++) {
                snprintf(name, sizeof(name), "worker %d", i);
                err = xac_tree_open(lexicon->arena, name, XAC_TREE_CREATE, NULL, &lexicon->done[i]);
        }
        if (err)
                close_trees(lexicon);
        return err;
}

int lexicon_open(struct lexicon *lexicon, const char *directory, int flags, const xac_options *options, int workers)
{
        *lexicon = (struct lexicon){ .workers = workers };
        int err = xac_open(directory, flags, options, &lexicon->env);
        if (err)
                return err;
        err = xac_arena_open_env(lexicon->env, "dictionary", XAC_ARENA_DECLARED, &lexicon->arena);
        if (!err)
                err = open_trees(lexicon);
        if (err)
                xac_close(lexicon->env);
        return err;
}

int lexicon_open_memory(struct lexicon *lexicon, int workers)
{
        *lexicon = (struct lexicon){ .workers = workers };
        int err = xac_arena_open_memory(0, 0, &lexicon->arena);
        return err ? err : open_trees(lexicon);
}

int lexicon_close(struct lexicon *lexicon)
{
        close_trees(lexicon);
        return lexicon->env ? xac_close(lexicon->env) : 0;
}

/* ---- entries ---- */

struct entry lexicon_entry(const xac_tree_record *record)
{
        struct entry entry = { .files = 0 };
        memcpy(&entry, record->value, record->value_len < sizeof(entry) ? record->value_len : sizeof(entry) - 1);
        return entry;
}

/* Whatever the order in which files come, the same comes out. */
static void add_file(struct entry *entry, const struct step *step)
{
        entry->files++;
        entry->occurrences += step->occurrences;
        if (step->occurrences < entry->most ||
            (step->occurrences == entry->most && strcmp(step->path, entry->place) > 0))
                return;
        entry->most = step->occurrences;
        snprintf(entry->place, sizeof(entry->place), "%s", step->path);
}

static int add_step(struct lexicon *lexicon, const struct step *step)
{
        struct entry entry = { .files = 0 };
        int err = xac_tree_get(lexicon->entries, step->word, step->letters, &entry, sizeof(entry), NULL);
        if (err && err != -ENOENT)
                return err;
        add_file(&entry, step);
        size_t len = offsetof(struct entry, place) + strlen(entry.place) + 1;
        return xac_tree_put(lexicon->entries, step->word, step->letters, &entry, len, 0);
}

static int get_done(struct lexicon *lexicon, int worker, uint64_t *done)
{
        *done = 0;
        int err = xac_tree_get(lexicon->done[worker], "done", 4, done, sizeof(*done), NULL);
        return err == -ENOENT ? 0 : err;
}

int lexicon_enter(struct lexicon *lexicon, int worker, const struct step *step, uint64_t *done)
{
        int err = add_step(lexicon, step);
        if (!err)
                err = get_done(lexicon, worker, done);
        if (err)
                return err;
        ++*done;
        return xac_tree_put(lexicon->done[worker], "done", 4, done, sizeof(*done), 0);
}

int lexicon_done(struct lexicon *lexicon, uint64_t done[WORKERS_MAX])
{
        int err = 0;
        memset(done, 0, WORKERS_MAX * sizeof(*done));
        for (int i = 0; !err && i < lexicon->workers; i++)
                err = get_done(lexicon, i, &done[i]);
        return err;
}
