/* SPDX-License-Identifier: MIT */
#include "tools/xac/maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/say.h"
#include "base/sys.h"

enum { CONTROL, HEADS, POOL };

/* Mappings of a process, by what they show. */
struct maps {
        uint64_t all;
        uint64_t part[INSPECT_PARTS];
        uint64_t home; /* data files */
};

/* A line of the file, and the data files to compare it with. */
struct mapping {
        uint64_t device;
        uint64_t inode;
};

struct homes {
        uint32_t count;
        struct mapping file[MANIFEST_FILES];
};

static void find_homes(const struct place *place, const struct inspection *inspection, struct homes *homes)
{
        homes->count = 0;
        for (uint32_t i = 0; i < inspection->file_count && homes->count < MANIFEST_FILES; i++) {
                struct stat st;

                if (!sys_stat_at(place->directory, inspection->file[i].name, &st))
                        homes->file[homes->count++] = (struct mapping){ st.st_dev, st.st_ino };
        }
}

/* "from-to permissions offset major:minor inode path" */
static bool parse(const char *line, struct mapping *mapping)
{
        unsigned major, minor;

        if (sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &major, &minor, &mapping->inode) != 3)
                return false;
        mapping->device = makedev(major, minor);
        return true;
}

static void count(const struct mapping *mapping, const struct inspection *inspection, const struct homes *homes,
                  struct maps *maps)
{
        maps->all++;
        for (uint32_t i = 0; i < INSPECT_PARTS; i++)
                maps->part[i] +=
                        inspection->part[i].inode == mapping->inode && inspection->part[i].device == mapping->device;
        /* Some file systems report another device here than by stat(2): the inode must do. */
        for (uint32_t i = 0; i < homes->count; i++)
                maps->home += homes->file[i].inode == mapping->inode;
}

/* Continuations of a line too long for the buffer are skipped. */
static void count_all(FILE *file, const struct inspection *inspection, const struct homes *homes, struct maps *maps)
{
        char line[512];
        bool is_beginning = true;

        while (fgets(line, sizeof(line), file)) {
                struct mapping mapping;

                if (is_beginning && parse(line, &mapping))
                        count(&mapping, inspection, homes, maps);
                is_beginning = strchr(line, '\n') != NULL;
        }
}

static uint64_t mappings_allowed(void)
{
        FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
        uint64_t allowed = 0;

        if (!file)
                return 0;
        if (fscanf(file, "%" SCNu64, &allowed) != 1)
                allowed = 0;
        fclose(file);
        return allowed;
}

static void take(const struct inspection *inspection, uint32_t pid, const struct homes *homes, struct maps *maps)
{
        char name[40];
        FILE *file;

        snprintf(name, sizeof(name), "/proc/%" PRIu32 "/maps", pid);
        file = fopen(name, "re");
        if (!file)
                return;
        count_all(file, inspection, homes, maps);
        fclose(file);
}

bool maps_have_memory(const struct inspection *inspection, uint32_t pid)
{
        const struct homes none = { .count = 0 };
        struct maps maps = { 0 };

        take(inspection, pid, &none, &maps);
        return maps.part[CONTROL] != 0;
}

void maps_print(const struct place *place, const struct inspection *inspection, uint32_t pid)
{
        struct maps maps = { 0 };
        struct homes homes;

        find_homes(place, inspection, &homes);
        take(inspection, pid, &homes, &maps);
        /* The number may be another process's here: it is of the namespace of its own. */
        if (!maps.part[CONTROL]) {
                say(stdout, "  (its mappings cannot be read from here)");
                return;
        }
        say(stdout, "\n");
        tool_label("");
        say(stdout,
            "    %" PRIu64 " mappings of the pool, %" PRIu64 " of data files, %" PRIu64 " of tables; %" PRIu64
            " in all",
            maps.part[POOL], maps.home, maps.part[CONTROL] + maps.part[HEADS], maps.all);
        if (mappings_allowed())
                say(stdout, " of %" PRIu64, mappings_allowed());
}
