/* SPDX-License-Identifier: MIT */

/* Starts hosts, and talks to them by a socket: a request with its bytes, a reply with its own. */

#include "labs/grader/host.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labs/grader/calls.h"
#include "labs/grader/confine.h"
#include "labs/grader/grader.h"
#include "labs/grader/host_start.h"
#include "labs/grader/memory.h"
#include "labs/grader/stops.h"
#include "labs/grader/worker.h"

enum { ENVIRONMENTS_MOST = 8, HOST_FOLDERS_MOST = 64 };

static const struct host_program *program;
static struct link {
        pid_t host, owner; /* the owner is the process that has started it */
        int line;
} links[HOST_PLACES];
static struct link *link_now = &links[HOST_BESIDE];
static bool may_fork;    /* the next one that starts */
static bool are_counted; /* accesses of those that start from now on */

void host_use(const struct host_program *host_program)
{
        program = host_program;
}

/* ------------------------------------------------------------------ its process */

/* The descriptors that a host has: those of enum host_descriptor, in this order, and what it prints to. What it reads
 * from is its own, as the place in a file is shared by all that have it open together. */
static void keep_descriptors(const int *kept)
{
        int high[HOST_DESCRIPTORS];
        int nothing = open("/dev/null", O_RDONLY);
        if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
                close(STDIN_FILENO);
        if (nothing != STDIN_FILENO)
                close(nothing);
        for (int i = 0; i < HOST_DESCRIPTORS; i++)
                high[i] = kept[i] < 0 ? -1 : fcntl(kept[i], F_DUPFD, HOST_LINE + 2 * HOST_DESCRIPTORS);
        for (int i = 0; i < HOST_DESCRIPTORS; i++)
                if (high[i] < 0 || dup2(high[i], HOST_LINE + i) < 0)
                        close(HOST_LINE + i);
        close_range(HOST_LINE + HOST_DESCRIPTORS, ~0U, 0);
}

/* Nothing of what the instructor's environment has. */
static char **small_environment(void)
{
        static const char *const names[] = { "PATH", "TMPDIR", "LD_LIBRARY_PATH", "XAC_TEST_RUN" };
        static char *environment[sizeof(names) / sizeof(*names) + 2] = { "LC_ALL=C" };
        int count = 1;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                const char *value = getenv(names[i]);
                if (value != NULL && asprintf(&environment[count], "%s=%s", names[i], value) >= 0)
                        count++;
        }
        environment[count] = NULL;
        return environment;
}

/* Who stands apart finds nothing of other processes. */
static const char *const *readable_apart(void)
{
        static const char *kept[HOST_FOLDERS_MOST];
        int count = 0;
        for (const char *const *folder = program->readable; *folder != NULL && count < HOST_FOLDERS_MOST - 1; folder++)
                if (strcmp(*folder, "/proc") != 0)
                        kept[count++] = *folder;
        kept[count] = NULL;
        return kept;
}

/* It may write to the environments that are in the folder, and to their shared memory, and make nothing new. */
static int confine(bool is_apart)
{
        static const char *const nothing[] = { NULL };
        const char *updated[ENVIRONMENTS_MOST + 3] = { "/dev/null" };
        enum calls calls = may_fork ? CALLS_WITH_FORK : CALLS_ALONE;
        glob_t found;
        if (!is_apart && glob("*.xac", GLOB_NOSORT, NULL, &found) == 0) {
                updated[1] = "/dev/shm";
                for (size_t i = 0; i < found.gl_pathc && i < ENVIRONMENTS_MOST; i++)
                        updated[2 + i] = found.gl_pathv[i];
                if (calls == CALLS_ALONE)
                        calls = CALLS_OF_ANSWERS;
        }
        int err = confine_enter(confine_rules(is_apart ? readable_apart() : program->readable, nothing, updated),
                                program->user);
        if (err == 0)
                err = calls_limit(calls);
        return err == -ENOSYS || err == -EINVAL ? 0 : err; /* no filters: grader.c has said so */
}

/* From the root of all files, whoever stands apart finds no name that tells where the others are. */
static bool leave_folder(bool is_apart)
{
        return !is_apart || chdir("/") == 0;
}

/* Who stands apart meets nobody. */
static char role(void)
{
        return link_now == &links[HOST_APART] ? '\0' : stops_role.who;
}

static _Noreturn void become_host(int socket, pid_t parent)
{
        const bool is_apart = link_now == &links[HOST_APART], is_first = role() == 'A';
        const bool has_steps = role() != '\0' || (are_counted && !is_apart);
        const int kept[HOST_DESCRIPTORS] = { socket, has_steps ? memory_descriptor(MEMORY_STEPS) : -1,
                                             is_apart ? -1 : memory_descriptor(MEMORY_LAB),
                                             is_first ? stops_role.said : -1, is_first ? stops_role.go : -1 };
        char *const arguments[] = { "host", NULL };

        keep_descriptors(kept);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent && leave_folder(is_apart) && confine(is_apart) == 0)
                execve(program->path, arguments, small_environment());
        _exit(HOST_NOT_STARTED);
}

