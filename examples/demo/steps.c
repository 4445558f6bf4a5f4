/* SPDX-License-Identifier: MIT */
#include "examples/demo/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the files ---- */

static int sources_add(struct sources *sources, char *path)
{
        if (strlen(path) >= STEP_PATH_BYTES)
                return -ENAMETOOLONG;
        char **paths = realloc(sources->paths, (sources->count + 1) * sizeof(*paths));
        if (!paths)
                return -ENOMEM;
        sources->paths = paths;
        paths[sources->count] = strdup(path);
        return paths[sources->count++] ? 0 : -ENOMEM;
}

int sources_read(const char *list_path, struct sources *sources)
{
        char *line = NULL;
        size_t room = 0;
        int err = 0;
        FILE *list = fopen(list_path, "r");
        if (!list)
                return -errno;
        *sources = (struct sources){ .count = 0 };
        while (!err && getline(&line, &room, list) > 0) {
                line[strcspn(line, "\n")] = '\0';
                err = sources_add(sources, line);
        }
        free(line);
        fclose(list);
        return err || sources->count ? err : -ENODATA;
}

void sources_free(struct sources *sources)
{
        for (size_t i = 0; i < sources->count; i++)
                free(sources->paths[i]);
        free(sources->paths);
}

/* ---- the identifiers of one file ---- */

static int is_word(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Takes the next identifier off the text. Returns 1, or 0 at its end. */
static int next_word(struct text *text, struct step *step)
{
        while (text->next < text->end) {
                const char *word = text->next;
                while (text->next < text->end && is_word(*text->next))
                        text->next++;
                size_t letters = (size_t)(text->next - word);
                if (letters && (*word < '0' || *word > '9')) {
                        step->word = word;
                        step->letters = letters < STEP_WORD_LETTERS ? letters : STEP_WORD_LETTERS;
                        step->occurrences = 1;
                        return 1;
                }
                text->next += letters == 0;
        }
        return 0;
}

/* As the tree orders keys. */
static int by_word(const void *a_, const void *b_)
{
        const struct step *a = a_, *b = b_;
        int order = memcmp(a->word, b->word, a->letters < b->letters ? a->letters : b->letters);
        return order ? order : (a->letters > b->letters) - (a->letters < b->letters);
}

static int find_words(struct steps *steps)
{
        struct text text = steps->text;
        struct step word = { .path = steps->path };

        while (next_word(&text, &word)) {
                if (steps->count == steps->room) {
                        size_t room = steps->room ? 2 * steps->room : 1024;
                        struct step *words = realloc(steps->words, room * sizeof(*words));
                        if (!words)
                                return -ENOMEM;
                        steps->words = words;
                        steps->room = room;
                }
                steps->words[steps->count++] = word;
        }
        qsort(steps->words, steps->count, sizeof(*steps->words), by_word);
        return 0;
}

/* ---- one after the other ---- */

static void leave_file(struct steps *steps)
{
        if (steps->text.next)
                munmap((void *)(uintptr_t)steps->text.next, (size_t)(steps->text.end - steps->text.next));
        steps->text = (struct text){ NULL, NULL };
        steps->count = steps->next = 0;
}

/* The file of this turn, if there is one. */
static size_t next_file(const struct steps *steps)
{
        size_t place = steps->turn % 2 ? steps->parts - 1 - steps->part : steps->part;
        return steps->turn * steps->parts + place;
}

static int enter_file(struct steps *steps)
{
        leave_file(steps);
        steps->path = steps->sources->paths[next_file(steps)];
        steps->turn++;
        int err = text_map(steps->path, &steps->text);
        if (err)
                return err == -ENODATA ? 0 : err;
        return find_words(steps);
}

void steps_begin(struct steps *steps, const struct sources *sources, int part, int parts)
{
        *steps = (struct steps){ .sources = sources, .part = (size_t)part, .parts = (size_t)parts };
}

int steps_next(struct steps *steps, struct step *step)
{
        while (steps->next == steps->count) {
                if (next_file(steps) >= steps->sources->count)
                        return 0;
                int err = enter_file(steps);
                if (err)
                        return err;
        }
        *step = steps->words[steps->next++];
        while (steps->next < steps->count && by_word(step, &steps->words[steps->next]) == 0) {
                step->occurrences++;
                steps->next++;
        }
        return 1;
}

void steps_end(struct steps *steps)
{
        leave_file(steps);
        free(steps->words);
        steps->words = NULL;
        steps->room = 0;
}
