/* SPDX-License-Identifier: MIT */
#include "recovery/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <xac/xac.h>

#include "base/search.h"
#include "base/sys.h"
#include "recovery/page_name.h"
#include "recovery/recover_double_write.h"

enum { HALF_BLOCK = CHECKSUMS_BLOCK_PAGES / 2 };

/* ---- Digests ---- */

/* The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
static uint64_t hash(uint64_t page_no, uint32_t checksum)
{
        uint64_t x = page_no << 32 | checksum;

        if (checksum == 0 || checksum == CHECKSUMS_UNKNOWN)
                return 0;
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* The pages of a double-write buffer that are one file's, ascending. */
struct pages {
        const uint64_t *items;
        uint32_t count;
        uint64_t file; /* number, where the page's name has it */
};

static struct pages pages_of(const struct double_write_contents *buffer, uint32_t file_no)
{
        const uint64_t file = page_name(file_no, 0);
        const uint64_t *items = buffer->pages.items;
        const uint32_t count = buffer->pages.count;
        const uint32_t first = search_first(items, count, sizeof(items[0]), file);
        const uint32_t end = search_first(items, count, sizeof(items[0]), file + PAGE_NAME_NUMBERS);

        return (struct pages){ first < end ? items + first : NULL, end - first, file };
}

static uint64_t page_no_of(const struct pages *pages, uint32_t i)
{
        return pages->items[i] - pages->file;
}

/* What checksums add up to. */
struct digest {
        uint64_t all;
        uint64_t others; /* without those of certain pages */
        uint64_t lost;   /* sectors that are damaged, so that nothing is known of their pages */
        uint64_t end;    /* page number: what begins there, or behind it, is not counted as lost */
};

/* Of those that begin in this half of a block. */
static int count_lost(int checksums_fd, uint64_t first, struct digest *digest)
{
        const uint64_t end = first + HALF_BLOCK < digest->end ? first + HALF_BLOCK : digest->end;
        int worth = CHECKSUMS_SOUND;

        for (; worth >= 0 && first < end; first += CHECKSUMS_SECTOR_PAGES) {
                worth = checksums_judge_sector(checksums_fd, first);
                digest->lost += worth == CHECKSUMS_LOST;
        }
        return worth < 0 ? worth : 0;
}

/* Adds a block. Of `pages` those that are in it begin at number *at, and are counted on. */
static int digest_block(int checksums_fd, uint64_t block, const struct pages *pages, uint32_t *at,
                        struct digest *digest)
{
        uint32_t values[HALF_BLOCK]; /* stacks may be small */
        const uint64_t end = (block + 1) * CHECKSUMS_BLOCK_PAGES;
        int err = 0;

        memset(values, 0, sizeof(values));
        for (uint64_t first = block * CHECKSUMS_BLOCK_PAGES; !err && first < end; first += HALF_BLOCK) {
                uint64_t lost = 0;

                err = checksums_fd < 0 ? 0 : checksums_read(checksums_fd, first, values, HALF_BLOCK, &lost);
                if (!err && lost)
                        err = count_lost(checksums_fd, first, digest);
                for (uint32_t i = 0; !err && i < HALF_BLOCK; i++) {
                        const uint64_t value = hash(first + i, values[i]);

                        digest->all += value;
                        if (*at < pages->count && page_no_of(pages, *at) == first + i)
                                ++*at;
                        else
                                digest->others += value;
                }
        }
        return err;
}

/* The blocks that have any of the pages. */
static int digest_blocks_of(int checksums_fd, const struct pages *pages, struct digest *digest)
{
        int err = 0;

        for (uint32_t at = 0; !err && at < pages->count;)
                err = digest_block(checksums_fd, page_no_of(pages, at) / CHECKSUMS_BLOCK_PAGES, pages, &at, digest);
        return err;
}

/* *lost counts sectors in blocks that have none of `pages`; NULL: that does not matter. The file has `file_pages`: what
 * is behind its end are zeros. Holes of the checksums add nothing, and are passed over. */
