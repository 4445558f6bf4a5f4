/* SPDX-License-Identifier: MIT */

#include "labs/recovery/images.h"

#include <string.h>

#include "labs/grader/grader.h"
#include "labs/recovery/log.h"

enum { VERSIONS_MOST = EVENTS_MOST + 1, GARBAGE_BYTE = 0x5a };

static const uint8_t garbage[SECTOR_BYTES] = { [0 ... SECTOR_BYTES - 1] = GARBAGE_BYTE };

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
        void (*judge)(void *arg, const struct image *image);
        void *arg;
        uint64_t tried, most;
};

static struct choices *choices_of(struct search *search, int sector)
{
        for (int i = 0; i < search->count; i++)
                if (search->choices[i].sector == sector)
                        return &search->choices[i];
        search->choices[search->count].sector = sector;
        search->choices[search->count].count = 1;
        return &search->choices[search->count++];
}

static void settle(struct search *search, uint8_t synced[][SECTOR_BYTES], enum disk_file file)
{
        int kept = 0;
        for (int i = 0; i < search->count; i++) {
                struct choices *choices = &search->choices[i];
                if (disk_file_of(choices->sector) == file)
                        memcpy(synced[choices->sector], choices->version[choices->count - 1], SECTOR_BYTES);
                else if (kept++ != i)
                        search->choices[kept - 1] = *choices;
        }
        search->count = kept;
}

static void set_sector(struct search *search, const struct choices *choices, const uint8_t *bytes, enum fate fate)
{
        memcpy(search->image.sector[choices->sector], bytes, SECTOR_BYTES);
        search->image.fate[choices->sector] = fate;
}

/* Half of it has arrived. Returns false if that makes no difference. */
static bool make_torn(const struct choices *choices, uint8_t torn[SECTOR_BYTES])
{
        const uint8_t *newest = choices->version[choices->count - 1];
        const uint8_t *before = choices->version[choices->count - 2];
        memcpy(torn, newest, SECTOR_BYTES / 2);
        memcpy(torn + SECTOR_BYTES / 2, before + SECTOR_BYTES / 2, SECTOR_BYTES / 2);
        return memcmp(torn, newest, SECTOR_BYTES) != 0 && memcmp(torn, before, SECTOR_BYTES) != 0;
}

/* The way-th of what the sector may hold instead of what was written last. Returns false if there are not so many. */
static bool set_lost(struct search *search, const struct choices *choices, int way)
{
        uint8_t torn[SECTOR_BYTES];
        const int older = choices->sector == search->fresh ? 0 : choices->count - 1;
        const bool can_tear = make_torn(choices, torn);
        if (way < older)
                set_sector(search, choices, choices->version[choices->count - 2 - way], FATE_OLDER);
        else if (way == older && can_tear)
                set_sector(search, choices, torn, FATE_TORN);
        else if (way == older + can_tear)
                set_sector(search, choices, garbage, FATE_GARBAGE);
        else
                return false;
        return true;
}

static void set_arrived(struct search *search, const struct choices *choices)
{
        set_sector(search, choices, choices->version[choices->count - 1], FATE_ARRIVED);
}

static int count_ways(const struct search *search, const struct choices *choices)
{
        uint8_t torn[SECTOR_BYTES];
        return (choices->sector == search->fresh ? 0 : choices->count - 1) + make_torn(choices, torn) + 1;
}

/* How many disks there are; `limit` if more. */
static uint64_t count_images(const struct search *search, uint64_t limit)
{
        uint64_t count = 1;
        for (int i = 0; i < search->count && count < limit; i++)
                count *= (uint64_t)count_ways(search, &search->choices[i]) + 1;
        return count < limit ? count : limit;
}

static bool try_one(struct search *search)
{
        if (search->tried == search->most)
                return false;
        search->tried++;
        search->judge(search->arg, &search->image);
        return true;
}

/* Lets `lost` of the sectors from `from` on not be what was written last. */
static bool lose(struct search *search, int from, int lost)
{
        if (lost == 0)
                return try_one(search);
        for (int i = from; i + lost <= search->count; i++) {
                const struct choices *choices = &search->choices[i];
                bool goes_on = true;
                for (int way = 0; goes_on && set_lost(search, choices, way); way++)
                        goes_on = lose(search, i + 1, lost - 1);
                set_arrived(search, choices);
                if (!goes_on)
                        return false;
        }
        return true;
}

