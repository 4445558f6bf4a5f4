/* SPDX-License-Identifier: MIT */
#include "recovery/recover_area.h"

#include <string.h>

#include <xac/xac.h>

#include "recovery/parts.h"

struct area_id recover_area_id(const struct manifest *manifest)
{
        struct area_id id = {
                .sequence = manifest->target_sequence ? manifest->target_sequence : manifest->base_sequence,
                .page_bytes = manifest->page_bytes,
                .mode = manifest->mode,
        };

        memcpy(id.uuid, manifest->uuid, sizeof(id.uuid));
        return id;
}

static int report(const struct manifest *manifest, const struct home_files *homes, struct findings *findings,
                  const struct area_damage *damage)
{
        const char *name = manifest->area ? AREA_NAME_1 : AREA_NAME_0;
        unsigned long long offset = damage->offset, sequence = recover_area_id(manifest).sequence;

        if (damage->page == UINT64_MAX)
                return findings_add(findings, "%s: offset %llu: %s; pages as of commit %llu may be lost", name, offset,
                                    damage->what, sequence);
        return findings_add(findings,
                            "%s: offset %llu: %s; what commits up to %llu wrote to %s at offset %llu may be lost", name,
                            offset, damage->what, sequence, home_files_name(homes, damage->page),
                            (unsigned long long)home_files_offset(homes, damage->page));
}

int recover_area_read(int directory, const struct manifest *manifest,
                      int (*visit)(void *arg, const struct page_image *image), void *arg,
                      const struct home_files *homes, struct findings *findings)
{
        struct area_id id = recover_area_id(manifest);
        struct area_damage damage;
        int err = area_read(directory, manifest->area, &id, manifest->area_checksum, visit, arg, &damage);

        return err == XAC_CORRUPT && damage.what ? report(manifest, homes, findings, &damage) : err;
}

int recover_area_contents(int directory, const struct manifest *manifest, const struct home_files *homes,
                          struct findings *findings, struct area_contents *contents)
{
        struct area_id id = recover_area_id(manifest);
        struct area_damage damage;
        int err = area_read_contents(directory, manifest->area, &id, manifest->area_checksum, contents, &damage);

        if (!err)
                err = parts_list_add(&contents->listed, contents->pages.items, NULL, contents->pages.count);
        return err == XAC_CORRUPT && damage.what ? report(manifest, homes, findings, &damage) : err;
}

struct check {
        struct home_files *homes;
        uint64_t pages;
        int err; /* of a file: the area's other pages are looked at all the same */
};

static int check_page(void *arg, const struct page_image *image)
{
        struct check *check = arg;

        int err = home_files_need(check->homes, image->page);

        check->pages++;
        if (err)
                check->err = err;
        return 0;
}

int recover_area_check(int directory, const struct manifest *manifest, struct home_files *homes,
                       struct findings *findings, uint64_t *pages)
{
        struct check check = { .homes = homes };
        int err = recover_area_read(directory, manifest, check_page, &check, homes, findings);

        *pages = check.pages;
        return err ? err : check.err;
}
