/* SPDX-License-Identifier: MIT */
#include "tools/xac/remains.h"

#include <errno.h>

#include "tools/xac/live.h"

/* What cannot be looked at is not taken for absent. */
bool remains_are_there(struct place *place)
{
        struct inspection *inspection;
        int err = live_take(place, &inspection);

        if (!err)
                inspect_free(inspection);
        return err != -ENOENT;
}
