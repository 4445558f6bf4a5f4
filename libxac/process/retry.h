/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_PROCESS_RETRY_H
#define LIBXAC_PROCESS_RETRY_H

#include "libxac/process/thread.h"

/* xac_run: begin, body, end, and again after a conflict. The transaction itself has the patience for that (patience.h).
 */
int retry_run(struct thread *thread, int flags, int (*body)(void *arg), void *arg);

#endif
