/* SPDX-License-Identifier: MIT */
#include "tests/tools/tool.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct tool tool;

/* ---- Running xac ---- */

static const char *program(void)
{
        static char path[PATH_MAX];
        const char *builddir = getenv("builddir");

        snprintf(path, sizeof(path), "%s/tools/xac/xac", builddir ? builddir : ".");
        return path;
}

/* Its output goes to `to`. */
static pid_t start(char **argv, int to)
{
        pid_t pid;

        fflush(NULL);
        pid = fork();
        check(pid >= 0);
        if (pid > 0)
                return pid;
        dup2(to, STDOUT_FILENO);
        dup2(to, STDERR_FILENO);
        execv(argv[0], argv);
        dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
}

/* Until nobody has the other end open: a terminal says EIO then. */
static void read_all(int from)
{
        ssize_t part;

        tool.said_len = 0;
        while ((part = read(from, tool.said + tool.said_len, sizeof(tool.said) - 1 - tool.said_len)) > 0)
                tool.said_len += (size_t)part;
        tool.said[tool.said_len] = '\0';
        check(tool.said_len < sizeof(tool.said) - 1);
}

static int run(char **argv, int from, int to)
{
        pid_t pid = start(argv, to);
        int status;

        close(to);
        read_all(from);
        close(from);
        check_equal(waitpid(pid, &status, 0), pid);
        tool.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        return tool.status;
}

enum { ARGS = 12 };

static void collect(char **argv, const char *const *args)
{
        int count = 0;

        argv[count++] = (char *)(uintptr_t)program();
        for (; *args && count < ARGS - 1; args++)
                argv[count++] = (char *)(uintptr_t)*args;
        argv[count] = NULL;
}

pid_t tool_start(const char *const *args, int to)
{
        char *argv[ARGS];

        collect(argv, args);
        return start(argv, to);
}

int tool_xac(const char *const *args)
{
        char *argv[ARGS];
        int ends[2];

        collect(argv, args);
        check_equal(pipe2(ends, O_CLOEXEC), 0);
        return run(argv, ends[0], ends[1]);
}

int tool_xac_on_terminal(const char *const *args)
{
        int from = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        char *argv[ARGS];
        int to;

        collect(argv, args);
        check(from >= 0 && grantpt(from) == 0 && unlockpt(from) == 0);
        to = open(ptsname(from), O_RDWR | O_NOCTTY | O_CLOEXEC);
        check(to >= 0);
        return run(argv, from, to);
}

void tool_check_status(const char *file, int line, int actual, int expected)
{
        if (actual != expected)
                check_failed(file, line, "xac ended with %d instead of %d; it said:\n%s", actual, expected, tool.said);
}

void tool_check_said(const char *file, int line, const char *text, int is_expected)
{
        if ((strstr(tool.said, text) != NULL) != is_expected)
                check_failed(file, line, "xac should%s have said \"%s\"; it said:\n%s", is_expected ? "" : " not", text,
                             tool.said);
}

unsigned tool_count_said(const char *text)
{
        const char *at = tool.said;
        unsigned count = 0;

        for (; (at = strstr(at, text)) != NULL; at += strlen(text))
                count++;
        return count;
}

/* ---- Environments ---- */

const char *tool_archive;

uint64_t *tool_open(int flags, xac_env **env)
{
        const xac_options options = { .pool_bytes = 8 << 20, .log_bytes = 64 << 20, .archive = tool_archive };
        uint64_t *words;

        check_ok(xac_open(TOOL_ENV, XAC_CREATE | flags, &options, env));
        words = xac_mmap(*env, TOOL_FILE, TOOL_PAGES * 4096, 0);
        check(words != MAP_FAILED);
        return words;
}

void tool_commit(xac_env *env, uint64_t *words, unsigned page, int flags)
{
        int err;

        do {
                check_ok(xbegin(env, flags));
                words[page * 512 + 5]++;
                err = xend(env);
        } while (err == XAC_CONFLICT);
        check_ok(err);
}

struct work {
        int flags;
        unsigned commits;
        enum tool_end end;
};

static void work(int unused, void *work_)
{
        const struct work *todo = work_;
        xac_env *env;
        uint64_t *words = tool_open(todo->flags, &env);

        (void)unused;
        for (unsigned i = 0; i < todo->commits; i++)
                tool_commit(env, words, i % TOOL_PAGES, 0);
        if (todo->end == TOOL_KILL)
                kill(getpid(), SIGKILL);
        if (todo->end != TOOL_LEAVE)
                check_ok(xac_close(env));
}

