/* SPDX-License-Identifier: MIT */
#include "recovery/home_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/hook.h"
#include "base/sys.h"
#include "base/zeros.h"
#include "recovery/checksums.h"
#include "recovery/page_name.h"

enum { RUN_BYTES = 1024 * 1024, RUN_PAGES_MAX = RUN_BYTES / 4096 };

static uint32_t page_file(uint64_t page)
{
        uint64_t file_no = page_name_file(page);

        return file_no < MANIFEST_FILES ? (uint32_t)file_no : MANIFEST_FILES;
}

uint64_t home_files_offset(const struct home_files *homes, uint64_t page)
{
        return page_name_number(page) * homes->page_bytes;
}

const char *home_files_name(const struct home_files *homes, uint64_t page)
{
        return page_file(page) < homes->count ? homes->file[page_file(page)].name : "no file";
}

/* ---- Open and close ---- */

static int open_file(struct home_file *file, int directory, int flags)
{
        struct stat st;
        int err = sys_open(directory, file->name, flags, 0, &file->fd);

        if (!err)
                err = sys_stat(file->fd, &st);
        else
                file->fd = -1;
        if (!err && !S_ISREG(st.st_mode))
                err = -EINVAL;
        if (!err) {
                file->size = (uint64_t)st.st_size;
                return 0;
        }
        if (file->fd >= 0)
                sys_close(file->fd);
        file->fd = -1;
        file->why_not = err;
        /* The rest is known only when the file is needed: it may hold nothing that was committed. */
        return err == -ENOENT || err == -ELOOP || err == -EISDIR || err == -EINVAL || err == -ENXIO ? 0 : err;
}

/* What is not to be believed is made anew when the file is attached. */
static int open_checksums(struct home_file *file, int directory, const struct manifest *manifest, uint32_t file_no)
{
        struct checksums_id id = { .file_no = file_no, .page_bytes = manifest->page_bytes, .mode = manifest->mode };
        struct checksums_note note;
        int err;

        memcpy(id.uuid, manifest->uuid, sizeof(id.uuid));
        err = checksums_open(directory, &id, O_RDWR, &file->checksums_fd, &note);
        if (err)
                file->checksums_fd = -1;
        return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
}

int home_files_open(struct home_files *homes, int directory, const struct manifest *manifest, bool is_to_write,
                    struct findings *findings)
{
        int err = 0;

        *homes = (struct home_files){ .page_bytes = manifest->page_bytes, .findings = findings };
        for (uint32_t i = 0; !err && i < manifest->file_count; i++) {
                homes->file[i].name = manifest->file_name[i];
                homes->file[i].checksums_fd = -1;
                homes->count = i + 1;
                err = open_file(&homes->file[i], directory, is_to_write ? O_RDWR : O_RDONLY);
                if (!err && is_to_write)
                        err = open_checksums(&homes->file[i], directory, manifest, i);
        }
        if (!err && is_to_write) {
                homes->run = malloc(RUN_BYTES);
                err = homes->run ? 0 : -ENOMEM;
        }
        if (err)
                home_files_close(homes);
        return err;
}

void home_files_close(struct home_files *homes)
{
        for (uint32_t i = 0; i < homes->count; i++) {
                if (homes->file[i].fd >= 0)
                        sys_close(homes->file[i].fd);
                if (homes->file[i].checksums_fd >= 0)
                        sys_close(homes->file[i].checksums_fd);
        }
        free(homes->run);
        homes->count = 0;
        homes->run = NULL;
}

/* ---- Read ---- */

int home_files_expect(struct home_files *homes, uint32_t file_no)
{
        struct home_file *file = &homes->file[file_no];
        bool is_missing = file->fd < 0 && file->why_not == -ENOENT;

        if (file->fd >= 0)
                return 0;
        if (!file->is_reported)
                findings_add(homes->findings, "%s: %s, although a file of the environment; all of it is lost",
                             file->name, is_missing ? "it is missing" : "it is no plain file");
        file->is_reported = true;
        return XAC_CORRUPT;
}

static int report_cut(const struct home_files *homes, const struct home_file *file, uint64_t page)
{
        unsigned long long offset = home_files_offset(homes, page);

        return findings_add(homes->findings,
                            "%s: offset %llu: the file ends at %llu, although commits have changed this page: "
                            "it was cut, and what stood behind is lost",
                            file->name, offset, (unsigned long long)file->size);
}

