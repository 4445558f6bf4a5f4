/* SPDX-License-Identifier: MIT */

/*
 * What do the functions cost that xac-cc puts in the place of those of <string.h>? Each works on texts of several
 * lengths: the C library's and ours on memory of the program's own, and ours on the same text in a shared view. They
 * run in turn: A, B, C, A, B, C; a row has the median, and the medians of the ratios of neighbours.
 *
 * A text is of one letter, with another one at its end. What is looked for is there, or is nearly found everywhere.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <xac/xac.h>

#include "bench/support/csv.h"
#include "bench/support/measure.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"
#include "compiler/runtime/replaced.h"

enum { LENGTHS = 4, PAGE = 4096, TEXT_MAX = 100000, PART = 16 };
static const size_t lengths[LENGTHS] = { 16, 100, 1000, TEXT_MAX };

enum way { LIBRARY, OURS, IN_VIEW, WAYS };
static const char *const way_names[WAYS] = { "library", "ours", "view" };

/* Two texts of the same bytes, a part, a set, and room, all of them in one memory. */
struct texts {
        char *text, *same, *part, *set, *room;
        size_t len;
};

static struct experiment {
        uint64_t repetitions, bytes;
} experiment = { .repetitions = 9, .bytes = 400000 };

/* ---- the functions ---- */

#define BOTH(name, ...)                                         \
        static uintptr_t library_##name(const struct texts *of) \
        {                                                       \
                return (uintptr_t)name(__VA_ARGS__);            \
        }                                                       \
        static uintptr_t ours_##name(const struct texts *of)    \
        {                                                       \
                return (uintptr_t)xacrt_##name(__VA_ARGS__);    \
        }

BOTH(memchr, of->text, 'z', of->len)
BOTH(memrchr, of->text, '?', of->len)
BOTH(rawmemchr, of->text, 'z')
BOTH(memcmp, of->text, of->same, of->len)
BOTH(memcpy, of->room, of->text, of->len)
BOTH(memmove, of->room, of->text, of->len)
BOTH(memccpy, of->room, of->text, 'z', of->len)
BOTH(memset, of->room, 1, of->len)
BOTH(memmem, of->text, of->len, of->part, PART)
BOTH(strlen, of->text)
BOTH(strnlen, of->text, of->len)
BOTH(strcmp, of->text, of->same)
BOTH(strncmp, of->text, of->same, of->len)
BOTH(strcasecmp, of->text, of->same)
BOTH(strncasecmp, of->text, of->same, of->len)
BOTH(strcpy, of->room, of->text)
BOTH(stpcpy, of->room, of->text)
BOTH(strncpy, of->room, of->text, of->len)
BOTH(strchr, of->text, 'z')
BOTH(strchrnul, of->text, 'y')
BOTH(strrchr, of->text, '?')
BOTH(strstr, of->text, of->part)
BOTH(strcasestr, of->text, of->part)
BOTH(strspn, of->text, of->set)
BOTH(strcspn, of->text, "zyx")
BOTH(strpbrk, of->text, "zyx")

static const struct function {
        const char *name;
        uintptr_t (*library)(const struct texts *), (*ours)(const struct texts *);
} functions[] = {
#define FUNCTION(name)                             \
        {                                          \
#name, library_##name, ours_##name \
        }
        FUNCTION(memchr),  FUNCTION(memrchr), FUNCTION(rawmemchr),  FUNCTION(memcmp),     FUNCTION(memcpy),
        FUNCTION(memmove), FUNCTION(memccpy), FUNCTION(memset),     FUNCTION(memmem),     FUNCTION(strlen),
        FUNCTION(strnlen), FUNCTION(strcmp),  FUNCTION(strncmp),    FUNCTION(strcasecmp), FUNCTION(strncasecmp),
        FUNCTION(strcpy),  FUNCTION(stpcpy),  FUNCTION(strncpy),    FUNCTION(strchr),     FUNCTION(strchrnul),
        FUNCTION(strrchr), FUNCTION(strstr),  FUNCTION(strcasestr), FUNCTION(strspn),     FUNCTION(strcspn),
        FUNCTION(strpbrk),
};

/* ---- texts ---- */

enum { APART = TEXT_MAX + 2 * PAGE, MEMORY = 4 * APART };

