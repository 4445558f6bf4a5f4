/* SPDX-License-Identifier: MIT */

#include "labs/grader/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED_LINES = 12, NONCE_BYTES = 80, COMPILER_BYTES = 3000 };

struct report {
        const char *lab;
        const char *again; /* the command that grades again, without ONLY and SEED */
        uint64_t seed;
        int score, of;
        double seconds;
        char *tests; /* their JSON, as it grows */
        size_t tests_len;
        char *measure; /* its JSON, or NULL */
        size_t measure_len;
        FILE *json;
        char nonce[NONCE_BYTES];
        bool is_broken;
        char compiler[COMPILER_BYTES]; /* what it said */
};

static void read_compiler(struct report *report, const char *name)
{
        FILE *file = fopen(name, "re");
        size_t got = file == NULL ? 0 : fread(report->compiler, 1, sizeof(report->compiler) - 1, file);
        report->compiler[got] = '\0';
        report->is_broken = true;
        if (file != NULL)
                fclose(file);
}

/* A string of JSON. Bytes that are not ASCII are left out of doubt: an answer may print anything. */
static void write_string(FILE *out, const char *text)
{
        fputc('"', out);
        for (const char *c = text; *c != '\0'; c++) {
                if (*c == '"' || *c == '\\')
                        fprintf(out, "\\%c", *c);
                else if (*c == '\n')
                        fputs("\\n", out);
                else if (*c < ' ' || *c > '~')
                        fputc('?', out);
                else
                        fputc(*c, out);
        }
        fputc('"', out);
}

/* Each line of the text behind a margin. No byte of it moves the cursor of a terminal. */
static void show_lines(const char *text, const char *margin)
{
        while (*text != '\0') {
                fputs(margin, stdout);
                for (; *text != '\0' && *text != '\n'; text++) {
                        unsigned char c = (unsigned char)*text;
                        putchar((c < ' ' && c != '\t') || c == 0x7f ? '?' : c);
                }
                putchar('\n');
                text += *text == '\n';
        }
}

struct report *report_open(const char *lab, const char *again, uint64_t seed, const char *broken)
{
        struct report *report = calloc(1, sizeof(*report));
        if (report == NULL)
                return NULL;
        report->lab = lab;
        report->again = again;
        report->seed = seed;
        report->json = open_memstream(&report->tests, &report->tests_len);
        if (report->json == NULL) {
                free(report);
                return NULL;
        }
        snprintf(report->nonce, sizeof(report->nonce), "%s", getenv("GRADER_NONCE") ? getenv("GRADER_NONCE") : "");
        printf("lab %s, seed %" PRIu64 "\n", lab, seed);
        if (broken != NULL) {
                read_compiler(report, broken);
                printf("the answer does not compile:\n");
                show_lines(report->compiler, "    | ");
        }
        return report;
}

/* The last lines of what a test has printed. */
static void show_printed(const char *text)
{
        const char *start = text + strlen(text);
        if (start == text)
                return;
        for (int lines = 0; start > text; start--) {
                if (start[-1] == '\n' && *start != '\0' && ++lines == PRINTED_LINES)
                        break;
        }
        printf("                printed:\n");
        show_lines(start, "                | ");
}

static const char *result_of(const struct report *report, const struct attempt *attempt)
{
        if (attempt == NULL)
                return report->is_broken ? "broken" : "late";
        return attempt->passed ? "pass" : "fail";
}

static void show_test(const struct report *report, const struct grader_test *test, bool is_hidden,
                      const struct attempt *attempt, const char *said)
{
        int points = attempt && attempt->passed ? test->points : 0;

        printf("  %s %3d/%-3d %-10s %s%s\n", points ? "pass" : "FAIL", points, test->points, test->name, test->what,
               is_hidden ? " (hidden)" : "");
        if (!points) {
                show_lines(said, "                ");
                if (attempt)
                        show_printed(attempt->printed);
                printf("                again: %s ONLY=%s SEED=%" PRIu64 "\n", report->again, test->name, report->seed);
        }
        fflush(stdout);
}

void report_test(struct report *report, const struct grader_test *test, bool is_hidden, const struct attempt *attempt)
{
        int points = attempt && attempt->passed ? test->points : 0;
        double seconds = attempt ? attempt->seconds : 0;
        const char *said = attempt             ? attempt->said
                           : report->is_broken ? "the answer does not compile"
                                               : "no time was left for it";

        if (!report->is_broken)
                show_test(report, test, is_hidden, attempt, said);
        fprintf(report->json, "%s{\"name\":\"%s\",\"points\":%d,\"of\":%d,\"result\":\"%s\",\"hidden\":%s,",
                report->of ? "," : "", test->name, points, test->points, result_of(report, attempt),
                is_hidden ? "true" : "false");
        fprintf(report->json, "\"seconds\":%.2f,\"said\":", seconds);
        write_string(report->json, points ? "" : said);
        fputc('}', report->json);
        report->score += points;
        report->of += test->points;
        report->seconds += seconds;
}

bool report_is_full(const struct report *report)
{
        return report->score == report->of;
}

void report_measure(struct report *report, const struct grader_test *measure, const struct attempt *attempt)
{
        FILE *json = open_memstream(&report->measure, &report->measure_len);
        if (attempt->passed)
                printf("  %.3f        %-10s %s\n", attempt->measured, measure->name, measure->what);
        else {
                printf("  not measured %-10s %s\n", measure->name, measure->what);
                show_lines(attempt->said, "                ");
        }
        if (json == NULL)
                return;
        fprintf(json, ",\"measured\":{\"name\":\"%s\",\"what\":\"%s\",", measure->name, measure->what);
        if (attempt->passed)
                fprintf(json, "\"value\":%.4f", attempt->measured);
        else {
                fputs("\"said\":", json);
                write_string(json, attempt->said);
        }
        fputc('}', json);
        fclose(json);
}

static void write_line(const struct report *report, FILE *out)
{
        fprintf(out,
                "{\"lab\":\"%s\",\"score\":%d,\"of\":%d,\"seed\":%" PRIu64
                ",\"seconds\":%.2f,\"tests\":[%s],\"nonce\":",
                report->lab, report->score, report->of, report->seed, report->seconds, report->tests);
        write_string(out, report->nonce);
        if (report->is_broken) {
                fputs(",\"compiler\":", out);
                write_string(out, report->compiler);
        }
        fprintf(out, "%s}\n", report->measure ? report->measure : "");
}

bool report_close(struct report *report, const char *json)
{
        bool is_full = report_is_full(report);
        FILE *file = json ? fopen(json, "we") : NULL;

        fclose(report->json);
        printf("score %d of %d, in %.1f s\n", report->score, report->of, report->seconds);
        write_line(report, stdout);
        if (file) {
                write_line(report, file);
                fclose(file);
        }
        free(report->measure);
        free(report->tests);
        free(report);
        return is_full;
}