static int report_stray(struct home_files *homes, uint64_t page)
{
        if (!homes->is_stray_reported)
                findings_add(homes->findings,
                             MANIFEST_NAME ": it names no file number %llu, although commits have changed it",
                             (unsigned long long)(page_name_file(page)));
        homes->is_stray_reported = true;
        return XAC_CORRUPT;
}

int home_files_need(struct home_files *homes, uint64_t page)
{
        uint32_t file_no = page_file(page);
        struct home_file *file;

        if (file_no >= homes->count)
                return report_stray(homes, page);
        file = &homes->file[file_no];
        if (file->fd < 0)
                return home_files_expect(homes, file_no);
        if (home_files_offset(homes, page) < file->size)
                return 0;
        if (!file->is_reported)
                report_cut(homes, file, page);
        file->is_reported = true;
        return XAC_CORRUPT;
}

static int verify(struct home_files *homes, const struct home_file *file, uint64_t page, const void *bytes)
{
        uint64_t offset = home_files_offset(homes, page);
        uint32_t expected;
        int err = file->checksums_fd < 0
                          ? 0
                          : checksums_read(file->checksums_fd, offset / homes->page_bytes, &expected, 1, NULL);

        if (err || file->checksums_fd < 0 || expected == CHECKSUMS_UNKNOWN ||
            expected == checksums_of(bytes, homes->page_bytes))
                return err;
        if (homes->gives_up)
                return HOME_FILES_LOST;
        return findings_add(homes->findings,
                            "%s: offset %llu: the page is not what its checksum says, and what the log goes on from is "
                            "lost; 'xac repair' may take the page from a backup",
                            file->name, (unsigned long long)offset);
}

/* Of a page that is there. */
static int read_there(const struct home_files *homes, const struct home_file *file, uint64_t page, void *bytes)
{
        uint64_t offset = home_files_offset(homes, page);
        uint64_t left = file->size - offset;

        if (left > homes->page_bytes)
                left = homes->page_bytes;
        memset((char *)bytes + left, 0, homes->page_bytes - left);
        return sys_read_all(file->fd, bytes, (size_t)left, offset);
}

int home_files_find(const struct home_files *homes, uint64_t page, uint32_t checksum, void *bytes)
{
        const uint32_t file_no = page_file(page);

        if (file_no >= homes->count || homes->file[file_no].fd < 0 ||
            home_files_offset(homes, page) >= homes->file[file_no].size)
                return -ENODATA;
        int err = read_there(homes, &homes->file[file_no], page, bytes);
        return err || checksum_crc32c(0, bytes, homes->page_bytes) == checksum ? err : -ENODATA;
}

int home_files_read(struct home_files *homes, uint64_t page, void *bytes)
{
        int err = home_files_need(homes, page);

        if (err)
                return err;
        const struct home_file *file = &homes->file[page_file(page)];
        err = read_there(homes, file, page, bytes);
        return err ? err : verify(homes, file, page, bytes);
}

/* ---- Write ---- */

/* Is the page at home zeros, as a hole in the checksums would say? */
static int is_zeros(const struct home_files *homes, const struct home_file *file, uint64_t page_no)
{
        uint64_t offset = page_no * homes->page_bytes;
        uint64_t left = offset < file->size ? file->size - offset : 0;
        uint64_t words[512];
        int err = 0;

        if (left > homes->page_bytes)
                left = homes->page_bytes;
        for (uint64_t at = 0; !err && at < left; at += sizeof(words)) {
                size_t byte_len = left - at < sizeof(words) ? (size_t)(left - at) : sizeof(words);

                memset(words, 0, sizeof(words));
                err = sys_read_all(file->fd, words, byte_len, offset + at);
                for (size_t i = 0; !err && i < sizeof(words) / sizeof(words[0]); i++)
                        if (words[i])
                                return 0;
        }
        return err ? err : 1;
}

/* Where pages stand although the checksums are zeros, nothing is known of them; nor of any, if checksums beside are not
 * what they were (M3). */
