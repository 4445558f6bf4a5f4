/* SPDX-License-Identifier: MIT */
#include "tools/xac/repair_double_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/say.h"
#include "base/sys.h"
#include "recovery/page_name.h"
#include "recovery/recover_double_write.h"

static const char *name_of(const struct repair *repair, uint64_t page)
{
        return place_file_name(&repair->place, page_name_file(page));
}

static bool is_it(const struct repair *repair, const unsigned char *bytes, uint32_t checksum)
{
        return checksum_crc32c(0, bytes, repair->place.manifest.page_bytes) == checksum;
}

static int visit(void *repair, const struct page_image *image)
{
        (void)repair, (void)image;
        return 0;
}

/* A page at home. What it lacks at the file's end is zeros. */
struct home {
        int fd;
        uint64_t offset;
        size_t byte_len;
};

/* -ENODATA: the file ends before, which no page of a backup may hide. */
static int open_home(const struct repair *repair, uint64_t page, struct home *home)
{
        const uint32_t page_bytes = repair->place.manifest.page_bytes;
        const int access = repair->is_dry ? O_RDONLY : O_RDWR;
        struct stat st;
        int err = sys_open(repair->place.directory, name_of(repair, page), access | O_NONBLOCK, 0, &home->fd);

        if (err)
                return err == -ENOENT || err == -ELOOP || err == -EISDIR || err == -ENXIO ? -ENODATA : err;
        err = sys_stat(home->fd, &st);
        home->offset = page_name_number(page) * page_bytes;
        if (!err && (!S_ISREG(st.st_mode) || (uint64_t)st.st_size <= home->offset))
                err = -ENODATA;
        if (err) {
                sys_close(home->fd);
                return err;
        }
        home->byte_len = (size_t)((uint64_t)st.st_size - home->offset);
        if (home->byte_len > page_bytes)
                home->byte_len = page_bytes;
        return 0;
}

/* -ENODATA: another page is there. */
static int find_at_home(const struct repair *repair, const struct home *home, uint32_t checksum, unsigned char *bytes)
{
        memset(bytes, 0, repair->place.manifest.page_bytes);
        int err = sys_read_all(home->fd, bytes, home->byte_len, home->offset);

        return err || is_it(repair, bytes, checksum) ? err : -ENODATA;
}

static int find_in_backup(struct repair *repair, uint64_t page, uint32_t checksum, unsigned char *bytes)
{
        int err = repair_source_open_file(&repair->source, name_of(repair, page));

        if (err)
                return err;
        err = repair->source.data_fd < 0 ? -ENODATA
                                         : repair_source_read(&repair->source, page_name_number(page), bytes);
        repair_source_close_file(&repair->source);
        return err || is_it(repair, bytes, checksum) ? err : -ENODATA;
}

static int put_home(struct repair *repair, const struct home *home, uint64_t page, const unsigned char *bytes)
{
        repair->pages++;
        say(stdout, "%s: offset %llu: the page, which the double-write buffer should have, was taken from the backup\n",
            name_of(repair, page), (unsigned long long)home->offset);
        if (repair->is_dry)
                return 0;
        int err = sys_write_all(home->fd, bytes, repair->place.manifest.page_bytes, home->offset);
        return err ? err : sys_sync_data(home->fd);
}

static int find(void *repair_, uint64_t page, uint32_t checksum, void *bytes)
{
        struct repair *repair = repair_;
        struct home home;
        int err = open_home(repair, page, &home);

        if (err)
                return err;
        err = find_at_home(repair, &home, checksum, bytes);
        if (err == -ENODATA) {
                err = find_in_backup(repair, page, checksum, bytes);
                if (!err)
                        err = put_home(repair, &home, page, bytes);
        }
        sys_close(home.fd);
        return err;
}

static int lose(void *repair_, const struct double_write_damage *damage)
{
        struct repair *repair = repair_;

        repair->left++;
        say(stdout,
            "%s: offset %llu: the page, which the double-write buffer should have (its offset %llu), is damaged "
            "there, and neither at home nor in the backup as it was: left as it is\n",
            name_of(repair, damage->page),
            (unsigned long long)(page_name_number(damage->page) * repair->place.manifest.page_bytes),
            (unsigned long long)damage->offset);
        return 0;
}

int repair_double_write(struct repair *repair, bool *is_known)
{
        const struct manifest *manifest = &repair->place.manifest;
        const struct double_write_id id = recover_double_write_id(manifest);
        const struct double_write_visitor visitor = { visit, find, lose, repair };
        struct double_write_damage damage;

        *is_known = true;
        if (manifest->buffer < 0)
                return 0;
        int err = double_write_read(repair->place.directory, manifest->buffer, &id, manifest->buffer_checksum, &visitor,
                                    &damage);
        if (err != XAC_CORRUPT)
                return err;
        *is_known = false;
        repair->left++;
        say(stdout, "%s: offset %llu: %s: nobody can tell which pages it should have, and none was looked at\n",
            manifest->buffer ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0, (unsigned long long)damage.offset,
            damage.what);
        return 0;
}
