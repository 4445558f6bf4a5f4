/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_RETRY_H
#define LIBXAC_RETRY_H

#include "libxac/thread.h"

/*
 * xac_run: begin, body, end, and again after a conflict, with randomised back-off. After
 * RETRY_LOSSES_MAX losses in a row it runs exclusively among writers, so that it gets through.
 */
enum { RETRY_LOSSES_MAX = 16 };

int retry_run(struct thread *thread, int flags, int (*body)(void *arg), void *arg);

#endif
