/* SPDX-License-Identifier: MIT */
#include "tools/xac/stat_backup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "backup/backup_index.h"
#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/moment.h"

#define SECOND_NS UINT64_C(1000000000)

void stat_print_uuid(const uint8_t uuid[16])
{
        for (int i = 0; i < 16; i++)
                say(stdout, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
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
static void print_use(const struct backup_index *index, const struct manifest *manifest)
{
        if (manifest->base_sequence == index->sequence && manifest->is_clean)
                return;
        tool_label("");
        say(stdout, "programs have changed it since: it is no backup any more\n");
}

static void print(const struct backup_index *index)
{
        tool_label("backup");
        say(stdout, "%s, of commit %" PRIu64 ", made %s\n", short_id(index->id), index->sequence,
            moment_time(index->time * SECOND_NS));
        tool_label("");
        say(stdout, "of the environment ");
        stat_print_uuid(index->source);
        say(stdout, "\n");
        print_what_it_has(index);
}

int stat_backup_print(const struct place *place, bool has_manifest)
{
        static struct backup_index index;
        struct trouble trouble = { "" };
        struct stat st;
        int err = sys_stat_at(place->directory, BACKUP_INDEX_NAME, &st);

        if (err)
                return err == -ENOENT ? 0 : err;
        err = backup_index_load(&index, place->path, &trouble);
        if (err) {
                tool_complain("%s", trouble.text[0] ? trouble.text : tool_explain(err));
                return err;
        }
        print(&index);
        if (has_manifest)
                print_use(&index, &place->manifest);
        backup_index_free(&index);
        return 1;
}
