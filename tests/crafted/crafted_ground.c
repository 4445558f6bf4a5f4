/* SPDX-License-Identifier: MIT */
#include "tests/crafted/crafted_ground.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/heap.h>
#include <xac/tree.h>
#include <xac/xac.h>

#include "tests/crafted/crafted_run.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"

#define SECRET "what lies beside"

enum { PAGES = 8, PAGE = 4096, COMMITS = 40, BLOCK = 65536, RECORDS = 300, LONG = 9000, OBJECTS = 40 };

static char ground[GROUND_PATH];

const char *ground_path(const char *name)
{
        static char paths[8][GROUND_PATH];
        static unsigned next;
        char *path = paths[next++ % 8];

        snprintf(path, sizeof(paths[0]), "%.1000s/%.2900s", ground, name);
        return path;
}

/* ---- Mounts ---- */

/* Each file system that can be written to but those of ours. */
static void protect_the_rest(void)
{
        char line[8192], path[4096];
        FILE *mounts = fopen("/proc/self/mounts", "re");

        check(mounts != NULL);
        while (fgets(line, sizeof(line), mounts))
                if (sscanf(line, "%*s %4095s", path) == 1 && strcmp(path, ground) != 0 && strcmp(path, "/dev/shm") != 0)
                        (void)mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
        fclose(mounts);
}

/* A read through a mapping takes a page of such a file system also where the file has a hole, and the page counts as
 * memory of who reads. So the ground has half of what a tool may take. */
bool ground_make(unsigned number)
{
        char name[40];

        snprintf(name, sizeof(name), "ground.%u", number);
        snprintf(ground, sizeof(ground), "%s", scratch_path(name));
        if (mkdir(ground, 0700) || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("none", ground, "tmpfs", 0, "size=512m") || mount("none", "/dev/shm", "tmpfs", 0, "size=1g"))
                return false;
        protect_the_rest();
        check_equal(mkdir(ground_path("beside"), 0700), 0);
        scratch_write_file(ground_path("beside/secret"), SECRET, sizeof(SECRET));
        return true;
}

const char *ground_look_beside(void)
{
        static const char *const names[] = { "beside", "crafted", "template", "work" };
        char secret[sizeof(SECRET) + 1] = "";
        DIR *all = opendir(ground);
        const char *found = NULL;
        struct stat st;
        int fd = open(ground_path("beside/secret"), O_RDONLY | O_CLOEXEC);

        if (fd < 0 || read(fd, secret, sizeof(secret)) != sizeof(SECRET) || memcmp(secret, SECRET, sizeof(SECRET)) != 0)
                found = "the file that a link leads to";
        if (fd >= 0 && (fstat(fd, &st) || st.st_nlink != 1 || (st.st_mode & 0777) != 0600))
                found = "the mode of the file that a link leads to";
        close(fd);
        check(all != NULL);
        for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
                bool is_known = entry->d_name[0] == '.';

                for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                        is_known |= strcmp(entry->d_name, names[i]) == 0;
                if (!is_known)
                        found = "a name beside the directories";
        }
        closedir(all);
        return found;
}

/* ---- Copies ---- */

void ground_remove(const char *name)
{
        DIR *all = opendir(ground_path(name));
        char path[GROUND_PATH];

        for (struct dirent *entry; all && (entry = readdir(all)) != NULL;) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                snprintf(path, sizeof(path), "%.2000s/%s", name, entry->d_name);
                if (unlink(ground_path(path)) && errno == EISDIR)
                        ground_remove(path);
        }
        if (all)
                closedir(all);
        (void)rmdir(ground_path(name));
}

/* What is a hole stays one. */
static void copy_bytes(int from, int to)
{
        static char bytes[BLOCK];
        struct stat st;

        check_equal(fstat(from, &st), 0);
        check_equal(ftruncate(to, st.st_size), 0);
        for (off_t at = 0, end; (at = lseek(from, at, SEEK_DATA)) >= 0; at = end) {
                end = lseek(from, at, SEEK_HOLE);
                for (off_t now = at; now < end;) {
                        const size_t wanted = end - now < BLOCK ? (size_t)(end - now) : BLOCK;
                        const ssize_t some = pread(from, bytes, wanted, now);

                        check(some > 0);
                        check_equal(pwrite(to, bytes, (size_t)some, now), some);
                        now += some;
                }
        }
}

static void copy_file(const char *from, const char *to, const struct stat *st)
{
        const int old = open(ground_path(from), O_RDONLY | O_CLOEXEC);
        const int new = open(ground_path(to), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        check(old >= 0 && new >= 0);
        copy_bytes(old, new);
        check_equal(fchmod(new, st->st_mode & 07777), 0);
        check_equal(futimens(new, (const struct timespec[]){ st->st_atim, st->st_mtim }), 0);
        close(old);
        close(new);
}

static void copy_any(const char *from, const char *to)
{
        char target[GROUND_PATH] = "";
        struct stat st;

        if (lstat(ground_path(from), &st))
                return;
        if (S_ISDIR(st.st_mode)) {
                ground_copy(from, to);
        } else if (S_ISLNK(st.st_mode)) {
                check(readlink(ground_path(from), target, sizeof(target) - 1) > 0);
                check_equal(symlink(target, ground_path(to)), 0);
        } else if (S_ISREG(st.st_mode)) {
                copy_file(from, to, &st);
        } else {
                check_equal(mknod(ground_path(to), st.st_mode, st.st_rdev), 0);
        }
}

void ground_begin(const char *name)
{
        ground_remove(name);
        check_equal(mkdir(ground_path(name), 0700), 0);
}

void ground_copy_entry(const char *from, const char *to, const char *name)
{
        char old[GROUND_PATH], new[GROUND_PATH];

        snprintf(old, sizeof(old), "%.1800s/%s", from, name);
        snprintf(new, sizeof(new), "%.1800s/%s", to, name);
        copy_any(old, new);
}

void ground_copy(const char *from, const char *to)
{
        DIR *all = opendir(ground_path(from));

        check(all != NULL);
        ground_begin(to);
        for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                ground_copy_entry(from, to, entry->d_name);
        }
        closedir(all);
}