static int digest_everything(int checksums_fd, const struct pages *pages, uint64_t file_pages,
                             struct manifest_seal *seal, uint64_t *lost)
{
        static const struct pages none;
        struct digest total = { .end = file_pages }, of_buffer = { .end = file_pages };
        struct stretch checksums = { .fd = checksums_fd };
        uint64_t count = 0;
        uint32_t at = 0;
        int err = checksums_fd < 0 ? 0 : checksums_count(checksums_fd, &count);

        for (uint64_t first = 0; !err && (first = checksums_skip_hole(&checksums, first)) < count;
             first += CHECKSUMS_BLOCK_PAGES) {
                first -= first % CHECKSUMS_BLOCK_PAGES;
                err = digest_block(checksums_fd, first / CHECKSUMS_BLOCK_PAGES, &none, &at, &total);
        }
        if (!err)
                err = digest_blocks_of(checksums_fd, pages, &of_buffer);
        if (err)
                return err;
        seal->outside = total.all - of_buffer.all;
        seal->beside = of_buffer.others;
        if (lost)
                *lost = total.lost - of_buffer.lost;
        return 0;
}

/* Of the blocks that have any of the pages nothing is known from now on. */
static int forget_blocks_of(int checksums_fd, const struct pages *pages)
{
        uint64_t last = UINT64_MAX;
        int err = 0;

        for (uint32_t i = 0; !err && i < pages->count; i++) {
                const uint64_t block = page_no_of(pages, i) / CHECKSUMS_BLOCK_PAGES;

                if (block != last)
                        err = checksums_write_unknown(checksums_fd, block * CHECKSUMS_BLOCK_PAGES,
                                                      CHECKSUMS_BLOCK_PAGES);
                last = block;
        }
        return err;
}

/* M7, where nobody can read any more which blocks these are. */
static int forget_everything(int checksums_fd)
{
        uint64_t count = 0;
        int err = checksums_fd < 0 ? 0 : checksums_count(checksums_fd, &count);

        return err || !count ? err : checksums_write_unknown(checksums_fd, 0, count);
}

/* M7. The digests follow from those of before: other blocks have not changed. */
static int digest_change(const struct seal_change *change, int checksums_fd, const struct pages *before,
                         const struct pages *after, struct manifest_seal *seal)
{
        struct digest back = { 0 }, away = { 0 };
        int err = digest_blocks_of(checksums_fd, before, &back);

        if (!err && back.others != seal->beside && !change->is_of_recovery && checksums_fd >= 0) {
                err = forget_blocks_of(checksums_fd, before);
                back = (struct digest){ 0 };
                if (!err)
                        err = digest_blocks_of(checksums_fd, before, &back);
        }
        if (!err)
                err = digest_blocks_of(checksums_fd, after, &away);
        if (err)
                return err;
        seal->outside += back.all - away.all;
        seal->beside = away.others;
        return 0;
}

/* ---- Files of checksums ---- */

struct checksums_id seal_checksums_id(const struct manifest *manifest, uint32_t i)
{
        struct checksums_id id = { .file_no = i, .page_bytes = manifest->page_bytes, .mode = manifest->mode };

        memcpy(id.uuid, manifest->uuid, sizeof(id.uuid));
        return id;
}

/* *fd is -1 where there is none, or none to be believed. */
static int open_checksums(int directory, const struct manifest *manifest, uint32_t file_no, int access, int *fd,
                          struct checksums_note *note)
{
        const struct checksums_id id = seal_checksums_id(manifest, file_no);
        int err = checksums_open(directory, &id, access, fd, note);

        if (!err)
                return 0;
        *fd = -1;
        *note = (struct checksums_note){ .state = CHECKSUMS_OPEN };
        return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
}

static void close_checksums(int fd)
{
        if (fd >= 0)
                sys_close(fd);
}

static void put(struct manifest *manifest, uint32_t file_no)
{
        manifest->sealed |= UINT64_C(1) << file_no;
}

