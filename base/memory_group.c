/* SPDX-License-Identifier: MIT */
#include "base/memory_group.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

enum { TEXT_BYTES = 4096 };

/* ---- Text of the kernel ---- */

/* As much as there is room for; empty if it cannot be read. */
static void read_text(const char *directory, const char *name, uint64_t offset, char text[TEXT_BYTES])
{
        char path[MEMORY_GROUP_PATH + 64];
        const size_t length = strlen(directory);
        int fd;
        memset(text, 0, TEXT_BYTES);
        if (length + strlen(name) + 1 >= sizeof(path))
                return;
        memcpy(path, directory, length);
        path[length] = '/';
        strcpy(path + length + 1, name);
        if (sys_open(AT_FDCWD, path, O_RDONLY, 0, &fd))
                return;
        (void)sys_read_all(fd, text, TEXT_BYTES - 1, offset); /* -ENODATA: it is shorter */
        sys_close(fd);
}

/* Calls visit for each line of at most TEXT_BYTES; longer ones are passed over in pieces. */
static void read_lines(const char *directory, const char *name, void (*visit)(void *arg, char *line), void *arg)
{
        char text[TEXT_BYTES];
        uint64_t offset = 0;
        for (read_text(directory, name, 0, text); text[0]; read_text(directory, name, offset, text)) {
                char *line = text, *end;
                for (; (end = strchr(line, '\n')); line = end + 1) {
                        *end = '\0';
                        visit(arg, line);
                }
                offset += line != text ? (uint64_t)(line - text) : strlen(text);
        }
}

/* UINT64_MAX: what is no number, as "max". */
static uint64_t number(const char *text)
{
        uint64_t value = 0;
        if (*text < '0' || *text > '9')
                return UINT64_MAX;
        for (; *text >= '0' && *text <= '9'; text++) {
                const uint64_t digit = (uint64_t)(*text - '0');
                if (value > (UINT64_MAX - digit) / 10)
                        return UINT64_MAX;
                value = value * 10 + digit;
        }
        return value;
}

static uint64_t read_number(const char *directory, const char *name)
{
        char text[TEXT_BYTES];
        read_text(directory, name, 0, text);
        return number(text);
}

/* The number behind `name` at the beginning of a line; 0: there is no such line. */
static uint64_t number_of(const char *text, const char *name)
{
        const size_t length = strlen(name);
        for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
                if (strncmp(line, name, length) == 0 && line[length] == ' ')
                        return number(line + length + 1);
        return 0;
}

/* ---- Where the group is ---- */

struct search {
        char in_old[MEMORY_GROUP_PATH], in_unified[MEMORY_GROUP_PATH]; /* the group, as /proc/self/cgroup has it */
        char old[MEMORY_GROUP_PATH], unified[MEMORY_GROUP_PATH];       /* where the hierarchy is mounted; empty: not */
        char old_top[MEMORY_GROUP_PATH], unified_top[MEMORY_GROUP_PATH]; /* the group that is there */
};

static void copy(char to[MEMORY_GROUP_PATH], const char *from)
{
        if (strlen(from) < MEMORY_GROUP_PATH)
                strcpy(to, from);
}

static bool has_word(const char *words, const char *word)
{
        const size_t length = strlen(word);
        for (const char *at = words; (at = strstr(at, word)); at += length)
                if ((at == words || at[-1] == ',') && (!at[length] || at[length] == ','))
                        return true;
        return false;
}

/* 4:memory:/a/group */
static void take_group(void *arg, char *line)
{
        struct search *search = arg;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
                return;
        *group++ = '\0';
        if (has_word(controllers + 1, "memory"))
                copy(search->in_old, group);
        else if (strncmp(line, "0:", 2) == 0)
                copy(search->in_unified, group);
}

