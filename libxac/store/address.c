/* SPDX-License-Identifier: MIT */
#include "libxac/store/address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <xac/xac.h>

#include "base/say.h"
#include "libxac/store/ranges.h"
#include "libxac/store/window.h"

static struct address *list; /* under the window's lock */

static const char *name_of(const struct files *files, uint32_t file_no)
{
        return files->shared->control->file[file_no].name;
}

static void tell_taken(const struct files *files, uint32_t file_no, const char *by_what, const char *whose)
{
        say(stderr,
            "libxac: '%s' in %s cannot be mapped at its address, %p: %s%s. If it holds no pointers, only offsets, "
            "map it with XAC_ANYWHERE, or run the program with XAC_ANYWHERE=1 in its environment; another address "
            "can be chosen when it is created (xac_options.address)\n",
            name_of(files, file_no), files->shared->control->path, window_place_address(files_place(files, file_no)),
            by_what, whose);
}

static void tell_shown(const struct files *files, uint32_t file_no, const char *by_what)
{
        say(stderr,
            "libxac: '%s' in %s cannot be mapped with XAC_SHARED: another thread of this process has %s, which it "
            "is to release first (xac_munmap)\n",
            name_of(files, file_no), files->shared->control->path, by_what);
}

/* Its place is not free. A further view of the same file is content with another, and so is who says so to all. */
static int take_elsewhere(const struct address *address, int err, void **base)
{
        const struct files *files = address->files;
        const uint32_t file_no = address->file_no;
        const char *there = NULL;
        uint64_t offset;
        bool is_view = err == -EEXIST &&
                       ranges_find(window_place_address(files_place(files, file_no)), RANGE_OWN, &there, &offset);
        bool is_same_file = there == name_of(files, file_no);
        if (secure_getenv("XAC_ANYWHERE") || (is_same_file && !address->is_shared))
                return window_map_anywhere(address->byte_len, base);
        if (is_same_file) {
                tell_shown(files, file_no, "a view of it without that");
                return -EBUSY;
        }
        if (is_view)
                tell_taken(files, file_no, "a view is there of another environment's ", there);
        else if (err == -EEXIST)
                tell_taken(files, file_no, "something is there that is not of libxac", "");
        else
                tell_taken(files, file_no, "this process cannot map there (under ThreadSanitizer none can)", "");
        return -EADDRNOTAVAIL;
}

static int map_new(struct address *address, int flags)
{
        const struct manifest_place place = files_place(address->files, address->file_no);
        if (flags & XAC_ANYWHERE || !place.units)
                return window_map_anywhere(address->byte_len, &address->base);
        if (address->byte_len > window_place_bytes(place))
                address->byte_len = window_place_bytes(place);
        int err = window_map_at(place, address->byte_len, &address->base);
        if (err == -EEXIST || err == -EADDRNOTAVAIL)
                err = take_elsewhere(address, err, &address->base);
        return err;
}

static int take_new(const struct files *files, uint32_t file_no, int flags, uint64_t byte_len, struct address **out)
{
        struct address *address = calloc(1, sizeof(*address));
        if (!address)
                return -ENOMEM;
        *address = (struct address){ .byte_len = byte_len,
                                     .files = files,
                                     .file_no = file_no,
                                     .is_shared = flags & XAC_SHARED,
                                     .views = 1,
                                     .use = flags & XAC_SHARED ? ADDRESS_ALONE : ADDRESS_SHOWN };
        int err = map_new(address, flags);
        if (err)
                goto fail_map;
        err = ranges_add(address->base, address->byte_len, name_of(files, file_no));
        if (err)
                goto fail_range;
        address->next = list;
        list = address;
        *out = address;
        return 0;

fail_range:
        window_unmap(address->base, address->byte_len);
fail_map:
        free(address);
        return err;
}

/* The range that views of the file share in this process, or NULL. */
static struct address *find_shared(const struct files *files, uint32_t file_no)
{
        struct address *address = list;
        while (address && !(address->is_shared && address->files == files && address->file_no == file_no))
                address = address->next;
        return address;
}

static int join(struct address *address)
{
        enum address_use alone = ADDRESS_ALONE;
        if (!atomic_compare_exchange_strong(&address->use, &alone, ADDRESS_COMMON) && alone == ADDRESS_SHOWN) {
                tell_shown(address->files, address->file_no, "touched its view by plain pointers");
                return -EBUSY;
        }
        address->views++;
        return 0;
}

int address_take(const struct files *files, uint32_t file_no, int flags, uint64_t byte_len, struct address **out)
{
        window_lock();
        *out = flags & XAC_SHARED ? find_shared(files, file_no) : NULL;
        int err = *out ? join(*out) : take_new(files, file_no, flags, byte_len, out);
        window_unlock();
        return err;
}

static void remove_from_list(const struct address *address)
{
        struct address **link = &list;
        while (*link != address)
                link = &(*link)->next;
        *link = address->next;
}

void address_release(struct address *address)
{
        window_lock();
        if (--address->views == 0) {
                remove_from_list(address);
                ranges_remove(address->base);
                window_unmap(address->base, address->byte_len);
                free(address);
        } else if (address->views == 1) {
                atomic_store(&address->use, ADDRESS_ALONE);
        }
        window_unlock();
}

bool address_may_show(struct address *address)
{
        enum address_use use = ADDRESS_ALONE;
        return atomic_load_explicit(&address->use, memory_order_relaxed) == ADDRESS_SHOWN ||
               atomic_compare_exchange_strong(&address->use, &use, ADDRESS_SHOWN) || use == ADDRESS_SHOWN;
}
