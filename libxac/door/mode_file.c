/* SPDX-License-Identifier: MIT */
#include "libxac/door/mode_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"

#define NAME_FORMAT "xac.mode.%016" PRIx64

enum { NAME_BYTES = 40 };

int mode_file_ask(int directory, uint32_t *mode)
{
        char name[NAME_BYTES];
        uint64_t number;
        struct stat st;
        int fd;
        int err = sys_random(&number, sizeof(number));
        if (err)
                return err;
        snprintf(name, sizeof(name), NAME_FORMAT, number);
        err = sys_open(directory, name, O_RDWR | O_CREAT | O_EXCL, (mode_t)*mode, &fd);
        if (err)
                return err;
        err = sys_stat(fd, &st);
        sys_close(fd);
        (void)sys_unlink(directory, name);
        *mode = st.st_mode & 0777;
        return err;
}

static bool is_name(const char *name)
{
        char again[NAME_BYTES];
        uint64_t number;
        if (sscanf(name, "xac.mode.%16" SCNx64, &number) != 1)
                return false;
        snprintf(again, sizeof(again), NAME_FORMAT, number);
        return strcmp(again, name) == 0;
}

/* Whoever may not remove it leaves it to the next one. */
static int visit(void *arg, const char *name)
{
        const int directory = *(const int *)arg;
        struct stat st;
        if (is_name(name) && !sys_stat_at(directory, name, &st) && S_ISREG(st.st_mode) && st.st_size == 0)
                (void)sys_unlink(directory, name);
        return 0;
}

void mode_file_remove_old(int directory)
{
        (void)sys_list(directory, visit, &directory);
}
