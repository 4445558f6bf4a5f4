/* SPDX-License-Identifier: MIT */

/*
 * Who takes page faults in views: a handler that stays in front of libxac's looks up the stack for the innermost
 * function of the program, and for the function of a library that it has called.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/translate.h>

#include "tests/outsiders/outsider.h"

enum { FRAMES = 64, NAME_BYTES = 64, CULPRITS = 32 };

static struct culprit {
        char function[NAME_BYTES], caller[NAME_BYTES];
        unsigned count;
} culprits[CULPRITS];

static struct sigaction shown; /* the handler that was installed last, as whoever asks is told */
static void *program;          /* where it is loaded */
static uint64_t served_before;

static uint64_t served(xac_env *env)
{
        xac_stats stats;

        return xac_stat(env, &stats) ? 0 : stats.read_faults + stats.write_faults;
}

static void note(const char *function, const char *caller)
{
        for (struct culprit *culprit = culprits; culprit < culprits + CULPRITS; culprit++) {
                if (!culprit->count) {
                        snprintf(culprit->function, NAME_BYTES, "%s", function);
                        snprintf(culprit->caller, NAME_BYTES, "%s", caller);
                }
                if (!strcmp(culprit->function, function)) {
                        culprit->count++;
                        return;
                }
        }
}

/* The function that was called by the instruction before `back`, by way of the program's table of those of libraries:
 * also if it has gone on by a jump to one without a name. NULL: it was called otherwise. */
static const void *called_before(const unsigned char *back)
{
#ifdef __x86_64__
        enum { CALL = 0xe8, CALL_BYTES = 5, MARK_BYTES = 4, JUMP_BYTES = 6 };
        static const unsigned char mark[MARK_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa }, jump[] = { 0xff, 0x25 };
        const void *function;
        int32_t distance;

        if (back[-CALL_BYTES] != CALL)
                return NULL;
        memcpy(&distance, back - sizeof(distance), sizeof(distance));
        const unsigned char *stub = back + distance;
        if (!memcmp(stub, mark, MARK_BYTES))
                stub += MARK_BYTES;
        stub += *stub == 0xf2; /* bnd */
        if (memcmp(stub, jump, sizeof(jump)) != 0)
                return NULL;
        memcpy(&distance, stub + sizeof(jump), sizeof(distance));
        memcpy(&function, stub + JUMP_BYTES + distance, sizeof(function));
        return function;
#else
        (void)back;
        return NULL;
#endif
}

static const char *name_or(const Dl_info *found, const char *other)
{
        return found->dli_sname ? found->dli_sname : other;
}

/* The frames of this handler and of the kernel come first. */
static void find_culprit(void *const *frames, int count)
{
        const char *function = "-";
        Dl_info found, called;

        for (int i = 2; i < count; i++) {
                memset(&found, 0, sizeof(found));
                if (dladdr(frames[i], &found) && found.dli_fbase == program) {
                        const void *address = i > 2 ? called_before(frames[i]) : NULL;
                        if (address && dladdr(address, &called))
                                function = name_or(&called, function);
                        note(function, name_or(&found, "?"));
                        return;
                }
                function = name_or(&found, "?");
        }
        note(function, "?");
}

static void on_fault(int signal_no, siginfo_t *info, void *context)
{
        void *frames[FRAMES];

        if (xac_in_window(info->si_addr))
                find_culprit(frames, backtrace(frames, FRAMES));
        shown.sa_sigaction(signal_no, info, context);
}

/* Instead of the C library's, also for libxac, which would otherwise put its own handler in front at each begin. */
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved
int sigaction(int signal_no, const struct sigaction *action, struct sigaction *before)
{
        static int (*of_library)(int, const struct sigaction *, struct sigaction *);
        struct sigaction ours;

        if (!of_library)
                of_library = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
        if (signal_no != SIGSEGV)
                return of_library(signal_no, action, before);
        if (before)
                *before = shown;
        if (!action)
                return 0;
        shown = *action;
        ours = *action;
        if (action->sa_flags & SA_SIGINFO)
                ours.sa_sigaction = on_fault;
        return of_library(signal_no, &ours, NULL);
}

void faults_watch(xac_env *env)
{
        void *frames[FRAMES];
        Dl_info found;

        served_before = served(env);
        memset(culprits, 0, sizeof(culprits));
        backtrace(frames, FRAMES); /* loads what it needs */
        if (dladdr((void *)faults_watch, &found))
                program = found.dli_fbase;
}

void faults_tell(xac_env *env)
{
        const char *path = getenv("OUTSIDER_FAULTS");
        FILE *file = path ? fopen(path, "a") : NULL;

        if (!file)
                return;
        for (const struct culprit *culprit = culprits; culprit < culprits + CULPRITS && culprit->count; culprit++)
                fprintf(file, "fault %s %u %s\n", culprit->function, culprit->count, culprit->caller);
        fprintf(file, "served %" PRIu64 "\n", served(env) - served_before);
        fclose(file);
}