/* 35 31 0:32 /its/top /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory */
static void take_mount(void *arg, char *line)
{
        struct search *search = arg;
        char *fields[5], *rest = strstr(line, " - cgroup"), *left = NULL;
        int count = 0;
        if (!rest)
                return;
        *rest = '\0';
        for (char *word = strtok_r(line, " ", &left); word && count < 5; word = strtok_r(NULL, " ", &left))
                fields[count++] = word;
        if (count < 5)
                return;
        const char *options = strrchr(rest + 3, ' ');
        if (strncmp(rest + 3, "cgroup2 ", 8) == 0) {
                copy(search->unified_top, fields[3]);
                copy(search->unified, fields[4]);
        } else if (strncmp(rest + 3, "cgroup ", 7) == 0 && options && has_word(options + 1, "memory")) {
                copy(search->old_top, fields[3]);
                copy(search->old, fields[4]);
        }
}

/* A group outside of what is mounted here (a container's) is taken for the top of that. */
static const char *below(const char *top, const char *group)
{
        const size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);
        const bool is_below = strncmp(group, top, length) == 0 && (group[length] == '/' || !group[length]);
        return is_below && strcmp(group + length, "/") != 0 && !strstr(group + length, "/..") ? group + length : "";
}

void memory_group_find(const char *root, struct memory_group *group)
{
        struct search search = { .in_old = "" };
        char directory[MEMORY_GROUP_PATH];
        *group = (struct memory_group){ .path = "" };
        if (snprintf(directory, sizeof(directory), "%s/proc/self", root) >= (int)sizeof(directory))
                return;
        read_lines(directory, "cgroup", take_group, &search);
        read_lines(directory, "mountinfo", take_mount, &search);
        group->is_unified = !search.old[0] || !search.in_old[0];
        const char *mount = group->is_unified ? search.unified : search.old;
        const char *rest =
                group->is_unified ? below(search.unified_top, search.in_unified) : below(search.old_top, search.in_old);
        if (!mount[0])
                return;
        if (strlen(root) + strlen(mount) + strlen(rest) >= sizeof(group->path))
                return;
        group->top = (uint32_t)snprintf(group->path, sizeof(group->path), "%s%s", root, mount);
        strcpy(group->path + group->top, rest);
}

/* ---- What it may still take ---- */

static uint64_t less(uint64_t from, uint64_t what)
{
        return from > what ? from - what : 0;
}

/* What the kernel gives up before it ends anybody: the page cache of files, but for what is to be written first. */
static uint64_t read_cache(const char *directory, bool is_unified)
{
        char text[TEXT_BYTES];
        read_text(directory, "memory.stat", 0, text);
        if (is_unified)
                return less(number_of(text, "active_file") + number_of(text, "inactive_file"),
                            number_of(text, "file_dirty") + number_of(text, "file_writeback"));
        return less(number_of(text, "total_active_file") + number_of(text, "total_inactive_file"),
                    number_of(text, "total_dirty") + number_of(text, "total_writeback"));
}

static void look_at(const char *directory, bool is_unified, struct memory_room *room)
{
        uint64_t limit = read_number(directory, is_unified ? "memory.max" : "memory.limit_in_bytes");
        if (is_unified) {
                const uint64_t high = read_number(directory, "memory.high");
                limit = high < limit ? high : limit;
        }
        if (limit >= INT64_MAX / 2) /* version 1 says so, rounded to pages, where there is none */
                return;
        const uint64_t used = read_number(directory, is_unified ? "memory.current" : "memory.usage_in_bytes");
        if (used == UINT64_MAX)
                return;
        const uint64_t left = less(limit, less(used, read_cache(directory, is_unified)));
        if (left < room->left)
                *room = (struct memory_room){ left, limit };
}

void memory_group_look(const struct memory_group *group, struct memory_room *room)
{
        struct memory_group at = *group;
        size_t length = strlen(at.path);
        *room = (struct memory_room){ UINT64_MAX, UINT64_MAX };
        while (length && length >= at.top) {
                look_at(at.path, at.is_unified, room);
                while (length && at.path[--length] != '/')
                        continue;
                at.path[length] = '\0';
        }
}
