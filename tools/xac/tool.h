/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TOOL_H
#define TOOLS_XAC_TOOL_H

/*
 * What the subcommands of xac have in common: exit statuses, how they complain, how they print.
 * Each subcommand is a file of its own.
 *
 * log, check, recover and archive know recovery and base alone: they work on files, whatever the library above would
 * make of them; so do restore and repair, which know backup, of which archive knows a file by its name. Only stat.c,
 * top.c and remains.c look at shared memory, through libxac/care/inspect.h, and machine.c and clean.c, through
 * libxac/care/leftover.h. backup.c, heap.c, scrub.c, send.c and serve.c are programs like any other, trace.c and what
 * belongs to it read a file alone, and get.c a socket.
 */

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum tool_exit {
        TOOL_DONE = 0,
        TOOL_FAILED = 1, /* damaged, or it could not be done */
        TOOL_USAGE = 2,
        TOOL_BUSY = 3,   /* somebody uses the environment */
        TOOL_CHANGED = 4 /* neither sound nor damaged: others have changed files, or a power cut may have harmed some */
};

/* argv[0] is the subcommand's name. */
enum tool_exit stat_main(int argc, char **argv);
enum tool_exit top_main(int argc, char **argv);
enum tool_exit log_main(int argc, char **argv);
enum tool_exit check_main(int argc, char **argv);
enum tool_exit scrub_main(int argc, char **argv);
enum tool_exit repair_main(int argc, char **argv);
enum tool_exit recover_main(int argc, char **argv);
enum tool_exit backup_main(int argc, char **argv);
enum tool_exit restore_main(int argc, char **argv);
enum tool_exit clean_main(int argc, char **argv);
enum tool_exit compact_main(int argc, char **argv);
enum tool_exit archive_main(int argc, char **argv);
enum tool_exit heap_main(int argc, char **argv);
enum tool_exit trace_main(int argc, char **argv);
enum tool_exit send_main(int argc, char **argv);
enum tool_exit serve_main(int argc, char **argv);
enum tool_exit get_main(int argc, char **argv);

/* What is printed for --help. */
extern const char stat_help[];
extern const char top_help[];
extern const char log_help[];
extern const char check_help[];
extern const char scrub_help[];
extern const char repair_help[];
extern const char recover_help[];
extern const char backup_help[];
extern const char restore_help[];
extern const char clean_help[];
extern const char compact_help[];
extern const char archive_help[];
extern const char heap_help[];
extern const char trace_help[];
extern const char send_help[];
extern const char serve_help[];
extern const char get_help[];

/* One line on standard error, which says what to do. */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The last of these lines, for reports to programs; NULL: there was none. */
const char *tool_last_complaint(void);
/* -errno and XAC_* codes in words. */
const char *tool_explain(int err);
/* "try 'xac NAME --help'". */
enum tool_exit tool_usage(const char *subcommand);
/* As getopt_long(), which would print an option as it is; the short ones begin with ":". '?', after a complaint: it is
 * none, or its argument is missing, or it takes none. */
int tool_next_option(int argc, char **argv, const char *shorts, const struct option *longs);
/* The one operand, a directory. NULL, after a complaint: none, or too many. */
const char *tool_operand(int argc, char **argv, const char *subcommand);
/* A number; false, after a complaint. */
bool tool_number(const char *text, const char *option, uint64_t *number);
/* The same, from 1 to `most`. */
bool tool_count_option(const char *text, const char *option, uint64_t most, uint64_t *number);
/* The same for bytes, at least one, with K, M or G behind it for KiB, MiB or GiB. */
bool tool_bytes_option(const char *text, const char *option, uint64_t *byte_len);
/* The same for seconds, which may have a fraction. */
bool tool_seconds(const char *text, const char *option, double least, double most, double *seconds);
/* Those that are not printable as \xNN. */
void tool_print_bytes(const void *bytes, size_t byte_len);
/* One of enum xac_send_way by its name; -1, after a complaint. */
int tool_way(const char *name);

/* "1.5 MiB (1572864 bytes)"; bytes alone below 1 KiB. Lasts until the fourth call after it. */
const char *tool_bytes(uint64_t byte_len);
/* "1 page", "2 pages"; lasts as long. */
const char *tool_count(uint64_t count, const char *one, const char *many);
enum { TOOL_COLUMN = 14 };

/* Begins a line of a report: the name of what follows, in a column of its own. */
void tool_label(const char *label);

#endif
