/* SPDX-License-Identifier: MIT */
#include "tests/support/program.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/support/check.h"
#include "tests/support/scratch.h"

enum { OPTIONS_MAX = 16, USAGE = 2 };

static void take(const struct program_option *option)
{
        if (option->number)
                *option->number = strtoull(optarg, NULL, 0);
        else if (option->text)
                *option->text = optarg;
        else
                *option->flag = true;
}

void program_options(int argc, char **argv, const struct program_option *known)
{
        struct option longs[OPTIONS_MAX] = { { "seed", required_argument, NULL, 0 } };
        int index;

        for (int i = 0; known[i].name; i++) {
                check(i + 2 < OPTIONS_MAX);
                longs[i + 1].name = known[i].name;
                longs[i + 1].has_arg = known[i].flag ? no_argument : required_argument;
        }
        for (int c; (c = getopt_long(argc, argv, "", longs, &index)) != -1;) {
                if (c != 0)
                        exit(USAGE);
                if (index == 0)
                        setenv("XAC_TEST_SEED", optarg, 1);
                else
                        take(&known[index - 1]);
        }
}

void program_begin(bool is_in_memory)
{
        setvbuf(stdout, NULL, _IOLBF, 0);
        check_equal(scratch_make(is_in_memory), 0);
}

int program_run(crew_body body, void *arg)
{
        int status = crew_status(crew_fork(body, 0, arg));
        int left = scratch_shared_memory_left(1);

        scratch_remove();
        if (WIFEXITED(status) && WEXITSTATUS(status))
                return WEXITSTATUS(status);
        return status != 0 || left != 0;
}
