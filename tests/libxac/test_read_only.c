/* SPDX-License-Identifier: MIT */

/*
 * Environments opened for reading only (xac_open with XAC_RDONLY): at rest, in use, crashed, by users who may write and
 * users who may not, on mounts that are read-only. Random states of all that: XAC_READ_ONLY_STATES=1000.
 *
 * All words have the number of the newest commit. So a mixture of two moments is seen at once.
 *
 * Other users are children that give up root: without root these tests are skipped.
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

static uint64_t mix(uint64_t hash, const void *bytes_, size_t byte_len)
{
        const unsigned char *bytes = bytes_;

        for (size_t i = 0; i < byte_len; i++)
                hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
        return hash;
}

static uint64_t mix_stat(uint64_t hash, const struct stat *st)
{
        const uint64_t facts[] = { st->st_ino,         st->st_mode,           st->st_nlink,       st->st_uid,
                                   st->st_gid,         (uint64_t)st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
                                   st->st_ctim.tv_sec, st->st_ctim.tv_nsec };

        return mix(hash, facts, sizeof(facts));
}

static uint64_t hash_of_file(int directory, const char *name)
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
static uint64_t hash_of_env(void)
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

static void commit(xac_env *env, uint64_t *words, uint64_t value)
{
        check_ok(xbegin(env, 0));
        for (unsigned i = 0; i < WORDS; i++)
                words[i] = value;
        check_ok(xend(env));
}

static uint64_t *open_to_write(int flags, uint32_t mode, xac_env **env)
{
        const xac_options options = { .mode = mode };
        uint64_t *words;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | flags, &options, env));
        words = xac_mmap(*env, "words", BYTES, 0);
        check(words != MAP_FAILED);
        return words;
}

static void write_once(int flags, uint32_t mode)
{
        const uint64_t value = atomic_fetch_add(&common->newest, 1) + 1;
        xac_env *env;
        uint64_t *words = open_to_write(flags, mode, &env);

        commit(env, words, value);
        check_ok(xac_close(env));
}

static void write_in_child(int flags, void *unused)
{
        (void)unused;
        write_once(flags, 0600);
}

static void prepare(void)
{
        common = crew_shared(sizeof(*common));
        write_once(0, 0600);
}

/* ---- Who reads ---- */

static int open_to_read(xac_env **env, const uint64_t **words)
{
        int err = xac_open(scratch_path("env"), XAC_RDONLY, NULL, env);

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
static long long read_words(xac_env *env, const uint64_t *words)
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

/* ---- At rest ---- */

static void look_at_all(xac_env *env, const uint64_t *words)
{
        xac_snapshot *snapshot;
        const uint64_t *page;

        check_equal(read_words(env, words), 1);
        check_ok(xbegin(env, XAC_RDONLY | XAC_DURABLE));
        page = xac_page_read(env, words + 512);
        check(page != NULL && page[7] == 1);
        check_ok(xend(env));
        check_ok(xac_snapshot_open(env, XAC_DURABLE, &snapshot));
        page = xac_snapshot_map(snapshot, "words", NULL);
        check(page != MAP_FAILED && page[WORDS - 1] == 1);
        check_ok(xac_snapshot_close(snapshot));
        check_ok(xac_scrub(env, NULL, NULL));
        check_ok(xac_backup(env, scratch_path("backup"), NULL));
        check_ok(xac_sync(env));
}

static void nothing_of_it_changes(void)
{
        const uint64_t *words;
        xac_env *env;

        prepare();
        const uint64_t before = hash_of_env();
        check_ok(open_to_read(&env, &words));
        look_at_all(env, words);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        check_ok(xac_close(env));
        check(hash_of_env() == before);
        check_ok(xac_open(scratch_path("backup"), XAC_RDONLY, NULL, &env));
        check_ok(xac_close(env));
}

static void what_would_change_it_is_refused(void)
{
        const xac_scrub_options sums = { .flags = XAC_SCRUB_SUM };
        const uint64_t *words;
        xac_env *env, *second;

        prepare();
        const uint64_t before = hash_of_env();
        check_code(xac_open(scratch_path("env"), XAC_RDONLY | XAC_CREATE, NULL, &env), -EINVAL);
        check_code(xac_open(scratch_path("env"), XAC_RDONLY | XAC_VOLATILE, NULL, &env), -EINVAL);
        check_code(xac_open(scratch_path("none"), XAC_RDONLY, NULL, &env), -ENOENT);
        check_ok(open_to_read(&env, &words));
        check_code(xac_open(scratch_path("env"), 0, NULL, &second), -EINVAL);
        check_ok(xac_open(scratch_path("env"), XAC_RDONLY, NULL, &second));
        check_ok(xac_close(second));
        check_ok(xbegin(env, 0));
        ((uint64_t *)(uintptr_t)words)[5] = 6;
        check_code(xend(env), XAC_READONLY);
        check_ok(xbegin(env, 0));
        check(xac_page_write(env, (void *)(uintptr_t)words) == NULL);
        check_code(xend(env), XAC_READONLY);
        check_code(xac_checkpoint(env), -EROFS);
        check_code(xac_scrub(env, &sums, NULL), -EROFS);
        check_map_fails(xac_mmap(env, "words", BYTES + 1, 0), EROFS);
        check_map_fails(xac_mmap(env, "others", BYTES, 0), ENOENT);
        check_equal(read_words(env, words), 1);
        check_ok(xac_close(env));
        check(hash_of_env() == before);
}

static void read_in_child(int expected, void *unused)
{
        const uint64_t *words;
        xac_env *env;

        (void)unused;
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), expected);
        check_ok(xac_close(env));
}

