/* SPDX-License-Identifier: MIT */
#include "libxac/address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "libxac/ranges.h"
#include "libxac/window.h"

static const char *name_of(const struct files *files, uint32_t file_no)
{
        return files->shared->control->file[file_no].name;
}

static void tell_taken(const struct files *files, uint32_t file_no, const char *by_what, const char *whose)
{
        fprintf(stderr,
                "libxac: '%s' in %s cannot be mapped at its address, %p: %s%s. If it holds no pointers, only offsets, "
                "map it with XAC_ANYWHERE, or run the program with XAC_ANYWHERE=1 in its environment; another address "
                "can be chosen when it is created (xac_options.address)\n",
                name_of(files, file_no), files->shared->control->path,
                window_place_address(files_place(files, file_no)), by_what, whose);
}

/* Its place is not free. A further view of the same file is content with another, and so is who says so to all. */
static int take_elsewhere(const struct files *files, uint32_t file_no, int err, uint64_t byte_len, void **base)
{
        const char *there = NULL;
        uint64_t offset;
        bool is_view = err == -EEXIST &&
                       ranges_find(window_place_address(files_place(files, file_no)), RANGE_OWN, &there, &offset);
        if (there == name_of(files, file_no) || getenv("XAC_ANYWHERE"))
                return window_map_anywhere(byte_len, base);
        if (is_view)
                tell_taken(files, file_no, "a view is there of another environment's ", there);
        else if (err == -EEXIST)
                tell_taken(files, file_no, "something is there that is not of libxac", "");
        else
                tell_taken(files, file_no, "this process cannot map there (under ThreadSanitizer none can)", "");
        return -EADDRNOTAVAIL;
}

static int take_locked(const struct files *files, uint32_t file_no, bool may_lie_elsewhere, uint64_t *byte_len,
                       void **base)
{
        const struct manifest_place place = files_place(files, file_no);
        if (may_lie_elsewhere || !place.units)
                return window_map_anywhere(*byte_len, base);
        if (*byte_len > window_place_bytes(place))
                *byte_len = window_place_bytes(place);
        int err = window_map_at(place, *byte_len, base);
        if (err == -EEXIST || err == -EADDRNOTAVAIL)
                err = take_elsewhere(files, file_no, err, *byte_len, base);
        return err;
}

int address_take(const struct files *files, uint32_t file_no, bool may_lie_elsewhere, uint64_t *byte_len, void **base)
{
        window_lock();
        int err = take_locked(files, file_no, may_lie_elsewhere, byte_len, base);
        if (!err) {
                err = ranges_add(*base, *byte_len, name_of(files, file_no));
                if (err)
                        window_unmap(*base, *byte_len);
        }
        window_unlock();
        return err;
}

void address_release(void *base, uint64_t byte_len)
{
        window_lock();
        ranges_remove(base);
        window_unmap(base, byte_len);
        window_unlock();
}
