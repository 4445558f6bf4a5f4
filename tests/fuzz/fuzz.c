/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recovery/bytes.h"
#include "tests/support/chance.h"
#include "tests/support/places.h"

static void remove_directory(void);

void fuzz_failed(const char *file, int line, const char *what)
{
        remove_directory();
        fprintf(stderr, "%s:%d: finding in fuzz target %s: not so: %s\n", file, line, fuzz_target, what);
        abort();
}

/* ---- The program ---- */

size_t fuzz_bytes(struct fuzz_input *input, void *bytes, size_t byte_len)
{
        if (byte_len > input->left)
                byte_len = input->left;
        if (byte_len)
                memcpy(bytes, input->bytes, byte_len);
        input->bytes += byte_len;
        input->left -= byte_len;
        return byte_len;
}

uint8_t fuzz_u8(struct fuzz_input *input)
{
        uint8_t value = 0;

        fuzz_bytes(input, &value, 1);
        return value;
}

uint16_t fuzz_u16(struct fuzz_input *input)
{
        uint16_t low = fuzz_u8(input);

        return (uint16_t)(low | fuzz_u8(input) << 8);
}

uint32_t fuzz_u32(struct fuzz_input *input)
{
        unsigned char bytes[4] = { 0 };

        fuzz_bytes(input, bytes, sizeof(bytes));
        return bytes_get_u32(bytes);
}

uint64_t fuzz_u64(struct fuzz_input *input)
{
        unsigned char bytes[8] = { 0 };

        fuzz_bytes(input, bytes, sizeof(bytes));
        return bytes_get_u64(bytes);
}

uint64_t fuzz_number(struct fuzz_input *input, uint64_t usual)
{
        uint8_t how = fuzz_u8(input);

        if (how < 64)
                return how;
        if (how < 128)
                return usual + how - 96;
        if (how < 192)
                return UINT64_C(1) << (how & 63);
        if (how < 208)
                return UINT64_MAX >> (how & 15) * 4;
        if (how < 232)
                return fuzz_u16(input);
        return fuzz_u64(input);
}

void fuzz_noise(uint64_t seed, void *bytes, size_t byte_len)
{
        unsigned char *to = bytes;
        uint64_t word;

        for (; byte_len >= sizeof(word); byte_len -= sizeof(word), to += sizeof(word)) {
                word = chance_mix(seed++);
                memcpy(to, &word, sizeof(word));
        }
        word = chance_mix(seed);
        memcpy(to, &word, byte_len);
}

void fuzz_damage(struct fuzz_input *input, unsigned char *bytes, size_t byte_len)
{
        uint8_t how = fuzz_u8(input);
        size_t at = fuzz_u16(input) % byte_len;
        size_t room = byte_len - at;
        unsigned char number[8];
        size_t len;

        switch (how % 4) {
        case 0:
                bytes[at] ^= (unsigned char)(1 << (how >> 5));
                break;
        case 1:
                at &= ~(size_t)511;
                memset(bytes + at, how & 4 ? 0xff : 0, byte_len - at < 512 ? byte_len - at : 512);
                break;
        case 2:
                len = (size_t)1 << (how >> 6);
                bytes_put_u64(number, fuzz_number(input, 4096));
                memcpy(bytes + at, number, len < room ? len : room);
                break;
        default:
                len = fuzz_u8(input);
                fuzz_bytes(input, bytes + at, len < room ? len : room);
                break;
        }
}

void *fuzz_alloc(size_t byte_len)
{
        void *bytes = malloc(byte_len ? byte_len : 1);

        fuzz_check(bytes != NULL);
        return bytes;
}

void *fuzz_copy(const void *bytes, size_t byte_len)
{
        void *copy = fuzz_alloc(byte_len);

        memcpy(copy, bytes, byte_len);
        return copy;
}

/* ---- Files ---- */

static char directory_path[PATH_MAX];
static int directory = -1;

static void remove_directory(void)
{
        DIR *entries = directory < 0 ? NULL : opendir(directory_path);
        struct dirent *entry;

        if (!entries)
                return;
        while ((entry = readdir(entries)) != NULL)
                (void)unlinkat(directory, entry->d_name, 0);
        closedir(entries);
        (void)rmdir(directory_path);
}

int fuzz_directory(void)
{
        if (directory >= 0)
                return directory;
        if (access("/dev/shm", W_OK | X_OK) == 0)
                places_prefer_memory();
        snprintf(directory_path, sizeof(directory_path), "%s/xac-fuzz-XXXXXX", places_files());
        fuzz_check(mkdtemp(directory_path) != NULL);
        directory = open(directory_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fuzz_check(directory >= 0);
        atexit(remove_directory);
        return directory;
}

void fuzz_store(const char *name, const void *bytes, size_t used, uint64_t byte_len)
{
        int fd = openat(fuzz_directory(), name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        fuzz_check(fd >= 0);
        if (used > byte_len)
                used = byte_len;
        while (used && ((const unsigned char *)bytes)[used - 1] == 0)
                used--; /* holes are quicker */
        fuzz_check(pwrite(fd, bytes, used, 0) == (ssize_t)used);
        fuzz_check(ftruncate(fd, (off_t)byte_len) == 0);
        close(fd);
}

void fuzz_remove(const char *name)
{
        (void)unlinkat(fuzz_directory(), name, 0);
}
