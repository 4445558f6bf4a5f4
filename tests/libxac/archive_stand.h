/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LIBXAC_ARCHIVE_STAND_H
#define TESTS_LIBXAC_ARCHIVE_STAND_H

/*
 * An environment with an archive, whose every commit is known: what its files hold as of each sequence. Sessions of it
 * are processes, which end by a close, by death, or by a power cut (their shared memory is gone, too).
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xac/xac.h>

#include "base/sys.h"
#include "libxac/care/archiving.h"
#include "libxac/store/env.h"
#include "recovery/restore_until.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/heard.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { STAND_FILES = 3, STAND_PAGES = 8, STAND_PAGE = 4096, STAND_FILE_BYTES = STAND_PAGES * STAND_PAGE };

enum stand_end { STAND_CLOSE, STAND_DIE, STAND_POWER_CUT };

struct stand_state {
        uint64_t before_ns; /* when its commit began, and had returned */
        uint64_t after_ns;
        bool is_durable; /* the commit waited for the disk */
        unsigned char file[STAND_FILES][STAND_FILE_BYTES];
};

/* In memory that all sessions share. */
struct stand {
        struct chance chance;
        uint64_t newest; /* sequence */
        unsigned files;
        unsigned nosync_percent;
        uint64_t most; /* states there are */
        struct stand_state state[];
};

/* On a disk that syncs at once: what a power cut leaves is tests/crash's. */
#define stand_test(body, limit_s)                                            \
        {                                                                    \
#body, isolate_run, NULL, NULL, &(struct isolated)           \
                {                                                            \
                        .once = (body), .seconds = (limit_s), .in_memory = 1 \
                }                                                            \
        }

static const char *const stand_file[STAND_FILES] = { "a", "b", "c" };

static inline struct stand *stand_new(uint64_t seed, uint64_t most)
{
        size_t byte_len = sizeof(struct stand) + (most + 2) * sizeof(struct stand_state);
        struct stand *stand =
                mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        check(stand != MAP_FAILED);
        stand->chance.state = seed;
        stand->newest = 1;
        stand->files = 1;
        stand->nosync_percent = 40;
        stand->most = most;
        check_equal(mkdir(scratch_path("archive"), 0700), 0);
        return stand;
}

static inline unsigned stand_draw(struct stand *stand, unsigned below)
{
        return (unsigned)chance_below(&stand->chance, below);
}

/* ---- A session ---- */

struct stand_session {
        struct stand *stand;
        xac_env *env;
        unsigned char *view[STAND_FILES];
};

static inline xac_options stand_options(void)
{
        return (xac_options){ .archive = scratch_path("archive"), .log_bytes = 256 << 10, .pool_bytes = 4 << 20 };
}

static inline void stand_map(struct stand_session *session)
{
        for (unsigned i = 0; i < session->stand->files && i < STAND_FILES; i++) {
                if (session->view[i])
                        continue;
                session->view[i] = xac_mmap(session->env, stand_file[i], STAND_FILE_BYTES, 0);
                check(session->view[i] != MAP_FAILED);
        }
}

/* What is there is the model's state of that sequence; what came after it was lost. */
static inline void stand_open(struct stand_session *session, const xac_options *options)
{
        struct stand *stand = session->stand;
        xac_stats stats;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, options, &session->env));
        check_ok(xac_stat(session->env, &stats));
        check(stats.sequence <= stand->newest);
        stand->newest = stats.sequence;
        stand_map(session);
        check_ok(xbegin(session->env, XAC_RDONLY));
        for (unsigned i = 0; i < stand->files; i++)
                check(!memcmp(session->view[i], stand->state[stand->newest].file[i], STAND_FILE_BYTES));
        check_ok(xend(session->env));
}

static inline void stand_change(struct stand_session *session, unsigned char *model, unsigned char *view)
{
        struct stand *stand = session->stand;
        unsigned what = stand_draw(stand, 100);
        unsigned page = stand_draw(stand, STAND_PAGES), from = stand_draw(stand, STAND_PAGES);

        if (what < 15 && page != from) {
                check_ok(xac_page_move(session->env, view + page * STAND_PAGE, view + from * STAND_PAGE, 1));
                memcpy(model + page * STAND_PAGE, model + from * STAND_PAGE, STAND_PAGE);
                memset(model + from * STAND_PAGE, 0, STAND_PAGE);
        } else if (what < 30) {
                for (unsigned i = 0; i < STAND_PAGE; i += 8) {
                        uint64_t word = chance_next(&stand->chance);

                        memcpy(model + page * STAND_PAGE + i, &word, 8);
                        memcpy(view + page * STAND_PAGE + i, &word, 8);
                }
        } else {
                unsigned at = page * STAND_PAGE + stand_draw(stand, STAND_PAGE);

                view[at] = model[at] = (unsigned char)stand_draw(stand, 256);
        }
}

static inline void stand_commit(struct stand_session *session)
{
        struct stand *stand = session->stand;
        struct stand_state *state = &stand->state[stand->newest + 1];
        bool is_nosync = chance_percent(&stand->chance, stand->nosync_percent);
        unsigned changes = 1 + stand_draw(stand, chance_percent(&stand->chance, 10) ? 60 : 5);
        xac_stats stats;

        memcpy(state->file, stand->state[stand->newest].file, sizeof(state->file));
        state->before_ns = sys_wall_ns();
        check_ok(xbegin(session->env, is_nosync ? XAC_NOSYNC : 0));
        for (unsigned i = 0; i < changes; i++) {
                unsigned file = stand_draw(stand, stand->files);

                stand_change(session, state->file[file], session->view[file]);
        }
        session->view[0][0] = state->file[0][0] = (unsigned char)(stand->newest + 1); /* it changes something */
        session->view[0][1] = state->file[0][1] = (unsigned char)(stand->newest >> 7);
        check_ok(xend(session->env));
        state->after_ns = sys_wall_ns();
        state->is_durable = !is_nosync;
        check_ok(xac_stat(session->env, &stats));
        check_equal(stats.sequence, stand->newest + 1);
        stand->newest++;
        /* As if nobody had waited lately: then commits that do not wait are logged together. */
        if (stand->nosync_percent && stand_draw(stand, 2))
                atomic_store(&session->env->shared.control->backlog_pause, 0);
}

