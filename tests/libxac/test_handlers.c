/* SPDX-License-Identifier: MIT */
#include "libxac/ground/handlers.h"

/*
 * Who gets SIGSEGV, with handlers that come before us, after us, again and again, that call or put back what they
 * found. Without an environment: what is to be mended is a page of the test. Real signals, each test in a process of
 * its own.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/isolate.h"

enum { PAGE = 4096 };

static char *ours, *foreign;
static volatile sig_atomic_t mends;

static char *map_inaccessible(void)
{
        char *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        check(page != MAP_FAILED);
        return page;
}

static bool mend(siginfo_t *info, void *context)
{
        const char *addr = info->si_addr;

        (void)context;
        if (addr < ours || addr >= ours + PAGE)
                return false;
        mends++;
        return mprotect(ours, PAGE, PROT_READ | PROT_WRITE) == 0;
}

static void take_place(void)
{
        ours = map_inaccessible();
        foreign = map_inaccessible();
        handlers_install(mend, mend);
}

static void check_ours_is_mended(void)
{
        int before = mends;

        check_equal(mprotect(ours, PAGE, PROT_NONE), 0);
        *(volatile char *)ours = 1;
        check_equal(mends, before + 1);
}

/* ---- Handlers of the program ---- */

static sigjmp_buf escape;
static volatile sig_atomic_t calls, early_calls;

static void jump_out(int signal_no)
{
        (void)signal_no;
        calls++;
        siglongjmp(escape, 1);
}

static void jump_out_early(int signal_no, siginfo_t *info, void *context)
{
        (void)signal_no, (void)context;
        check(info->si_addr == foreign);
        early_calls++;
        siglongjmp(escape, 1);
}

static void touch_foreign(void)
{
        if (sigsetjmp(escape, 1) == 0)
                *(volatile char *)foreign = 1;
}

static void install(void (*handler)(int), int flags, struct sigaction *found)
{
        struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

        check_equal(sigaction(SIGSEGV, &action, found), 0);
}

static void install_early(void)
{
        struct sigaction action = { .sa_sigaction = jump_out_early, .sa_flags = SA_SIGINFO };

        check_equal(sigaction(SIGSEGV, &action, NULL), 0);
}

static void a_later_handler_comes_to_stand_behind(void)
{
        take_place();
        check_ours_is_mended();
        for (int i = 1; i <= 3; i++) {
                install(jump_out, 0, NULL);
                handlers_look();
                check_ours_is_mended();
                touch_foreign();
                check_equal(calls, i);
                check_ours_is_mended();
        }
}

static void a_handler_that_goes_is_not_called_again(void)
{
        struct sigaction found;

        install_early();
        take_place();
        for (int i = 1; i <= 100; i++) {
                install(jump_out, 0, &found);
                handlers_look();
                check_ours_is_mended();
                check_equal(sigaction(SIGSEGV, &found, NULL), 0);
                check_ours_is_mended();
                handlers_look();
                touch_foreign();
                check_equal(calls, 0);
                check_equal(early_calls, i);
        }
}

static void look_watches_as_often_as_was_asked_for(void)
{
        take_place();
        handlers_watch(2);
        handlers_watch(1);
        for (int i = 0; i < 3; i++) {
                struct sigaction now;

                install(jump_out, 0, NULL);
                handlers_begin();
                check_equal(sigaction(SIGSEGV, NULL, &now), 0);
                check_equal(now.sa_handler == jump_out, i == 2);
        }
}

static atomic_bool runs, stops;

static void *watch_a_little(void *unused)
{
        while (!atomic_load(&stops)) {
                handlers_watch(1);
                atomic_store(&runs, true);
        }
        return unused;
}

/* The other thread may have seen 0 when this one asks for more. */
static void of_two_that_watch_the_longer_prevails(void)
{
        enum { ROUNDS = 1000000, PAUSES = 32, LOOKS = 20 };
        pthread_t thread;

        check_equal(pthread_create(&thread, NULL, watch_a_little, NULL), 0);
        while (!atomic_load(&runs))
                sched_yield();
        for (int i = 0; i < ROUNDS; i++) {
                atomic_store(&handlers_due, 0);
                for (volatile int pause = i % PAUSES; pause > 0;)
                        pause--;
                handlers_watch(64);
                for (int j = 0; j < LOOKS; j++)
                        check_equal(atomic_load(&handlers_due), 64);
        }
        atomic_store(&stops, true);
        check_equal(pthread_join(thread, NULL), 0);
}

/* ---- As the kernel would have called them ---- */

static volatile sig_atomic_t seen_mask_usr1, seen_mask_segv;

static void look_at_mask(int signal_no, siginfo_t *info, void *context)
{
        sigset_t mask;

        (void)signal_no, (void)context;
        check(info->si_addr == foreign);
        pthread_sigmask(SIG_BLOCK, NULL, &mask);
        seen_mask_usr1 = sigismember(&mask, SIGUSR1);
        seen_mask_segv = sigismember(&mask, SIGSEGV);
        mprotect(foreign, PAGE, PROT_READ | PROT_WRITE);
}

