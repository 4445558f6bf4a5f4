/* SPDX-License-Identifier: MIT */
#include "tools/xac/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "tools/xac/machine.h"
#include "tools/xac/maps.h"
#include "tools/xac/tool.h"

/* ---- What a process has ---- */

struct taken {
        uint64_t shared; /* of memory files: of the pool, what this process has touched */
        uint64_t own;
};

/* "RssAnon:      4096 kB" */
static void take_line(const char *line, const char *name, uint64_t *bytes)
{
        const size_t length = strlen(name);
        uint64_t kib;

        if (strncmp(line, name, length) == 0 && sscanf(line + length, ": %" SCNu64, &kib) == 1)
                *bytes = kib << 10;
}

static bool look_at_process(uint32_t pid, struct taken *taken)
{
        char path[40], line[256];
        FILE *file;

        *taken = (struct taken){ 0, 0 };
        snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
        file = fopen(path, "re");
        if (!file)
                return false;
        while (fgets(line, sizeof(line), file)) {
                take_line(line, "RssShmem", &taken->shared);
                take_line(line, "RssAnon", &taken->own);
        }
        fclose(file);
        return true;
}

/* ---- What it may take ---- */

struct least {
        uint64_t bytes; /* that the pool may still get */
        uint32_t pid;   /* whose group says so; 0: it is /dev/shm, or the pool's ceiling */
        struct inspect_room room;
};

static void look_at_group(struct least *least, uint32_t pid)
{
        struct inspect_room room;

        inspect_room(pid, &room);
        if (room.more < least->bytes)
                *least = (struct least){ room.more, pid, room };
}

static struct least find_least(const struct inspection *inspection)
{
        const uint64_t has = inspection->pool_bytes_allocated, most = inspection->pool_bytes;
        struct least least = { .bytes = most > has ? most - has : 0 };
        uint64_t all, unused;

        if (!leftovers_room(&all, &unused) && unused < least.bytes)
                least.bytes = unused;
        for (uint32_t i = 0; i < inspection->process_count; i++) {
                const struct inspect_process *process = &inspection->process[i];

                if (process->is_alive && maps_have_memory(inspection, process->pid))
                        look_at_group(&least, process->pid);
        }
        return least;
}

/* ---- What is said ---- */

void memory_print(const struct inspection *inspection)
{
        const struct least least = find_least(inspection);

        tool_label("memory");
        say(stdout, "%s more for the pool", tool_bytes(least.bytes));
        if (!least.pid) {
                say(stdout, "\n");
                return;
        }
        say(stdout, ": the control group of pid %" PRIu32 " allows no more,\n", least.pid);
        tool_label("");
        say(stdout, "%s\n", least.room.group);
        tool_label("");
        say(stdout, "which has %s left of %s\n", tool_bytes(least.room.left), tool_bytes(least.room.limit));
}

void memory_print_process(uint32_t pid)
{
        struct taken taken;

        if (!look_at_process(pid, &taken))
                return;
        say(stdout, "\n");
        tool_label("");
        say(stdout, "    %s of shared memory touched,", tool_bytes(taken.shared));
        say(stdout, " %s of its own", tool_bytes(taken.own));
}

void memory_put(struct json *json, const struct inspection *inspection)
{
        const struct least least = find_least(inspection);

        json_open(json, "memory", '{');
        json_number(json, "more_for_pool", least.bytes);
        json_number_if(json, "group_of_pid", least.pid != 0, least.pid);
        json_text(json, "group", least.pid ? least.room.group : NULL);
        json_number_if(json, "group_left", least.pid != 0, least.room.left);
        json_number_if(json, "group_limit", least.pid != 0, least.room.limit);
        json_close(json, '}');
}

void memory_put_process(struct json *json, uint32_t pid)
{
        struct taken taken;
        const bool is_there = look_at_process(pid, &taken);

        json_number_if(json, "shared_bytes", is_there, taken.shared);
        json_number_if(json, "own_bytes", is_there, taken.own);
}
