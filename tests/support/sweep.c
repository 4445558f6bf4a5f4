/* SPDX-License-Identifier: MIT */

/*
 * What is left of a run of tests that is no more (tools/test-run, which decides that it is no more and calls this):
 *
 *      sweep RUN FILES
 *
 * RUN is the run's folder in memory, FILES its folder of files. Ends the processes that still belong to the run, then
 * removes the shared memory of its environments and the rings of its traces. Both folders are still there, and stay.
 *
 * A process belongs to the run if it holds RUN/lock open, or that of a run inside, or was started with
 * XAC_TEST_RUN=RUN. It is ended through a descriptor of its own, taken before the last look: no number is reused in
 * between.
 *
 * Shared memory belongs to the run if its control part says that its directory lay below RUN or FILES. That holds also
 * when the directory is gone, and in each version of the layout: the path is looked for, anywhere in the first page. A
 * control part without a path, whose maker died early, is the run's if a directory that still lies there has the number
 * in its name, and it is not older than the run: such a number may have been that of somebody else's directory before.
 * Byte 0 of the control part is taken alone meanwhile, as `xac clean` does (R22).
 *
 * Needs nothing of libxac: tools/test-run compiles this file where there is no build yet. Exit status 0: nothing of the
 * run is left.
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHARED_MEMORY "/dev/shm"

/* PATIENCE pauses are half a minute: for what others hold for a moment. */
enum { HEADER_BYTES = 4096, NAME_ROOM = 64, PATIENCE = 3000, PAUSE_US = 10000 };

static const char *run_folder, *files_folder;
static struct timespec begun;
static unsigned processes, environments, troubles;