static void open_and_pass(int unused, void *unused_)
{
        xac_env *env;

        (void)unused;
        (void)unused_;
        open_to_write(0, 0600, &env);
        crew_turn_pass(&common->turn);
        check_ok(xac_close(env));
}

/* Others who read do not. */
static void who_writes_waits_for_who_reads(void)
{
        const uint64_t *words;
        xac_env *env;

        prepare();
        check_ok(open_to_read(&env, &words));
        pid_t writer = crew_fork(open_and_pass, 0, NULL);
        check(!crew_turn_await_ms(&common->turn, 1, 100));
        crew_join(crew_fork(read_in_child, 1, NULL));
        check_equal(read_words(env, words), 1);
        check_ok(xac_close(env));
        crew_join(writer);
}

/* A copy that did not keep the times is compared; pages that are not as their sums say are not taken for read. */
static void copies_are_compared(void)
{
        const uint64_t wrong = 77;
        const uint64_t *words;
        xac_env *env;

        prepare();
        scratch_shell("mv '%s' '%s' && cp -r '%s' '%s'", scratch_path("env"), scratch_path("old"), scratch_path("old"),
                      scratch_path("env"));
        uint64_t before = hash_of_env();
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), 1);
        check_ok(xac_close(env));
        check(hash_of_env() == before);
        int fd = open(scratch_path("env/words"), O_WRONLY | O_CLOEXEC);
        check_equal(pwrite(fd, &wrong, sizeof(wrong), 4096), (long long)sizeof(wrong));
        close(fd);
        before = hash_of_env();
        hear();
        check_code(open_to_read(&env, &words), XAC_CORRUPT);
        check(was_heard("1 of its 16 pages are not what their checksums say") && was_heard("without XAC_RDONLY"));
        check(hash_of_env() == before);
}

/* ---- In use, and crashed ---- */

static void read_beside(int unused, void *unused_)
{
        const uint64_t *words;
        xac_env *env;

        (void)unused;
        (void)unused_;
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), 1);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 2);
        check_equal(read_words(env, words), 2);
        check_ok(xbegin(env, 0));
        ((uint64_t *)(uintptr_t)words)[5] = 6;
        check_code(xend(env), XAC_READONLY);
        check_code(xac_checkpoint(env), -EROFS);
        check_map_fails(xac_mmap(env, "words", BYTES + 1, 0), EROFS);
        check_map_fails(xac_mmap(env, "others", BYTES, 0), ENOENT);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn,
                        4); /* the writer has left: who reads is the last, and brings home what there is */
        check_equal(read_words(env, words), 2);
        check_ok(xac_close(env));
}

