/* SPDX-License-Identifier: MIT */
#include "tests/support/leeway.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
        MS = 1000000,
        ASK_EVERY_MS = 100, /* of the kernel, how busy the machine is */
        STALLED_MAX = 80,   /* percent */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        SANITIZED = 4
#else
        SANITIZED = 1
#endif
};

/* ---- what the kernel says; all of it by calls that a signal handler may make, too ---- */

static void read_text(const char *path, char *text, size_t text_bytes)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t byte_len = fd < 0 ? 0 : read(fd, text, text_bytes - 1);

        text[byte_len < 0 ? 0 : byte_len] = '\0';
        if (fd >= 0)
                close(fd);
}

/* The number that begins there, of the form 12.34. */
static double number_at(const char *text)
{
        double number = 0, digit = 1;

        for (; *text >= '0' && *text <= '9'; text++)
                number = number * 10 + (*text - '0');
        if (*text == '.')
                for (text++; *text >= '0' && *text <= '9'; text++)
                        number += (*text - '0') * (digit /= 10);
        return number;
}

/* Tasks that want to run, this one included: in the last minute or at this moment, whichever is more.
 *
 *      0.20 0.18 0.12 3/164 4711
 *      last minute    now
 */
static double tasks(void)
{
        char text[128];
        const char *now = text;
        double minute, running;

        read_text("/proc/loadavg", text, sizeof(text));
        minute = number_at(text);
        for (int fields = 0; fields < 3 && now != NULL; fields++)
                now = (now = strchr(now, ' ')) != NULL ? now + 1 : NULL;
        running = now != NULL ? number_at(now) : 1;
        return minute > running ? minute : running;
}

/* The percentage of the last ten seconds in which some task waited for it. */
static double stalled(const char *path)
{
        char text[128];
        const char *percent;

        read_text(path, text, sizeof(text));
        percent = strstr(text, "avg10=");
        return percent != NULL ? number_at(percent + strlen("avg10=")) : 0;
}

/* How many others of priority 0 count for, against this process: the kernel gives 1.25 times less for each step. */
static double others_weigh(void)
{
        double weight = 1;

        for (int nice = getpriority(PRIO_PROCESS, 0); nice > 0; nice--)
                weight *= 1.25;
        return weight;
}

static double busy_factor(void)
{
        double processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
        double waiting = stalled("/proc/pressure/memory") + stalled("/proc/pressure/io");
        double all = tasks(), factor = 1;

        if (all > processors)
                factor = (1 + (all - 1) * others_weigh()) / processors;
        factor *= 100 / (100 - (waiting > STALLED_MAX ? STALLED_MAX : waiting));
        return factor > LEEWAY_FACTOR_MAX ? LEEWAY_FACTOR_MAX : factor;
}

static double asked_for(void)
{
        const char *times = getenv("XAC_TEST_PATIENCE");
        int asked = times != NULL ? atoi(times) : 1;

        return SANITIZED * (asked > 1 ? asked : 1);
}

double leeway_factor(void)
{
        double factor = busy_factor();

        return (factor > 1 ? factor : 1) * asked_for();
}

uint64_t leeway_ms(uint64_t idle_ms)
{
        return (uint64_t)((double)idle_ms * leeway_factor());
}

/* ---- time ---- */

static uint64_t clock_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

struct leeway leeway_of(uint64_t idle_ms)
{
        uint64_t now_ns = clock_ns();

        return (struct leeway){ (double)idle_ms, leeway_factor(), now_ns, now_ns };
}

bool leeway_is_left(struct leeway *leeway)
{
        uint64_t now_ns = clock_ns();
        double before = leeway->factor;

        if (now_ns - leeway->asked_ns >= (uint64_t)ASK_EVERY_MS * MS) {
                leeway->factor = leeway_factor();
                leeway->asked_ns = now_ns;
        }
        /* Who is asked seldom may have been busy since it was asked, or until then. */
        leeway->left_ms -=
                (double)(now_ns - leeway->looked_ns) / MS / (before > leeway->factor ? before : leeway->factor);
        leeway->looked_ns = now_ns;
        return leeway->left_ms > 0;
}

bool leeway_pause(struct leeway *leeway)
{
        nanosleep(&(struct timespec){ .tv_nsec = MS }, NULL);
        return leeway_is_left(leeway);
}

/* ---- an alarm ---- */

static struct leeway alarm_left;

/* An idle machine: the time was up when the signal came. A busy one is given what is left yet. */
static void alarm_rings(int signal_no)
{
        if (!leeway_is_left(&alarm_left)) {
                signal(signal_no, SIG_DFL);
                raise(signal_no);
        }
        alarm(1 + (unsigned)(alarm_left.left_ms / 1000));
}

void leeway_alarm(unsigned idle_s)
{
        struct sigaction rings = { .sa_handler = alarm_rings, .sa_flags = SA_RESTART };

        sigemptyset(&rings.sa_mask);
        alarm_left = leeway_of((uint64_t)idle_s * 1000);
        if (idle_s > 0)
                sigaction(SIGALRM, &rings, NULL);
        alarm(idle_s);
}