/* A host stumbles by it. It follows from nothing: by what a test draws for it, an answer would know the seed. */
static uint32_t draw_unknown(void)
{
        uint32_t number;
        grader_check(getrandom(&number, sizeof(number), 0) == sizeof(number), "getrandom: %s", strerror(errno));
        return number;
}

static void start_host(void)
{
        int ends[2];
        pid_t parent = getpid();
        grader_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair: %s", strerror(errno));
        memory_prepare();
        fflush(NULL);
        pid_t host = fork();
        grader_check(host >= 0, "fork: %s", strerror(errno));
        if (host == 0)
                become_host(ends[1], parent);
        if (link_now == &links[HOST_BESIDE])
                worker_has_host(host);
        *link_now = (struct link){ host, parent, ends[0] };
        may_fork = false;
        close(ends[1]);
}

static void end_link(struct link *link)
{
        if (link->host == 0)
                return;
        close(link->line);
        if (link->owner == getpid()) {
                kill(link->host, SIGKILL);
                waitpid(link->host, NULL, 0);
                if (link == &links[HOST_BESIDE])
                        worker_has_host(0);
        }
        link->host = 0;
}

void host_end(void)
{
        for (int place = 0; place < HOST_PLACES; place++)
                end_link(&links[place]);
}

void host_choose(enum host_place place)
{
        link_now = &links[place];
}

void host_count(bool is_counted)
{
        are_counted = is_counted;
}

void host_new(void)
{
        end_link(link_now);
}

void host_with_fork(void)
{
        host_new();
        may_fork = true;
}

/* ------------------------------------------------------------------ what is said */

/* It has closed the line; why? */
static _Noreturn void fail_ended(void)
{
        int status = 0;
        pid_t ended = link_now->host;
        link_now->host = 0;
        if (link_now == &links[HOST_BESIDE])
                worker_has_host(0);
        kill(ended, SIGTERM); /* who closes the line, and goes on */
        while (waitpid(ended, &status, 0) < 0)
                grader_check(errno == EINTR, "waitpid: %s", strerror(errno));
        if (WIFSIGNALED(status))
                grader_fail("ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        if (WEXITSTATUS(status) == HOST_NOT_STARTED)
                grader_fail("the answer cannot be started: %s", program->path);
        grader_fail("the process ended itself, with status %d", WEXITSTATUS(status));
}

static void send_all(const void *bytes, size_t byte_len)
{
        for (size_t done = 0; done < byte_len;) {
                ssize_t sent = send(link_now->line, (const char *)bytes + done, byte_len - done, MSG_NOSIGNAL);
                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent <= 0)
                        fail_ended();
                done += (size_t)sent;
        }
}

static void receive_all(void *bytes, size_t byte_len)
{
        for (size_t done = 0; done < byte_len;) {
                ssize_t got = recv(link_now->line, (char *)bytes + done, byte_len - done, 0);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        fail_ended();
                done += (size_t)got;
        }
}

static void send_begin(void)
{
        const struct host_begin begin = { role(), draw_unknown() };
        send_all(&begin, sizeof(begin));
}

/* What the host could not do, in its own words. */
static _Noreturn void fail_as_said(size_t byte_len)
{
        char said[HOST_SAID_BYTES];
        if (byte_len >= sizeof(said))
                byte_len = sizeof(said) - 1;
        receive_all(said, byte_len);
        said[byte_len] = '\0';
        grader_fail("%s", said);
}

size_t host_ask(int act, const void *in, size_t in_len, void *out, size_t out_most)
{
        struct host_request request = { act, (uint32_t)in_len };
        struct host_reply reply;
        if (link_now->host == 0 || link_now->owner != getpid()) {
                start_host();
                send_begin();
        }
        send_all(&request, sizeof(request));
        send_all(in, in_len);
        receive_all(&reply, sizeof(reply));
        if (reply.has_failed)
                fail_as_said(reply.byte_len);
        grader_check(reply.byte_len <= out_most, "the answer's process says %u bytes where %zu are expected",
                     reply.byte_len, out_most);
        receive_all(out, reply.byte_len);
        memory_check_rest();
        return reply.byte_len;
}

void host_do(int act, const void *in, size_t in_len, void *out, size_t out_len)
{
        size_t got = host_ask(act, in, in_len, out, out_len);
        grader_check(got == out_len, "the answer's process says %zu bytes where %zu are expected", got, out_len);
}
