/* SPDX-License-Identifier: MIT */

#include "labs/grader/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labs/grader/confine.h"

enum { CLEAN_SECONDS = 10 };

int scratch_make(char name[SCRATCH_NAME_BYTES], uid_t user)
{
        const char *place = getenv("TMPDIR");
        int length = snprintf(name, SCRATCH_NAME_BYTES, "%s/xac-lab.XXXXXX", place && *place != '\0' ? place : "/tmp");
        if (length < 0 || length >= SCRATCH_NAME_BYTES)
                return -ENAMETOOLONG;
        if (mkdtemp(name) == NULL)
                return -errno;
        return user == 0 || chown(name, user, user) == 0 ? 0 : -errno;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *where)
{
        (void)stat;
        (void)type;
        (void)where;
        remove(path);
        return 0;
}

void scratch_remove(const char *name)
{
        nftw(name, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Memory that libxac knows nothing of. */
static void remove_shared(uid_t user)
{
        struct stat stat;
        DIR *shared = opendir("/dev/shm");
        if (shared == NULL)
                return;
        for (struct dirent *entry; (entry = readdir(shared)) != NULL;)
                if (fstatat(dirfd(shared), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && stat.st_uid == user) {
                        char path[300];
                        snprintf(path, sizeof(path), "/dev/shm/%s", entry->d_name);
                        scratch_remove(path);
                }
        closedir(shared);
}

void scratch_clean(const char *name, uid_t user, void (*clean)(void))
{
        pid_t pid = clean == NULL ? -1 : fork();
        if (pid == 0) {
                int nowhere = open("/dev/null", O_WRONLY);
                dup2(nowhere, STDERR_FILENO);
                alarm(CLEAN_SECONDS);
                if (chdir(name) == 0 && confine_become(user) == 0)
                        clean();
                _exit(EXIT_SUCCESS);
        }
        if (pid > 0)
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        if (user != 0)
                remove_shared(user);
}

/* The other end of the pipe is held by all processes of the program. */
static _Noreturn void clean_later(int pipe_end, const char *name, void (*clean)(void))
{
        char byte;
        setsid(); /* not to be ended with them */
        while (read(pipe_end, &byte, 1) < 0 && errno == EINTR)
                continue;
        scratch_clean(name, 0, clean);
        scratch_remove(name);
        _exit(EXIT_SUCCESS);
}

int scratch_enter(void (*clean)(void))
{
        char name[SCRATCH_NAME_BYTES];
        int ends[2];
        int err = scratch_make(name, 0);
        if (err)
                return err;
        if (pipe(ends) != 0)
                return -errno;
        pid_t cleaner = fork();
        if (cleaner == 0) {
                close(ends[1]);
                /* nobody is to wait for us who reads what the program prints */
                close(STDOUT_FILENO);
                close(STDERR_FILENO);
                clean_later(ends[0], name, clean);
        }
        close(ends[0]);
        return cleaner < 0 || chdir(name) != 0 ? -errno : 0;
}