static int settle_hole(const struct home_files *homes, const struct home_file *file, uint64_t first, uint32_t *values)
{
        int err = 0;

        for (uint64_t i = 0; err >= 0 && i < CHECKSUMS_SECTOR_PAGES; i++) {
                err = file->is_harmed ? 0 : is_zeros(homes, file, first + i);
                if (!err && (first + i) * homes->page_bytes < file->size)
                        values[i] = CHECKSUMS_UNKNOWN;
        }
        return err < 0 ? err : 0;
}

/* A disk may have harmed the block of checksums that it was writing: garbage is not what a sector's own checksum says,
 * but zeros look like a hole. Both are put right by one write: a hole that is sealed before would pass for sound. */
static int settle_block(const struct home_files *homes, const struct home_file *file, uint64_t first)
{
        uint32_t values[CHECKSUMS_BLOCK_PAGES];
        uint64_t lost;
        bool is_harmed;
        int err = checksums_read(file->checksums_fd, first, values, CHECKSUMS_BLOCK_PAGES, &lost);

        is_harmed = lost != 0;
        for (uint32_t i = 0; i < CHECKSUMS_BLOCK_PAGES && !err; i += CHECKSUMS_SECTOR_PAGES) {
                int worth = checksums_judge_sector(file->checksums_fd, first + i);

                if (worth < 0)
                        return worth;
                if (worth != CHECKSUMS_HOLE || (first + i) * homes->page_bytes >= file->size)
                        continue;
                err = settle_hole(homes, file, first + i, values + i);
                is_harmed = true;
        }
        return err || !is_harmed ? err : checksums_write_block(file->checksums_fd, first, values);
}

static int settle_blocks(const struct home_files *homes, struct home_file *file, uint64_t first, uint32_t pages)
{
        for (uint64_t block = first / CHECKSUMS_BLOCK_PAGES; block <= (first + pages - 1) / CHECKSUMS_BLOCK_PAGES;
             block++) {
                if (file->settled == block + 1)
                        continue;
                int err = settle_block(homes, file, block * CHECKSUMS_BLOCK_PAGES);

                if (err)
                        return err;
                file->settled = block + 1;
        }
        return 0;
}

/* Each sector is a hole still or says that it knows nothing, whenever the machine goes down: digests leave both out. */
int home_files_distrust(struct home_files *homes, uint32_t file_no)
{
        struct home_file *file = &homes->file[file_no];
        const uint64_t pages = (file->size + homes->page_bytes - 1) / homes->page_bytes;

        return file->checksums_fd < 0 ? 0 : checksums_forget_holes(file->checksums_fd, pages, &file->is_written);
}

/* What is made of a page of which nothing is known is known no better. */
static int write_checksums(const struct home_files *homes, struct home_file *file, uint32_t pages)
{
        uint64_t first = home_files_offset(homes, homes->run_page) / homes->page_bytes;
        uint32_t checksums[RUN_PAGES_MAX] = { 0 };
        int err = homes->keeps_unknown ? checksums_read(file->checksums_fd, first, checksums, pages, NULL) : 0;

        /* The pages are written, and where their checksums are a hole that makes them unknown. */
        if (!err)
                err = settle_blocks(homes, file, first, pages);
        if (err)
                return err;
        for (uint32_t i = 0; i < pages; i++)
                if (checksums[i] != CHECKSUMS_UNKNOWN)
                        checksums[i] = checksums_of(homes->run + (size_t)i * homes->page_bytes, homes->page_bytes);
        return checksums_write(file->checksums_fd, first, checksums, pages);
}

static int write_checksum(const struct home_files *homes, struct home_file *file, uint64_t page, uint32_t checksum)
{
        const uint64_t page_no = home_files_offset(homes, page) / homes->page_bytes;
        int err = settle_blocks(homes, file, page_no, 1);

        return err ? err : checksums_write(file->checksums_fd, page_no, &checksum, 1);
}

/* Zeros become a hole, where the file system can make one; but the file is as long as if they were written. */
static int put_run(const struct home_files *homes, const struct home_file *file, uint64_t offset, size_t byte_len)
{
        if (homes->run_is_zeros && offset + byte_len <= file->size && !sys_punch_hole(file->fd, offset, byte_len))
                return 0;
        return sys_write_all(file->fd, homes->run, byte_len, offset);
}

