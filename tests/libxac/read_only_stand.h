/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LIBXAC_READ_ONLY_STAND_H
#define TESTS_LIBXAC_READ_ONLY_STAND_H

/*
 * An environment of which all words have the number of the newest commit, so that a mixture of two moments is seen at
 * once; who writes it, who reads it, and what its directory is. Other users are children that give up root.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
#include "tests/support/crew.h"
#include "tests/support/heard.h"
#include "tests/support/isolate.h"

enum { PAGES = 16, WORDS = PAGES * 512, BYTES = PAGES * 4096, ALICE = 54321, BOB = 54322, MALLORY = 54323 };

static struct shared_part {
        struct crew_turn turn;
        _Atomic uint64_t newest; /* that is committed, or being committed */
        _Atomic uint64_t ended, stale, refused, busy_states;
        _Atomic uint32_t is_over;
} * common;

/* ---- What a directory is ---- */

static inline uint64_t mix(uint64_t hash, const void *bytes_, size_t byte_len)
{
        const unsigned char *bytes = bytes_;

        for (size_t i = 0; i < byte_len; i++)
                hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
        return hash;
}

static inline uint64_t mix_stat(uint64_t hash, const struct stat *st)
{
        const uint64_t facts[] = { st->st_ino,         st->st_mode,           st->st_nlink,       st->st_uid,
                                   st->st_gid,         (uint64_t)st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
                                   st->st_ctim.tv_sec, st->st_ctim.tv_nsec };

        return mix(hash, facts, sizeof(facts));
}

static inline uint64_t hash_of_file(int directory, const char *name)
{
        static char bytes[1 << 16];
        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), name, strlen(name));
        struct stat st;

        check(fd >= 0);
        check_equal(fstat(fd, &st), 0);
        hash = mix_stat(hash, &st);
        if (S_ISREG(st.st_mode))
                for (ssize_t got; (got = read(fd, bytes, sizeof(bytes))) > 0;)
                        hash = mix(hash, bytes, (size_t)got);
        close(fd);
        return hash;
}

/* Of all but the times of access, in any order. */
static inline uint64_t hash_of_env(void)
{
        DIR *names = opendir(scratch_path("env"));
        uint64_t hash = 0;

        check(names != NULL);
        for (struct dirent *name; (name = readdir(names)) != NULL;)
                if (strcmp(name->d_name, "..") != 0)
                        hash += hash_of_file(dirfd(names), name->d_name);
        closedir(names);
        return hash;
}

/* ---- Who writes ---- */

static inline void commit(xac_env *env, uint64_t *words, uint64_t value)
{
        check_ok(xbegin(env, 0));
        for (unsigned i = 0; i < WORDS; i++)
                words[i] = value;
        check_ok(xend(env));
}

static inline uint64_t *open_to_write(int flags, uint32_t mode, xac_env **env)
{
        const xac_options options = { .mode = mode };
        uint64_t *words;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | flags, &options, env));
        words = xac_mmap(*env, "words", BYTES, 0);
        check(words != MAP_FAILED);
        return words;
}

static inline void write_once(int flags, uint32_t mode)
{
        const uint64_t value = atomic_fetch_add(&common->newest, 1) + 1;
        xac_env *env;
        uint64_t *words = open_to_write(flags, mode, &env);

        commit(env, words, value);
        check_ok(xac_close(env));
}

/* ---- Who reads ---- */

static __attribute__((noinline)) int open_to_read(xac_env **env, const uint64_t **words)
{
        int err = xac_open(scratch_path("env"), XAC_RDONLY, NULL, env);

        *words = NULL;
        if (err)
                return err;
        *words = xac_mmap(*env, "words", 0, 0);
        if (*words != MAP_FAILED)
                return 0;
        err = -errno;
        xac_close(*env);
        return err;
}

/* The number that all words have, or the library's code. */
static inline long long read_words(xac_env *env, const uint64_t *words)
{
        int err = xbegin(env, 0);

        if (err)
                return err;
        const uint64_t first = words[0];
        unsigned differing = 0;
        for (unsigned i = 0; i < WORDS; i++)
                differing += words[i] != first;
        err = xend(env);
        if (err)
                return err;
        check_equal(differing, 0);
        return (long long)first;
}

/* ---- Other users ---- */

struct errand {
        uid_t user;
        gid_t group;
        void (*run)(void *arg);
        void *arg;
};

static inline void become(int unused, void *errand_)
{
        const struct errand *errand = errand_;

        (void)unused;
        if (errand->user) {
                check_equal(setgroups(0, NULL), 0);
                check_equal(setresgid(errand->group, errand->group, errand->group), 0);
                check_equal(setresuid(errand->user, errand->user, errand->user), 0);
        }
        umask(0);
        errand->run(errand->arg);
}

static inline pid_t start_as(uid_t user, gid_t group, void (*run)(void *arg), void *arg)
{
        static struct errand errand;

        errand = (struct errand){ user, group, run, arg };
        return crew_fork(become, 0, &errand);
}

/* A directory of Alice's. */
static inline void set_up_users(mode_t mode)
{
        if (geteuid() != 0)
                isolate_skip("other users can be tried by root only");
        common = crew_shared(sizeof(*common));
        check_equal(chmod(scratch_path("."), 0755), 0);
        scratch_shell("rm -rf '%s'", scratch_path("env"));
        check_equal(mkdir(scratch_path("env"), mode | (mode & 0444) >> 2), 0);
        check_equal(chown(scratch_path("env"), ALICE, ALICE), 0);
        check_equal(chmod(scratch_path("env"), mode | (mode & 0444) >> 2), 0);
}

struct writing {
        int flags;
        uint32_t mode;
};

static inline void write_as_alice(void *writing_)
{
        const struct writing *writing = writing_;

        write_once(writing->flags, writing->mode);
}

#endif
