/* SPDX-License-Identifier: MIT */

#include "labs/recovery/images.h"

#include <string.h>

enum { VERSIONS_MOST = 12, GARBAGE_BYTE = 0x5a };

/* What a sector may hold; the newest version is the last one. */
struct choices {
        int sector;
        int count; /* of versions; [0] is what the last sync left */
        const uint8_t *version[VERSIONS_MOST];
};

struct search {
        struct choices choices[DISK_SECTORS];
        int count; /* of sectors that are not synced */
        int fresh; /* the one that the last event wrote has arrived, if in part: all else was tried one event before */
        struct image image;
        bool (*judge)(void *arg, const struct image *image);
        void *arg;
        uint64_t tried;
};

static struct choices *choices_of(struct search *search, int sector)
{
        for (int i = 0; i < search->count; i++)
                if (search->choices[i].sector == sector)
                        return &search->choices[i];
        search->choices[search->count] = (struct choices){ sector, 1, { NULL } };
        return &search->choices[search->count++];
}

/* Of a sector that is written very often between two syncs the oldest are forgotten. */
static void add_version(struct choices *choices, const uint8_t *bytes)
{
        if (choices->count == VERSIONS_MOST) {
                memmove(&choices->version[1], &choices->version[2], (VERSIONS_MOST - 2) * sizeof(choices->version[0]));
                choices->count--;
        }
        choices->version[choices->count++] = bytes;
}

static void settle(struct search *search, uint8_t synced[][SECTOR_BYTES], enum disk_file file)
{
        int kept = 0;
        for (int i = 0; i < search->count; i++) {
                struct choices *choices = &search->choices[i];
                if (disk_file_of(choices->sector) == file)
                        memcpy(synced[choices->sector], choices->version[choices->count - 1], SECTOR_BYTES);
                else
                        search->choices[kept++] = *choices;
        }
        search->count = kept;
}

static void set_sector(struct search *search, const struct choices *choices, const uint8_t *bytes, enum fate fate)
{
        memcpy(search->image.sector[choices->sector], bytes, SECTOR_BYTES);
        search->image.fate[choices->sector] = fate;
}

/* Half of it has arrived. Returns false if that makes no difference. */
static bool set_torn(struct search *search, const struct choices *choices)
{
        uint8_t torn[SECTOR_BYTES];
        const uint8_t *newest = choices->version[choices->count - 1];
        const uint8_t *before = choices->version[choices->count - 2];
        memcpy(torn, newest, SECTOR_BYTES / 2);
        memcpy(torn + SECTOR_BYTES / 2, before + SECTOR_BYTES / 2, SECTOR_BYTES / 2);
        if (memcmp(torn, newest, SECTOR_BYTES) == 0 || memcmp(torn, before, SECTOR_BYTES) == 0)
                return false;
        set_sector(search, choices, torn, FATE_TORN);
        return true;
}

static bool try_one(struct search *search)
{
        return search->tried++ < IMAGES_MOST && search->judge(search->arg, &search->image);
}

/* Lets `lost` of the sectors from `from` on not be what was written last. */
static bool lose(struct search *search, int from, int lost)
{
        static const uint8_t garbage[SECTOR_BYTES] = { [0 ... SECTOR_BYTES - 1] = GARBAGE_BYTE };
        if (lost == 0)
                return try_one(search);
        for (int i = from; i + lost <= search->count; i++) {
                const struct choices *choices = &search->choices[i];
                bool goes_on = true;
                for (int v = choices->count - 2; goes_on && v >= 0 && choices->sector != search->fresh; v--) {
                        set_sector(search, choices, choices->version[v], FATE_OLDER);
                        goes_on = lose(search, i + 1, lost - 1);
                }
                if (goes_on && set_torn(search, choices))
                        goes_on = lose(search, i + 1, lost - 1);
                if (goes_on) {
                        set_sector(search, choices, garbage, FATE_GARBAGE);
                        goes_on = lose(search, i + 1, lost - 1);
                }
                set_sector(search, choices, choices->version[choices->count - 1], FATE_ARRIVED);
                if (!goes_on)
                        return false;
        }
        return true;
}

uint64_t images_each(const struct trace *trace, int events, bool (*judge)(void *arg, const struct image *image),
                     void *arg)
{
        struct search search = { .judge = judge, .arg = arg };
        uint8_t synced[DISK_SECTORS][SECTOR_BYTES];
        memcpy(synced, trace->begin, sizeof(synced));
        for (int i = 0; i < events; i++) {
                const struct event *event = &trace->event[i];
                if (event->kind == EVENT_WRITE) {
                        struct choices *choices = choices_of(&search, event->sector);
                        choices->version[0] = synced[event->sector];
                        add_version(choices, event->bytes);
                } else if (event->kind == EVENT_SYNC)
                        settle(&search, synced, event->file);
        }
        search.fresh =
                events > 0 && trace->event[events - 1].kind == EVENT_WRITE ? trace->event[events - 1].sector : -1;

        memcpy(search.image.sector, synced, sizeof(synced));
        for (int i = 0; i < search.count; i++)
                set_sector(&search, &search.choices[i], search.choices[i].version[search.choices[i].count - 1],
                           FATE_ARRIVED);
        search.image.unsynced = search.count;
        for (int lost = 0; lost <= search.count; lost++) {
                search.image.lost = lost;
                if (!lose(&search, 0, lost))
                        break;
        }
        return search.tried;
}
