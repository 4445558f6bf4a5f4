/* SPDX-License-Identifier: MIT */

/*
 * Two processes count the words of a text in one serial tree (words.h), each every other word, and a third is killed
 * while it counts one. Compiled by any compiler it works by page faults; by xac-cc, unchanged, without one:
 *
 *         cc -I. examples/words.c -lxac            xac-cc -I. -O2 examples/words.c
 *
 *      words [TEXT]       prints what was counted; on stderr how long a word took, and its faults
 */

#include "examples/words.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xac/xac.h>

static struct words *words;
static char text[1 << 20], *parts[1 << 18];
static int part_count;

static int count_word(void *part)
{
        return words_count(words, part);
}

static xac_env *open_words(void)
{
        xac_env *env;
        if (xac_open("words.xac", XAC_CREATE | XAC_NOSYNC, NULL, &env))
                exit(1);
        words = xac_mmap(env, "tree", sizeof(*words), 0); /* at the same address in every process */
        return env;
}

/* A process: every `step`th word, from the given one on; 0: it is killed while it counts one. */
static pid_t start(int first, int step)
{
        pid_t pid = fork();
        if (pid)
                return pid;
        xac_env *env = open_words();
        if (!step && !xbegin(env, 0) && !words_count(words, "nothing stays of this"))
                raise(SIGKILL);
        for (int i = first; i < part_count; i += step)
                if (xac_run(env, 0, count_word, parts[i]))
                        _exit(1);
        xac_close(env);
        _exit(0);
}

int main(int argc, char **argv)
{
        FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
        struct timespec begun, ended;
        xac_stats stats;
        int status = 0;
        strcpy(text, "the quick brown fox jumps over the lazy dog and the dog sleeps on");
        if (file)
                text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        for (char *part = strtok(text, " \n"); part; part = strtok(NULL, " \n"))
                if (strlen(part) < WORD_BYTES && part_count < 1 << 18)
                        parts[part_count++] = part;

        xac_env *env = open_words();
        clock_gettime(CLOCK_MONOTONIC, &begun);
        pid_t even = start(0, 2), odd = start(1, 2);
        waitpid(even, &status, 0);
        waitpid(odd, &status, 0);
        clock_gettime(CLOCK_MONOTONIC, &ended);
        xac_stat(env, &stats);

        waitpid(start(0, 0), NULL, 0);
        xbegin(env, XAC_RDONLY);
        printf("%d words, %zu of them different, counted in the tree: %ld\n", part_count, words->used,
               words_total(words->root, NULL, NULL));
        xend(env);
        fprintf(stderr, "%.1f us and %.1f page faults a word\n",
                ((double)(ended.tv_sec - begun.tv_sec) * 1e6 + (double)(ended.tv_nsec - begun.tv_nsec) / 1e3) /
                        part_count,
                (double)(stats.read_faults + stats.write_faults) / part_count);
        return xac_close(env) || status;
}
