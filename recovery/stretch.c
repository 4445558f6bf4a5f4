/* SPDX-License-Identifier: MIT */
#include "recovery/stretch.h"

#include <errno.h>

#include "base/sys.h"

static void look(struct stretch *stretch, uint64_t offset)
{
        int err = stretch->fd < 0 ? -ENXIO : sys_find_data(stretch->fd, offset, &stretch->begin, &stretch->end);

        if (err)
                stretch->end = UINT64_MAX;
        if (err == -ENXIO)
                stretch->begin = UINT64_MAX;
        else if (err) /* who reads it is told what is wrong */
                stretch->begin = offset;
}

uint64_t stretch_find(struct stretch *stretch, uint64_t offset)
{
        if (offset >= stretch->end)
                look(stretch, offset);
        return offset < stretch->begin ? stretch->begin : offset;
}
