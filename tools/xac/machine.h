/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_MACHINE_H
#define TOOLS_XAC_MACHINE_H

/*
 * The shared memory that there is on this machine, for people: whose it is, what to do with it, and how full /dev/shm
 * is. `xac stat` without a directory lists it.
 *
 * A path may stand for several: directories that were made and removed one after the other have each left their own.
 * So advice that loses commits names the shared memory, xac.DEVICE.INODE, which stands for one.
 */

#include "libxac/care/leftover.h"
#include "tools/xac/tool.h"

enum tool_exit machine_print(void);
/* The same for programs. */
enum tool_exit machine_print_json(void);
/* That of a directory: of the one at this path, and of others that were there when it was made. The path may be gone.
 * By malloc. -ENOENT: the directory above it is gone, too. */
int machine_find(const char *path, struct leftover **all, uint32_t *count);
/* Goes on in a line: its directory as far as it is known, its name, and its size. Others may have chosen the name: no
 * control characters reach the terminal. */
void machine_print_name(const struct leftover *leftover);
/* What it is, in words. */
const char *machine_explain(const struct leftover *leftover);
/* Lines: what to do with it, where that is not up to `xac clean` alone. */
void machine_print_advice(const struct leftover *leftover, int indent);
/* A line: how large /dev/shm is, and what is free. */
void machine_print_room(void);

#endif
