/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_SEGMENT_STAND_H
#define TESTS_UNIT_SEGMENT_STAND_H

/*
 * The segment files of a log set up by hand (log_stand.h), and a look at them behind the library's back: which file
 * claims to be which segment.
 */

#include "tests/recovery/log_stand.h"

#include "recovery/log_header.h"

enum { SEG = STAND_SEGMENT, FILE_BYTES = LOG_HEADER_BYTES + SEG, ME = 1, DEAD = 2 };

static struct log_segments segments;

static inline int setup(void **state)
{
        int err = stand_setup(state);

        log_segments_init(&segments, stand_table(), directory, 0600, &stand_liveness);
        return err;
}

static inline int setup_in_memory(void **state)
{
        int err = stand_setup_in_memory(state);

        log_segments_init(&segments, stand_table(), directory, 0600, &stand_liveness);
        return err;
}

static inline int teardown(void **state)
{
        log_segments_close(&segments);
        return stand_teardown(state);
}

/* ---- Looking ---- */

static inline off_t file_size(const char *name)
{
        struct stat st;

        return fstatat(directory, name, &st, 0) ? -1 : st.st_size;
}

static inline void read_header(const char *name, struct log_header *header)
{
        unsigned char block[LOG_HEADER_BYTES];
        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

        assert_int_equal(pread(fd, block, sizeof(block), 0), sizeof(block));
        close(fd);
        assert_int_equal(log_header_decode(block, header), 0);
}

static inline void write_header(const char *name, uint64_t segment_no, uint64_t segment_bytes, uint8_t uuid_byte)
{
        unsigned char block[LOG_HEADER_BYTES];
        struct log_header header = { .segment_no = segment_no, .segment_bytes = segment_bytes };
        int fd = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        memcpy(header.uuid, stand_uuid, sizeof(header.uuid));
        header.uuid[0] = uuid_byte;
        log_header_encode(block, &header);
        assert_int_equal(pwrite(fd, block, sizeof(block), 0), sizeof(block));
        assert_int_equal(ftruncate(fd, FILE_BYTES), 0);
        close(fd);
}

static inline int count_files(void)
{
        DIR *entries = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct dirent *entry;
        int count = 0;

        while ((entry = readdir(entries)) != NULL)
                count += strncmp(entry->d_name, "xac.log.", 8) == 0;
        closedir(entries);
        return count;
}

static inline uint32_t file_of(uint64_t segment_no)
{
        struct log_segment_entry *entry = &stand_table()->segment[segment_no % LOG_SEGMENTS_MAX];

        return atomic_load(&entry->segment_no) == segment_no ? atomic_load(&entry->file_no) : 0;
}

static inline uint64_t low(void)
{
        return atomic_load(&stand_table()->low) / SEG;
}

static inline uint64_t limit(void)
{
        return log_segments_limit(stand_table()) / SEG;
}

static inline uint32_t free_count(void)
{
        return atomic_load(&stand_table()->free_count);
}

/* What must hold at any time: each segment of the table is in a file that says so, of the right
 * length, and no other file says the same. */
static inline void assert_sound(void)
{
        for (uint64_t segment_no = low(); segment_no < limit(); segment_no++) {
                int claims = 0;

                assert_true(file_of(segment_no) > 0);
                for (uint32_t file_no = 1; file_no < atomic_load(&stand_table()->next_file_no); file_no++) {
                        unsigned char block[LOG_HEADER_BYTES];
                        struct log_header header;
                        char name[LOG_NAME_BYTES];

                        log_file_name(name, file_no);
                        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
                        bool is_whole = fd >= 0 && pread(fd, block, sizeof(block), 0) == sizeof(block);
                        close(fd);
                        if (!is_whole || log_header_decode(block, &header) || header.segment_no != segment_no)
                                continue;
                        claims++;
                        assert_int_equal(file_no, file_of(segment_no));
                        assert_int_equal(file_size(name), FILE_BYTES);
                }
                assert_int_equal(claims, 1);
        }
}

/* Another new log, in the same directory. */
static inline void start_anew(void)
{
        log_segments_close(&segments);
        scratch_empty(directory);
        atomic_store(&arena->is_dead[DEAD], 0);
        assert_int_equal(stand_load(SEG, SEG), 0);
}

static inline int extend_to(uint64_t segment_no)
{
        return log_segments_extend(&segments, ME, segment_no * SEG);
}

/* ---- Writing ---- */

static char page_aligned[4 * SEG] __attribute__((aligned(LOG_BLOCK)));

static inline void fill_with_pattern(uint64_t seed)
{
        for (size_t i = 0; i < sizeof(page_aligned); i++)
                page_aligned[i] = (char)(i * 31 + seed + (i >> 12));
}

static inline void write_and_read_back(uint64_t position, uint64_t byte_len, bool is_synced)
{
        static char bytes[sizeof(page_aligned)];

        fill_with_pattern(position + is_synced);
        assert_int_equal(log_segments_write(&segments, position, page_aligned, byte_len, is_synced), 0);
        assert_true(stand_read(position, bytes, byte_len));
        assert_memory_equal(bytes, page_aligned, byte_len);
}

#endif
