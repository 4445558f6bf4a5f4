/* SPDX-License-Identifier: MIT */

/*
 * What xac says to programs: each field of the schemas in xac(1) is there, with its type, whatever the state of the
 * environment, and no other field. The tables here are these schemas.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/leeway.h"
#include "tests/tools/json_check.h"
#include "tests/tools/tool.h"

#define XAC     "\"${builddir:-.}\"/tools/xac/xac" /* for a shell */
#define ARCHIVE scratch_path("archive")
#define BACKUP  scratch_path("backup")

enum { NOBODY = 54321 };

/* ---- Schemas ---- */

/* `kinds`: what json_kind() may say; an object or a list in it has a table of its own. */
struct field {
        const char *name;
        const char *kinds;
        const struct field *items;
};

static const struct field pool_fields[] = { { "used", "0", NULL },
                                            { "limit", "0", NULL },
                                            { "allocated", "0", NULL },
                                            { "dirty", "0", NULL },
                                            { "superseded", "0", NULL },
                                            { "open", "0", NULL },
                                            { 0 } };
static const struct field archive_fields[] = { { "path", "\"", NULL },
                                               { "sequence", "0n", NULL },
                                               { "behind_commits", "0n", NULL },
                                               { "behind_bytes", "0n", NULL },
                                               { "waits_seconds", "0n", NULL },
                                               { "error", "\"n", NULL },
                                               { 0 } };
static const struct field log_fields[] = { { "commits", "0n", NULL },
                                           { "bytes", "0n", NULL },
                                           { "limit", "0n", NULL },
                                           { "unsynced_bytes", "0n", NULL },
                                           { "files", "0", NULL },
                                           { "files_bytes", "0", NULL },
                                           { 0 } };
static const struct field file_fields[] = { { "name", "\"", NULL }, { "bytes", "0n", NULL }, { 0 } };
static const struct field room_fields[] = { { "more_for_pool", "0", NULL }, { "group_of_pid", "0n", NULL },
                                            { "group", "\"n", NULL },       { "group_left", "0n", NULL },
                                            { "group_limit", "0n", NULL },  { 0 } };
static const struct field process_fields[] = { { "pid", "0", NULL },
                                               { "alive", "t", NULL },
                                               { "stopped", "t", NULL },
                                               { "participants", "0", NULL },
                                               { "shared_bytes", "0n", NULL },
                                               { "own_bytes", "0n", NULL },
                                               { 0 } };
static const struct field participant_fields[] = { { "row", "0", NULL },
                                                   { "pid", "0", NULL },
                                                   { "alive", "t", NULL },
                                                   { "on_duty", "t", NULL },
                                                   { "exclusive", "t", NULL },
                                                   { "waits", "t", NULL },
                                                   { "snapshot", "0n", NULL },
                                                   { "behind", "0n", NULL },
                                                   { "commits", "0", NULL },
                                                   { "conflicts", "0", NULL },
                                                   { "read_faults", "0", NULL },
                                                   { "write_faults", "0", NULL },
                                                   { 0 } };
static const struct field backup_fields[] = {
        { "id", "\"", NULL },     { "sequence", "0", NULL },      { "time", "\"n", NULL },
        { "source", "\"", NULL }, { "since", "\"n", NULL },       { "since_sequence", "0n", NULL },
        { "pages", "0", NULL },   { "changed_since", "t", NULL }, { 0 }
};
static const struct field stat_fields[] = { { "environment", "\"", NULL },
                                            { "uuid", "\"n", NULL },
                                            { "page_bytes", "0n", NULL },
                                            { "max_participants", "0n", NULL },
                                            { "permissions", "\"n", NULL },
                                            { "state", "\"", NULL },
                                            { "processes", "0n", NULL },
                                            { "sequence", "0n", NULL },
                                            { "durable", "0n", NULL },
                                            { "checkpoint", "0n", NULL },
                                            { "poison", "\"n", NULL },
                                            { "checkpointer", "0n", NULL },
                                            { "log", "{n", log_fields },
                                            { "archive", "{n", archive_fields },
                                            { "files", "[", file_fields },
                                            { "pool", "{n", pool_fields },
                                            { "memory", "{n", room_fields },
                                            { "process_list", "[", process_fields },
                                            { "participants", "[", participant_fields },
                                            { "backup", "{n", backup_fields },
                                            { "error", "\"n", NULL },
                                            { "status", "0", NULL },
                                            { 0 } };
