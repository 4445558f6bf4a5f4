/* SPDX-License-Identifier: MIT */
#include "tools/xac/stat_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/sys.h"
#include "tools/xac/json.h"
#include "tools/xac/live_json.h"
#include "tools/xac/stat_backup.h"

static const struct manifest *manifest_of(const struct stat_look *look)
{
        return look->place ? &look->place->manifest : NULL;
}

static uint64_t difference(uint64_t newer, uint64_t older)
{
        return newer > older ? newer - older : 0; /* the figures are not of one moment */
}

/* ---- What it is ---- */

static void put_identity(struct json *json, const struct manifest *manifest)
{
        char uuid[STAT_UUID_BYTES], permissions[16];

        if (manifest) {
                stat_uuid(manifest->uuid, uuid);
                snprintf(permissions, sizeof(permissions), "%04" PRIo32, manifest->mode);
        }
        json_text(json, "uuid", manifest ? uuid : NULL);
        json_number_if(json, "page_bytes", manifest, manifest ? manifest->page_bytes : 0);
        json_number_if(json, "max_participants", manifest, manifest ? manifest->max_participants : 0);
        json_text(json, "permissions", manifest ? permissions : NULL);
}

static const char *state_of(const struct stat_look *look)
{
        const struct manifest *manifest = manifest_of(look);

        if (!manifest || look->in_use < 0)
                return "unknown";
        if (look->in_use)
                return look->inspection ? "in use" : "unseen";
        if (look->inspection)
                return "abandoned";
        return !manifest->is_clean || manifest->buffer >= 0 ? "needs recovery" : "clean";
}

static void put_state(struct json *json, const struct stat_look *look)
{
        const struct inspection *inspection = look->inspection;
        const bool is_known = inspection || (look->place && look->in_use == 0);
        uint32_t alive = 0;

        for (uint32_t i = 0; inspection && i < inspection->process_count; i++)
                alive += inspection->process[i].is_alive;
        json_text(json, "state", state_of(look));
        json_number_if(json, "processes", is_known, alive);
}

/* ---- Commits and log ---- */

static void put_sequences(struct json *json, const struct stat_look *look)
{
        const struct inspection *inspection = look->inspection;
        const struct manifest *manifest = manifest_of(look);
        const bool has_log = inspection ? !inspection->is_volatile : look->log.is_known;
        const uint64_t newest = inspection ? inspection->sequence : look->log.newest;

        json_number_if(json, "sequence", inspection || look->log.is_known, newest);
        json_number_if(json, "durable", has_log, inspection ? inspection->durable_sequence : newest);
        json_number_if(json, "checkpoint", manifest,
                       inspection && !inspection->is_volatile ? inspection->checkpoint_sequence
                       : manifest                             ? manifest->base_sequence
                                                              : 0);
        json_text(json, "poison", inspection && inspection->poison ? tool_explain(inspection->poison) : NULL);
        json_number_if(json, "checkpointer", inspection && inspection->checkpointer,
                       inspection ? inspection->checkpointer : 0);
}

static void put_log(struct json *json, const struct stat_look *look)
{
        const struct inspection *inspection = look->inspection;
        const struct manifest *manifest = manifest_of(look);
        struct stat_log log = look->log;

        if (!manifest || (inspection && inspection->is_volatile)) {
                json_null(json, "log");
                return;
        }
        if (inspection)
                log = (struct stat_log){ .commits = difference(inspection->logged_sequence,
                                                               inspection->checkpoint_sequence),
                                         .byte_len = difference(inspection->log_end, manifest->redo_position),
                                         .is_known = true };
        json_open(json, "log", '{');
        json_number_if(json, "commits", log.is_known, log.commits);
        json_number_if(json, "bytes", log.is_known, log.byte_len);
        json_number_if(json, "limit", inspection, inspection ? inspection->log_bytes : 0);
        json_number_if(json, "unsynced_bytes", inspection,
                       inspection ? difference(inspection->log_end, inspection->log_durable) : 0);
        json_number(json, "files", look->log_files);
        json_number(json, "files_bytes", look->log_files_bytes);
        json_close(json, '}');
}

/* At rest: which the last session named. A copy lies in another directory, and has none. */
static void put_archive(struct json *json, const struct stat_look *look)
{
        const struct manifest *manifest = manifest_of(look);

        if (look->inspection) {
                live_put_archive(json, look->inspection);
        } else if (manifest && place_has_archive(look->place)) {
                json_open(json, "archive", '{');
                json_text(json, "path", manifest->archive.path);
                json_null(json, "sequence");
                json_null(json, "behind_commits");
                json_null(json, "behind_bytes");
                json_null(json, "waits_seconds");
                json_null(json, "error");
                json_close(json, '}');
        } else {
                json_null(json, "archive");
        }
}

static void put_files(struct json *json, const struct stat_look *look)
{
        const struct manifest *manifest = manifest_of(look);

        json_open(json, "files", '[');
        for (uint32_t i = 0; manifest && i < manifest->file_count; i++) {
                struct stat st = { 0 };
                const int err = sys_stat_at(look->place->directory, manifest->file_name[i], &st);

                json_open(json, NULL, '{');
                json_text(json, "name", manifest->file_name[i]);
                json_number_if(json, "bytes", !err, (uint64_t)st.st_size);
                json_close(json, '}');
        }
        json_close(json, ']');
}

enum tool_exit stat_json_print(const struct stat_look *look, enum tool_exit status)
{
        struct json json = { .to = stdout };

        json_open(&json, NULL, '{');
        json_text(&json, "environment", look->path);
        put_identity(&json, manifest_of(look));
        put_state(&json, look);
        put_sequences(&json, look);
        put_log(&json, look);
        put_archive(&json, look);
        put_files(&json, look);
        live_put_memory(&json, look->inspection);
        if (stat_backup_put(&json, look->path, manifest_of(look)) < 0)
                status = TOOL_FAILED;
        json_text(&json, "error", tool_last_complaint());
        json_number(&json, "status", status);
        json_close(&json, '}');
        return status;
}
