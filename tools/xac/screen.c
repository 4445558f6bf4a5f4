/* SPDX-License-Identifier: MIT */
#include "tools/xac/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/sys.h"

#define OTHER_SCREEN "\033[?1049h\033[?25l" /* the second one, without a cursor */
#define FIRST_SCREEN "\033[?25h\033[?1049l"
#define HOME         "\033[H"
#define ERASE_REST   "\033[K" /* of a line */
#define ERASE_BELOW  "\033[J"

static struct {
        bool is_drawn;
        bool has_keys; /* standard input is a terminal, too */
        struct termios before;
        sigset_t mask; /* while it waits */
} screen;

static volatile sig_atomic_t is_ended, is_resized;

static void note(int signal_no)
{
        if (signal_no == SIGWINCH)
                is_resized = 1;
        else
                is_ended = 1;
}

/* They come while it waits, and at no other time. */
static void catch_signals(void)
{
        static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };
        struct sigaction action = { .sa_handler = note };
        sigset_t blocked;

        sigemptyset(&action.sa_mask);
        sigemptyset(&blocked);
        for (unsigned i = 0; i < sizeof(caught) / sizeof(caught[0]); i++) {
                sigaddset(&blocked, caught[i]);
                sigaction(caught[i], &action, NULL);
        }
        sigprocmask(SIG_BLOCK, &blocked, &screen.mask);
        for (unsigned i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
                sigdelset(&screen.mask, caught[i]);
}

/* Keys come at once and unseen. Ctrl-Z would leave the terminal so, and does nothing. */
static void take_keys(void)
{
        struct termios now;

        screen.has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen.before) == 0;
        if (!screen.has_keys)
                return;
        now = screen.before;
        now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        now.c_cc[VSUSP] = _POSIX_VDISABLE;
        now.c_cc[VMIN] = 1;
        now.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

void screen_open(bool is_drawn)
{
        catch_signals();
        screen.is_drawn = is_drawn;
        if (!is_drawn)
                return;
        take_keys();
        fputs(OTHER_SCREEN, stdout);
        fflush(stdout);
}

void screen_close(void)
{
        if (!screen.is_drawn)
                return;
        fputs(FIRST_SCREEN, stdout);
        fflush(stdout);
        if (screen.has_keys)
                tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
        screen.is_drawn = false;
}

static struct winsize size(void)
{
        struct winsize now = { .ws_row = 0 };

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) || !now.ws_row || !now.ws_col)
                now = (struct winsize){ .ws_row = 24, .ws_col = 80 };
        return now;
}

unsigned screen_lines(void)
{
        return screen.is_drawn ? size().ws_row : 0;
}

/* Bytes of the line that fit into so many columns: those that continue a character of UTF-8 need none. */
static size_t fitting(const char *line, size_t byte_len, unsigned columns)
{
        size_t fits = 0;

        for (unsigned used = 0; fits < byte_len; fits++) {
                used += ((unsigned char)line[fits] & 0xc0) != 0x80;
                if (used > columns)
                        break;
        }
        return fits;
}

void screen_draw(const char *text, size_t byte_len)
{
        struct winsize room = size();
        const char *end = text + byte_len;

        fputs(HOME, stdout);
        for (unsigned row = 0; row < room.ws_row && text < end; row++) {
                const char *line_end = memchr(text, '\n', (size_t)(end - text));
                size_t line_len = (size_t)((line_end ? line_end : end) - text);

                fprintf(stdout, "%s%.*s" ERASE_REST, row ? "\r\n" : "", (int)fitting(text, line_len, room.ws_col),
                        text);
                text += line_len + 1;
        }
        fputs(ERASE_BELOW, stdout);
        fflush(stdout);
}

static bool is_quit_typed(void)
{
        char keys[32];
        ssize_t count = read(STDIN_FILENO, keys, sizeof(keys));

        if (count <= 0)
                screen.has_keys = false; /* the terminal is gone */
        return count > 0 && (memchr(keys, 'q', (size_t)count) || memchr(keys, 'Q', (size_t)count));
}

enum screen_event screen_wait(uint64_t until_ns)
{
        for (;;) {
                struct pollfd keys = { .fd = screen.has_keys ? STDIN_FILENO : -1, .events = POLLIN };
                uint64_t now_ns = sys_monotonic_ns();
                uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
                struct timespec left = { .tv_sec = (time_t)(left_ns / 1000000000),
                                         .tv_nsec = (long)(left_ns % 1000000000) };
                int count = ppoll(&keys, 1, &left, &screen.mask);

                if (is_ended || (count > 0 && is_quit_typed()))
                        return SCREEN_END;
                if (is_resized) {
                        is_resized = 0;
                        return SCREEN_RESIZED;
                }
                if (count == 0)
                        return SCREEN_TIME;
        }
}
