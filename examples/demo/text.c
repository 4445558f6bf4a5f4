/* SPDX-License-Identifier: MIT */
#include "examples/demo/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int text_map(const char *path, struct text *text)
{
        struct stat st;
        int err = 0;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) != 0 || st.st_size == 0) {
                err = st.st_size == 0 ? -ENODATA : -errno;
                goto close_file;
        }
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
                err = -errno;
                goto close_file;
        }
        text->next = bytes;
        text->end = text->next + st.st_size;
close_file:
        close(fd);
        return err;
}

static int is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Where part number `part` begins: not within a word. */
static const char *part_start(struct text text, int part, int parts)
{
        const char *start = text.next + (text.end - text.next) * part / parts;
        while (start > text.next && start < text.end && is_letter(start[-1]))
                start++;
        return start;
}

struct text text_part(struct text text, int part, int parts)
{
        return (struct text){ part_start(text, part, parts), part_start(text, part + 1, parts) };
}

int text_next_word(struct text *text, char word[TABLE_WORD_BYTES])
{
        size_t letters = 0;

        memset(word, 0, TABLE_WORD_BYTES);
        while (text->next < text->end && !is_letter(*text->next))
                text->next++;
        for (; text->next < text->end && is_letter(*text->next); text->next++)
                if (letters < TABLE_WORD_LETTERS)
                        word[letters++] = (char)(*text->next | 0x20); /* lower case */
        return letters > 0;
}
