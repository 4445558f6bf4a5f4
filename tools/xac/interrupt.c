/* SPDX-License-Identifier: MIT */
#include "tools/xac/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int signal_no)
{
        came = signal_no;
}

/* Those that are ignored stay so, as with nohup. */
void interrupt_catch(void)
{
        static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
        struct sigaction action = { .sa_handler = note, .sa_flags = (int)(SA_RESTART | SA_RESETHAND) }, before;

        sigemptyset(&action.sa_mask);
        for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
                if (!sigaction(caught[i], NULL, &before) && before.sa_handler != SIG_IGN)
                        sigaction(caught[i], &action, NULL);
}

int interrupt_check(void)
{
        return came ? -ECANCELED : 0;
}

void interrupt_follow(void)
{
        if (came)
                raise(came);
}
