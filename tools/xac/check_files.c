/* SPDX-License-Identifier: MIT */
#include "tools/xac/check_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <xac/xac.h>

#include "backup/backup_index.h"
#include "base/byte_lock.h"
#include "base/say.h"
#include "base/sys.h"
#include "recovery/checksums.h"
#include "recovery/data_name.h"
#include "recovery/double_write.h"
#include "recovery/log_header.h"

enum { FINDING_BYTES = 8192 };

static uint64_t damage_count;
static struct json *findings; /* NULL: to people */

static void put_finding(const char *kind, const char *format, va_list args)
{
        char text[FINDING_BYTES];

        (void)vsnprintf(text, sizeof(text), format, args);
        json_open(findings, NULL, '{');
        json_text(findings, "kind", kind);
        json_text(findings, "text", text);
        json_close(findings, '}');
}

static void print_finding(const char *what, const char *format, va_list args)
{
        if (findings) {
                put_finding(what, format, args);
                return;
        }
        say(stdout, "%s: ", what);
        say_list(stdout, format, args);
        say(stdout, "\n");
}

void check_damage(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        print_finding(findings ? "damage" : "DAMAGED", format, args);
        va_end(args);
        damage_count++;
}

void check_note(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        print_finding("note", format, args);
        va_end(args);
}

void check_findings_to(struct json *json)
{
        findings = json;
}

uint64_t check_damage_count(void)
{
        return damage_count;
}

/* ---- Files in the directory ---- */

static void check_mode(const char *name, uint32_t mode, uint32_t expected)
{
        if (mode & ~expected)
                check_note("%s has permissions %04" PRIo32 ", more than the environment's %04" PRIo32
                           " ('chmod %04" PRIo32 " %s' takes them back)",
                           name, mode, expected, expected, name);
        else if (expected & ~mode)
                check_note("%s has permissions %04" PRIo32 ", fewer than the environment's %04" PRIo32
                           ": not everybody who may open it can ('chmod %04" PRIo32 " %s')",
                           name, mode, expected, expected, name);
}

/* Directories, links, devices in the place of a file. Whether it is missing is recovery's business. */
static void check_kind(const struct place *place, const char *name, bool is_needed)
{
        const bool is_locked = strcmp(name, PLACE_LOCK_FILE) == 0;
        const mode_t mode = (mode_t)place->manifest.mode;
        struct stat st;

        if (sys_stat_at(place->directory, name, &st))
                return;
        if (!S_ISREG(st.st_mode) && is_needed)
                check_damage("%s is not a plain file", name);
        else if (!S_ISREG(st.st_mode))
                check_note("%s is not a plain file, and is not used", name);
        else
                check_mode(name, st.st_mode & 0777, is_locked ? byte_lock_mode(mode) : mode);
}

static bool is_known(const char *name)
{
        static const char *const ours[] = { MANIFEST_NAME, PLACE_LOCK_FILE, DOUBLE_WRITE_NAME_0, DOUBLE_WRITE_NAME_1,
                                            BACKUP_INDEX_NAME };

        for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
                if (strcmp(name, ours[i]) == 0)
                        return true;
        return false;
}

/* Recovery does not read the log of an environment that was closed cleanly, but an open looks whose it is. */
static void check_segment(const struct place *place, const char *name)
{
        unsigned char block[LOG_HEADER_BYTES];
        struct log_header header;
        int fd;
        int err = sys_open(place->directory, name, O_RDONLY, 0, &fd);

        if (err)
                return;
        err = sys_read_all(fd, block, sizeof(block), 0);
        sys_close(fd);
        if (!err)
                err = log_header_decode(block, &header);
        if (err == XAC_FORMAT)
                check_damage("%s, offset 0: made by another version of libxac", name);
        else if (err)
                check_note("%s has no valid header, and is not used", name);
        else if (memcmp(header.uuid, place->manifest.uuid, sizeof(header.uuid)) != 0)
                check_damage("%s, offset 16: a segment of another environment's log; take it away", name);
}

static int visit_name(void *arg, const char *name)
{
        const struct place *place = arg;
        uint32_t file_no;

        if (!data_name_is_own(name))
                return 0; /* a data file, or somebody else's */
        if (is_known(name)) {
                check_kind(place, name, true);
        } else if (checksums_is_name(name)) {
                check_kind(place, name, false);
        } else if (log_file_number(name, &file_no)) {
                check_kind(place, name, false);
                if (place->manifest.is_clean)
                        check_segment(place, name);
        } else {
                check_note("%s is not used: left from something that was cut short, or somebody else's", name);
        }
        return 0;
}

static void print_count(const struct place *place)
{
        tool_label("files");
        say(stdout, "%s\n", tool_count(place->manifest.file_count, "data file", "data files"));
}

int check_files(const struct place *place)
{
        if (!findings)
                print_count(place);
        for (uint32_t i = 0; i < place->manifest.file_count; i++) {
                check_kind(place, place->manifest.file_name[i], true);
        }
        return sys_list(place->directory, visit_name, (void *)(uintptr_t)place);
}
