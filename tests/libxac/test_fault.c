/* SPDX-License-Identifier: MIT */
#include "libxac/process/fault.h"

/*
 * Which faults are the library's, what becomes of the others, and what is
 * said about those that cannot be mended. Real signals, each test in a process of its own.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "libxac/process/thread.h"
#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static volatile uint64_t *word_of(unsigned page)
{
        return seat.words + seat_word(page, 0);
}

/* ---- Faults that are not ours ---- */

static sigjmp_buf escape;
static volatile int escapes;
static void *volatile escaped_at;

static void escape_handler(int signal_no, siginfo_t *info, void *context)
{
        (void)signal_no, (void)context;
        escapes++;
        escaped_at = info->si_addr;
        siglongjmp(escape, 1);
}

static void install_before(int signal_no)
{
        const struct sigaction action = { .sa_sigaction = escape_handler, .sa_flags = SA_SIGINFO };

        check_equal(sigaction(signal_no, &action, NULL), 0);
}

static void escape_from(volatile char *addr, int expected)
{
        if (sigsetjmp(escape, 1) == 0)
                *addr = 1;
        check_equal(escapes, expected);
        check(escaped_at == addr);
}

static char *map_inaccessible(void)
{
        char *foreign = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        check(foreign != MAP_FAILED);
        return foreign;
}

/* The program's handler, installed before the environment was opened, gets what is the program's. */
static void earlier_segv_handlers_get_foreign_faults(void)
{
        char *foreign = map_inaccessible();

        install_before(SIGSEGV);
        seat_take(0);
        check_equal(seat_commit_add(0), 1);
        check_equal(escapes, 0);
        escape_from(foreign + 8, 1);
        check_equal(seat_commit_add(0), 2); /* and view faults come to us still */
        escape_from(foreign + 16, 2);
        seat_leave(0);
}

static char *map_beyond_its_end(void)
{
        FILE *file = tmpfile();
        char *foreign;

        check(file != NULL);
        foreign = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        check(foreign != MAP_FAILED);
        fclose(file);
        return foreign;
}

static void earlier_bus_handlers_get_foreign_faults(void)
{
        char *foreign = map_beyond_its_end();

        install_before(SIGBUS);
        seat_take(0);
        check_equal(seat_commit_add(0), 1);
        escape_from(foreign + 8, 1);
        check_equal(seat_commit_add(0), 2);
        escape_from(foreign + 16, 2);
        seat_leave(0);
}

static void touch_foreign_memory(int is_bus, void *unused)
{
        char *foreign = is_bus ? map_beyond_its_end() : map_inaccessible();

        (void)unused;
        seat_take(0);
        seat_commit_add(0);
        *(volatile char *)foreign = 1;
}

static void send_to_itself(int signal_no, void *unused)
{
        (void)unused;
        seat_take(0);
        seat_commit_add(0);
        kill(getpid(), signal_no);
        seat_commit_add(1); /* where the back end cannot see that it was sent, the next fault ends it */
        seat_commit_add(seat_word(9, 0));
}

static void without_a_handler_foreign_faults_end_the_program(void)
{
        struct crash crash;

        crash_run(touch_foreign_memory, 0, NULL, &crash);
        check_equal(crash.signal, SIGSEGV);
        check_equal(crash_lines(&crash), 0); /* we have nothing to say about it */
        crash_run(touch_foreign_memory, 1, NULL, &crash);
        check_equal(crash.signal, SIGBUS);
        check_equal(crash_lines(&crash), 0);
        crash_run(send_to_itself, SIGSEGV, NULL, &crash);
        check_equal(crash.signal, SIGSEGV);
        crash_run(send_to_itself, SIGBUS, NULL, &crash);
        check_equal(crash.signal, SIGBUS);
        seat_take(0); /* the dead are taken over, and their shared memory goes */
        seat_leave(0);
}

/* ---- Ours ---- */

