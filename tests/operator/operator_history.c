/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_history.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"

const char *const history_file[HISTORY_FILES] = { "count", "lines" };

enum {
        FIRST_PAGES = 8,
        GROWTH = 4,      /* pages */
        GROWS_AFTER = 60 /* commits; the second file a little later */
};

uint32_t history_pages(unsigned file, uint32_t k)
{
        const uint32_t pages = FIRST_PAGES + GROWTH * ((k + 20 * file) / GROWS_AFTER);

        return pages < HISTORY_PAGES ? pages : HISTORY_PAGES;
}

/* Of those that the file has before commit k. */
static bool is_ever_written(unsigned file, uint32_t page, uint32_t k)
{
        return page % 5 != 3 && page + 2 < history_pages(file, k);
}

static void write_page(struct history *history, struct chance *chance, uint32_t k, bool is_whole)
{
        const unsigned file = (unsigned)chance_below(chance, HISTORY_FILES);
        const uint32_t page = (uint32_t)chance_below(chance, history_pages(file, k));
        const uint32_t first = is_whole ? 0 : (uint32_t)chance_below(chance, HISTORY_SLOTS);
        const uint32_t end = is_whole ? HISTORY_SLOTS : first + 1;

        if (is_ever_written(file, page, k))
                for (uint32_t slot = first; slot < end; slot++)
                        history->writer[k][file][page][slot] = (uint16_t)k;
}

void history_make(struct history *history, uint64_t seed)
{
        memset(history, 0, sizeof(*history));
        history->seed = chance_mix(seed);
        for (uint32_t k = 1; k <= HISTORY_COMMITS; k++) {
                struct chance chance = { chance_mix(history->seed + k) };
                const bool is_large = chance_percent(&chance, 6);
                const uint32_t pages = is_large ? 24 : (uint32_t)chance_below(&chance, 4);

                memcpy(history->writer[k], history->writer[k - 1], sizeof(history->writer[k]));
                for (uint32_t i = 0; i < pages; i++)
                        write_page(history, &chance, k, is_large || chance_percent(&chance, 20));
                history->writer[k][0][0][0] = (uint16_t)k;
        }
}

void history_fill(const struct history *history, uint32_t k, unsigned file, uint32_t page, uint32_t slot,
                  unsigned char *bytes)
{
        struct chance chance = { chance_mix(history->seed ^ ((uint64_t)k << 32 | file << 24 | page << 8 | slot)) };
        uint64_t word = k;

        if (k == 0) {
                memset(bytes, 0, HISTORY_SLOT);
                return;
        }
        for (size_t at = 0; at < HISTORY_SLOT; at += sizeof(word)) {
                memcpy(bytes + at, &word, sizeof(word));
                word = chance_next(&chance);
        }
}

/* ---- Files as they are ---- */

static bool is_zeros_from(int fd, off_t offset)
{
        unsigned char bytes[HISTORY_PAGE];

        for (ssize_t part; (part = pread(fd, bytes, sizeof(bytes), offset)) > 0; offset += part)
                for (ssize_t i = 0; i < part; i++)
                        if (bytes[i])
                                return false;
        return true;
}

static void read_file(const char *path, struct history_content *content, unsigned file)
{
        const size_t most = (size_t)HISTORY_PAGES * HISTORY_PAGE;
        const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        content->bytes[file] = calloc(1, most);
        check(content->bytes[file] != NULL);
        if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
                content->is_missing[file] = true;
        } else {
                content->byte_len[file] = (size_t)st.st_size < most ? (size_t)st.st_size : most;
                check_equal(pread(fd, content->bytes[file], most, 0), content->byte_len[file]);
                content->is_longer |= (size_t)st.st_size > most && !is_zeros_from(fd, (off_t)most);
        }
        if (fd >= 0)
                close(fd);
}

void history_read(const char *directory, struct history_content *content)
{
        char path[4200];

        memset(content, 0, sizeof(*content));
        for (unsigned file = 0; file < HISTORY_FILES; file++) {
                snprintf(path, sizeof(path), "%s/%s", directory, history_file[file]);
                read_file(path, content, file);
        }
}

void history_forget(struct history_content *content)
{
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                free(content->bytes[file]);
}

static bool is_page(const struct history *history, uint32_t n, unsigned file, uint32_t page, const unsigned char *bytes)
{
        unsigned char expected[HISTORY_SLOT];

        for (uint32_t slot = 0; slot < HISTORY_SLOTS; slot++) {
                history_fill(history, history->writer[n][file][page][slot], file, page, slot, expected);
                if (memcmp(bytes + (size_t)slot * HISTORY_SLOT, expected, HISTORY_SLOT) != 0)
                        return false;
        }
        return true;
}

int history_find(const struct history *history, const struct history_content *content, char *where, size_t where_len)
{
        uint64_t n;

        memcpy(&n, content->bytes[0], sizeof(n));
        snprintf(where, where_len, "the first word is no commit");
        if (n > HISTORY_COMMITS)
                return -1;
        snprintf(where, where_len, "longer than ever");
        if (content->is_longer)
                return -1;
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                for (uint32_t page = 0; page < HISTORY_PAGES; page++)
                        if (!is_page(history, (uint32_t)n, file, page,
                                     content->bytes[file] + (size_t)page * HISTORY_PAGE)) {
                                snprintf(where, where_len, "page %u of %s is not as of commit %d", page,
                                         history_file[file], (int)n);
                                return -1;
                        }
        where[0] = '\0';
        return (int)n;
}