void seal_begin_file(struct manifest *manifest, uint32_t file_no)
{
        manifest->seal[file_no] = (struct manifest_seal){ 0 };
        put(manifest, file_no);
}

int seal_renew(int directory, struct manifest *manifest, uint32_t file_no)
{
        static const struct pages none;
        struct checksums_note note;
        int fd;
        int err = open_checksums(directory, manifest, file_no, O_RDONLY, &fd, &note);

        if (err)
                return err;
        err = digest_everything(fd, &none, 0, &manifest->seal[file_no], NULL);
        close_checksums(fd);
        manifest->seal[file_no].number = note.number;
        if (!err)
                put(manifest, file_no);
        return err;
}

/* ---- From one manifest to the next ---- */

int seal_change_begin(struct seal_change *change, int directory, const struct manifest *manifest)
{
        int err = double_write_pages_read(directory, manifest, &change->before);

        change->is_lost = err == XAC_CORRUPT;
        return change->is_lost ? 0 : err;
}

static int change_file(const struct seal_change *change, int directory, struct manifest *manifest, uint32_t file_no,
                       const struct double_write_contents *buffer)
{
        const struct pages before = pages_of(&change->before, file_no), after = pages_of(buffer, file_no);
        const bool is_sealed = seal_is_there(manifest, file_no);
        const bool is_anew = change->is_lost || !is_sealed;
        struct manifest_seal *seal = &manifest->seal[file_no];
        struct checksums_note note;
        int fd;

        if (!is_anew && !before.count && !after.count)
                return 0;
        int err = open_checksums(directory, manifest, file_no, O_RDWR, &fd, &note);
        if (err)
                return err;
        if (is_sealed && change->is_lost && !change->is_of_recovery)
                err = forget_everything(fd);
        if (!err)
                err = is_anew ? digest_everything(fd, &after, 0, seal, NULL)
                              : digest_change(change, fd, &before, &after, seal);
        close_checksums(fd);
        if (is_anew)
                seal->number = note.number;
        if (!err)
                put(manifest, file_no);
        return err;
}

int seal_change_end(struct seal_change *change, int directory, struct manifest *manifest)
{
        struct double_write_contents buffer;
        int err = double_write_pages_read(directory, manifest, &buffer);

        for (uint32_t i = 0; !err && i < manifest->file_count; i++)
                err = change_file(change, directory, manifest, i, &buffer);
        double_write_contents_free(&buffer);
        return err;
}

void seal_change_free(struct seal_change *change)
{
        double_write_contents_free(&change->before);
}

/* ---- Close ---- */

static int close_file(int directory, struct manifest *manifest, uint32_t file_no, bool is_volatile)
{
        struct checksums_note note;
        int fd;
        int err = open_checksums(directory, manifest, file_no, O_RDONLY, &fd, &note);

        if (err)
                return err;
        close_checksums(fd);
        if (!seal_is_there(manifest, file_no) || (is_volatile && note.number != manifest->seal[file_no].number))
                return seal_renew(directory, manifest, file_no);
        manifest->seal[file_no].number = note.number;
        return 0;
}

int seal_close(int directory, struct manifest *manifest, bool is_volatile)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < manifest->file_count; i++)
                err = close_file(directory, manifest, i, is_volatile);
        return err;
}

/* ---- Look ---- */

/* Does a sector of the block look as a disk may leave one that it was writing, or as recovery has settled such a one?
 */
