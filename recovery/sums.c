/* SPDX-License-Identifier: MIT */
#include "recovery/sums.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/bytes.h"

enum {
        FORMAT_VERSION = 1,
        SECTOR = 512,
        TICK_NS = 1000000,
        TICKS_MAX = 25,    /* longer than a kernel's clock stands still */
        WRITTEN_MAX = 128, /* entries in one write: stacks may be small */

        AT_MAGIC = 0,
        AT_VERSION = 8,
        AT_CHECKSUM = 12,
        AT_UUID = 16,
        AT_FILE_NO = 32,
        AT_PAGE_BYTES = 36,
        AT_STATE = 40,
        AT_NANOSECONDS = 44,
        AT_SECONDS = 48,
        AT_SIZE = 56
};

static const unsigned char magic[8] = { 'X', 'A', 'C', 'S', 'U', 'M', 'S', '1' };

uint32_t sums_of(const void *bytes, uint32_t page_bytes)
{
        uint32_t sum = ~checksum_crc32c(UINT32_MAX, bytes, page_bytes);

        return sum == SUMS_UNKNOWN ? sum - 1 : sum;
}

void sums_name(uint32_t file_no, char name[SUMS_NAME_BYTES])
{
        char digits[12];
        size_t i = sizeof(digits);

        digits[--i] = '\0';
        do {
                digits[--i] = (char)('0' + file_no % 10);
        } while (file_no /= 10);
        strcpy(name, SUMS_NAME_PREFIX);
        strcat(name, digits + i);
}

bool sums_is_name(const char *name)
{
        const size_t prefix = strlen(SUMS_NAME_PREFIX);
        char same[SUMS_NAME_BYTES];
        uint32_t file_no = 0;

        if (strncmp(name, SUMS_NAME_PREFIX, prefix) != 0 || strlen(name) > prefix + 2)
                return false;
        for (const char *digit = name + prefix; *digit; digit++)
                file_no = file_no * 10 + (uint32_t)(*digit - '0');
        sums_name(file_no, same);
        return strcmp(name, same) == 0;
}

/* ---- The header ---- */

static uint32_t header_checksum(const unsigned char *header)
{
        uint32_t crc = checksum_crc32c(0, header, AT_CHECKSUM);

        return checksum_crc32c(crc, header + AT_UUID, SUMS_HEADER_BYTES - AT_UUID);
}

static void header_encode(unsigned char *header, const struct sums_id *id, const struct sums_note *note)
{
        memset(header, 0, SUMS_HEADER_BYTES);
        memcpy(header + AT_MAGIC, magic, sizeof(magic));
        bytes_put_u32(header + AT_VERSION, FORMAT_VERSION);
        memcpy(header + AT_UUID, id->uuid, sizeof(id->uuid));
        bytes_put_u32(header + AT_FILE_NO, id->file_no);
        bytes_put_u32(header + AT_PAGE_BYTES, id->page_bytes);
        bytes_put_u32(header + AT_STATE, (uint32_t)note->state);
        bytes_put_u32(header + AT_NANOSECONDS, note->nanoseconds);
        bytes_put_u64(header + AT_SECONDS, (uint64_t)note->seconds);
        bytes_put_u64(header + AT_SIZE, note->size);
        bytes_put_u32(header + AT_CHECKSUM, header_checksum(header));
}

/* Who makes it anew begins with an empty file, and gives it its header last. */
static bool is_half_made(const unsigned char *header)
{
        static const unsigned char zeros[SUMS_HEADER_BYTES];

        return memcmp(header, zeros, sizeof(zeros)) == 0;
}

