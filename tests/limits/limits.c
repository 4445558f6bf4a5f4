/* SPDX-License-Identifier: MIT */

/*
 * Limits that a process may run into, times calls: what each returns. Whatever it is, there is no signal, no call
 * hangs, nothing is poisoned, and nothing leaks. When the limit is lifted the call succeeds, and all that was committed
 * is there.
 *
 *      limits                        every cell; differs it from the table in docs/RESTRICTIONS.md, it fails
 *      limits --save --rounds 3      writes the table there, with all that came in so many rounds
 *      limits --limit AS --call map  those alone whose names have that in them; compares them
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/limits/limits_cell.h"
#include "tests/support/check.h"
#include "tests/support/program.h"

enum {
        LIMITS_MAX = 24,
        CALLS_MAX = 24,
        CODE_BYTES = 80,
        TABLE_BYTES = 1 << 15,
        DOCUMENT_BYTES = 1 << 18,
        SKIPPED = 77
};

static const char begin_mark[] = "<!-- limits: written by make limits-save -->\n",
                  end_mark[] = "<!-- end of limits -->\n";
static const char *document = "docs/RESTRICTIONS.md", *limit_wanted = "", *call_wanted = "";
static bool saves;
static uint64_t rounds = 1;

static char codes[CALLS_MAX][LIMITS_MAX][CODE_BYTES];

static void name_code(const struct cell_result *result, char name[CODE_BYTES])
{
        const int code = result->code;

        if (result->signal)
                snprintf(name, CODE_BYTES, "`SIG%s`", sigabbrev_np(result->signal));
        else if (code == 0)
                snprintf(name, CODE_BYTES, "ok");
        else if (code > -5000)
                snprintf(name, CODE_BYTES, "`-%s`", strerrorname_np(-code));
        else
                snprintf(name, CODE_BYTES, "`XAC_%s`",
                         code == XAC_FULL       ? "FULL"
                         : code == XAC_POISONED ? "POISONED"
                         : code == XAC_LIMIT    ? "BUSY"
                                                : "?");
}

static bool is_wanted(const struct kinds_limit *limit, const struct calls_call *call)
{
        return strstr(limit->name, limit_wanted) && strstr(call->name, call_wanted);
}

/* One cell may have several, where it depends on what others have. */
static void note(unsigned c, unsigned k, const struct cell_result *result)
{
        char *all = codes[c][k], code[CODE_BYTES];

        name_code(result, code);
        if (kinds_all[k].varies && (result->code == 0 || result->code == -ENOMEM))
                strcpy(code, "ok or `-ENOMEM`");
        if (result->trouble[0])
                printf("FAILED %s, %s: %s; %s\n", kinds_all[k].name, calls_all[c].name, code, result->trouble);
        if (strstr(all, code))
                return;
        if (all[0] && strlen(all) + strlen(" or ") + strlen(code) < CODE_BYTES)
                strcat(strcat(all, " or "), code);
        else if (!all[0])
                strcpy(all, code);
}

/* The number of cells that are not as they should be; -1: it cannot be done here. */
static int run_cells(void)
{
        int failed = 0;

        for (unsigned k = 0; k < kinds_count(); k++)
                for (unsigned c = 0; c < calls_count(); c++) {
                        struct cell_result result;

                        if (!is_wanted(&kinds_all[k], &calls_all[c]))
                                continue;
                        cell_run(&kinds_all[k], &calls_all[c], &result);
                        if (result.is_skipped)
                                return -1;
                        note(c, k, &result);
                        failed += result.trouble[0] != '\0';
                }
        return failed;
}

/* ---- The table ---- */

static void write_table(FILE *to)
{
        fprintf(to, "| |");
        for (unsigned k = 0; k < kinds_count(); k++)
                fprintf(to, " %s |", kinds_all[k].name);
        fprintf(to, "\n|---|");
        for (unsigned k = 0; k < kinds_count(); k++)
                fprintf(to, "---|");
        fprintf(to, "\n");
        for (unsigned c = 0; c < calls_count(); c++) {
                fprintf(to, "| %s |", calls_all[c].name);
                for (unsigned k = 0; k < kinds_count(); k++)
                        fprintf(to, " %s |", codes[c][k]);
                fprintf(to, "\n");
        }
}

static void read_document(char text[DOCUMENT_BYTES])
{
        FILE *file = fopen(document, "re");

        check(file != NULL);
        text[fread(text, 1, DOCUMENT_BYTES - 1, file)] = '\0';
        fclose(file);
}

/* The text between two bars has that code, among others perhaps. */
static bool has_code(const char *bar, const char *code)
{
        const char *end = strchr(bar + 1, '|');
        const char *found = strstr(bar, code);

        return end && found && found < end;
}

/* Of a row as in the table: the cell behind so many bars. */
static bool is_in_document(const char *text, unsigned c, unsigned k)
{
        char row[80];

        snprintf(row, sizeof(row), "\n| %s |", calls_all[c].name);
        const char *at = strstr(strstr(text, begin_mark) ? strstr(text, begin_mark) : text, row);
        if (!at)
                return false;
        at += strlen(row) - 1;
        for (unsigned i = 0; at && i < k; i++)
                at = strchr(at + 1, '|');
        return at && has_code(at, codes[c][k]);
}

static int compare(void)
{
        static char text[DOCUMENT_BYTES];
        int differ = 0;

        read_document(text);
        for (unsigned k = 0; k < kinds_count(); k++)
                for (unsigned c = 0; c < calls_count(); c++)
                        if (codes[c][k][0] && !is_in_document(text, c, k)) {
                                printf("DIFFERENCE %s, %s: now %s; `make limits-save` writes it to %s\n",
                                       kinds_all[k].name, calls_all[c].name, codes[c][k], document);
                                differ++;
                        }
        return differ;
}

static void save(void)
{
        static char text[DOCUMENT_BYTES];
        FILE *file;

        read_document(text);
        char *from = strstr(text, begin_mark), *to = strstr(text, end_mark);
        check(from != NULL && to != NULL);
        file = fopen(document, "we");
        check(file != NULL);
        fwrite(text, 1, (size_t)(from - text) + strlen(begin_mark), file);
        write_table(file);
        fputs(to, file);
        check_equal(fclose(file), 0);
}

int main(int argc, char **argv)
{
        const struct program_option known[] = { { "save", .flag = &saves },       { "document", .text = &document },
                                                { "rounds", .number = &rounds },  { "limit", .text = &limit_wanted },
                                                { "call", .text = &call_wanted }, { NULL, NULL, NULL, NULL } };

        program_options(argc, argv, known);
        setvbuf(stdout, NULL, _IOLBF, 0);
        if (geteuid() != 0) {
                printf("skipped: only root can make namespaces, and be two users\n");
                return SKIPPED;
        }
        int failed = 0;
        for (uint64_t i = 0; i < rounds && failed >= 0; i++) {
                const int more = run_cells();
                failed = more < 0 ? more : failed + more;
        }
        if (failed < 0) {
                printf("skipped: namespaces are not allowed here\n");
                return SKIPPED;
        }
        if (saves)
                save();
        const int differ = saves ? 0 : compare();
        printf("%u limits, %u calls: %d cells failed, %d differ from %s\n", kinds_count(), calls_count(), failed,
               differ, document);
        return failed || differ;
}
