/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_RETRY_H
#define LIBXAC_RETRY_H

#include "libxac/thread.h"

/* xac_run: begin, body, end, and again after a conflict. The transaction itself has the patience for that (patience.h).
 */
int retry_run(struct thread *thread, int flags, int (*body)(void *arg), void *arg);

#endif