static int is_block_harmed(int checksums_fd, uint64_t block, uint64_t file_pages)
{
        uint32_t values[CHECKSUMS_SECTOR_PAGES];
        const uint64_t block_end = (block + 1) * CHECKSUMS_BLOCK_PAGES;
        const uint64_t end = block_end < file_pages ? block_end : file_pages; /* behind it nothing is lost */

        for (uint64_t first = block * CHECKSUMS_BLOCK_PAGES; first < end; first += CHECKSUMS_SECTOR_PAGES) {
                const int worth = checksums_judge_sector(checksums_fd, first);
                int err = worth < 0 ? worth : checksums_read(checksums_fd, first, values, CHECKSUMS_SECTOR_PAGES, NULL);

                if (err || worth != CHECKSUMS_SOUND)
                        return err ? err : 1;
                for (uint32_t i = 0; i < CHECKSUMS_SECTOR_PAGES && first + i < end; i++)
                        if (values[i] == CHECKSUMS_UNKNOWN)
                                return 1;
        }
        return 0;
}

/* M3. Nobody but a disk that was writing may have changed what lies beside, and it changes whole sectors. */
static int judge_beside(int checksums_fd, const struct pages *pages, uint64_t file_pages, enum seal_verdict *verdict)
{
        uint64_t block = UINT64_MAX;
        int harmed = 0;

        for (uint32_t i = 0; checksums_fd >= 0 && !harmed && i < pages->count; i++) {
                if (page_no_of(pages, i) / CHECKSUMS_BLOCK_PAGES == block)
                        continue;
                block = page_no_of(pages, i) / CHECKSUMS_BLOCK_PAGES;
                harmed = is_block_harmed(checksums_fd, block, file_pages);
        }
        *verdict = harmed == 1 ? SEAL_BROKEN_BESIDE : SEAL_BROKEN;
        return harmed < 0 ? harmed : 0;
}

int seal_judge(const struct manifest *manifest, uint32_t file_no, const struct seal_files *files,
               const struct double_write_contents *buffer, enum seal_verdict *verdict)
{
        const uint64_t file_pages = (files->data_bytes + manifest->page_bytes - 1) / manifest->page_bytes;
        const struct pages pages = pages_of(buffer, file_no);
        const struct manifest_seal *seal = &manifest->seal[file_no];
        struct manifest_seal found = { 0 };
        uint64_t lost = 0;
        int err = digest_everything(files->checksums_fd, &pages, file_pages, &found, &lost);

        *verdict = SEAL_WHOLE;
        if (lost)
                *verdict = SEAL_LOST;
        else if (found.outside != seal->outside)
                *verdict = SEAL_BROKEN;
        else if (!err && found.beside != seal->beside)
                err = judge_beside(files->checksums_fd, &pages, file_pages, verdict);
        return err;
}

static int judge_as_named(int directory, const struct manifest *manifest, uint32_t file_no, enum seal_verdict *verdict)
{
        struct seal_files files = { .checksums_fd = -1 };
        struct double_write_contents buffer;
        struct checksums_note note = { .state = CHECKSUMS_OPEN };
        struct stat st;
        int err = double_write_pages_read(directory, manifest, &buffer);

        if (!err)
                err = open_checksums(directory, manifest, file_no, O_RDONLY, &files.checksums_fd, &note);
        if (!err)
                err = sys_stat_at(directory, manifest->file_name[file_no], &st);
        if (!err)
                files.data_bytes = (uint64_t)st.st_size;
        if (!err && note.state != CHECKSUMS_VOLATILE)
                err = seal_judge(manifest, file_no, &files, &buffer, verdict);
        close_checksums(files.checksums_fd);
        double_write_contents_free(&buffer);
        return err;
}

int seal_judge_in_use(int directory, uint32_t file_no, enum seal_verdict *verdict)
{
        enum { LOOKS = 20 };
        struct manifest manifest, after;

        for (int look = 0; look < LOOKS; look++) {
                int err = manifest_read(directory, &manifest);

                *verdict = SEAL_WHOLE;
                if (err || !seal_is_there(&manifest, file_no))
                        return err;
                err = judge_as_named(directory, &manifest, file_no, verdict);
                if (!err && *verdict == SEAL_WHOLE)
                        return 0;
                int read_err = manifest_read(directory, &after);
                if (read_err || after.generation == manifest.generation)
                        return err ? err : read_err;
        }
        return -EAGAIN;
}
