/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_OWN_SHM_H
#define TESTS_SUPPORT_OWN_SHM_H

/* A /dev/shm that only this process and its children see, of a given size ("64m"). Skips the test where that is not
 * allowed. Before there are threads. */
void own_shm(const char *size);
/* How many files there are in it. */
unsigned own_shm_files(void);

#endif