static int write_run(struct home_files *homes)
{
        struct home_file *file = &homes->file[page_file(homes->run_page)];
        uint32_t pages = homes->run_pages;
        uint64_t offset = home_files_offset(homes, homes->run_page);
        size_t byte_len = (size_t)pages * homes->page_bytes;
        int err;

        if (!pages)
                return 0;
        homes->run_pages = 0;
        file->is_written = true;
        err = put_run(homes, file, offset, byte_len);
        if (!err && file->size < offset + byte_len)
                file->size = offset + byte_len; /* its last page was not whole, and is read again by replay */
        if (err || file->checksums_fd < 0 || hook_has_bug(HOOK_BUG_CHECKSUMS_NOT_RESTORED))
                return err;
        return write_checksums(homes, file, pages);
}

/* Does the page continue the run, and is there room? Behind the last page of a file comes another file. */
static bool run_takes(const struct home_files *homes, uint64_t page, bool is_zeros)
{
        return page == homes->run_page + homes->run_pages && page_file(page) == page_file(homes->run_page) &&
               is_zeros == homes->run_is_zeros && (homes->run_pages + 1) * homes->page_bytes <= RUN_BYTES;
}

int home_files_put(struct home_files *homes, const struct page_image *image)
{
        const bool is_zeros = are_zeros(image->bytes, homes->page_bytes);
        int err = home_files_need(homes, image->page);

        if (!err && !run_takes(homes, image->page, is_zeros))
                err = write_run(homes);
        if (err)
                return err;
        if (!homes->run_pages) {
                homes->run_page = image->page;
                homes->run_is_zeros = is_zeros;
        }
        memcpy(homes->run + (size_t)homes->run_pages * homes->page_bytes, image->bytes, homes->page_bytes);
        homes->run_pages++;
        return 0;
}

int home_files_keep(struct home_files *homes, const struct page_image *image)
{
        int err = home_files_need(homes, image->page);

        if (err)
                return err;
        struct home_file *file = &homes->file[page_file(image->page)];
        file->is_written = true;
        return file->checksums_fd < 0
                       ? 0
                       : write_checksum(homes, file, image->page, checksums_of(image->bytes, homes->page_bytes));
}

bool home_files_has_checksums(const struct home_files *homes, uint64_t page)
{
        return page_file(page) < homes->count && homes->file[page_file(page)].checksums_fd >= 0;
}

int home_files_may_lose(struct home_files *homes, uint64_t page)
{
        int err = home_files_need(homes, page);

        if (err || home_files_has_checksums(homes, page))
                return err;
        return findings_add(
                homes->findings,
                "%s: offset %llu: the page is lost, and cannot be given up: where checksums are missing, or "
                "damaged (" CHECKSUMS_NAME_PREFIX "%u), nobody would see later that it is",
                home_files_name(homes, page), (unsigned long long)home_files_offset(homes, page), page_file(page));
}

static int lose(struct home_files *homes, uint64_t page, uint32_t checksum)
{
        struct home_file *file = &homes->file[page_file(page)];

        file->is_written = true;
        return write_checksum(homes, file, page, checksum);
}

int home_files_lose_known(struct home_files *homes, uint64_t page, uint32_t checksum)
{
        int err = home_files_may_lose(homes, page);

        return err ? err : lose(homes, page, checksums_of_crc(checksum, homes->page_bytes));
}

int home_files_lose(struct home_files *homes, uint64_t page)
{
        void *bytes = malloc(homes->page_bytes);
        int err = bytes ? home_files_may_lose(homes, page) : -ENOMEM;

        if (!err)
                err = read_there(homes, &homes->file[page_file(page)], page, bytes);
        if (!err)
                err = lose(homes, page, checksums_of_none(bytes, homes->page_bytes));
        free(bytes);
        return err;
}

int home_files_sync(struct home_files *homes)
{
        int err = write_run(homes);

        for (uint32_t i = 0; !err && i < homes->count; i++) {
                if (!homes->file[i].is_written)
                        continue;
                err = sys_sync_data(homes->file[i].fd);
                if (!err && homes->file[i].checksums_fd >= 0)
                        err = sys_sync_data(homes->file[i].checksums_fd);
                homes->file[i].is_written = err != 0;
        }
        return err;
}
