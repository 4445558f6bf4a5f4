/* SPDX-License-Identifier: MIT */
#include "tests/support/cancel.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recovery/log_format.h"
#include "recovery/log_segments.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum { DELAY_US = 4000, BEGUN_MS = 20000, END_MS = 10000, BASE_S = 10, EACH_S = 5 };

static uint64_t cancels = 25;
static xac_env *env;
static struct chance chance;
static const struct cancel_call *cancelled;
static _Atomic uint64_t calls; /* that were made by the threads that are cancelled */

void cancel_options(int argc, char **argv)
{
        program_options(argc, argv,
                        (const struct program_option[]){ { "cancels", .number = &cancels }, { .name = NULL } });
}

/* ---- Cancelling ---- */

static void *call_for_ever(void *unused)
{
        void *it = cancelled->begin(env);

        for (;; calls++) {
                cancelled->call(env, it);
                pthread_testcancel();
        }
        return unused;
}

static void await_calls(uint64_t before)
{
        for (int i = 0; calls == before && i < BEGUN_MS; i++)
                usleep(1000);
}

static void cancel_at_some_moment(void)
{
        pthread_t thread;
        void *result = NULL;
        const uint64_t before = calls;

        check_equal(pthread_create(&thread, NULL, call_for_ever, NULL), 0);
        if (!cancelled->is_endless && chance_percent(&chance, 50))
                await_calls(before);
        usleep((useconds_t)chance_below(&chance, DELAY_US));
        check_equal(pthread_cancel(thread), 0);
        for (struct leeway left = leeway_of(END_MS); pthread_tryjoin_np(thread, &result) && leeway_pause(&left);)
                ;
        check(result == PTHREAD_CANCELED);
}

/* ---- What is left ---- */

struct left {
        unsigned descriptors, mappings, partial;
};

static unsigned count_entries(const char *directory, const char *part)
{
        unsigned count = 0;
        DIR *all = opendir(directory);

        check(all != NULL);
        for (struct dirent *entry; (entry = readdir(all)) != NULL;)
                count += strstr(entry->d_name, part) != NULL;
        closedir(all);
        return count;
}

/* But for those of the log: it keeps some of its files open, and more of them as it goes on. */
static unsigned descriptors(void)
{
        char target[4096];
        unsigned count = 0, of_log = 0;
        DIR *all = opendir("/proc/self/fd");

        check(all != NULL);
        for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
                const ssize_t byte_len = readlinkat(dirfd(all), entry->d_name, target, sizeof(target) - 1);

                target[byte_len < 0 ? 0 : byte_len] = '\0';
                if (strstr(target, "/" LOG_FILE_PREFIX))
                        of_log++;
                else
                        count++;
        }
        closedir(all);
        check(of_log <= LOG_OPEN_FILES);
        return count;
}

/* Of files: shared memory and data. */
static unsigned mappings(void)
{
        char line[4096];
        unsigned count = 0;
        FILE *file = fopen("/proc/self/maps", "re");

        check(file != NULL);
        while (fgets(line, sizeof(line), file))
                count += strstr(line, "/dev/shm/xac.") != NULL || strstr(line, scratch_path("env")) != NULL;
        fclose(file);
        return count;
}

static void look(struct left *left)
{
        left->descriptors = descriptors();
        left->mappings = mappings();
        left->partial = count_entries(scratch_path("."), ".partial");
}

/* A thread that ends gives back what it had. The kernel may merge what lies side by side. */
static void expect_nothing_left(const struct left *before)
{
        struct left now;
        xac_stats stats;
        xac_env *other;

        check_ok(xac_stat(env, &stats));
        check_equal(stats.participants, 1);
        look(&now);
        /* The environment's own thread may have a file in hand. */
        for (struct leeway time = leeway_of(END_MS); now.descriptors > before->descriptors && leeway_pause(&time);)
                look(&now);
        check(now.descriptors <= before->descriptors);
        check(now.mappings <= before->mappings);
        check_equal(now.partial, 0);
        check_ok(xac_open(scratch_path("other"), XAC_CREATE, NULL, &other));
        check_ok(xac_close(other));
        check_equal(scratch_shared_memory_of(scratch_path("other")), 0);
}

/* Sanitizers take what comes after the frames that were left for theirs. */
static void skip_where_left_frames_stay_poisoned(void)
{
#if defined(__SANITIZE_ADDRESS__)
        isolate_skip("AddressSanitizer does not know of cancelled threads");
#endif
}

static void *call_once(void *unused)
{
        void *it = cancelled->begin(env);

        if (!cancelled->is_endless)
                cancelled->call(env, it);
        return unused;
}

/* What the library opens once and for all is open then. And: the next call works. */
static void call_in_a_thread(void)
{
        pthread_t thread;

        check_equal(pthread_create(&thread, NULL, call_once, NULL), 0);
        check_equal(pthread_join(thread, NULL), 0);
}

void cancel_again_and_again(const struct cancel_call *call)
{
        struct left before;

        skip_where_left_frames_stay_poisoned();
        crew_limit_s((unsigned)(BASE_S + cancels / EACH_S));
        cancelled = call;
        chance.state = chance_seed();
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        check_ok(xbegin(env, 0)); /* this thread takes part, too */
        check_ok(xend(env));
        call_in_a_thread();
        check_ok(xac_sync(env));
        look(&before);
        for (uint64_t i = 0; i < cancels; i++)
                cancel_at_some_moment();
        call_in_a_thread();
        expect_nothing_left(&before);
        check_ok(xac_close(env));
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
}