static const struct field finding_fields[] = { { "kind", "\"", NULL }, { "text", "\"", NULL }, { 0 } };
static const struct field check_fields[] = { { "environment", "\"", NULL },   { "findings", "[", finding_fields },
                                             { "damages", "0", NULL },        { "generation", "0n", NULL },
                                             { "checkpoint", "0n", NULL },    { "needs_recovery", "tn", NULL },
                                             { "log_commits", "0n", NULL },   { "log_bytes", "0n", NULL },
                                             { "log_pages", "0n", NULL },     { "pages_compared", "0n", NULL },
                                             { "pages_unknown", "0n", NULL }, { "files_without_sums", "0n", NULL },
                                             { "files_changed", "0n", NULL }, { "files_unknown", "0n", NULL },
                                             { "result", "\"", NULL },        { "error", "\"n", NULL },
                                             { "status", "0", NULL },         { 0 } };
static const struct field list_fields[] = { { "archive", "\"", NULL },
                                            { "parts", "[", NULL },
                                            { "gaps", "0n", NULL },
                                            { "damages", "0", NULL },
                                            { "error", "\"n", NULL },
                                            { "status", "0", NULL },
                                            { 0 } };
static const struct field stretch_fields[] = {
        { "kind", "\"", NULL },        { "first", "0n", NULL },      { "last", "0n", NULL },
        { "first_time", "\"n", NULL }, { "last_time", "\"n", NULL }, { "clock_set_back_seconds", "0", NULL },
        { "files", "0", NULL },        { "bytes", "0", NULL },       { 0 }
};
static const struct field gap_fields[] = {
        { "kind", "\"", NULL }, { "text", "\"", NULL }, { "first", "0n", NULL }, { "last", "0n", NULL }, { 0 }
};
static const struct field memory_fields[] = { { "name", "\"", NULL },     { "path", "\"n", NULL },
                                              { "bytes", "0", NULL },     { "in_use", "t", NULL },
                                              { "removable", "t", NULL }, { "meaning", "\"", NULL },
                                              { "pids", "[", NULL },      { 0 } };
static const struct field machine_fields[] = {
        { "shm_bytes", "0n", NULL }, { "shm_free", "0n", NULL }, { "environments", "[", memory_fields },
        { "error", "\"n", NULL },    { "status", "0", NULL },    { 0 }
};

/* ---- What it said ---- */

static char json[1 << 18];
static size_t json_len;

