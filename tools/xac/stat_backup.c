/* SPDX-License-Identifier: MIT */
#include "tools/xac/stat_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "backup/backup_index.h"
#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/moment.h"

#define SECOND_NS UINT64_C(1000000000)

void stat_uuid(const uint8_t uuid[16], char text[STAT_UUID_BYTES])
{
        for (int i = 0; i < 16; i++)
                text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Enough of it to tell backups apart. */
static const char *short_id(const uint8_t id[BACKUP_ID_BYTES])
{
        static char text[2][9];
        static int turn;

        turn = !turn;
        snprintf(text[turn], sizeof(text[turn]), "%02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
        return text[turn];
}

static void print_what_it_has(const struct backup_index *index)
{
        tool_label("");
        if (backup_index_is_full(index))
                say(stdout, "full: opens as it is\n");
        else
                say(stdout,
                    "goes on from backup %s, of commit %" PRIu64 ": %s that changed since; 'xac restore' puts\n"
                    "              them together\n",
                    short_id(index->since), index->since_sequence, tool_count(index->pages_here, "page", "pages"));
}

/* A backup that programs have opened is an environment like any other. */
static bool is_changed(const struct backup_index *index, const struct manifest *manifest)
{
        return manifest->base_sequence != index->sequence || !manifest->is_clean;
}

static void print_use(const struct backup_index *index, const struct manifest *manifest)
{
        if (!is_changed(index, manifest))
                return;
        tool_label("");
        say(stdout, "programs have changed it since: it is no backup any more\n");
}

static void print(const struct backup_index *index)
{
        char source[STAT_UUID_BYTES];

        tool_label("backup");
        say(stdout, "%s, of commit %" PRIu64 ", made %s\n", short_id(index->id), index->sequence,
            moment_time(index->time * SECOND_NS));
        tool_label("");
        stat_uuid(index->source, source);
        say(stdout, "of the environment %s\n", source);
        print_what_it_has(index);
}

/* 1: it is one; 0: it is none; or an error, which was complained of. */
static int load(struct backup_index *index, const char *path)
{
        struct trouble trouble = { "" };
        struct stat st;
        char name[4096];
        int err;

        if (snprintf(name, sizeof(name), "%s/" BACKUP_INDEX_NAME, path) >= (int)sizeof(name))
                return 0;
        err = sys_stat_at(AT_FDCWD, name, &st);
        if (err)
                return err == -ENOENT || err == -ENOTDIR ? 0 : err;
        err = backup_index_load(index, path, &trouble);
        if (!err)
                return 1;
        tool_complain("%s", trouble.text[0] ? trouble.text : tool_explain(err));
        return err;
}

bool stat_backup_is_one(const char *path)
{
        static struct backup_index index;
        const bool is_one = load(&index, path) == 1;

        if (is_one)
                backup_index_free(&index);
        return is_one;
}

int stat_backup_print(const struct place *place, bool has_manifest)
{
        static struct backup_index index;
        const int is_one = load(&index, place->path);

        if (is_one != 1)
                return is_one;
        print(&index);
        if (has_manifest)
                print_use(&index, &place->manifest);
        backup_index_free(&index);
        return 1;
}

static void put_index(struct json *json, const struct backup_index *index, const struct manifest *manifest)
{
        const bool is_full = backup_index_is_full(index);
        char uuid[STAT_UUID_BYTES];

        json_open(json, "backup", '{');
        stat_uuid(index->id, uuid);
        json_text(json, "id", uuid);
        json_number(json, "sequence", index->sequence);
        json_text(json, "time", moment_iso(index->time * SECOND_NS));
        stat_uuid(index->source, uuid);
        json_text(json, "source", uuid);
        stat_uuid(index->since, uuid);
        json_text(json, "since", is_full ? NULL : uuid);
        json_number_if(json, "since_sequence", !is_full, index->since_sequence);
        json_number(json, "pages", index->pages_here);
        json_bool(json, "changed_since", manifest && is_changed(index, manifest));
        json_close(json, '}');
}

int stat_backup_put(struct json *json, const char *path, const struct manifest *manifest)
{
        static struct backup_index index;
        const int is_one = load(&index, path);

        if (is_one != 1) {
                json_null(json, "backup");
                return is_one;
        }
        put_index(json, &index, manifest);
        backup_index_free(&index);
        return 1;
}