static int header_decode(const unsigned char *header, const struct sums_id *id, struct sums_note *note)
{
        uint32_t state = bytes_get_u32(header + AT_STATE);

        if (is_half_made(header))
                return -ENOENT;
        if (memcmp(header + AT_MAGIC, magic, sizeof(magic)) != 0 ||
            bytes_get_u32(header + AT_CHECKSUM) != header_checksum(header) ||
            bytes_get_u32(header + AT_VERSION) != FORMAT_VERSION ||
            memcmp(header + AT_UUID, id->uuid, sizeof(id->uuid)) != 0 ||
            bytes_get_u32(header + AT_FILE_NO) != id->file_no ||
            bytes_get_u32(header + AT_PAGE_BYTES) != id->page_bytes || state > SUMS_VOLATILE)
                return XAC_CORRUPT;
        note->state = (enum sums_state)state;
        note->nanoseconds = bytes_get_u32(header + AT_NANOSECONDS);
        note->seconds = (int64_t)bytes_get_u64(header + AT_SECONDS);
        note->size = bytes_get_u64(header + AT_SIZE);
        return 0;
}

static int write_header(int fd, const struct sums_id *id, const struct sums_note *note, size_t byte_len)
{
        unsigned char header[SUMS_HEADER_BYTES];

        header_encode(header, id, note);
        return sys_write_all(fd, header, byte_len, 0);
}

int sums_put_note(int fd, const struct sums_id *id, const struct sums_note *note)
{
        int err = write_header(fd, id, note, SECTOR);

        return err ? err : sys_sync_data(fd);
}

/* ---- Open and make ---- */