/* Its standard output alone; its status. */
static int ask(const char *arguments)
{
        char command[2048];
        FILE *said;

        snprintf(command, sizeof(command), XAC " %s 2>/dev/null", arguments);
        said = popen(command, "r");
        check(said != NULL);
        json_len = fread(json, 1, sizeof(json) - 1, said);
        json[json_len] = '\0';
        const int status = pclose(said);
        check(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static const char *at(const char *place)
{
        const char *found = NULL;

        if (!json_kind(json, json_len, place, &found))
                check_failed(__FILE__, __LINE__, "there is no %s in\n%s", place, json);
        return found;
}

static void check_is(const char *place, const char *expected)
{
        if (strncmp(at(place), expected, strlen(expected)) != 0)
                check_failed(__FILE__, __LINE__, "%s is not %s in\n%s", place, expected, json);
}

static void check_fields_of(const char *place, const struct field *fields);

static void check_field(const char *object, const struct field *field)
{
        char place[200];
        char kind;

        snprintf(place, sizeof(place), "%s%s%s", object, *object ? "." : "", field->name);
        kind = json_kind(json, json_len, place, NULL);
        if (!kind || !strchr(field->kinds, kind))
                check_failed(__FILE__, __LINE__, "%s is '%c', not of '%s', in\n%s", place, kind ? kind : '-',
                             field->kinds, json);
        if (kind == '{' && field->items)
                check_fields_of(place, field->items);
        for (size_t i = 0; kind == '[' && field->items && i < json_count(json, json_len, place); i++) {
                char item[256];

                snprintf(item, sizeof(item), "%s.%zu", place, i);
                check_fields_of(item, field->items);
        }
}

/* All of them, and no more. */
static void check_fields_of(const char *place, const struct field *fields)
{
        size_t count = 0;

        for (; fields[count].name; count++)
                check_field(place, &fields[count]);
        check_equal(json_count(json, json_len, place), count);
}

/* The subcommand of this directory: its status, which it says, too. */
static void check_json_of(int status, const char *subcommand, const char *dir, const struct field *fields)
{
        char arguments[1500], expected[24];

        snprintf(arguments, sizeof(arguments), "%s --json '%s'", subcommand, dir);
        const int actual = ask(arguments);
        if (!json_check(json, json_len) || actual != status)
                check_failed(__FILE__, __LINE__, "xac %s: status %d, not %d:\n%s", arguments, actual, status, json);
        check_fields_of("", fields);
        snprintf(expected, sizeof(expected), "%d\n", status);
        check_is("status", expected);
}

static void check_stat(int status, const char *dir, const char *state)
{
        check_json_of(status, "stat", dir, stat_fields);
        check_is("state", state);
}

static void check_check(int status, const char *dir, const char *result)
{
        check_json_of(status, "check", dir, check_fields);
        check_is("result", result);
}

/* ---- States ---- */

static void at_rest(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_stat(0, TOOL_ENV, "\"clean\"");
        check_is("sequence", "21,");
        check_is("files.0.name", "\"" TOOL_FILE "\"");
        check_is("files.0.bytes", "65536");
        check_is("archive", "null");
        check_is("error", "null");
        check_check(0, TOOL_ENV, "\"sound\"");
        check_is("pages_compared", "16,");
        check_is("needs_recovery", "false");
}

static void after_a_power_cut(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_stat(0, TOOL_ENV, "\"needs recovery\"");
        check_is("log.commits", "20,");
        check_is("sequence", "21,");
        check_check(0, TOOL_ENV, "\"sound\"");
        check_is("needs_recovery", "true");
        check_is("log_commits", "20,");
}

static void in_use_and_abandoned(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 1, 0);
        check_stat(0, TOOL_ENV, "\"in use\"");
        check_is("processes", "1,");
        check_is("process_list.0.alive", "true");
        check_is("sequence", "2,");
        check_check(3, TOOL_ENV, "\"in use\"");
        check_ok(xac_close(env));
        tool_work(0, 5, TOOL_KILL);
        check_stat(0, TOOL_ENV, "\"abandoned\"");
        check_is("processes", "0,");
        check_is("process_list.0.alive", "false");
        check_check(0, TOOL_ENV, "\"sound\"");
        check_is("findings.0.kind", "\"note\"");
        check_equal(tool_sum(), 6); /* and nothing is left of it */
}

static void without_a_log(void)
{
        xac_env *env;

        tool_open(XAC_VOLATILE, &env);
        check_stat(0, TOOL_ENV, "\"in use\"");
        check_is("log", "null");
        check_is("durable", "null");
        check_ok(xac_close(env));
}

static void damaged(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        tool_damage("xac.sums.0", 8200, 8);
        check_check(1, TOOL_ENV, "\"damaged\"");
        check_is("findings.0.kind", "\"damage\"");
        tool_damage("xac.manifest", 100, 8);
        tool_damage("xac.manifest", 32768 + 100, 8);
        check_check(1, TOOL_ENV, "\"damaged\"");
        check_is("generation", "null");
        check_stat(1, TOOL_ENV, "\"unknown\"");
        check_is("error", "\"");
}

static void nothing_there(void)
{
        check_stat(1, scratch_path("absent"), "\"unknown\"");
        check_check(1, scratch_path("absent"), "\"failed\"");
        check_is("error", "\"");
        check_json_of(1, "archive --list", scratch_path("absent"), list_fields);
        check_is("gaps", "null");
}

static void backups(void)
{
        char since[600];

        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "backup", TOOL_ENV, BACKUP);
        check_stat(0, BACKUP, "\"clean\"");
        check_is("backup.since", "null");
        check_is("backup.changed_since", "false");
        check_check(0, BACKUP, "\"sound\"");
        tool_work(0, 5, TOOL_CLOSE);
        snprintf(since, sizeof(since), "--since=%s", BACKUP);
        check_xac(0, "backup", since, TOOL_ENV, scratch_path("next"));
        check_stat(0, scratch_path("next"), "\"unknown\"");
        check_is("backup.since_sequence", "21,");
        scratch_shell("truncate -s 100 '%s'/xac.backup", BACKUP);
        check_stat(1, BACKUP, "\"clean\"");
        check_is("backup", "null");
}

