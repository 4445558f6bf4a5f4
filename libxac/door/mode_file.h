/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_DOOR_MODE_FILE_H
#define LIBXAC_DOOR_MODE_FILE_H

/*
 * An empty file that is made and removed at once, `xac.mode.N`: umask(2) can only be read by setting it, and some
 * directories have ACLs in its place, so what a new file gets tells it.
 */

#include <stdint.h>

/* *mode, as a new file in the directory gets it. The file's name is nobody's. */
int mode_file_ask(int directory, uint32_t *mode);

/* Removes those of makers that have died, and perhaps one that somebody makes now, who has no need of its name. */
void mode_file_remove_old(int directory);

#endif