static void errno_is_the_programs(void)
{
        char local;

        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        errno = 1234;
        check(fault_handle((void *)word_of(3), TOUCH_READ, NULL));
        check_equal(errno, 1234);
        check_equal(*word_of(20), 0);
        check_equal(errno, 1234);
        check(!fault_handle(&local, TOUCH_READ, NULL));
        check(!fault_handle_bus(&local));
        check_equal(errno, 1234);
        sys_fail = NULL;
        check_ok(xend(seat.env));
        seat_leave(0);
}

/* The file was cut off: between transactions, too, its pages read as zeros. */
static void what_the_file_lost_reads_as_zeros(void)
{
        seat_take(0);
        check_equal(seat_commit_add(seat_word(30, 0)), 1);
        seat_leave(0);
        seat_take(0);
        check_equal(truncate(scratch_path("env/words"), 4096), 0);
        check_equal(*word_of(30), 0);
        check_equal(*word_of(31), 0);
        *word_of(30) = 5; /* of no consequence */
        check_ok(xbegin(seat.env, 0));
        check_equal(*word_of(30), 0);
        check_code(xend(seat.env), XAC_CORRUPT);
        seat_leave(0);
}

static int refuse_memory(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP ? -ENOMEM : 0;
}

enum reason { IN_LIBRARY, BEYOND, NO_MAPPING, REASONS };

static void touch_what_cannot_be_mended(int reason, void *unused)
{
        (void)unused;
        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        if (reason == IN_LIBRARY)
                thread_list->is_in_library = true; /* as in a signal handler that came during a call */
        if (reason == NO_MAPPING)
                sys_fail = refuse_memory;
        *word_of(reason == BEYOND ? SEAT_PAGES + 1 : 3) = 1;
}