/* ------------------------------------------------------------------ more than can be tried */

/* What becomes of the sectors of a file. */
enum mood { MOOD_ARRIVED, MOOD_SYNCED, MOOD_LOST, MOOD_MIXED, MOODS };

static void draw_sector(struct search *search, const struct choices *choices, enum mood mood)
{
        set_arrived(search, choices);
        if (mood == MOOD_ARRIVED || (mood == MOOD_MIXED && grader_random(2) == 0))
                return;
        if (mood == MOOD_SYNCED && choices->sector != search->fresh)
                set_sector(search, choices, choices->version[0], FATE_OLDER);
        else
                set_lost(search, choices, (int)grader_random((uint32_t)count_ways(search, choices)));
        search->image.lost++;
}

static void draw_image(struct search *search)
{
        enum mood moods[DISK_FILES];
        search->image.lost = 0;
        for (int file = 0; file < DISK_FILES; file++)
                moods[file] = (enum mood)grader_random(MOODS);
        for (int i = 0; i < search->count; i++)
                draw_sector(search, &search->choices[i], moods[disk_file_of(search->choices[i].sector)]);
}

/* ------------------------------------------------------------------ all of a cut */

/* Which sectors are not synced after so many events, and what they may hold. */
static void collect(struct search *search, const struct trace *trace, int events, uint8_t synced[][SECTOR_BYTES])
{
        memcpy(synced, trace->begin, sizeof(trace->begin));
        search->count = 0;
        search->fresh = -1;
        for (int i = 0; i < events; i++) {
                const struct event *event = &trace->event[i];
                if (event->kind == EVENT_WRITE) {
                        struct choices *choices = choices_of(search, event->sector);
                        choices->version[0] = synced[event->sector];
                        choices->version[choices->count++] = event->bytes;
                } else if (event->kind == EVENT_SYNC)
                        settle(search, synced, event->file);
        }
        if (events > 0 && trace->event[events - 1].kind == EVENT_WRITE)
                search->fresh = trace->event[events - 1].sector;
        memset(&search->image, 0, sizeof(search->image));
        memcpy(search->image.sector, synced, sizeof(search->image.sector));
        for (int i = 0; i < search->count; i++)
                set_arrived(search, &search->choices[i]);
        search->image.unsynced = search->count;
}

bool images_each(const struct trace *trace, int events, uint64_t most,
                 void (*judge)(void *arg, const struct image *image), void *arg)
{
        struct search search;
        uint8_t synced[DISK_SECTORS][SECTOR_BYTES];
        collect(&search, trace, events, synced);
        search.judge = judge;
        search.arg = arg;
        search.tried = 0;
        const bool are_all = count_images(&search, most + 1) <= most;
        search.most = are_all ? most : most / 2;
        for (int lost = 0; lost <= search.count; lost++) {
                search.image.lost = lost;
                if (!lose(&search, 0, lost))
                        break;
        }
        for (search.most = most; !are_all && search.tried < most;) {
                draw_image(&search);
                try_one(&search);
        }
        return are_all;
}

/* ------------------------------------------------------------------ what nobody reads */

static void spoil_page(struct image *image, enum disk_file file, int page)
{
        const int first = disk_first_sector(file) + page * PAGE_SECTORS;
        for (int sector = first; sector < first + PAGE_SECTORS; sector++)
                memcpy(image->sector[sector], garbage, SECTOR_BYTES);
        image->spoilt[file] |= (uint8_t)(1 << page);
}

void image_spoil(struct image *image)
{
        struct disk disk = { .trace = NULL };
        struct log log = { .disk = &disk };
        memcpy(disk.sector, image->sector, sizeof(disk.sector));
        if (!manifest_read(&log))
                return;
        for (int page = 0; page < PAGES; page++) {
                const bool is_named = log.manifest.pages >> page & 1;
                const enum disk_file area = log.manifest.area == 0 ? DISK_AREA_0 : DISK_AREA_1;
                const enum disk_file needed = is_named ? area : DISK_HOME;
                for (enum disk_file file = DISK_AREA_0; file <= DISK_HOME; file++)
                        if (file != needed)
                                spoil_page(image, file, page);
        }
}
