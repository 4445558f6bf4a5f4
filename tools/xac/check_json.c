/* SPDX-License-Identifier: MIT */
#include "tools/xac/check_json.h"

#include "tools/xac/check_files.h"

void check_json_begin(struct json *json, const struct check *check)
{
        json_open(json, NULL, '{');
        json_text(json, "environment", check->path);
        json_open(json, "findings", '[');
        check_findings_to(json);
}

static const char *result_of(enum tool_exit status)
{
        switch (status) {
        case TOOL_DONE:
                return "sound";
        case TOOL_BUSY:
                return "in use";
        case TOOL_CHANGED:
                return "not known to be sound";
        default:
                return check_damage_count() ? "damaged" : "failed";
        }
}

static void put_manifest(struct json *json, const struct check *check)
{
        const struct manifest *manifest = check->has_manifest ? &check->place->manifest : NULL;

        json_number_if(json, "generation", manifest, manifest ? manifest->generation : 0);
        json_number_if(json, "checkpoint", manifest, manifest ? manifest->base_sequence : 0);
        if (manifest)
                json_bool(json, "needs_recovery",
                          !check->has_remains && (!manifest->is_clean || manifest->buffer >= 0));
        else
                json_null(json, "needs_recovery");
}

static void put_recovery(struct json *json, const struct check *check)
{
        const struct recovery *recovery = &check->recovery;
        const bool is_known = check->has_recovery, has_checksums = is_known && !recovery->skips_checksums;

        json_number_if(json, "log_commits", is_known, recovery->commits);
        json_number_if(json, "log_bytes", is_known, recovery->log_bytes);
        json_number_if(json, "log_pages", is_known, recovery->pages);
        json_number_if(json, "pages_compared", has_checksums, recovery->checksums_pages - recovery->checksums_unknown);
        json_number_if(json, "pages_unknown", has_checksums, recovery->checksums_unknown);
        json_number_if(json, "files_without_sums", has_checksums, recovery->checksums_missing);
        json_number_if(json, "files_changed", is_known, recovery->files_changed);
        json_number_if(json, "files_unknown", is_known, recovery->files_unknown);
}

void check_json_end(struct json *json, const struct check *check, enum tool_exit status)
{
        check_findings_to(NULL);
        json_close(json, ']');
        json_number(json, "damages", check_damage_count());
        put_manifest(json, check);
        put_recovery(json, check);
        json_text(json, "result", result_of(status));
        json_text(json, "error", tool_last_complaint());
        json_number(json, "status", status);
        json_close(json, '}');
}
