/* SPDX-License-Identifier: MIT */

/*
 * The file with what xac_send_calibrate() found, a line for each kind of socket:
 *
 *      # made by xac send --calibrate
 *      unix gather 896 zerocopy never
 *      loopback gather 896 zerocopy never
 *      network gather 896 zerocopy 12288
 */

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <xac/send.h>

#include "base/low_descriptors.h"
#include "send/reserved.h"

enum { LINE = 128, KIND = 16, NUMBER = 16, LINES_MAX = 16 };

struct line {
        char kind[KIND];
        xac_send_options options;
};

/* ---- kinds of sockets ---- */

static bool is_same_host(const struct sockaddr_storage *one, const struct sockaddr_storage *other)
{
        if (one->ss_family != other->ss_family)
                return false;
        if (one->ss_family == AF_INET)
                return ((const struct sockaddr_in *)one)->sin_addr.s_addr ==
                       ((const struct sockaddr_in *)other)->sin_addr.s_addr;
        return memcmp(&((const struct sockaddr_in6 *)one)->sin6_addr, &((const struct sockaddr_in6 *)other)->sin6_addr,
                      sizeof(struct in6_addr)) == 0;
}

static int kind_of(int socket, const char **kind)
{
        struct sockaddr_storage near = { .ss_family = AF_UNSPEC }, far = near;
        socklen_t near_len = sizeof(near), far_len = sizeof(far);
        if (getsockname(socket, (struct sockaddr *)&near, &near_len) ||
            getpeername(socket, (struct sockaddr *)&far, &far_len))
                return -errno;
        *kind = near.ss_family == AF_UNIX ? "unix" : is_same_host(&near, &far) ? "loopback" : "network";
        return 0;
}

/* ---- lines ---- */

static bool parse_size(const char *text, uint32_t *size)
{
        char *end;
        if (strcmp(text, "never") == 0) {
                *size = UINT32_MAX;
                return true;
        }
        errno = 0;
        const unsigned long number = strtoul(text, &end, 10);
        *size = (uint32_t)number;
        return text[0] >= '0' && text[0] <= '9' && !*end && !errno && number && number < UINT32_MAX;
}

static int parse_line(const char *text, struct line *line)
{
        char gather[NUMBER], zerocopy[NUMBER], more;
        *line = (struct line){ .kind = "" };
        if (sscanf(text, "%15s gather %15s zerocopy %15s %c", line->kind, gather, zerocopy, &more) != 3)
                return XAC_FORMAT;
        return parse_size(gather, &line->options.gather_bytes) && parse_size(zerocopy, &line->options.zerocopy_bytes)
                       ? 0
                       : XAC_FORMAT;
}

static bool says_nothing(const char *text)
{
        return text[0] == '#' || strspn(text, " \t\r\n") == strlen(text);
}

static FILE *open_stream(const char *path, const char *mode)
{
        struct low_descriptors low;
        low_descriptors_hold(&low);
        FILE *file = fopen(path, mode);
        low_descriptors_release(&low);
        return file;
}

/* *count: before, how many there is room for. */
static int read_lines(const char *path, struct line *lines, unsigned *count)
{
        const unsigned room = *count;
        char text[LINE];
        int err = 0;
        FILE *file = open_stream(path, "re");
        *count = 0;
        if (!file)
                return -errno;
        while (!err && fgets(text, sizeof(text), file))
                if (!says_nothing(text))
                        err = *count < room ? parse_line(text, &lines[(*count)++]) : XAC_FORMAT;
        if (!err && ferror(file))
                err = -EIO;
        fclose(file);
        return err;
}

static void print_size(FILE *file, const char *name, uint32_t size)
{
        if (size == UINT32_MAX)
                fprintf(file, " %s never", name);
        else
                fprintf(file, " %s %" PRIu32, name, size);
}

/* Whoever reads it meanwhile sees the old file, or the new one. */
static int write_lines(const char *path, const struct line *lines, unsigned count)
{
        char new_path[4096];
        if (snprintf(new_path, sizeof(new_path), "%s.new", path) >= (int)sizeof(new_path))
                return -ENAMETOOLONG;
        FILE *file = open_stream(new_path, "we");
        if (!file)
                return -errno;
        fputs("# made by xac send --calibrate\n", file);
        for (unsigned i = 0; i < count; i++) {
                fputs(lines[i].kind, file);
                print_size(file, "gather", lines[i].options.gather_bytes);
                print_size(file, "zerocopy", lines[i].options.zerocopy_bytes);
                fputc('\n', file);
        }
        const bool has_failed = ferror(file);
        int err = fclose(file) || has_failed ? -EIO : rename(new_path, path) ? -errno : 0;
        if (err)
                remove(new_path);
        return err;
}

/* ---- the calls ---- */

static struct line *line_of(struct line *lines, unsigned count, const char *kind)
{
        for (unsigned i = 0; i < count; i++)
                if (strcmp(lines[i].kind, kind) == 0)
                        return &lines[i];
        return NULL;
}

int xac_send_options_read(const char *path, int socket, xac_send_options *options)
{
        struct line lines[LINES_MAX];
        unsigned count = LINES_MAX;
        const char *kind = "";
        int err = path && options && !send_options_have_more(options) ? kind_of(socket, &kind) : -EINVAL;
        err = err ? err : read_lines(path, lines, &count);
        const struct line *line = err ? NULL : line_of(lines, count, kind);
        if (line) {
                options->gather_bytes = line->options.gather_bytes;
                options->zerocopy_bytes = line->options.zerocopy_bytes;
        }
        return err;
}

int xac_send_options_write(const char *path, int socket, const xac_send_options *options)
{
        struct line lines[LINES_MAX + 1];
        unsigned count = LINES_MAX;
        const char *kind = "";
        if (!path || !options || !options->gather_bytes || !options->zerocopy_bytes || send_options_have_more(options))
                return -EINVAL;
        int err = kind_of(socket, &kind);
        if (err)
                return err;
        err = read_lines(path, lines, &count);
        if (err && err != -ENOENT)
                return err;
        struct line *line = line_of(lines, count, kind);
        if (!line) {
                line = &lines[count++];
                *line = (struct line){ .kind = "" };
                strcpy(line->kind, kind);
        }
        line->options = *options;
        return write_lines(path, lines, count);
}