void ground_clean_memory(void)
{
        DIR *all = opendir("/dev/shm");

        check(all != NULL);
        for (struct dirent *entry; (entry = readdir(all)) != NULL;)
                if (unlinkat(dirfd(all), entry->d_name, 0) && errno == EISDIR)
                        (void)unlinkat(dirfd(all), entry->d_name, AT_REMOVEDIR);
        closedir(all);
}

/* ---- The template ---- */

static void commit(xac_env *env, char *first, char *second, unsigned i)
{
        check_ok(xbegin(env, i % 3 ? XAC_NOSYNC : 0));
        first[i % PAGES * PAGE + i] += 1;
        snprintf(second + i * 7 % PAGES * PAGE, PAGE, "commit %u of the second file", i);
        check_ok(xend(env));
}

/* Of each length, one with its value in overflow pages. */
static void make_words(xac_arena *arena)
{
        static const char value[LONG] = "word";
        xac_tree *tree;
        char key[20];

        check_ok(xac_tree_open(arena, "words", XAC_TREE_CREATE, NULL, &tree));
        for (int i = 0; i < RECORDS; i++) {
                const size_t key_len = (size_t)snprintf(key, sizeof(key), "key%06d", i);

                check_ok(xac_tree_put(tree, key, key_len, value, i % 100 ? (size_t)i : LONG, 0));
        }
        xac_tree_close(tree);
}

static void make_numbers(xac_arena *arena)
{
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 8 };
        xac_tree *tree;

        check_ok(xac_tree_open(arena, "numbers", XAC_TREE_CREATE, &fixed, &tree));
        for (uint64_t i = 0; i < RECORDS; i++)
                check_ok(xac_tree_put(tree, &i, sizeof(i), &i, sizeof(i), 0));
        xac_tree_close(tree);
}

static void make_trees(xac_env *env)
{
        xac_arena *arena;

        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
        check_ok(xbegin(env, XAC_NOSYNC));
        make_words(arena);
        make_numbers(arena);
        check_ok(xend(env));
        check_ok(xac_arena_close(arena));
}

static void make_heap(xac_env *env)
{
        xac_heap *heap;
        xac_heap_root root;

        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
        check_ok(xbegin(env, XAC_NOSYNC));
        if (xac_heap_root_find(heap, "things", &root))
                check_ok(xac_heap_root_create(heap, "things", 64, 1, &root));
        for (size_t i = 1; i < OBJECTS; i++)
                check(xac_heap_malloc(heap, i * i * 8) != NULL);
        check_ok(xend(env));
        check_ok(xac_heap_close(heap));
}

/* Four files. The process dies where a checkpoint has begun another log, and left its double-write buffer. */
static void work_and_die(int index, void *dies)
{
        const xac_options options = { .log_bytes = 256 << 10,
                                      .pool_bytes = 4 << 20,
                                      .max_participants = 4,
                                      .archive = ground_path("template/archive") };
        xac_env *env;

        (void)index;
        check_ok(xac_open(ground_path("template/env"), XAC_CREATE, &options, &env));
        char *first = xac_mmap(env, "first", PAGES * PAGE, 0);
        char *second = xac_mmap(env, "second", PAGES * PAGE, 0);
        check(first != MAP_FAILED && second != MAP_FAILED);
        for (unsigned i = 0; i < COMMITS; i++)
                commit(env, first, second, i);
        make_trees(env);
        make_heap(env);
        check_ok(xac_checkpoint(env));
        for (unsigned i = 0; i < COMMITS; i++)
                commit(env, first, second, i + COMMITS / 2);
        check_ok(xac_sync(env));
        if (dies)
                _exit(0);
        check_ok(xac_close(env));
}

static void run_tool(const char *const *args)
{
        struct crafted_run run;

        crafted_run(&run, args);
        if (run.status != 0)
                printf("xac %s: %s\n", run.command, run.said);
        check_equal(run.status, 0);
}

void ground_make_template(void)
{
        static int dies = 1;

        check_equal(mkdir(ground_path("template"), 0700), 0);
        check_equal(mkdir(ground_path("template/archive"), 0700), 0);
        setenv("XAC_TRACE", ground_path("template/trace"), 1);
        crew_join(crew_fork(work_and_die, 0, NULL));
        unsetenv("XAC_TRACE");
        run_tool((const char *const[]){ "backup", ground_path("template/env"), ground_path("template/full"), NULL });
        crew_join(crew_fork(work_and_die, 0, NULL));
        run_tool((const char *const[]){ "backup", "--since", ground_path("template/full"), ground_path("template/env"),
                                        ground_path("template/next"), NULL });
        crew_join(crew_fork(work_and_die, 0, &dies));
        ground_clean_memory(); /* as by a power cut */
}