static void beside_others(int flags)
{
        xac_env *env;

        prepare();
        uint64_t *words = open_to_write(flags, 0600, &env);
        pid_t reader = crew_fork(read_beside, 0, NULL);
        crew_turn_await(&common->turn, 1);
        commit(env, words, 2);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 3);
        check_ok(xac_close(env));
        crew_turn_pass(&common->turn);
        crew_join(reader);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        crew_join(crew_fork(read_in_child, 2, NULL));
}

static void it_takes_part_where_others_have_it_open(void)
{
        beside_others(0);
}

static void also_without_a_log(void)
{
        beside_others(XAC_VOLATILE);
}

static void commit_and_stay(int flags, void *unused)
{
        const uint64_t value = atomic_fetch_add(&common->newest, 1) + 1;
        xac_env *env;
        uint64_t *words = open_to_write(flags, 0600, &env);

        (void)unused;
        commit(env, words, value);
        crew_turn_pass(&common->turn);
        pause();
}

static void after_deaths(int flags)
{
        const uint64_t *words;
        xac_env *env;

        prepare();
        pid_t writer = crew_fork(commit_and_stay, flags, NULL);
        crew_turn_await(&common->turn, 1);
        crew_kill(writer);
        const uint64_t before = hash_of_env();
        hear();
        check_code(open_to_read(&env, &words), -EUCLEAN);
        check(was_heard("opens it without XAC_RDONLY"));
        check(hash_of_env() == before);
        crew_join(crew_fork(write_in_child, flags, NULL));
        crew_join(crew_fork(read_in_child, 3, NULL));
}

static void what_was_not_closed_is_refused(void)
{
        after_deaths(0);
}

static void also_what_is_in_shared_memory_alone(void)
{
        after_deaths(XAC_VOLATILE);
}

/* ---- Other users ---- */

struct errand {
        uid_t user;
        gid_t group;
        void (*run)(void *arg);
        void *arg;
};

static void become(int unused, void *errand_)
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

static pid_t start_as(uid_t user, gid_t group, void (*run)(void *arg), void *arg)
{
        static struct errand errand;

        errand = (struct errand){ user, group, run, arg };
        return crew_fork(become, 0, &errand);
}

/* A directory of Alice's. */
static void set_up_users(mode_t mode)
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

static void write_as_alice(void *writing_)
{
        const struct writing *writing = writing_;

        write_once(writing->flags, writing->mode);
}

static void read_until_stale(void *unused)
{
        const uint64_t *words;
        xac_snapshot *snapshot;
        xac_env *env;

        (void)unused;
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), 1);
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_ok(xbegin(env, 0));
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 2);
        (void)*(volatile const uint64_t *)words;
        check_code(xend(env), -ESTALE);
        check_code(xbegin(env, 0), -ESTALE);
        check_code(xac_snapshot_close(snapshot), -ESTALE);
        check_code(xac_snapshot_open(env, 0, &snapshot), -ESTALE);
        check_code(xac_scrub(env, NULL, NULL), -ESTALE);
        check(xac_backup(env, scratch_path("mallorys"), NULL) != 0);
        check_ok(xac_close(env));
        check_ok(open_to_read(&env, &words));
        check_equal(read_words(env, words), 2);
        check_ok(xac_close(env));
}

static void say_that_it_changed(int flags)
{
        struct writing writing = { flags, 0644 };

        set_up_users(0755);
        crew_join(start_as(ALICE, ALICE, write_as_alice, &writing));
        pid_t reader = start_as(MALLORY, MALLORY, read_until_stale, NULL);
        crew_turn_await(&common->turn, 1);
        crew_join(start_as(ALICE, ALICE, write_as_alice, &writing));
        crew_turn_pass(&common->turn);
        crew_join(reader);
}

static void who_cannot_lock_is_told_of_writers(void)
{
        say_that_it_changed(0);
}

