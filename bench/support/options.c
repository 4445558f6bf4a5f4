/* SPDX-License-Identifier: MIT */
#include "bench/support/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(const char *program, const char *purpose, const struct option_spec *specs)
{
        printf("usage: %s [options]\n\n%s\n\n", program, purpose);
        for (const struct option_spec *spec = specs; spec->name; spec++) {
                const char *placeholder[] = { " N", " FILE", "" };
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

static void refuse(const char *program, const char *what, const char *argument)
{
        fprintf(stderr, "%s: %s: %s (--help explains)\n", program, what, argument);
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

static void set(const char *program, const struct option_spec *spec, const char *text)
{
        char *end;

        if (spec->kind == OPTION_TEXT) {
                *spec->value.text = text;
                return;
        }
        *spec->value.number = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end != '\0')
                refuse(program, "not a number", text);
}

void options_parse(int argc, char **argv, const char *purpose, const struct option_spec *specs)
{
        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "--help") == 0)
                        print_help(argv[0], purpose, specs);
                const struct option_spec *spec = find(specs, argv[i]);
                if (!spec)
                        refuse(argv[0], "unknown option", argv[i]);
                const char *text = strchr(argv[i], '=');
                if (spec->kind == OPTION_FLAG)
                        *spec->value.flag = true;
                else if (text)
                        set(argv[0], spec, text + 1);
                else if (++i < argc)
                        set(argv[0], spec, argv[i]);
                else
                        refuse(argv[0], "a value is missing", argv[i - 1]);
        }
}
