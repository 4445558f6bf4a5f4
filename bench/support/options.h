/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_OPTIONS_H
#define BENCH_SUPPORT_OPTIONS_H

/*
 * The command line of a benchmark: --name VALUE or --name=VALUE, --flag, and --help, which
 * prints the purpose, every option and its default.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPTION_LIST_MAX = 16 };

enum option_kind { OPTION_NUMBER, OPTION_TEXT, OPTION_FLAG };

struct option_spec {
        const char *name; /* without the dashes; NULL ends the list */
        enum option_kind kind;
        union {
                uint64_t *number;
                const char **text;
                bool *flag;
        } value; /* holds the default at first */
        const char *help;
};

#define OPTION_NUMBER(name, variable, help)                          \
        {                                                            \
                name, OPTION_NUMBER, { .number = &(variable) }, help \
        }
#define OPTION_TEXT(name, variable, help)                        \
        {                                                        \
                name, OPTION_TEXT, { .text = &(variable) }, help \
        }
#define OPTION_FLAG(name, variable, help)                        \
        {                                                        \
                name, OPTION_FLAG, { .flag = &(variable) }, help \
        }
#define OPTION_END                                        \
        {                                                 \
                NULL, OPTION_FLAG, { .flag = NULL }, NULL \
        }

/* Ends the program after --help (0) and after a command line it does not understand (2). */
void options_parse(int argc, char **argv, const char *purpose, const struct option_spec *specs);

/* A list of numbers, "1,2,4", each within the bounds. */
struct option_numbers {
        int count;
        uint64_t value[OPTION_LIST_MAX];
};

/* Both end the program (2) when the text is no such list. */
void options_numbers(const char *text, uint64_t least, uint64_t most, struct option_numbers *numbers);
/* Calls `take` with each part of a list of words. */
void options_words(const char *text, void (*take)(const char *word, void *arg), void *arg);
/* Which entry of an array, whose entries are names or begin with one, has this name; ends the program (2) when none
 * has: "no such WHAT". */
#define OPTIONS_FIND(table, what, word) \
        options_find(table, sizeof(table) / sizeof((table)[0]), sizeof((table)[0]), what, word)
size_t options_find(const void *table, size_t count, size_t entry_bytes, const char *what, const char *word);
/* The end of the program for a command line that is not understood. */
_Noreturn void options_refuse(const char *what, const char *argument);

#endif