static struct texts place_texts(char *memory)
{
        return (struct texts){ .text = memory,
                               .same = memory + APART + 40,
                               .room = memory + 2 * (size_t)APART + 80,
                               .part = memory + 3 * (size_t)APART,
                               .set = memory + 3 * (size_t)APART + PAGE / 2 };
}

/* The part begins with the text's letter. */
static void fill(struct texts *texts, size_t len)
{
        static char text[TEXT_MAX + 1];

        texts->len = len;
        memset(text, 'a', len);
        text[len - 1] = 'z';
        text[len] = '\0';
        xacrt_memcpy(texts->text, text, len + 1);
        xacrt_memcpy(texts->same, text, len + 1);
        xacrt_memcpy(texts->part, "aaaaaaaaaaaaaaab", PART + 1);
        xacrt_memcpy(texts->set, "abcd", sizeof("abcd"));
}

/* ---- measurement ---- */

static volatile uintptr_t taken;

static double ns_of(uintptr_t (*call)(const struct texts *), const struct texts *texts)
{
        const uint64_t times = 1 + experiment.bytes / (texts->len + 50);
        const uint64_t begun_ns = measure_now_ns();

        for (uint64_t i = 0; i < times; i++)
                taken = call(texts);
        return (double)(measure_now_ns() - begun_ns) / (double)times;
}

static void measure(struct csv *csv, const struct function *function, const struct texts *own,
                    const struct texts *in_view)
{
        struct samples samples[WAYS] = { 0 };
        char param[60];

        for (uint64_t i = 0; i < experiment.repetitions; i++) {
                samples_add(&samples[LIBRARY], ns_of(function->library, own));
                samples_add(&samples[OURS], ns_of(function->ours, own));
                samples_add(&samples[IN_VIEW], ns_of(function->ours, in_view));
        }
        printf("%-12s %8zu %10.1f %10.1f %10.1f %8.2f %8.2f\n", function->name, own->len,
               samples_median(&samples[LIBRARY]), samples_median(&samples[OURS]), samples_median(&samples[IN_VIEW]),
               samples_ratio(&samples[OURS], &samples[LIBRARY]), samples_ratio(&samples[IN_VIEW], &samples[LIBRARY]));
        snprintf(param, sizeof(param), "function=%s;bytes=%zu", function->name, own->len);
        for (int way = 0; way < WAYS; way++) {
                const struct csv_series series = {
                        .system = way_names[way], .metric = "ns_per_call", .unit = "ns", .processes = 1, .threads = 1
                };

                csv_text_row(csv, &series, param, samples_median(&samples[way]));
                samples_free(&samples[way]);
        }
}

static void measure_all(struct csv *csv, struct scratch *scratch)
{
        static char memory[MEMORY];
        struct texts own = place_texts(memory), in_view = place_texts(scratch_page(scratch, 0));

        printf("%-12s %8s %10s %10s %10s %8s %8s\n", "function", "bytes", "library ns", "ours ns", "view ns", "ours",
               "view");
        must(xbegin(scratch->env, 0), "xbegin");
        for (size_t i = 0; i < LENGTHS; i++) {
                fill(&own, lengths[i]);
                fill(&in_view, lengths[i]);
                for (size_t j = 0; j < sizeof(functions) / sizeof(functions[0]); j++)
                        measure(csv, &functions[j], &own, &in_view);
        }
        must(xend(scratch->env), "xend");
}

int main(int argc, char **argv)
{
        const char *csv_path = "strings.csv";
        struct scratch scratch = { 0 };
        struct csv csv;
        const struct option_spec options[] = {
                OPTION_NUMBER("reps", experiment.repetitions, "repetitions of each way"),
                OPTION_NUMBER("bytes", experiment.bytes, "of text that a repetition goes through"),
                OPTION_TEXT("csv", csv_path, "where the medians go"),
                OPTION_END,
        };

        options_parse(argc, argv, "Compares the functions that xac-cc puts in the place of <string.h>'s with those.",
                      options);
        csv_open(&csv, csv_path, "strings");
        scratch_make(&scratch, MEMORY / PAGE + 1);
        scratch_open(&scratch, XAC_VOLATILE);
        measure_all(&csv, &scratch);
        scratch_close(&scratch);
        scratch_remove(&scratch);
        csv_close(&csv);
        return EXIT_SUCCESS;
}