static void signals_are_blocked_as_the_handler_wants(void)
{
        take_place();
        for (int is_nodefer = 0; is_nodefer < 2; is_nodefer++) {
                struct sigaction action = { .sa_sigaction = look_at_mask,
                                            .sa_flags = SA_SIGINFO | (is_nodefer ? SA_NODEFER : 0) };
                sigset_t mask;

                sigaddset(&action.sa_mask, SIGUSR1);
                check_equal(sigaction(SIGSEGV, &action, NULL), 0);
                handlers_look();
                check_equal(mprotect(foreign, PAGE, PROT_NONE), 0);
                *(volatile char *)foreign = 1;
                check_equal(seen_mask_usr1, 1);
                check_equal(seen_mask_segv, !is_nodefer);
                pthread_sigmask(SIG_BLOCK, NULL, &mask);
                check(!sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGSEGV));
        }
}

static void crash_after_one_call(int index, void *unused)
{
        (void)index, (void)unused;
        take_place();
        install(jump_out, (int)SA_RESETHAND, NULL);
        handlers_look();
        touch_foreign();
        check_equal(calls, 1);
        check_ours_is_mended();
        fprintf(stderr, "once\n");
        touch_foreign();
}

static void a_handler_for_one_signal_gets_one(void)
{
        struct crash crash;

        crash_run(crash_after_one_call, 0, NULL, &crash);
        check_equal(crash.signal, SIGSEGV);
        check(strcmp(crash.said, "once\n") == 0);
}

/* ---- Crash reporters ---- */

enum style { PUT_BACK_AND_RETURN, PUT_BACK_AND_RAISE, PUT_BACK_AND_RAISE_AT_ONCE, CALL_IT, STYLES };

static enum style style;
static struct sigaction found_by_reporter;

/* "report" is written without stdio, as in real ones. */
static void report(int signal_no, siginfo_t *info, void *context)
{
        if (write(STDERR_FILENO, "report\n", 7) != 7)
                _exit(3);
        if (style != CALL_IT)
                sigaction(signal_no, &found_by_reporter, NULL);
        else if (found_by_reporter.sa_flags & SA_SIGINFO)
                found_by_reporter.sa_sigaction(signal_no, info, context);
        else
                _exit(4);
        if (style == PUT_BACK_AND_RAISE || style == PUT_BACK_AND_RAISE_AT_ONCE)
                raise(signal_no);
}

/* It remembers what it found, but never itself. */
static void install_reporter(void)
{
        struct sigaction action = { .sa_sigaction = report, .sa_flags = SA_SIGINFO }, found;

        if (style == PUT_BACK_AND_RAISE_AT_ONCE)
                action.sa_flags |= (int)SA_NODEFER;
        check_equal(sigaction(SIGSEGV, &action, &found), 0);
        if (found.sa_sigaction != report)
                found_by_reporter = found;
}

static void last_words(int signal_no)
{
        (void)signal_no;
        _exit(write(STDERR_FILENO, "early\n", 6) == 6 ? 0 : 3);
}

enum { WITH_EARLY = 100, TWICE = 200, THRICE = 400, SENT = 800 };

static void crash_under_reporter(int how, void *unused)
{
        (void)unused;
        style = (enum style)(how % WITH_EARLY);
        if (how / WITH_EARLY & 1)
                signal(SIGSEGV, last_words);
        take_place();
        for (int i = 0; i < (how / TWICE & 1 ? 2 : how / THRICE & 1 ? 3 : 1); i++) {
                install_reporter();
                handlers_look();
                check_ours_is_mended();
        }
        if (how / SENT & 1)
                raise(SIGSEGV);
        else
                *(volatile char *)foreign = 1;
}

/* However it ends, it does: once reported, and then what was there before has its turn. Installed anew it may have
 * found one of ours that leads to itself. */
static void a_crash_reporter_ends_it(void)
{
        static const int times[] = { 0, TWICE, THRICE, SENT, SENT + TWICE, SENT + THRICE };

        for (int each = 0; each < STYLES; each++) {
                for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
                        struct crash crash;

                        /* Who returns from a signal that was sent goes on. */
                        if (each == PUT_BACK_AND_RETURN && times[i] >= SENT)
                                continue;
                        crash_run(crash_under_reporter, each + times[i], NULL, &crash);
                        check_equal(crash.signal, SIGSEGV);
                        check(strcmp(crash.said, "report\n") == 0);
                        crash_run(crash_under_reporter, each + times[i] + WITH_EARLY, NULL, &crash);
                        check_equal(crash.signal, 0);
                        check_equal(crash.status, 0);
                        check(strcmp(crash.said, "report\nearly\n") == 0);
                }
        }
}

