/* SPDX-License-Identifier: MIT */

/*
 *      confine [--read PATH]... [--write FOLDER]... COMMAND...
 *
 * Runs the command as another user (confine.h), in a session of its own, and ends all that it has started. It may read
 * what compilers need, and the paths, and change what is in the folders. These belong to the other user meanwhile, and
 * to the one who called afterwards. The script `judge` compiles answers by it. Status 125: it cannot become another
 * user, and has run nothing.
 */

#include "labs/grader/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATHS_MOST = 40, COMPILE_SECONDS = 120, FILE_BYTES = 256 << 20, NOT_CONFINED = 125 };

static const char *readable[PATHS_MOST] = {
        "/usr", "/lib", "/lib64", "/lib32", "/bin", "/opt", "/nix", "/etc/alternatives", "/etc/ld.so.cache"
};
static const char *writable[PATHS_MOST] = { "/dev/null" };

static void add(const char **paths, const char *path)
{
        int count = 0;
        while (paths[count] != NULL)
                count++;
        if (count + 1 == PATHS_MOST)
                exit(2);
        paths[count] = path;
}

static void give_folders(uid_t from, uid_t user)
{
        for (const char **folder = writable + 1; *folder != NULL && from != user; folder++)
                if (chown(*folder, user, user == 0 ? getgid() : user) != 0)
                        fprintf(stderr, "%s: %s\n", *folder, strerror(errno));
}

static _Noreturn void run(uid_t user, char **command)
{
        setsid();
        int rules = confine_rules(readable, writable, (const char *const[]){ NULL });
        int err = confine_become(user);
        if (err == 0)
                err = confine_enter(rules, user);
        if (err != 0) {
                fprintf(stderr, "the answer cannot be confined: %s\n", strerror(-err));
                _exit(NOT_CONFINED);
        }
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ FILE_BYTES, FILE_BYTES });
        alarm(COMPILE_SECONDS);
        execvp(command[0], command);
        fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
        _exit(2);
}

int main(int argc, char **argv)
{
        static const struct option names[] = {
                { "read", required_argument, NULL, 'r' },
                { "write", required_argument, NULL, 'w' },
                { NULL, 0, NULL, 0 },
        };
        int status = 0;
        for (int letter; (letter = getopt_long(argc, argv, "+", names, NULL)) != -1;) {
                if (letter == '?')
                        return 2;
                add(letter == 'r' ? readable : writable, optarg);
        }
        uid_t user = confine_user();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        give_folders(0, user);
        pid_t pid = fork();
        if (pid == 0)
                run(user, argv + optind);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        confine_end_all(user);
        if (user != 0)
                give_folders(user, 0);
        return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
