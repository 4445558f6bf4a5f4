/* SPDX-License-Identifier: MIT */

/*
 * A fuzz target without a fuzzer: runs the files and folders that are given, or else its corpus, and
 * then XAC_FUZZ_ROUNDS mutations of what it ran. An input that ends the process is kept as a file.
 */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/chance.h"
#include "tests/support/leeway.h"

enum { INPUT_MAX = 64 * 1024, INPUTS_MAX = 4096, ROUNDS = 3000, PATIENCE_S = 300 };

struct input {
        unsigned char *bytes;
        size_t byte_len;
};

static struct input inputs[INPUTS_MAX];
static size_t input_count;
static unsigned char current[INPUT_MAX];
static size_t current_len;

/* ---- Running one ---- */

static char finding_name[64];
static char finding_sentence[128];

static void finding_prepare(void)
{
        snprintf(finding_name, sizeof(finding_name), "finding-%s-%ld", fuzz_target, (long)getpid());
        snprintf(finding_sentence, sizeof(finding_sentence), "the input is kept in %s\n", finding_name);
}

static void keep_current(int signal_no)
{
        int fd = open(finding_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd >= 0 && write(fd, current, current_len) == (ssize_t)current_len)
                (void)!write(STDERR_FILENO, finding_sentence, strlen(finding_sentence));
        signal(signal_no, SIG_DFL);
        raise(signal_no);
}

static void run_current(void)
{
        unsigned char *bytes = fuzz_copy(current, current_len);

        LLVMFuzzerTestOneInput(bytes, current_len);
        free(bytes);
}

/* ---- The corpus ---- */

static void run_path(const char *path)
{
        FILE *file;

        struct stat st;
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
                struct dirent **names;
                int count = scandir(path, &names, NULL, alphasort);

                fuzz_check(count >= 0);
                for (int i = 0; i < count; i++) {
                        char inner[4096];

                        snprintf(inner, sizeof(inner), "%s/%s", path, names[i]->d_name);
                        if (names[i]->d_name[0] != '.')
                                run_path(inner);
                        free(names[i]);
                }
                free(names);
                return;
        }
        file = fopen(path, "re");
        if (!file) {
                perror(path);
                exit(1);
        }
        current_len = fread(current, 1, sizeof(current), file);
        fclose(file);
        run_current();
        if (input_count < INPUTS_MAX)
                inputs[input_count++] = (struct input){ fuzz_copy(current, current_len), current_len };
}

static void run_corpus(void)
{
        const char *srcdir = getenv("srcdir");
        char path[4096];

        snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".", fuzz_target);
        run_path(path);
}

/* ---- Mutations ---- */

static void mutate_once(struct chance *chance)
{
        size_t at = current_len ? chance_below(chance, current_len) : 0;
        size_t left = current_len - at;
        size_t len = left ? 1 + chance_below(chance, left < 32 ? left : 32) : 0;
        const struct input *other = &inputs[chance_below(chance, input_count)];

        switch (chance_below(chance, 6)) {
        case 0: /* a bit */
                if (left)
                        current[at] ^= (unsigned char)(1 << chance_below(chance, 8));
                break;
        case 1: /* a byte */
                if (left)
                        current[at] = (unsigned char)chance_next(chance);
                break;
        case 2: /* less */
                memmove(current + at, current + at + len, left - len);
                current_len -= len;
                break;
        case 3: /* more */
                if (current_len + len > INPUT_MAX)
                        break;
                memmove(current + at + len, current + at, left);
                current_len += len;
                fuzz_noise(chance_next(chance), current + at, len);
                break;
        case 4: /* a run from somewhere else */
                memmove(current + at, current + chance_below(chance, current_len - len + 1), len);
                break;
        default: /* the end of another one */
                if (other->byte_len > at) {
                        memcpy(current + at, other->bytes + at, other->byte_len - at);
                        current_len = other->byte_len;
                }
                break;
        }
}

static void run_mutations(long rounds)
{
        struct chance chance = { chance_seed() };

        for (long round = 0; round < rounds; round++) {
                const struct input *from = &inputs[chance_below(&chance, input_count)];

                memcpy(current, from->bytes, from->byte_len);
                current_len = from->byte_len;
                for (uint64_t i = 1 + chance_below(&chance, 8); i-- > 0;)
                        mutate_once(&chance);
                run_current();
        }
}

int main(int argc, char **argv)
{
        static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM };
        const char *rounds_wanted = getenv("XAC_FUZZ_ROUNDS");
        long rounds = rounds_wanted ? atol(rounds_wanted) : ROUNDS;

        finding_prepare();
        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
                signal(signals[i], keep_current);
        leeway_alarm(PATIENCE_S + (unsigned)(rounds / 100));
        for (int i = 1; i < argc; i++)
                run_path(argv[i]);
        if (argc == 1)
                run_corpus();
        if (!input_count) {
                fprintf(stderr, "%s: there is no input\n", fuzz_target);
                return 1;
        }
        run_mutations(rounds);
        printf("%s: %zu inputs, %ld mutations of them\n", fuzz_target, input_count, rounds);
        for (size_t i = 0; i < input_count; i++)
                free(inputs[i].bytes);
        return 0;
}
