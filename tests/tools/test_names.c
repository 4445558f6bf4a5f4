/* SPDX-License-Identifier: MIT */

/*
 * Names that somebody else has chosen: no tool, and no line of the library's, hands a terminal what it would act on;
 * and no manifest has a data file that is called as one of the library's own.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/heap.h>

#include "recovery/manifest_slot.h"
#include "tests/tools/tool.h"

/* ---- What is printed ---- */

#define EVIL   "f\x1b[2J\nDAMAGED fake\xc2\x9b"
#define SAFELY "f\\x1b[2J\\x0aDAMAGED fake\\xc2\\x9b"

static char evil[300]; /* the directory */

/* Whatever it said, and however it ended. */
static void look(const char *const *args)
{
        tool_xac(args);
        for (size_t i = 0; i < tool.said_len; i++) {
                const unsigned char byte = (unsigned char)tool.said[i];

                if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f)
                        check_failed(__FILE__, __LINE__, "xac %s handed the byte %02x to the terminal:\n%s", args[0],
                                     byte, tool.said);
        }
        check_not_said("\nDAMAGED fake");
        check_not_said("\xc2\x9b");
}

#define look(...) look(tool_args(__VA_ARGS__))

static void commit_and_die(int commits, void *with_heap)
{
        const xac_options options = { .pool_bytes = 8 << 20, .archive = scratch_path("archive" EVIL) };
        xac_heap_root root;
        xac_heap *heap;
        xac_env *env;

        check_ok(xac_open(evil, XAC_CREATE, &options, &env));
        uint64_t *words = xac_mmap(env, EVIL, 65536, 0);
        check(words != MAP_FAILED);
        for (int i = 0; i < commits; i++)
                tool_commit(env, words, (unsigned)i % TOOL_PAGES, 0);
        if (with_heap) {
                check_ok(xac_heap_open(env, "heap" EVIL, XAC_CREATE, &heap));
                check_ok(xac_heap_root_create(heap, EVIL, 100, 77, &root));
                check_ok(xac_heap_close(heap));
                check_ok(xac_close(env));
                _exit(0);
        }
        raise(SIGKILL);
}

static void make_evil(bool is_closed)
{
        snprintf(evil, sizeof(evil), "%s", scratch_path("env" EVIL));
        check_equal(mkdir(scratch_path("archive" EVIL), 0700), 0);
        crew_status(crew_fork(commit_and_die, 20, is_closed ? evil : NULL));
}

static const char *in_evil(const char *name)
{
        static char path[400];

        snprintf(path, sizeof(path), "%s/%s", evil, name);
        return path;
}

static void flip(const char *name, off_t offset)
{
        int fd = open(in_evil(name), O_RDWR | O_CLOEXEC);
        unsigned char byte;

        check(fd >= 0);
        check_equal(pread(fd, &byte, 1, offset), 1);
        byte ^= 0xff;
        check_equal(pwrite(fd, &byte, 1, offset), 1);
        close(fd);
}

static void of_a_sound_environment(void)
{
        make_evil(true);
        const char *const backup = strdup(scratch_path("backup" EVIL));
        const char *const restored = strdup(scratch_path("restored" EVIL));
        const char *const again = strdup(scratch_path("again" EVIL));

        look("stat", evil);
        check_said(SAFELY);
        look("check", evil);
        look("scrub", evil);
        look("heap", evil, "heap" EVIL);
        check_said(SAFELY);
        look("heap", evil, EVIL);
        look("log", evil);
        look("top", "--count=1", evil);
        look("backup", evil, backup);
        look("stat", backup);
        look("check", backup);
        look("backup", evil, backup); /* it is there */
        look("restore", backup, restored);
        look("archive", evil, scratch_path("archive" EVIL));
        look("archive", "--list", scratch_path("archive" EVIL));
        look("archive", "--until=newest", scratch_path("archive" EVIL), restored);
        look("restore", backup, again, restored);
        look("clean", evil);
        look("recover", evil);
        look("repair", evil);
        look("get", "--list", scratch_path("socket" EVIL));
        look("trace", scratch_path("trace" EVIL));
        look("check", scratch_path("absent" EVIL));
        look("check", evil, EVIL);
        look("stat", "--" EVIL);
        look("top", "-\x1b", evil);
        look("backup", "--since", evil);
        look("backup", "--quiet=" EVIL, evil);
        look(EVIL);
        free((void *)(uintptr_t)backup);
        free((void *)(uintptr_t)restored);
        free((void *)(uintptr_t)again);
}