static void also_of_those_without_a_log(void)
{
        say_that_it_changed(XAC_VOLATILE);
}

/* ---- Random states ---- */

enum state { CLOSED, IN_USE, CRASHED, BUSY, STATES };

struct scene {
        enum state state;
        struct writing writing;
        uid_t user;
        gid_t group;
        bool is_mounted_read_only;
        uint64_t before; /* hash */
};

static bool may_write(const struct scene *scene)
{
        return scene->user == 0 || scene->user == ALICE || scene->writing.mode & (scene->group == ALICE ? 0020 : 0002);
}

static bool may_read(const struct scene *scene)
{
        return may_write(scene) || (scene->group == ALICE ? scene->writing.mode & 0040 : scene->writing.mode & 0004);
}

static int expected_code(const struct scene *scene)
{
        if (!may_read(scene))
                return -EACCES;
        if (scene->state == CRASHED)
                return -EUCLEAN;
        if (scene->state == CLOSED || (may_write(scene) && !scene->is_mounted_read_only))
                return 0;
        return may_write(scene) ? -EROFS : -EACCES;
}

/* Commits when the reader says so; in state CRASHED it is killed after its first. */
static void write_and_stay(void *scene_)
{
        const struct scene *scene = scene_;
        const uint64_t value = atomic_fetch_add(&common->newest, 1) + 1;
        xac_env *env;
        uint64_t *words = open_to_write(scene->writing.flags, scene->writing.mode, &env);

        commit(env, words, value);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 2);
        atomic_store(&common->newest, value + 1);
        commit(env, words, value + 1);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 4);
        check_ok(xac_close(env));
}

/* Opens, commits and closes until it is told to stop. */
static void write_again_and_again(void *scene_)
{
        const struct scene *scene = scene_;

        while (!atomic_load(&common->is_over)) {
                write_once(scene->writing.flags, scene->writing.mode);
                crew_turn_pass(&common->turn);
                usleep(1000);
        }
}

static void read_beside_busy(const struct scene *scene)
{
        enum { OPENS = 5, READS = 20 };
        const uint64_t *words;
        xac_env *env;

        for (int i = 0; i < OPENS; i++) {
                const uint64_t least = atomic_load(&common->newest) - 1;
                int err = open_to_read(&env, &words);

                check(!err || err == -EROFS || err == -EACCES || err == -EBUSY || err == -ESTALE || err == -EUCLEAN ||
                      err == XAC_CORRUPT);
                check(err != XAC_CORRUPT || !may_write(scene));
                atomic_fetch_add(&common->refused, err != 0);
                long long value = 0;
                for (int read = 0; !err && read < READS && value >= 0; read++) {
                        value = read_words(env, words);
                        check(value == -ESTALE || value >= (long long)least);
                        atomic_fetch_add(value < 0 ? &common->stale : &common->ended, 1);
                }
                if (!err)
                        check_ok(xac_close(env));
        }
}

static void read_once(const struct scene *scene)
{
        const uint64_t newest = atomic_load(&common->newest);
        const uint64_t *words;
        xac_env *env;
        int err = open_to_read(&env, &words);

        check_code(err, expected_code(scene));
        if (err)
                return;
        check_equal(read_words(env, words), (long long)newest);
        if (scene->state == IN_USE) {
                crew_turn_pass(&common->turn);
                crew_turn_await(&common->turn, 3);
                check_equal(read_words(env, words), (long long)newest + 1);
        }
        check_ok(xac_close(env));
}

static void read_scene(void *scene_)
{
        const struct scene *scene = scene_;

        (scene->state == BUSY ? read_beside_busy : read_once)(scene);
}

