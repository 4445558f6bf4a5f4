/* SPDX-License-Identifier: MIT */
#include "recovery/recover_double_write.h"

#include <stdio.h>
#include <string.h>

#include <xac/xac.h>

#include "base/say.h"
#include "base/search.h"
#include "recovery/batches.h"

struct double_write_id recover_double_write_id(const struct manifest *manifest)
{
        struct double_write_id id = {
                .sequence = manifest->target_sequence ? manifest->target_sequence : manifest->base_sequence,
                .page_bytes = manifest->page_bytes,
                .mode = manifest->mode,
        };

        memcpy(id.uuid, manifest->uuid, sizeof(id.uuid));
        return id;
}

static int report(const struct manifest *manifest, const struct home_files *homes, struct findings *findings,
                  const struct double_write_damage *damage)
{
        const char *name = manifest->buffer ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0;
        unsigned long long offset = damage->offset, sequence = recover_double_write_id(manifest).sequence;

        if (damage->page == UINT64_MAX)
                return findings_add(findings, "%s: offset %llu: %s; pages as of commit %llu may be lost", name, offset,
                                    damage->what, sequence);
        return findings_add(findings,
                            "%s: offset %llu: %s; what commits up to %llu wrote to %s at offset %llu may be lost", name,
                            offset, damage->what, sequence, home_files_name(homes, damage->page),
                            (unsigned long long)home_files_offset(homes, damage->page));
}

int recover_double_write_read(int directory, const struct manifest *manifest,
                              const struct double_write_visitor *visitor, const struct home_files *homes,
                              struct findings *findings, struct double_write_damage *damage)
{
        struct double_write_id id = recover_double_write_id(manifest);
        int err = double_write_read(directory, manifest->buffer, &id, manifest->buffer_checksum, visitor, damage);

        return err == XAC_CORRUPT && damage->what ? report(manifest, homes, findings, damage) : err;
}

int recover_double_write_contents(int directory, const struct manifest *manifest, const struct home_files *homes,
                                  struct findings *findings, struct double_write_contents *contents)
{
        struct double_write_id id = recover_double_write_id(manifest);
        struct double_write_damage damage;
        int err = double_write_read_contents(directory, manifest->buffer, &id, manifest->buffer_checksum, contents,
                                             &damage);

        if (!err)
                err = batches_list_add(&contents->listed, contents->pages.items, NULL, contents->pages.count);
        return err == XAC_CORRUPT && damage.what ? report(manifest, homes, findings, &damage) : err;
}

int double_write_pages_read(int directory, const struct manifest *manifest, struct double_write_contents *buffer)
{
        struct double_write_id id = recover_double_write_id(manifest);
        struct double_write_damage damage;

        *buffer = (struct double_write_contents){ 0 };
        if (manifest->buffer < 0)
                return 0;
        return double_write_read_contents(directory, manifest->buffer, &id, manifest->buffer_checksum, buffer, &damage);
}

bool double_write_pages_has(const struct double_write_contents *buffer, uint64_t first, uint64_t last)
{
        const uint64_t *pages = buffer->pages.items;
        const uint32_t i = search_first(pages, buffer->pages.count, sizeof(pages[0]), first);

        return i < buffer->pages.count && pages[i] <= last;
}

struct check {
        const struct manifest *manifest;
        struct home_files *homes;
        struct findings *findings;
        bool gives_up;
        uint64_t pages;
        uint64_t lost;
        int err; /* of a file, or of a page that is not given up: the double-write buffer's other pages are looked at
                    all the same */
        bool may_give_up;
};

static int check_page(void *arg, const struct page_image *image)
{
        struct check *check = arg;

        int err = home_files_need(check->homes, image->page);

        check->pages++;
        if (err)
                check->err = err;
        check->may_give_up &= !err;
        return 0;
}

static int lose(void *arg, const struct double_write_damage *damage)
{
        struct check *check = arg;
        int err = check->gives_up ? home_files_may_lose(check->homes, damage->page)
                                  : report(check->manifest, check->homes, check->findings, damage);

        if (err)
                check->err = err;
        else
                check->lost++;
        check->may_give_up &= !check->gives_up && home_files_has_checksums(check->homes, damage->page);
        return 0;
}

static int find_at_home(void *arg, uint64_t page, uint32_t checksum, void *bytes)
{
        const struct check *check = arg;

        return home_files_find(check->homes, page, checksum, bytes);
}

/* CP13 */
static void note_found(const struct manifest *manifest, struct recovery *recovery,
                       const struct double_write_damage *damage)
{
        char sentence[RECOVER_SENTENCE];

        if (!damage->found || !recovery->note)
                return;
        say_text(sentence, sizeof(sentence),
                 "%s: %llu of its pages are damaged, the first at offset %llu, and stand at home as they were: "
                 "nothing is lost",
                 manifest->buffer ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0, (unsigned long long)damage->found,
                 (unsigned long long)damage->found_offset);
        recovery->note(recovery->note_arg, sentence);
}

int recover_double_write_check(struct recovery *recovery, const struct manifest *manifest, struct home_files *homes,
                               struct findings *findings)
{
        struct check check = { .manifest = manifest,
                               .homes = homes,
                               .findings = findings,
                               .gives_up = recovery->gives_up_damaged,
                               .may_give_up = true };
        struct double_write_damage damage;
        const struct double_write_visitor visitor = { check_page, find_at_home, lose, &check };
        int err = recover_double_write_read(recovery->directory, manifest, &visitor, homes, findings, &damage);

        recovery->restored = check.pages;
        recovery->has_lost = check.lost != 0;
        recovery->is_buffer_known = !err;
        recovery->may_give_up = !err && check.err && check.may_give_up;
        note_found(manifest, recovery, &damage);
        return err ? err : check.err;
}