/* Is path the folder, or below it? */
static bool is_below(const char *path, const char *folder)
{
        size_t length = strlen(folder);

        return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* ---- Processes ---- */

static bool is_lock_of_run(const char *path)
{
        const char *last = strrchr(path, '/');

        return is_below(path, run_folder) && last && strcmp(last, "/lock") == 0;
}

static bool holds_lock(const char *pid)
{
        char name[NAME_ROOM], link[NAME_ROOM + NAME_MAX + 2], path[PATH_MAX];
        bool is_held = false;
        struct dirent *entry;
        DIR *all;

        snprintf(name, sizeof(name), "/proc/%.20s/fd", pid);
        all = opendir(name);
        while (all && !is_held && (entry = readdir(all))) {
                snprintf(link, sizeof(link), "%s/%s", name, entry->d_name);
                ssize_t length = readlink(link, path, sizeof(path) - 1);
                if (length < 0)
                        continue;
                path[length] = '\0';
                is_held = is_lock_of_run(path);
        }
        if (all)
                closedir(all);
        return is_held;
}

static bool was_started_in_run(const char *pid)
{
        static const char key[] = "XAC_TEST_RUN=";
        char name[NAME_ROOM], *variable = NULL;
        bool is_ours = false;
        size_t room = 0;
        FILE *variables;

        snprintf(name, sizeof(name), "/proc/%.20s/environ", pid);
        variables = fopen(name, "re");
        while (variables && !is_ours && getdelim(&variable, &room, '\0', variables) > 0)
                is_ours = strncmp(variable, key, strlen(key)) == 0 && is_below(variable + strlen(key), run_folder);
        if (variables)
                fclose(variables);
        free(variable);
        return is_ours;
}

/* Zombies have neither. */
static bool belongs_to_run(const char *pid)
{
        return holds_lock(pid) || was_started_in_run(pid);
}

static bool end_process(const char *name)
{
        pid_t pid = atoi(name);
        int fd;

        if (pid <= 1 || pid == getpid() || pid == getppid() || !belongs_to_run(name))
                return false;
        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
                return errno != ESRCH;
        if (belongs_to_run(name) && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0)
                processes++;
        close(fd);
        return true;
}

static unsigned end_round(void)
{
        DIR *all = opendir("/proc");
        struct dirent *entry;
        unsigned count = 0;

        while (all && (entry = readdir(all)))
                if (isdigit((unsigned char)entry->d_name[0]))
                        count += end_process(entry->d_name);
        if (all)
                closedir(all);
        return count;
}

/* Does nobody hold the run's lock, as the kernel says? */
static bool is_lock_free(void)
{
        char name[PATH_MAX];
        bool is_free;
        int lock;

        snprintf(name, sizeof(name), "%s/lock", run_folder);
        lock = open(name, O_RDONLY | O_CLOEXEC);
        if (lock < 0)
                return errno == ENOENT; /* its maker died before there was one */
        is_free = flock(lock, LOCK_EX | LOCK_NB) == 0;
        close(lock);
        return is_free;
}

/*
 * Those that die may start others before they do. One that is nearly dead has no environment and no descriptors to be
 * seen by, and still holds the lock.
 */
static bool end_processes(void)
{
        for (int i = 0; i < PATIENCE; i++) {
                if (end_round() == 0 && is_lock_free())
                        return true;
                usleep(PAUSE_US);
        }
        return false;
}

/* ---- What lies in the two folders ---- */

struct directory {
        unsigned long long device, inode;
};

static struct directory *directories;
static size_t directory_count, directory_room;

static int add_directory(const struct stat *st)
{
        if (directory_count == directory_room) {
                size_t room = 2 * directory_room + 64;
                struct directory *more = realloc(directories, room * sizeof(*more));

                if (!more)
                        return -1;
                directories = more;
                directory_room = room;
        }
        directories[directory_count++] = (struct directory){ st->st_dev, st->st_ino };
        return 0;
}

static bool is_directory_of_run(const char *name)
{
        unsigned long long device, inode;

        if (sscanf(name, "xac.%llx.%llx.", &device, &inode) != 2)
                return false;
        for (size_t i = 0; i < directory_count; i++)
                if (directories[i].device == device && directories[i].inode == inode)
                        return true;
        return false;
}

/* A trace says which rings are its own (trace/trace_format.h). */
static void remove_rings(const char *path)
{
        struct {
                char magic[8];
                unsigned version, ended;
                char rings[NAME_ROOM];
        } header;
        char name[PATH_MAX];
        int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

        if (file < 0)
                return;
        if (read(file, &header, sizeof(header)) == sizeof(header) && memcmp(header.magic, "XACTRACE", 8) == 0) {
                header.rings[NAME_ROOM - 1] = '\0';
                snprintf(name, sizeof(name), SHARED_MEMORY "/%s", header.rings);
                if (strncmp(header.rings, "xac-trace.", 10) == 0 && !strchr(header.rings, '/'))
                        unlink(name);
        }
        close(file);
}

static int visit(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)where;
        if (kind == FTW_F && S_ISREG(st->st_mode))
                remove_rings(path);
        return kind == FTW_D ? add_directory(st) : 0;
}

/* ---- Shared memory ---- */

enum whose { OTHERS, OURS, NOBODY_SAYS };

static bool is_path_of_run(const char *path)
{
        return is_below(path, run_folder) || is_below(path, files_folder);
}

/* What the first page says. One byte more than it has stays 0. */
static enum whose read_whose(int control)
{
        char page[HEADER_BYTES + 1] = "";
        ssize_t length = pread(control, page, HEADER_BYTES, 0);
        bool has_path = false;

        for (ssize_t i = 1; i < length; i++) {
                if (page[i] != '/' || page[i - 1] != '\0' || page[i + 1] == '\0')
                        continue;
                if (is_path_of_run(page + i))
                        return OURS;
                has_path = true;
        }
        return has_path ? OTHERS : NOBODY_SAYS;
}

static bool is_of_its_time(const struct stat *st)
{
        if (st->st_mtim.tv_sec != begun.tv_sec)
                return st->st_mtim.tv_sec > begun.tv_sec;
        return st->st_mtim.tv_nsec >= begun.tv_nsec;
}

static bool is_ours(int control, const char *name)
{
        enum whose whose = read_whose(control);
        struct stat st;

        if (fstat(control, &st) != 0 || st.st_nlink == 0)
                return false;
        return whose == OURS || (whose == NOBODY_SAYS && is_directory_of_run(name) && is_of_its_time(&st));
}

