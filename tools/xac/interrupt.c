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

/* If it is ignored, as with nohup, it stays so. */
static void catch_one(int signal_no, int flags)
{
        struct sigaction action = { .sa_handler = note, .sa_flags = (int)SA_RESTART | flags }, before;

        sigemptyset(&action.sa_mask);
        if (!sigaction(signal_no, NULL, &before) && before.sa_handler != SIG_IGN)
                sigaction(signal_no, &action, NULL);
}

/* The second one ends it; but for SIGPIPE, which each further write may bring. */
void interrupt_catch(void)
{
        static const int caught[] = { SIGINT, SIGTERM, SIGHUP };

        for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
                catch_one(caught[i], (int)SA_RESETHAND);
        catch_one(SIGPIPE, 0);
}

int interrupt_check(void)
{
        return came ? -ECANCELED : 0;
}

void interrupt_follow(void)
{
        if (!came)
                return;
        signal(came, SIG_DFL);
        raise(came);
}
