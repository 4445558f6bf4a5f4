/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_INTERRUPT_H
#define TOOLS_XAC_INTERRUPT_H

/* A signal that would end the program ends what it makes first, so that nothing of that is left. The second one ends it
 * at once. */

void interrupt_catch(void);
/* -ECANCELED when one has come; else 0. */
int interrupt_check(void);
/* Ends the program by the signal that came, if one has. */
void interrupt_follow(void);

#endif