/* "xac.DEVICE.INODE." of its name. */
static void remove_part(const char *prefix, const char *part)
{
        char name[PATH_MAX];

        snprintf(name, sizeof(name), SHARED_MEMORY "/%s%s", prefix, part);
        if (unlink(name) != 0 && errno != ENOENT) {
                fprintf(stderr, "%s: %s\n", name, strerror(errno));
                troubles++;
        }
}

/* Byte 0 of the control part. Whoever looks at all environments, as `xac clean` does, holds it for a moment. */
static bool take_alone(int control)
{
        struct flock alone = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

        for (int i = 0; i < PATIENCE; i++) {
                if (fcntl(control, F_OFD_SETLK, &alone) == 0)
                        return true;
                usleep(PAUSE_US);
        }
        return false;
}

/* The control part last: without it nobody could say whose the others were. */
static void remove_environment(int control, const char *name)
{
        int prefix_len = (int)(strlen(name) - strlen("control"));
        char prefix[NAME_ROOM];

        if (!is_ours(control, name))
                return;
        if (!take_alone(control)) {
                fprintf(stderr, SHARED_MEMORY "/%s: somebody uses it\n", name);
                troubles++;
                return;
        }
        if (!is_ours(control, name)) /* as who waited for the lock would do */
                return;
        snprintf(prefix, sizeof(prefix), "%.*s", prefix_len, name);
        remove_part(prefix, "pool");
        remove_part(prefix, "heads");
        remove_part(prefix, "control");
        environments++;
}

/* Heads or a pool without a control part: only the number of a directory that is still there tells whose. */
static void remove_stray(int memory, const char *name)
{
        char control[NAME_ROOM];
        const char *dot = strrchr(name, '.');
        struct stat st;

        snprintf(control, sizeof(control), "%.*scontrol", (int)(dot - name) + 1, name);
        if (!is_directory_of_run(name) || faccessat(memory, control, F_OK, 0) == 0)
                return;
        if (fstatat(memory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && is_of_its_time(&st))
                remove_part("", name);
}

static bool ends_in(const char *name, const char *end)
{
        size_t length = strlen(name), end_len = strlen(end);

        return length < NAME_ROOM && length > end_len && strcmp(name + length - end_len, end) == 0;
}

static void look_at(int memory, const char *name)
{
        struct stat st;
        int control;

        if (strncmp(name, "xac.", 4) != 0)
                return;
        if (ends_in(name, ".heads") || ends_in(name, ".pool"))
                remove_stray(memory, name);
        if (!ends_in(name, ".control"))
                return;
        control = openat(memory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (control < 0)
                return;
        if (fstat(control, &st) == 0 && S_ISREG(st.st_mode))
                remove_environment(control, name);
        close(control);
}

static void remove_environments(void)
{
        DIR *all = opendir(SHARED_MEMORY);
        struct dirent *entry;

        while (all && (entry = readdir(all)))
                look_at(dirfd(all), entry->d_name);
        if (all)
                closedir(all);
}

/* The lock is as old as the run. Without it there was no test yet. */
static void find_age(void)
{
        char lock[PATH_MAX];
        struct stat st;

        snprintf(lock, sizeof(lock), "%s/lock", run_folder);
        if (stat(lock, &st) == 0)
                begun = st.st_mtim;
}

int main(int argc, char **argv)
{
        enum { DESCRIPTORS = 32 };

        if (argc != 3 || argv[1][0] != '/' || argv[2][0] != '/') {
                fprintf(stderr, "usage: sweep RUN FILES (two folders, by their whole paths)\n");
                return 2;
        }
        run_folder = argv[1];
        files_folder = argv[2];
        find_age();
        if (!end_processes()) {
                fprintf(stderr, "%s: processes of this run cannot be ended\n", run_folder);
                return 1;
        }
        nftw(run_folder, visit, DESCRIPTORS, FTW_PHYS);
        nftw(files_folder, visit, DESCRIPTORS, FTW_PHYS);
        remove_environments();
        if (processes != 0 || environments != 0)
                printf("processes ended: %u, environments whose shared memory was removed: %u\n", processes,
                       environments);
        free(directories);
        return troubles == 0 ? 0 : 1;
}
