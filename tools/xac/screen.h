/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_SCREEN_H
#define TOOLS_XAC_SCREEN_H

/*
 * The terminal as a screen that is drawn anew again and again, by the sequences that all of today's understand; and
 * how a program waits that a user may end by q, Ctrl-C or SIGTERM. The terminal is as it was afterwards.
 *
 * Where standard output is no terminal there is only the waiting.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* is_drawn: standard output is a terminal, and may be drawn on. */
void screen_open(bool is_drawn);
void screen_close(void);

/* Lines that there is room for; 0: it is no screen. */
unsigned screen_lines(void);
/* Shows the text; lines beyond the room, and what is too long of them, are cut. */
void screen_draw(const char *text, size_t byte_len);

enum screen_event { SCREEN_TIME, SCREEN_RESIZED, SCREEN_END };

/* Until then (sys_monotonic_ns), or earlier if something happens. */
enum screen_event screen_wait(uint64_t until_ns);

#endif
