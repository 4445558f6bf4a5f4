/* SPDX-License-Identifier: MIT */
#include "bench/support/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(const char *program, const char *purpose, const struct option_spec *specs)
{
        printf("usage: %s [options]\n\n%s\n\n", program, purpose);
        for (const struct option_spec *spec = specs; spec->name; spec++) {
                const char *placeholder[] = { " N", " TEXT", "" };
                int width = printf("  --%s%s", spec->name, placeholder[spec->kind]);
                printf("%*s%s", width < 22 ? 22 - width : 1, "", spec->help);
                if (spec->kind == OPTION_NUMBER)
                        printf(" (default %" PRIu64 ")", *spec->value.number);
                if (spec->kind == OPTION_TEXT && *spec->value.text)
                        printf(" (default %s)", *spec->value.text);
                printf("\n");
        }
        printf("  --help              this text\n");
        exit(EXIT_SUCCESS);
}

void options_refuse(const char *what, const char *argument)
{
        fprintf(stderr, "%s: %s: %s (--help explains)\n", program_invocation_name, what, argument);
        exit(2);
}

/* The spec of "--name" or "--name=...", or NULL. */
static const struct option_spec *find(const struct option_spec *specs, const char *argument)
{
        if (strncmp(argument, "--", 2) != 0)
                return NULL;
        size_t length = strcspn(argument + 2, "=");
        for (const struct option_spec *spec = specs; spec->name; spec++)
                if (strlen(spec->name) == length && strncmp(argument + 2, spec->name, length) == 0)
                        return spec;
        return NULL;
}

static uint64_t number_of(const char *text)
{
        char *end;
        uint64_t number = strtoull(text, &end, 10);

        if (*text < '0' || *text > '9' || *end != '\0')
                options_refuse("not a number", text);
        return number;
}

static void set(const struct option_spec *spec, const char *text)
{
        if (spec->kind == OPTION_TEXT)
                *spec->value.text = text;
        else
                *spec->value.number = number_of(text);
}

void options_parse(int argc, char **argv, const char *purpose, const struct option_spec *specs)
{
        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "--help") == 0)
                        print_help(argv[0], purpose, specs);
                const struct option_spec *spec = find(specs, argv[i]);
                if (!spec)
                        options_refuse("unknown option", argv[i]);
                const char *text = strchr(argv[i], '=');
                if (spec->kind == OPTION_FLAG)
                        *spec->value.flag = true;
                else if (text)
                        set(spec, text + 1);
                else if (++i < argc)
                        set(spec, argv[i]);
                else
                        options_refuse("a value is missing", argv[i - 1]);
        }
}

/* ---- names ---- */

size_t options_find(const void *table, size_t count, size_t entry_bytes, const char *what, const char *word)
{
        char refusal[64];

        for (size_t i = 0; i < count; i++) {
                const char *name;
                memcpy(&name, (const char *)table + i * entry_bytes, sizeof(name));
                if (strcmp(name, word) == 0)
                        return i;
        }
        snprintf(refusal, sizeof(refusal), "no such %s", what);
        options_refuse(refusal, word);
}

/* ---- lists ---- */

void options_words(const char *text, void (*take)(const char *word, void *arg), void *arg)
{
        char word[64];

        for (const char *at = text;; at++) {
                size_t len = strcspn(at, ",");
                if (len == 0 || len >= sizeof(word))
                        options_refuse("not a list", text);
                memcpy(word, at, len);
                word[len] = '\0';
                take(word, arg);
                at += len;
                if (!*at)
                        return;
        }
}

static void take_number(const char *word, void *arg)
{
        struct option_numbers *numbers = arg;

        if (numbers->count == OPTION_LIST_MAX)
                options_refuse("more than 16 numbers", word);
        numbers->value[numbers->count++] = number_of(word);
}

void options_numbers(const char *text, uint64_t least, uint64_t most, struct option_numbers *numbers)
{
        numbers->count = 0;
        options_words(text, take_number, numbers);
        for (int i = 0; i < numbers->count; i++)
                if (numbers->value[i] < least || numbers->value[i] > most)
                        options_refuse("a number is too small or too large", text);
}
