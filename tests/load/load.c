/* SPDX-License-Identifier: MIT */

/*
 * A busy machine, to run tests beside: two loops for each processor, and a process that fills and frees memory in
 * waves.
 *
 *      load [--loops N] [--memory PERCENT] [--seconds N]
 *
 * N loops (2) for each processor; PERCENT (50) of the machine's memory at most, and never so much that less than a
 * reserve is left for everybody else: tests are to be slow, not to be ended. If memory gets short all the same, the
 * kernel takes from here first (oom_score_adj). It ends with its parent, and after N seconds (six hours).
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, CHUNK_BYTES = 16 << 20, CHUNKS_MAX = 1 << 16, RESERVE_SHARE = 8, LOOPS_MAX = 4096, KIB = 1024 };

static struct {
        uint64_t loops, memory_percent, seconds;
} options = { 2, 50, 6 * 3600 };

/* ---- processes ---- */

/* A process that ends with this one. Returns its id, or 0 in it; -1: there is none. */
static pid_t start(void)
{
        pid_t parent = getpid(), pid = fork();

        if (pid != 0)
                return pid;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(0);
        return 0;
}

static _Noreturn void loop(void)
{
        for (volatile uint64_t i = 0;; i++)
                ;
}

/* ---- memory ---- */

/* So many bytes has /proc/meminfo of that; 0: it does not say. */
static uint64_t memory_bytes(const char *what)
{
        FILE *file = fopen("/proc/meminfo", "re");
        char line[200];
        uint64_t kib = 0;

        while (file != NULL && kib == 0 && fgets(line, sizeof(line), file) != NULL)
                if (strncmp(line, what, strlen(what)) == 0)
                        kib = strtoull(line + strlen(what), NULL, 10);
        if (file != NULL)
                fclose(file);
        return kib * KIB;
}

static void be_ended_first(void)
{
        int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, "1000", 4) != 4)
                perror("oom_score_adj");
        if (fd >= 0)
                close(fd);
}

static void sleep_ms(unsigned ms)
{
        nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

/* One piece more, with something else on each page; NULL: there is to be none. */
static char *fill_chunk(void)
{
        static uint64_t number;
        char *chunk;

        if (memory_bytes("MemAvailable:") < memory_bytes("MemTotal:") / RESERVE_SHARE + CHUNK_BYTES)
                return NULL;
        chunk = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (chunk == MAP_FAILED)
                return NULL;
        for (size_t at = 0; at < CHUNK_BYTES; at += PAGE)
                *(uint64_t *)(chunk + at) = ++number;
        return chunk;
}

/* Up to so much, or as much as is there; held for a while; and given back. */
static void wave(size_t chunks)
{
        static char *chunk[CHUNKS_MAX];
        size_t count = 0;

        while (count < chunks && count < CHUNKS_MAX && (chunk[count] = fill_chunk()) != NULL)
                count++;
        sleep_ms(500);
        while (count > 0)
                munmap(chunk[--count], CHUNK_BYTES);
        sleep_ms(200);
}

static _Noreturn void fill(void)
{
        size_t most = memory_bytes("MemTotal:") / 100 * options.memory_percent / CHUNK_BYTES;

        be_ended_first();
        for (unsigned quarters = 1;; quarters = quarters % 4 + 1) /* each wave is higher than the one before; of four */
                wave(most * quarters / 4);
}

/* ---- all of it ---- */

static int usage(void)
{
        fprintf(stderr, "usage: load [--loops N] [--memory PERCENT] [--seconds N]\n");
        return 2;
}

static bool read_options(int argc, char **argv)
{
        static const struct option known[] = { { "loops", required_argument, NULL, 'l' },
                                               { "memory", required_argument, NULL, 'm' },
                                               { "seconds", required_argument, NULL, 's' },
                                               { 0 } };

        for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
                if (c == '?')
                        return false;
                *(c == 'l'   ? &options.loops
                  : c == 'm' ? &options.memory_percent
                             : &options.seconds) = strtoull(optarg, NULL, 0);
        }
        return optind == argc && options.loops <= LOOPS_MAX && options.memory_percent <= 50;
}

/* The kernel may have ended the one that fills memory: it is there again after a while. */
static void keep_filling(void)
{
        for (;;) {
                if (options.memory_percent > 0 && start() == 0)
                        fill();
                while (wait(NULL) < 0 && errno == EINTR)
                        ;
                sleep_ms(2000);
        }
}

int main(int argc, char **argv)
{
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        pid_t parent = getppid();

        if (!read_options(argc, argv))
                return usage();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                return 0;
        alarm((unsigned)options.seconds);
        for (uint64_t i = 0; i < options.loops * (uint64_t)processors; i++)
                if (start() == 0)
                        loop();
        keep_filling();
        return 0;
}