/* In a name space of its own. */
static void mount_and_read(int unused, void *scene_)
{
        struct scene *scene = scene_;
        const char *env = scratch_path("env");
        struct errand errand = { scene->user, scene->group, read_scene, scene };

        (void)unused;
        if (scene->is_mounted_read_only) {
                check_equal(unshare(CLONE_NEWNS), 0);
                check_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
                check_equal(mount(env, env, NULL, MS_BIND, NULL), 0);
                check_equal(mount(NULL, env, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
        }
        become(0, &errand);
}

static void can_mount(int unused, void *unused_)
{
        (void)unused;
        (void)unused_;
        crew_exit(unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0);
}

static void draw_scene(struct chance *chance, bool may_mount, struct scene *scene)
{
        static const uint32_t modes[] = { 0600, 0640, 0644, 0660, 0664, 0666 };
        static const struct {
                uid_t user;
                gid_t group;
        } users[] = { { 0, 0 }, { ALICE, ALICE }, { BOB, ALICE }, { MALLORY, MALLORY } };
        const uint32_t user = (uint32_t)chance_below(chance, 4);

        *scene = (struct scene){ .state = (enum state)chance_below(chance, STATES),
                                 .writing = { chance_below(chance, 2) ? XAC_VOLATILE : 0,
                                              modes[chance_below(chance, sizeof(modes) / sizeof(modes[0]))] },
                                 .user = users[user].user,
                                 .group = users[user].group,
                                 .is_mounted_read_only = may_mount && chance_below(chance, 3) == 0 };
}

static void play_scene(struct scene *scene)
{
        pid_t writer = 0;

        set_up_users(scene->writing.mode);
        crew_join(start_as(ALICE, ALICE, write_as_alice, &scene->writing));
        if (scene->state != CLOSED) {
                writer = start_as(ALICE, ALICE, scene->state == BUSY ? write_again_and_again : write_and_stay, scene);
                crew_turn_await(&common->turn, 1);
        }
        if (scene->state == CRASHED)
                crew_kill(writer);
        if (scene->state == CLOSED || scene->state == CRASHED)
                scene->before = hash_of_env();
        crew_join(crew_fork(mount_and_read, 0, scene));
        if (scene->state == CLOSED || scene->state == CRASHED)
                check(hash_of_env() == scene->before);
        atomic_store(&common->is_over, 1);
        while (scene->state == IN_USE && atomic_load(&common->turn.number) < 4)
                crew_turn_pass(&common->turn);
        if (scene->state == IN_USE || scene->state == BUSY)
                crew_join(writer);
        if (scene->state == CRASHED) /* and it is there for who may write */
                crew_join(start_as(ALICE, ALICE, write_as_alice, &scene->writing));
}

static void random_states(void)
{
        const char *wanted = getenv("XAC_READ_ONLY_STATES");
        const unsigned states = wanted ? (unsigned)atoi(wanted) : 8;
        struct chance chance = { chance_seed() };
        unsigned counts[STATES] = { 0 }, read_only = 0, ended = 0, stale = 0, refused = 0;
        struct scene scene;

        set_up_users(0755);
        const bool may_mount = crew_status(crew_fork(can_mount, 0, NULL)) == 0;
        for (unsigned i = 0; i < states; i++) {
                draw_scene(&chance, may_mount, &scene);
                play_scene(&scene);
                counts[scene.state]++;
                read_only += scene.is_mounted_read_only;
                ended += atomic_load(&common->ended);
                stale += atomic_load(&common->stale);
                refused += atomic_load(&common->refused);
        }
        printf("%u closed, %u in use, %u crashed, %u beside a writer that opens and closes (%u transactions, %u told "
               "that "
               "they are stale, %u opens refused); %u of all on read-only mounts\n",
               counts[CLOSED], counts[IN_USE], counts[CRASHED], counts[BUSY], ended, stale, refused, read_only);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(nothing_of_it_changes),
                isolated_test(what_would_change_it_is_refused),
                isolated_test(who_writes_waits_for_who_reads),
                isolated_test(copies_are_compared),
                isolated_test(it_takes_part_where_others_have_it_open),
                isolated_test(also_without_a_log),
                isolated_test(what_was_not_closed_is_refused),
                isolated_test(also_what_is_in_shared_memory_alone),
                isolated_test(who_cannot_lock_is_told_of_writers),
                isolated_test(also_of_those_without_a_log),
                isolated_timed(random_states, 1200),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
