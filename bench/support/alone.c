/* SPDX-License-Identifier: MIT */
#include "bench/support/alone.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/memory.h"
#include "bench/support/processor.h"
#include "bench/support/scratch.h"

static void run(void (*work)(void *shared), void *shared, bool is_pinned)
{
        int status;

        fflush(stdout);
        const pid_t pid = fork();
        must(pid < 0 ? -errno : 0, "fork");
        if (pid == 0) {
                if (is_pinned)
                        processor_pin(0);
                work(shared);
                _exit(EXIT_SUCCESS);
        }
        while (waitpid(pid, &status, 0) < 0)
                must(errno == EINTR ? 0 : -errno, "waitpid");
        if (status != 0) {
                fprintf(stderr, "a measurement has failed\n");
                exit(EXIT_FAILURE);
        }
}

void alone_run(void (*work)(void *shared), void *shared)
{
        run(work, shared, true);
}

void alone_run_free(void (*work)(void *shared), void *shared)
{
        run(work, shared, false);
}

void alone_warm(uint64_t byte_len)
{
        memory_free(memory_make_huge(byte_len), byte_len);
}

void alone_check(const char *what, uint64_t is, uint64_t should_be)
{
        if (is == should_be)
                return;
        fprintf(stderr, "%s: %" PRIu64 " instead of %" PRIu64 "\n", what, is, should_be);
        exit(EXIT_FAILURE);
}