static void of_one_that_is_damaged(void)
{
        make_evil(true);
        flip(EVIL, 4096 + 40);
        look("check", evil);
        check_said(SAFELY);
        look("scrub", evil);
        check_said(SAFELY);
        look("repair", evil);
        look("backup", evil, scratch_path("backup"));
        check_said(SAFELY);
        check_ok(utimensat(AT_FDCWD, in_evil(EVIL), (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0));
        look("check", evil);
        check_said(SAFELY);
        look("scrub", evil); /* which the library takes as it is now, with a line */
        check_said(SAFELY);
}

static void of_one_that_crashed(void)
{
        make_evil(false);
        look("stat", evil);
        check_said(SAFELY);
        look("clean", evil);
        look("check", evil);
        check_equal(unlink(in_evil(EVIL)), 0);
        look("scrub", evil);
        look("check", evil);
        check_said(SAFELY);
        look("recover", evil);
        check_said(SAFELY);
        look("clean", "--force", evil);
}

/* ---- What is believed ---- */

enum { SLOTS = 2 };

/* The manifest of the environment has these files, and is sound but for that. */
static void rename_files(const char *const *names, uint32_t count)
{
        static unsigned char slot[MANIFEST_SLOT_BYTES];
        static struct manifest manifest;
        const int fd = open(tool_path(MANIFEST_NAME), O_RDWR | O_CLOEXEC);

        check(fd >= 0);
        check_equal(pread(fd, slot, sizeof(slot), 0), sizeof(slot));
        check_equal(manifest_slot_judge(slot, &manifest), SLOT_VALID);
        manifest.file_count = count;
        manifest.sealed = 0;
        for (uint32_t i = 0; i < count; i++)
                snprintf(manifest.file_name[i], sizeof(manifest.file_name[i]), "%s", names[i]);
        for (uint32_t turn = 0; turn < SLOTS; turn++) {
                manifest_slot_encode(slot, &manifest, turn);
                check_equal(pwrite(fd, slot, sizeof(slot), (off_t)turn * MANIFEST_SLOT_BYTES), sizeof(slot));
        }
        close(fd);
}

static void open_it(int expected, void *unused)
{
        xac_env *env;

        (void)unused;
        check_equal(xac_open(TOOL_ENV, 0, NULL, &env), expected);
}

static void is_refused(const char *const *names, uint32_t count)
{
        static const char *const tools[][2] = {
                { "check" }, { "stat" }, { "scrub" }, { "recover" }, { "recover", "--discard" },
                { "log" },   { "heap" }, { "repair" }
        };
        const char *const backup = strdup(scratch_path("backup"));

        scratch_clear();
        tool_work(0, 20, TOOL_CLOSE);
        rename_files(names, count);
        const uint64_t before = tool_fingerprint(TOOL_ENV);
        for (unsigned i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
                const char *const more = tools[i][1];
                const int status = more                               ? tool_xac(tool_args(tools[i][0], more, TOOL_ENV))
                                   : strcmp(tools[i][0], "heap") == 0 ? tool_xac(tool_args("heap", TOOL_ENV, names[0]))
                                                                      : tool_xac(tool_args(tools[i][0], TOOL_ENV));

                if (status <= 0)
                        check_failed(__FILE__, __LINE__, "xac %s ended with %d where a file is called %s; it said:\n%s",
                                     tools[i][0], status, names[count - 1], tool.said);
        }
        check(tool_xac(tool_args("backup", TOOL_ENV, backup)) > 0);
        check_equal(crew_status(crew_fork(open_it, XAC_CORRUPT, NULL)), 0);
        check_equal(tool_fingerprint(TOOL_ENV), before);
        free((void *)(uintptr_t)backup);
}

static void names_of_the_librarys_own_are_refused(void)
{
        static const char *const own[] = { "xac.log.1",        "xac.area.0", "xac.sums.0", "xac.manifest",
                                           "xac.manifest.new", "xac.lock",   "xac.",       "xac.pages.1" };

        for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
                is_refused((const char *const[]){ own[i] }, 1);
                is_refused((const char *const[]){ TOOL_FILE, own[i] }, 2);
        }
}

static void a_name_is_there_once(void)
{
        is_refused((const char *const[]){ TOOL_FILE, TOOL_FILE }, 2);
        is_refused((const char *const[]){ TOOL_FILE, "other", TOOL_FILE }, 3);
}

static void names_lead_nowhere_else(void)
{
        is_refused((const char *const[]){ "../" TOOL_FILE }, 1);
        is_refused((const char *const[]){ "/etc/passwd" }, 1);
        is_refused((const char *const[]){ ".." }, 1);
        is_refused((const char *const[]){ "" }, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(of_a_sound_environment), isolated_test(of_one_that_is_damaged),
                isolated_test(of_one_that_crashed),    isolated_test(names_of_the_librarys_own_are_refused),
                isolated_test(a_name_is_there_once),   isolated_test(names_lead_nowhere_else),
        };

        return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
