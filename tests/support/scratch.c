/* SPDX-License-Identifier: MIT */
#include "tests/support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/places.h"

#define SHARED_MEMORY_DIR    "/dev/shm"
#define SHARED_MEMORY_PREFIX "xac."

static char scratch_dir[PATH_MAX];
static struct timespec made; /* by the clock that files are stamped with */

int scratch_make(int in_memory)
{
        snprintf(scratch_dir, sizeof(scratch_dir), "%s/xac-test-XXXXXX", in_memory ? places_memory() : places_files());
        clock_gettime(CLOCK_REALTIME_COARSE, &made);
        return mkdtemp(scratch_dir) != NULL ? 0 : -errno;
}

static int remove_inside(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st;
        (void)kind;
        return where->level ? remove(path) : 0;
}

void scratch_clear(void)
{
        nftw(scratch_dir, remove_inside, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void scratch_remove(void)
{
        scratch_clear();
        rmdir(scratch_dir);
}

const char *scratch_path(const char *name)
{
        enum { PATHS = 32 };
        static _Thread_local char paths[PATHS][PATH_MAX];
        static _Thread_local unsigned used;
        char *path = paths[used++ % PATHS];

        check(snprintf(path, PATH_MAX, "%s/%s", scratch_dir, name) < PATH_MAX);
        return path;
}

/* A directory gets the number of one that was removed, and whose shared memory somebody may have left. */
static int is_ours(const char *path)
{
        struct stat st;

        if (stat(path, &st) != 0)
                return 0;
        return st.st_mtim.tv_sec != made.tv_sec ? st.st_mtim.tv_sec > made.tv_sec : st.st_mtim.tv_nsec >= made.tv_nsec;
}

/* Shared memory is named after the device and inode of its directory (R15). */
static int names_directory(const char *name, const struct stat *dir)
{
        char prefix[64];

        snprintf(prefix, sizeof(prefix), SHARED_MEMORY_PREFIX "%" PRIxMAX ".%" PRIxMAX ".", (uintmax_t)dir->st_dev,
                 (uintmax_t)dir->st_ino);
        return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Calls visit for each shared memory file of the environment in the directory `st`. */
static int for_shared_memory(const struct stat *st, void (*visit)(const char *path, void *arg), void *arg)
{
        DIR *all = opendir(SHARED_MEMORY_DIR);
        struct dirent *entry;
        char path[PATH_MAX];
        int count = 0;

        if (all == NULL)
                return 0;
        while ((entry = readdir(all)) != NULL) {
                if (!names_directory(entry->d_name, st))
                        continue;
                snprintf(path, sizeof(path), "%s/%s", SHARED_MEMORY_DIR, entry->d_name);
                if (!is_ours(path))
                        continue;
                visit(path, arg);
                count++;
        }
        closedir(all);
        return count;
}

static void visit_count(const char *path, void *arg)
{
        (void)path;
        (void)arg;
}

static void visit_remove(const char *path, void *arg)
{
        (void)arg;
        dprintf(STDERR_FILENO, "left behind: %s\n", path);
        unlink(path);
}

static void visit_mode(const char *path, void *mode)
{
        struct stat st;

        if (stat(path, &st) == 0)
                *(mode_t *)mode = st.st_mode & 07777;
}

int scratch_shared_memory_of(const char *env_dir)
{
        struct stat st;

        return stat(env_dir, &st) == 0 ? for_shared_memory(&st, visit_count, NULL) : 0;
}

mode_t scratch_shared_memory_mode(const char *env_dir)
{
        struct stat st;
        mode_t mode = 0;

        if (stat(env_dir, &st) == 0)
                for_shared_memory(&st, visit_mode, &mode);
        return mode;
}

unsigned long long scratch_shared_memory_free(void)
{
        struct statvfs fs;

        return statvfs(SHARED_MEMORY_DIR, &fs) == 0 ? (unsigned long long)fs.f_bavail * fs.f_frsize : 0;
}

int scratch_shared_memory_left(int remove)
{
        DIR *all = opendir(scratch_dir);
        struct dirent *entry;
        struct stat st;
        int count = 0;

        if (all == NULL)
                return 0;
        while ((entry = readdir(all)) != NULL) {
                if (strcmp(entry->d_name, "..") == 0 || fstatat(dirfd(all), entry->d_name, &st, 0) != 0)
                        continue;
                if (S_ISDIR(st.st_mode))
                        count += for_shared_memory(&st, remove ? visit_remove : visit_count, NULL);
        }
        closedir(all);
        return count;
}

void scratch_write_file(const char *path, const void *bytes, size_t byte_len)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        check(fd >= 0);
        check_equal(write(fd, bytes, byte_len), byte_len);
        close(fd);
}

void scratch_read_file(const char *path, void *bytes, size_t byte_len)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t done = 0;

        check(fd >= 0);
        while (done < byte_len) {
                ssize_t part = read(fd, (char *)bytes + done, byte_len - done);

                check(part > 0);
                done += (size_t)part;
        }
        close(fd);
}

long long scratch_file_size(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 ? (long long)st.st_size : -errno;
}

void scratch_shell(const char *format, ...)
{
        char command[9000];
        va_list args;

        va_start(args, format);
        vsnprintf(command, sizeof(command), format, args);
        va_end(args);
        check_equal(system(command), 0);
}
