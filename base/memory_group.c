/* SPDX-License-Identifier: MIT */
#include "base/memory_group.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

/* A thread that waits for memory may have little stack: neither long texts nor many paths lie on it. */
enum { TEXT_BYTES = 1024, NAME_BYTES = 64 };

/* The path of a file in a directory. */
struct place {
        char path[MEMORY_GROUP_PATH + NAME_BYTES];
        size_t directory; /* the length of that */
};

/* ---- Text of the kernel ---- */

/* The first bytes from the offset, and zeros behind them; empty if it cannot be read. */
static void read_text(struct place *place, const char *name, uint64_t offset, char *text, size_t bytes)
{
        int fd;
        memset(text, 0, bytes);
        place->path[place->directory] = '/';
        strcpy(place->path + place->directory + 1, name);
        if (sys_open(AT_FDCWD, place->path, O_RDONLY, 0, &fd))
                return;
        (void)sys_read_all(fd, text, bytes - 1, offset); /* -ENODATA: it is shorter */
        sys_close(fd);
}

/* Calls visit for each line of less than TEXT_BYTES; longer ones are passed over in pieces. */
static void read_lines(struct place *place, const char *name, void (*visit)(void *arg, char *line), void *arg)
{
        char text[TEXT_BYTES];
        uint64_t offset = 0;
        for (read_text(place, name, 0, text, sizeof(text)); text[0];
             read_text(place, name, offset, text, sizeof(text))) {
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

static uint64_t read_number(struct place *place, const char *name)
{
        char text[32];
        read_text(place, name, 0, text, sizeof(text));
        return number(text);
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

/* Returns false: the path is too long. */
static bool set_process(struct place *place, const char *root, uint32_t process)
{
        const int length = process ? snprintf(place->path, MEMORY_GROUP_PATH, "%s/proc/%" PRIu32, root, process)
                                   : snprintf(place->path, MEMORY_GROUP_PATH, "%s/proc/self", root);
        place->directory = (size_t)length;
        return length < MEMORY_GROUP_PATH;
}

void memory_group_find(const char *root, uint32_t process, struct memory_group *group)
{
        struct search search = { .in_old = "" };
        struct place place;
        *group = (struct memory_group){ .path = "" };
        if (!set_process(&place, root, process))
                return;
        read_lines(&place, "cgroup", take_group, &search);
        read_lines(&place, "mountinfo", take_mount, &search);
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

/* Page cache of files, and what of it is to be written first. Bytes. */
struct cache {
        uint64_t all, dirty;
        bool is_unified;
};

/* total_inactive_file 4096 */
static void take_count(void *arg, char *line)
{
        static const char total[] = "total_";
        struct cache *cache = arg;
        char *value = strchr(line, ' ');
        if (!value || (!cache->is_unified && strncmp(line, total, sizeof(total) - 1) != 0))
                return;
        *value++ = '\0';
        const char *name = cache->is_unified ? line : line + sizeof(total) - 1;
        if (has_word("active_file,inactive_file", name))
                cache->all += number(value);
        else if (has_word(cache->is_unified ? "file_dirty,file_writeback" : "dirty,writeback", name))
                cache->dirty += number(value);
}

static void look_at(struct place *place, bool is_unified, struct memory_room *room)
{
        uint64_t limit = read_number(place, is_unified ? "memory.max" : "memory.limit_in_bytes");
        if (is_unified) {
                const uint64_t high = read_number(place, "memory.high");
                limit = high < limit ? high : limit;
        }
        if (limit >= INT64_MAX / 2) /* version 1 says so, rounded to pages, where there is none */
                return;
        const uint64_t used = read_number(place, is_unified ? "memory.current" : "memory.usage_in_bytes");
        if (used == UINT64_MAX)
                return;
        struct cache cache = { .is_unified = is_unified };
        read_lines(place, "memory.stat", take_count, &cache);
        const uint64_t left = less(limit, less(used, less(cache.all, cache.dirty)));
        if (left < room->left)
                *room = (struct memory_room){ .left = left, .limit = limit, .dirty = cache.dirty };
}

void memory_group_look(const struct memory_group *group, struct memory_room *room)
{
        struct place place = { .directory = strlen(group->path) };
        strcpy(place.path, group->path);
        *room = (struct memory_room){ .left = UINT64_MAX, .limit = UINT64_MAX };
        while (place.directory && place.directory >= group->top) {
                look_at(&place, group->is_unified, room);
                while (place.directory && place.path[--place.directory] != '/')
                        continue;
        }
}