/* Bytes that terminals act on, and what JSON and this test's shell leave of them. */
static void names_are_escaped(void)
{
        static const char name[] = "e\033[31m\"\\\n\302\233<v";
        char path[600], moved[600];

        tool_work(0, 5, TOOL_CLOSE);
        snprintf(moved, sizeof(moved), "%s", scratch_path(name));
        snprintf(path, sizeof(path), "%s", TOOL_ENV);
        check_ok(rename(path, moved));
        check_stat(0, moved, "\"clean\"");
        check(strstr(at("environment"), "e\\u001b[31m\\\"\\\\\\u000a\\u009b\\u003cv\"") != NULL);
        check_check(0, moved, "\"sound\"");
        check(!strchr(json, '\033') && strstr(at("environment"), "\\u001b") != NULL);
}

static void as_nobody(int unused, void *unused_too)
{
        (void)unused, (void)unused_too;
        check_equal(setresgid(NOBODY, NOBODY, NOBODY), 0);
        check_equal(setresuid(NOBODY, NOBODY, NOBODY), 0);
        check_stat(1, TOOL_ENV, "\"unknown\"");
        check_is("error", "\"");
        check_check(1, TOOL_ENV, "\"failed\"");
        check_is("error", "\"");
}

static void other_users(void)
{
        if (geteuid() != 0)
                isolate_skip("other users can be tried by root only");
        tool_work(0, 5, TOOL_CLOSE);
        check_equal(chmod(scratch_path("."), 0755), 0);
        crew_join(crew_fork(as_nobody, 0, NULL));
}

static void the_machine(void)
{
        xac_env *env;

        tool_open(0, &env);
        check_equal(ask("stat --json"), 0);
        check_fields_of("", machine_fields);
        check(strstr(at("environments"), "\"in_use\": true") != NULL);
        check_ok(xac_close(env));
}

/* ---- Archives ---- */

static void begin_an_archive(void)
{
        static char path[600];

        check_ok(mkdir(ARCHIVE, 0700));
        snprintf(path, sizeof(path), "%s", ARCHIVE);
        tool_archive = path;
        tool_work(0, 5, TOOL_CLOSE);
        tool_work(0, 5, TOOL_CLOSE);
}

/* Log of more than one segment. */
static void fill_segments(xac_env *env, uint64_t *words)
{
        for (unsigned commit = 0; commit < 100; commit++) {
                check_ok(xbegin(env, 0));
                for (unsigned i = 0; i < TOOL_PAGES * 512; i++)
                        words[i] += i * UINT64_C(0x9e3779b97f4a7c15) + commit;
                check_ok(xend(env));
        }
}

static void check_part(size_t i, const struct field *fields)
{
        char place[40];

        snprintf(place, sizeof(place), "parts.%zu", i);
        check_fields_of(place, fields);
}