/* Before anybody looks: it has found ours, which leads to itself. */
static void crash_in_a_circle(int each, void *unused)
{
        (void)unused;
        style = (enum style)each;
        take_place();
        install_reporter();
        handlers_look();
        install_reporter();
        *(volatile char *)foreign = 1;
}

static void a_circle_ends(void)
{
        for (int each = PUT_BACK_AND_RAISE; each < STYLES; each++) {
                struct crash crash;

                crash_run(crash_in_a_circle, each, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                check(crash_lines(&crash) <= 3);
        }
}

/* ---- Too many ---- */

static void install_too_many(int index, void *unused)
{
        static const int flags[] = { SA_RESTART, SA_NOCLDSTOP, SA_NOCLDWAIT, SA_ONSTACK };

        (void)index, (void)unused;
        take_place();
        for (int i = 0; i < 16; i++) {
                int all = 0;

                for (int bit = 0; bit < 4; bit++)
                        all |= i >> bit & 1 ? flags[bit] : 0;
                install(jump_out, all, NULL);
                handlers_look();
        }
        handlers_look();
        check_equal(mprotect(ours, PAGE, PROT_NONE), 0);
        if (sigsetjmp(escape, 1) == 0)
                *(volatile char *)ours = 1;
        check_equal(calls, 1);
        check_equal(mends, 0);
}

static void too_many_handlers_are_said_once(void)
{
        struct crash crash;

        crash_run(install_too_many, 0, NULL, &crash);
        check_equal(crash.signal, 0);
        check_equal(crash.status, 0);
        check_equal(crash_lines(&crash), 1);
        check(strncmp(crash.said, "libxac: SIGSEGV goes to ", 24) == 0);
        check(strstr(crash.said, "cannot be put in front of it") != NULL);
}

/* ---- handlers_pass_on ---- */

static volatile sig_atomic_t plain_calls, plain_signal, info_calls;
static siginfo_t *seen_info;
static void *seen_context;

static void plain_handler(int signal_no)
{
        plain_signal = signal_no;
        plain_calls++;
}

static void info_handler(int signal_no, siginfo_t *info, void *context)
{
        check_equal(signal_no, SIGSEGV);
        seen_info = info;
        seen_context = context;
        info_calls++;
}

static void earlier_handlers_are_called_their_own_way(void)
{
        struct sigaction before = { .sa_handler = plain_handler };
        siginfo_t info = { .si_code = SEGV_MAPERR };
        int context;

        handlers_pass_on(&before, SIGSEGV, &info, &context);
        check_equal(plain_calls, 1);
        check_equal(plain_signal, SIGSEGV);
        before = (struct sigaction){ .sa_sigaction = info_handler, .sa_flags = SA_SIGINFO };
        handlers_pass_on(&before, SIGSEGV, &info, &context);
        check_equal(info_calls, 1);
        check(seen_info == &info && seen_context == &context);
}

static void without_one_the_default_follows(void)
{
        static void (*const none[])(int) = { SIG_DFL, SIG_IGN };

        for (size_t i = 0; i < 2; i++) {
                struct sigaction before = { .sa_handler = none[i] }, now;
                siginfo_t info = { .si_code = SEGV_MAPERR };

                signal(SIGSEGV, plain_handler);
                handlers_pass_on(&before, SIGSEGV, &info, NULL);
                check_equal(sigaction(SIGSEGV, NULL, &now), 0);
                check(now.sa_handler == SIG_DFL); /* the access itself faults again */
        }
}

static void pass_on_a_sent_one(int index, void *unused)
{
        const struct sigaction before = { .sa_handler = index ? SIG_IGN : SIG_DFL };
        siginfo_t info = { .si_code = SI_USER };

        (void)unused;
        signal(SIGSEGV, plain_handler);
        handlers_pass_on(&before, SIGSEGV, &info, NULL);
}

static void a_signal_that_was_sent_is_sent_again(void)
{
        struct crash crash;

        crash_run(pass_on_a_sent_one, 0, NULL, &crash);
        check_equal(crash.signal, SIGSEGV);
        check_equal(crash_lines(&crash), 0);
        crash_run(pass_on_a_sent_one, 1, NULL, &crash);
        check_equal(crash.signal, 0); /* ignored, as it was */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_later_handler_comes_to_stand_behind),
                isolated_test(a_handler_that_goes_is_not_called_again),
                isolated_test(look_watches_as_often_as_was_asked_for),
                isolated_test(of_two_that_watch_the_longer_prevails),
                isolated_test(signals_are_blocked_as_the_handler_wants),
                isolated_test(a_handler_for_one_signal_gets_one),
                isolated_test(a_crash_reporter_ends_it),
                isolated_test(a_circle_ends),
                isolated_test(too_many_handlers_are_said_once),
                isolated_test(earlier_handlers_are_called_their_own_way),
                isolated_test(without_one_the_default_follows),
                isolated_test(a_signal_that_was_sent_is_sent_again),
        };

        return cmocka_run_group_tests_name("libxac/handlers", tests, NULL, NULL);
}
