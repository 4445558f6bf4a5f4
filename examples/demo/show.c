/* SPDX-License-Identifier: MIT */
#include "examples/demo/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *show_number(uint64_t number)
{
        static char texts[4][32];
        static int turn;
        char digits[24], *text = texts[turn++ % 4], *to = text;

        int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);
        for (int i = 0; i < length; i++) {
                if (i > 0 && (length - i) % 3 == 0)
                        *to++ = ',';
                *to++ = digits[i];
        }
        *to = '\0';
        return text;
}

double show_percent(uint64_t part, uint64_t whole)
{
        return whole ? 100.0 * (double)part / (double)whole : 0;
}

double show_mib(uint64_t bytes)
{
        return (double)bytes / (1024.0 * 1024.0);
}

/* ---- while it runs ---- */

static double last_line;

void show_progress(const char *unit, uint64_t done, uint64_t all, uint64_t done_now, double seconds)
{
        int is_terminal = isatty(STDOUT_FILENO);

        if (seconds < last_line + (is_terminal ? 0.1 : 2))
                return;
        last_line = seconds;
        printf("%s  %11s %s  %5.1f %%  %9s per second%s", is_terminal ? "\r" : "", show_number(done), unit,
               show_percent(done, all), show_number((uint64_t)((double)done_now / seconds)), is_terminal ? "" : "\n");
        fflush(stdout);
}

void show_progress_end(void)
{
        if (isatty(STDOUT_FILENO))
                printf("\n");
        last_line = 0;
}

/* ---- the crash ---- */

void show_crash(const char *unit, int workers, const struct acks *acks, uint64_t lost_bytes)
{
        printf("\nKilled the %d workers and the auditor (SIGKILL) in mid-work, and threw away their shared\n"
               "memory, %.1f MiB, as a machine does that goes down. What is left is what is on disk.\n"
               "By then they had been told of %s %s that these are committed.\n\n",
               workers, show_mib(lost_bytes), show_number(acks_total(acks)), unit);
        fflush(stdout);
}

/* On a terminal one line that is rewritten, else a line every quarter. */
static void show_step(const char *what, double done, double total, const char *unit)
{
        static double shown;
        const int is_terminal = isatty(STDOUT_FILENO), is_end = done >= total;

        if (done < shown)
                shown = 0; /* the next step */
        if (!is_terminal && !is_end && done < shown + total / 4)
                return;
        shown = done;
        printf("%s  recovery: %-10s %8.1f of %8.1f %s%s", is_terminal ? "\r" : "", what, done, total, unit,
               is_terminal && !is_end ? "" : "\n");
        fflush(stdout);
}

void show_recovery(void *arg, const char *what, uint64_t done, uint64_t total)
{
        uint64_t *replayed_bytes = arg;

        if (strcmp(what, "replay") != 0) {
                show_step(what, (double)done, (double)total, "pages");
                return;
        }
        *replayed_bytes = done;
        show_step(what, show_mib(done), show_mib(total), "MiB of log");
}

int show_survival(const char *unit, const char *what, const struct survival *survival, uint64_t replayed_bytes,
                  double seconds)
{
        const uint64_t more = survival->recovered - survival->acknowledged;

        printf("  opened again after %.2f seconds, %.1f MiB of log replayed\n\n", seconds, show_mib(replayed_bytes));
        printf("%s %s were acknowledged before the crash, %s are there after it:\n",
               show_number(survival->acknowledged), unit, show_number(survival->recovered));
        if (survival->missing)
                printf("%s are MISSING.\n", show_number(survival->missing));
        else if (survival->unexplained)
                printf("%s were NEVER COMMITTED.\n", show_number(survival->unexplained));
        else
                printf("nothing acknowledged is missing.\n");
        if (!survival->missing && !survival->unexplained && more)
                printf("(%s more: on disk, but the %s killed before being told so.)\n", show_number(more),
                       more == 1 ? "worker was" : "workers were");
        printf("The %s %s what these %s make in one serial process: no transaction is there in part.\n\n", what,
               survival->is_identical ? "is exactly" : "IS NOT", unit);
        fflush(stdout);
        return !survival->missing && !survival->unexplained && survival->is_identical;
}