int sums_open(int directory, const struct sums_id *id, int flags, int *fd, struct sums_note *note)
{
        unsigned char header[SUMS_HEADER_BYTES];
        char name[SUMS_NAME_BYTES];
        struct stat st;
        int err;

        sums_name(id->file_no, name);
        err = sys_open(directory, name, flags, 0, fd);
        if (err)
                return err == -ELOOP || err == -EISDIR || err == -ENXIO ? XAC_CORRUPT : err;
        err = sys_stat(*fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = XAC_CORRUPT;
        if (!err)
                err = sys_read_all(*fd, header, sizeof(header), 0);
        if (!err)
                err = header_decode(header, id, note);
        if (err)
                sys_close(*fd);
        if (err == -ENODATA)
                err = st.st_size ? XAC_CORRUPT : -ENOENT;
        return err;
}

/* First the header is gone, so that a sum of before is never believed together with what comes. */
static int write_anew(int fd, const struct sums_id *id, uint64_t unknown)
{
        static const struct sums_note nothing = { .state = SUMS_OPEN };
        int err = sys_truncate(fd, 0);

        if (!err)
                err = sys_truncate(fd, SUMS_HEADER_BYTES + unknown * SUMS_ENTRY_BYTES);
        if (!err)
                err = sums_write_unknown(fd, 0, unknown);
        if (!err)
                err = sys_sync(fd);
        if (!err)
                err = write_header(fd, id, &nothing, SUMS_HEADER_BYTES);
        return err ? err : sys_sync_data(fd);
}

int sums_make(int directory, const struct sums_id *id, uint64_t unknown, int *fd)
{
        char name[SUMS_NAME_BYTES];
        int err;

        sums_name(id->file_no, name);
        err = sys_open(directory, name, O_RDWR, 0, fd);
        if (err == -ENOENT) {
                err = sys_open(directory, name, O_RDWR | O_CREAT | O_EXCL, 0600, fd);
                if (!err && (err = sys_chmod(*fd, (mode_t)id->mode)))
                        sys_close(*fd);
        }
        if (err)
                return err;
        err = write_anew(*fd, id, unknown);
        if (!err)
                err = sys_sync(directory);
        if (err)
                sys_close(*fd);
        return err;
}

static uint64_t offset_of(uint64_t page_no)
{
        return SUMS_HEADER_BYTES + page_no * SUMS_ENTRY_BYTES;
}

int sums_count(int fd, uint64_t *count)
{
        struct stat st;
        int err = sys_stat(fd, &st);

        *count = 0;
        if (!err && st.st_size > SUMS_HEADER_BYTES)
                *count = ((uint64_t)st.st_size - SUMS_HEADER_BYTES) / SUMS_ENTRY_BYTES;
        return err;
}

int sums_grow(int fd, uint64_t pages)
{
        struct stat st;
        int err = sys_stat(fd, &st);

        if (err || (uint64_t)st.st_size >= offset_of(pages))
                return err;
        return sys_truncate(fd, offset_of(pages));
}

int sums_cut(int fd, uint64_t pages)
{
        uint64_t count;
        int err = sums_count(fd, &count);

        return err || count <= pages ? err : sys_truncate(fd, offset_of(pages));
}

/* ---- Entries ---- */

int sums_write(int fd, uint64_t first, const uint32_t *values, uint32_t count)
{
        unsigned char entries[WRITTEN_MAX * SUMS_ENTRY_BYTES];

        for (uint32_t done = 0; done < count;) {
                uint32_t batch = count - done < WRITTEN_MAX ? count - done : WRITTEN_MAX;
                int err;

                for (uint32_t i = 0; i < batch; i++)
                        bytes_put_u32(entries + (size_t)i * SUMS_ENTRY_BYTES, values[done + i]);
                err = sys_write_all(fd, entries, (size_t)batch * SUMS_ENTRY_BYTES, offset_of(first + done));
                if (err)
                        return err;
                done += batch;
        }
        return 0;
}

int sums_write_unknown(int fd, uint64_t first, uint64_t count)
{
        unsigned char entries[SUMS_BATCH * SUMS_ENTRY_BYTES];

        memset(entries, 0xff, sizeof(entries));
        while (count) {
                uint64_t batch = count < SUMS_BATCH ? count : SUMS_BATCH;
                int err = sys_write_all(fd, entries, (size_t)batch * SUMS_ENTRY_BYTES, offset_of(first));

                if (err)
                        return err;
                first += batch;
                count -= batch;
        }
        return 0;
}

static int read_batch(int fd, uint64_t first, uint32_t *values, uint32_t count, uint64_t there)
{
        unsigned char entries[SUMS_BATCH * SUMS_ENTRY_BYTES] = { 0 };
        uint64_t found = there > first ? there - first : 0;
        int err = 0;

        if (found > count)
                found = count;
        if (found)
                err = sys_read_all(fd, entries, (size_t)found * SUMS_ENTRY_BYTES, offset_of(first));
        for (uint32_t i = 0; !err && i < count; i++)
                values[i] = bytes_get_u32(entries + (size_t)i * SUMS_ENTRY_BYTES);
        return err;
}

int sums_read(int fd, uint64_t first, uint32_t *values, uint32_t count)
{
        uint64_t there;
        int err = sums_count(fd, &there);

        for (uint32_t done = 0; !err && done < count; done += SUMS_BATCH) {
                uint32_t batch = count - done < SUMS_BATCH ? count - done : SUMS_BATCH;

                err = read_batch(fd, first + done, values + done, batch, there);
        }
        return err;
}

/* ---- Changed by others? ---- */

static bool is_before_now(const struct stat *st)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now); /* the one that the kernel stamps files with */
        return st->st_mtim.tv_sec != now.tv_sec ? st->st_mtim.tv_sec < now.tv_sec : st->st_mtim.tv_nsec < now.tv_nsec;
}

int sums_note_of(int data_fd, struct sums_note *note)
{
        struct stat st;
        int err = sys_sync(data_fd);

        if (!err)
                err = sys_stat(data_fd, &st);
        if (err)
                return err;
        for (int i = 0; i < TICKS_MAX && !is_before_now(&st); i++)
                sys_sleep_ns(TICK_NS);
        *note = (struct sums_note){ .state = SUMS_CLOSED,
                                    .seconds = st.st_mtim.tv_sec,
                                    .nanoseconds = (uint32_t)st.st_mtim.tv_nsec,
                                    .size = (uint64_t)st.st_size };
        return 0;
}

int sums_is_unchanged(int data_fd, const struct sums_note *note, bool *is_unchanged)
{
        struct stat st;
        int err = sys_stat(data_fd, &st);

        *is_unchanged = !err && note->state == SUMS_CLOSED && note->size == (uint64_t)st.st_size &&
                        note->seconds == st.st_mtim.tv_sec && note->nanoseconds == (uint32_t)st.st_mtim.tv_nsec;
        return err;
}
