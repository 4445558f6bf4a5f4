/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FAILURE_SCRIPTS_H
#define TESTS_FAILURE_SCRIPTS_H

/*
 * Short programs over a world, for every_call to let fail at each call. `prepare` always
 * succeeds; in `act` any call may fail, and what it returns is taken as it comes.
 */

/* In environments of which kind. */
enum script_where { SCRIPT_ANYWHERE, SCRIPT_DURABLE, SCRIPT_VOLATILE };

struct script {
        const char *name;
        void (*prepare)(void);
        void (*act)(void);
        int is_shared; /* a companion process has the environment open as well */
        enum script_where where;
};

extern const struct script scripts[];
extern const int script_count;

/* The companion proves its own view of the world and leaves. */
void scripts_dismiss_companion(void);
void scripts_kill_companion(void);

#endif