void tool_work(int flags, unsigned commits, enum tool_end end)
{
        struct work todo = { flags, commits, end };
        pid_t pid = crew_fork(work, 0, &todo);
        int status = crew_status(pid);

        if (end == TOOL_KILL)
                check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        else
                check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void tool_power_cut(void)
{
        static const char *const parts[] = { "control", "heads", "pool" };
        char path[PATH_MAX];
        struct stat st;

        check_equal(stat(TOOL_ENV, &st), 0);
        for (int i = 0; i < 3; i++) {
                snprintf(path, sizeof(path), "/dev/shm/xac.%llx.%llx.%s", (unsigned long long)st.st_dev,
                         (unsigned long long)st.st_ino, parts[i]);
                check_equal(unlink(path), 0);
        }
        check_equal(scratch_shared_memory_of(TOOL_ENV), 0);
}

unsigned long long tool_calls(const char *what)
{
        unsigned long long calls = 0;
        char name[16], line[128];
        FILE *io = fopen("/proc/self/io", "re");

        if (io) {
                while (fgets(line, sizeof(line), io)) {
                        unsigned long long number;

                        if (sscanf(line, "%15[^:]: %llu", name, &number) == 2 && strcmp(name, what) == 0)
                                calls = number;
                }
                fclose(io);
        } else {
                isolate_skip("this kernel does not count calls");
        }
        return calls;
}

uint64_t tool_sum(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);
        uint64_t sum = 0;

        check_ok(xbegin(env, XAC_RDONLY));
        for (unsigned page = 0; page < TOOL_PAGES; page++)
                sum += words[page * 512 + 5];
        check_ok(xend(env));
        check_ok(xac_close(env));
        return sum;
}

/* ---- Files ---- */

const char *tool_path(const char *name)
{
        char both[PATH_MAX];

        snprintf(both, sizeof(both), "env/%s", name);
        return scratch_path(both);
}

void tool_damage(const char *name, uint64_t offset, size_t byte_len)
{
        int fd = open(tool_path(name), O_RDWR | O_CLOEXEC);
        unsigned char byte;

        check(fd >= 0);
        for (; byte_len > 0; byte_len--, offset++) {
                check_equal(pread(fd, &byte, 1, (off_t)offset), 1);
                byte = (unsigned char)~byte;
                check_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
        }
        close(fd);
}

void tool_copy_file(const char *from, const char *to)
{
        long long byte_len = scratch_file_size(from);
        char *bytes = malloc((size_t)byte_len + 1);

        check(byte_len >= 0 && bytes);
        scratch_read_file(from, bytes, (size_t)byte_len);
        scratch_write_file(to, bytes, (size_t)byte_len);
        free(bytes);
}

static uint64_t mix(uint64_t sum, const void *bytes, size_t byte_len)
{
        for (size_t i = 0; i < byte_len; i++)
                sum = (sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
        return sum;
}

static uint64_t fingerprint_of_file(int directory, const char *name)
{
        uint64_t sum = mix(UINT64_C(0xcbf29ce484222325), name, strlen(name));
        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        char bytes[4096];
        struct stat st;
        ssize_t part;

        check(fd >= 0 && fstat(fd, &st) == 0);
        sum = mix(sum, &st.st_size, sizeof(st.st_size));
        sum = mix(sum, &st.st_mtim, sizeof(st.st_mtim));
        sum = mix(sum, &st.st_mode, sizeof(st.st_mode));
        while (S_ISREG(st.st_mode) && (part = read(fd, bytes, sizeof(bytes))) > 0)
                sum = mix(sum, bytes, (size_t)part);
        close(fd);
        return sum;
}

uint64_t tool_fingerprint(const char *dir)
{
        DIR *all = opendir(dir);
        struct dirent *entry;
        uint64_t sum = 0;

        check(all != NULL);
        while ((entry = readdir(all)) != NULL)
                if (strcmp(entry->d_name, "..") != 0)
                        sum += fingerprint_of_file(dirfd(all), entry->d_name);
        closedir(all);
        return sum;
}

uint64_t tool_sum_of_file(const char *dir)
{
        static uint64_t words[1 << 16];
        char path[512];
        uint64_t sum = 0;

        snprintf(path, sizeof(path), "%s/" TOOL_FILE, dir);
        long long size = scratch_file_size(path);
        check(size > 0 && (size_t)size <= sizeof(words));
        scratch_read_file(path, words, (size_t)size);
        for (size_t i = 0; i < (size_t)size / sizeof(*words); i++)
                sum += words[i];
        return sum;
}

uint64_t tool_state_of_everything(void)
{
        static const char *const parts[] = { "control", "heads", "pool" };
        uint64_t sum = tool_fingerprint(TOOL_ENV);
        struct stat dir, st;
        char path[100];

        check_equal(stat(TOOL_ENV, &dir), 0);
        for (int i = 0; i < 3; i++) {
                snprintf(path, sizeof(path), "/dev/shm/xac.%" PRIxMAX ".%" PRIxMAX ".%s", (uintmax_t)dir.st_dev,
                         (uintmax_t)dir.st_ino, parts[i]);
                check_equal(stat(path, &st), 0);
                sum = sum * 31 + (uint64_t)st.st_blocks;
                sum = sum * 31 + (uint64_t)st.st_mtim.tv_nsec;
                sum = sum * 31 + (uint64_t)st.st_ctim.tv_nsec;
        }
        return sum;
}