static void what_cannot_be_mended_is_explained(void)
{
        static const char *const said[REASONS] = { "inside a call of libxac", "beyond the end of the file",
                                                   "no mapping could be made" };
        static const char *const where[REASONS] = { "words at offset 0x3000:", "words at offset 0x41000:",
                                                    "words at offset 0x3000:" };

        for (int reason = 0; reason < REASONS; reason++) {
                struct crash crash;

                crash_run(touch_what_cannot_be_mended, reason, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                check(strstr(crash.said, said[reason]) != NULL);
                check(strstr(crash.said, where[reason]) != NULL);
                check_equal(crash_lines(&crash), 1);
        }
        seat_take(0);
        seat_leave(0);
}

enum end { BY_CLOSE, BY_UNMAP, BY_THREAD, BY_SNAPSHOT_CLOSE, ENDS };

/* An environment is given, and an address given back. */
static void *map_in_a_thread(void *words)
{
        *(void **)words = xac_mmap(*(xac_env **)words, "words", 0, XAC_ANYWHERE);
        return NULL;
}

/* An address of `words` whose mapping has come to this end. */
static volatile uint64_t *end_of(enum end end)
{
        pthread_t thread;
        xac_snapshot *snapshot;
        void *words;
        seat_take(0);
        words = seat.words;
        switch (end) {
        case BY_UNMAP:
                check_ok(xac_munmap(seat.env, words));
                break;
        case BY_THREAD:
                words = seat.env;
                check_equal(pthread_create(&thread, NULL, map_in_a_thread, &words), 0);
                check_equal(pthread_join(thread, NULL), 0);
                break;
        case BY_SNAPSHOT_CLOSE:
                check_ok(xac_snapshot_open(seat.env, 0, &snapshot));
                words = (void *)xac_snapshot_map(snapshot, "words", NULL);
                check(words != MAP_FAILED);
                check_ok(xac_snapshot_close(snapshot));
                check_ok(xac_close(seat.env));
                break;
        default:
                check_ok(xac_close(seat.env));
        }
        return (volatile uint64_t *)words + seat_word(3, 0);
}

static void touch_what_has_ended(int end, void *unused)
{
        (void)unused;
        *end_of(end) = 1;
}

static void what_is_mapped_no_more_is_explained(void)
{
        for (int end = 0; end < ENDS; end++) {
                struct crash crash;

                crash_run(touch_what_has_ended, end, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                check(strstr(crash.said, "libxac: access to words at offset 0x3000: it is mapped no more:") != NULL);
                check_equal(crash_lines(&crash), 1);
        }
}

/* What the handler says, and that it says no, without the crash that follows. */
static void check_refused(volatile void *addr, const char *reason)
{
        char said[512] = "";
        int ends[2], stderr_before = dup(STDERR_FILENO);
        bool is_done;

        check_equal(pipe(ends), 0);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        is_done = fault_handle((void *)addr, TOUCH_WRITE, NULL);
        sys_fail = NULL;
        dup2(stderr_before, STDERR_FILENO);
        close(stderr_before);
        check(!is_done);
        check(read(ends[0], said, sizeof(said) - 1) > 0);
        close(ends[0]);
        check(strncmp(said, "libxac: access to words at offset 0x", 36) == 0);
        check(strstr(said, reason) != NULL);
        check(strchr(said, '\n') == said + strlen(said) - 1);
}

static void *touch_the_view_of_another(void *addr)
{
        check_equal(prctl(PR_SET_NAME, "a stranger"), 0);
        check_refused(addr, "a view of another thread, touched by thread ");
        check_refused(addr, " (a stranger) in code that is not known; each thread maps its own (xac_mmap)");
        check_refused(addr, "one thread, or a copy");
        return NULL;
}

static void the_handler_says_why_not(void)
{
        pthread_t thread;
        xac_env *env = NULL;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE | XAC_STRICT, NULL, &env));
        seat.env = env;
        seat.words = xac_mmap(env, "words", SEAT_PAGES * SEAT_PAGE_BYTES, 0);
        check_refused(word_of(3), "outside of a transaction (XAC_STRICT)");
        check_ok(xbegin(env, 0));
        check_refused(word_of(SEAT_PAGES), "beyond the end of the file");
        *word_of(4) = 1;                   /* so that what the next one needs besides is there */
        __asm__ volatile("" ::: "memory"); /* the handler must see that before the failures begin */
        sys_fail = refuse_memory;
        check_refused(word_of(3), "no mapping could be made");
        thread_list->is_in_library = true;
        check_refused(word_of(3), "inside a call of libxac");
        thread_list->is_in_library = false;
        check_equal(pthread_create(&thread, NULL, touch_the_view_of_another, (void *)word_of(3)), 0);
        check_equal(pthread_join(thread, NULL), 0);
        check_code(xend(env), -ENOMEM);
        check_ok(xac_close(env));
}

/* Two environments in one thread: each fault goes to its own. */
static void faults_find_their_environment(void)
{
        xac_env *second;
        volatile uint64_t *words;

        seat_take(0);
        check_ok(xac_open(scratch_path("second"), XAC_CREATE | XAC_VOLATILE, NULL, &second));
        words = xac_mmap(second, "words", 4096, 0);
        check(words != MAP_FAILED);
        check_ok(xbegin(second, 0));
        check_ok(xbegin(seat.env, 0));
        *words = 1;
        *word_of(3) = 2;
        check_ok(xend(seat.env));
        check_ok(xabort(second));
        check_ok(xbegin(second, XAC_RDONLY));
        check_equal(*words, 0);
        check_ok(xend(second));
        check_ok(xac_close(second));
        check_equal(seat_commit_get(seat_word(3, 0)), 2); /* the other one's thread is gone from the list */
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(earlier_segv_handlers_get_foreign_faults),
                isolated_test(earlier_bus_handlers_get_foreign_faults),
                isolated_test(without_a_handler_foreign_faults_end_the_program),
                isolated_test(errno_is_the_programs),
                isolated_test(what_the_file_lost_reads_as_zeros),
                isolated_test(what_cannot_be_mended_is_explained),
                isolated_test(what_is_mapped_no_more_is_explained),
                isolated_test(the_handler_says_why_not),
                isolated_test(faults_find_their_environment),
        };

        return cmocka_run_group_tests_name("libxac/fault", tests, NULL, NULL);
}