static void an_archive(void)
{
        begin_an_archive();
        check_json_of(0, "archive --list", ARCHIVE, list_fields);
        check_equal(json_count(json, json_len, "parts"), 2);
        check_part(0, stretch_fields);
        check_is("parts.0.first", "2,");
        check_is("parts.0.last", "6,");
        check_is("parts.1.last", "11,");
        check_stat(0, TOOL_ENV, "\"clean\"");
        check_is("archive.sequence", "null");
        tool_work(0, 5, TOOL_CLOSE);
        scratch_shell("cd '%s' && rm \"$(ls -d xac.archive.0* | sed -n 2p)\"", ARCHIVE);
        check_json_of(1, "archive --list", ARCHIVE, list_fields);
        check_is("gaps", "1,");
        check_part(1, gap_fields);
        check_is("parts.1.kind", "\"gap\"");
        check_is("parts.1.first", "7,");
        check_is("parts.1.last", "11\n");
}

static void an_archive_that_takes_nothing(void)
{
        char arguments[700];
        xac_env *env;
        uint64_t *words;

        begin_an_archive();
        words = tool_open(0, &env);
        check_stat(0, TOOL_ENV, "\"in use\"");
        check_is("archive.behind_commits", "0,");
        check_is("archive.behind_bytes", "0,");
        check_is("archive.waits_seconds", "0.000");
        scratch_shell("mv '%s' '%s' && mkdir '%s'", ARCHIVE, scratch_path("away"), ARCHIVE);
        fill_segments(env, words);
        snprintf(arguments, sizeof(arguments), "stat --json '%s'", TOOL_ENV);
        for (struct leeway left = leeway_of(10000); ask(arguments) != 1;)
                check(leeway_pause(&left));
        check_fields_of("", stat_fields);
        check_is("archive.error", "\"");
        check_is("error", "\"");
        check(strtod(at("archive.waits_seconds"), NULL) > 0);
        check(strtod(at("archive.behind_bytes"), NULL) > 0);
        check_xac(1, "stat", TOOL_ENV);
        check_said("IT TAKES NOTHING");
        check_xac(0, "top", "--json", "--interval=0.1", "--count=1", TOOL_ENV);
        check_said(",\"archive\":{\"path\":\"");
        check_said("\"behind_bytes\":");
        scratch_shell("rmdir '%s' && mv '%s' '%s'", ARCHIVE, scratch_path("away"), ARCHIVE);
        check_ok(xac_close(env));
        check_stat(0, TOOL_ENV, "\"clean\"");
}

/* ---- xac(1) ---- */

static void check_manual(const char *manual, const struct field *fields)
{
        for (; fields->name; fields++) {
                char item[80];

                snprintf(item, sizeof(item), "\n.It Li %s ", fields->name);
                if (!strstr(manual, item))
                        check_failed(__FILE__, __LINE__, "xac(1) lacks the field %s", fields->name);
                if (fields->items)
                        check_manual(manual, fields->items);
        }
}

static void the_manual_has_each_field(void)
{
        static char manual[1 << 18];
        const char *srcdir = getenv("srcdir");
        char path[600];
        FILE *page;

        snprintf(path, sizeof(path), "%s/docs/man/xac.1", srcdir ? srcdir : ".");
        page = fopen(path, "r");
        check(page != NULL);
        check(fread(manual, 1, sizeof(manual) - 1, page) > 0);
        fclose(page);
        check_manual(manual, stat_fields);
        check_manual(manual, machine_fields);
        check_manual(manual, check_fields);
        check_manual(manual, list_fields);
        check_manual(manual, stretch_fields);
        check_manual(manual, gap_fields);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(at_rest),
                isolated_test(after_a_power_cut),
                isolated_test(in_use_and_abandoned),
                isolated_test(without_a_log),
                isolated_test(damaged),
                isolated_test(nothing_there),
                isolated_test(backups),
                isolated_test(names_are_escaped),
                isolated_test(other_users),
                isolated_test(the_machine),
                isolated_test(an_archive),
                isolated_test(an_archive_that_takes_nothing),
                isolated_test(the_manual_has_each_field),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