/* As if a minute had passed. */
static inline void stand_archive_tail(xac_env *env)
{
        archiving_stop(env);
        check_ok(archiving_finish(env));
        archiving_start(env);
}

static inline void stand_work(struct stand_session *session, unsigned commits)
{
        struct stand *stand = session->stand;

        while (commits-- && stand->newest < stand->most) {
                stand_commit(session);
                if (chance_percent(&stand->chance, 3))
                        check_ok(xac_checkpoint(session->env));
                if (chance_percent(&stand->chance, 2))
                        stand_archive_tail(session->env);
                if (stand->files < STAND_FILES && chance_percent(&stand->chance, 2)) {
                        stand->files++;
                        stand_map(session);
                }
        }
}

/* As a power cut does; what the page cache has stays. */
static inline void stand_lose_memory(void)
{
        static const char *const parts[] = { "pool", "heads", "control" };
        struct stat st;

        check_equal(stat(scratch_path("env"), &st), 0);
        for (unsigned i = 0; i < 3; i++) {
                char path[96];

                snprintf(path, sizeof(path), "/dev/shm/xac.%jx.%jx.%s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
                         parts[i]);
                unlink(path);
        }
}

/* In a process of its own. */
static inline void stand_session(struct stand *stand, unsigned commits, enum stand_end end)
{
        int status;
        pid_t child = fork();

        check(child >= 0);
        if (child == 0) {
                struct stand_session session = { .stand = stand };
                xac_options options = stand_options();

                stand_open(&session, &options);
                stand_work(&session, commits);
                if (end == STAND_CLOSE)
                        check_ok(xac_close(session.env));
                _exit(0);
        }
        check(waitpid(child, &status, 0) == child);
        check_equal(status, 0);
        if (end == STAND_POWER_CUT)
                stand_lose_memory();
}

static inline void stand_run(struct stand *stand)
{
        while (stand->newest < stand->most) {
                if (stand->nosync_percent)
                        stand->nosync_percent = stand_draw(stand, 2) ? 40 : 90;
                stand_session(stand, 5 + stand_draw(stand, 60), (enum stand_end)stand_draw(stand, 3));
        }
        stand_session(stand, 0, STAND_CLOSE);
}

/* ---- Copies and restoring ---- */

static inline void stand_copy(const char *from, const char *to)
{
        scratch_shell("rm -rf '%s' && cp -r '%s' '%s'", scratch_path(to), scratch_path(from), scratch_path(to));
}

/* A base: what a backup would have. */
static inline void stand_base(const char *name)
{
        stand_copy("env", name);
        scratch_shell("cd '%s' && rm -f xac.lock xac.log.* xac.area.*", scratch_path(name));
}

static inline int stand_restore(const char *base, enum restore_kind kind, uint64_t target,
                                struct restore_until *restore)
{
        int directory;

        stand_copy(base, "restored");
        check_ok(sys_open(AT_FDCWD, scratch_path("restored"), O_RDONLY | O_DIRECTORY, 0, &directory));
        *restore = (struct restore_until){ .kind = kind, .target = target };
        check_ok(sys_open(AT_FDCWD, scratch_path("archive"), O_RDONLY | O_DIRECTORY, 0, &restore->archive));
        check_ok(restore_until_base(restore, directory));
        int err = restore_until_run(restore);
        sys_close(directory);
        sys_close(restore->archive);
        return err;
}

static inline void stand_check_restored(const struct stand *stand, uint64_t sequence)
{
        static unsigned char content[STAND_FILE_BYTES];
        static const unsigned char zeros[STAND_FILE_BYTES];

        for (unsigned i = 0; i < STAND_FILES; i++) {
                char path[64];
                const unsigned char *expected = stand->state[sequence].file[i];

                snprintf(path, sizeof(path), "restored/%s", stand_file[i]);
                /* A part may have been made before the file was, or before it got its length. */
                if (scratch_file_size(scratch_path(path)) <= 0) {
                        check(!memcmp(expected, zeros, STAND_FILE_BYTES));
                        continue;
                }
                check_equal(scratch_file_size(scratch_path(path)), STAND_FILE_BYTES);
                scratch_read_file(scratch_path(path), content, STAND_FILE_BYTES);
                if (memcmp(content, expected, STAND_FILE_BYTES) != 0)
                        check_failed(__FILE__, __LINE__, "sequence %llu, file %s", (unsigned long long)sequence,
                                     stand_file[i]);
        }
}

/* And it opens, and goes on. */
static inline void stand_open_restored(uint64_t sequence)
{
        xac_env *env;
        xac_stats stats;

        check_ok(xac_open(scratch_path("restored"), 0, NULL, &env));
        check_ok(xac_stat(env, &stats));
        check_equal(stats.sequence, sequence);
        unsigned char *view = xac_mmap(env, "a", STAND_FILE_BYTES, 0);
        check(view != MAP_FAILED);
        check_ok(xbegin(env, 0));
        view[5]++;
        check_ok(xend(env));
        check_ok(xac_close(env));
}

#endif
