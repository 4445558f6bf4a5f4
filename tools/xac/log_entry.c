/* SPDX-License-Identifier: MIT */
#include "tools/xac/log_entry.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/say.h"
#include "recovery/bytes.h"
#include "recovery/log_record.h"
#include "recovery/page_name.h"

/* A change, decoded from the table in log_format.h. */
struct change {
        uint32_t kind;
        uint32_t to;
        uint32_t from;
        uint32_t length;
        const unsigned char *bytes;
};

/* The change at *at, which moves behind it. False: it does not fit, or is of no known kind. */
static bool change_next(const struct log_entry *entry, uint32_t *at, struct change *change)
{
        const uint32_t mask = UINT16_MAX;
        const unsigned char *bytes = entry->bytes + *at;
        uint32_t left = entry->byte_len - *at;
        uint32_t byte_len = LOG_CHANGE_HEADER;
        uint64_t header;

        if (left < LOG_CHANGE_HEADER)
                return false;
        header = bytes_get_u64(bytes);
        *change = (struct change){ .kind = (uint32_t)header & mask,
                                   .to = (uint32_t)(header >> 16) & mask,
                                   .from = (uint32_t)(header >> 32) & mask,
                                   .length = ((uint32_t)(header >> 48) & mask) + 1,
                                   .bytes = bytes + LOG_CHANGE_HEADER };
        if (change->kind == LOG_BYTES)
                byte_len += (change->length + 7) & ~UINT32_C(7);
        else if (change->kind != LOG_SHIFT)
                return false;
        *at += byte_len;
        return byte_len <= left;
}

/* Sixteen to a line, with their offsets in the page. */
static void print_bytes(const unsigned char *bytes, uint32_t byte_len, uint32_t offset)
{
        enum { A_LINE = 16 };

        for (uint32_t i = 0; i < byte_len; i++) {
                if (i && i % A_LINE == 0)
                        say(stdout, "\n");
                if (i % A_LINE == 0)
                        say(stdout, "            %5" PRIu32 " ", offset + i);
                say(stdout, " %02x", bytes[i]);
        }
        say(stdout, "\n");
}

static bool print_changes(const struct log_entry *entry, bool has_bytes)
{
        struct change change;
        uint32_t at = 0;

        while (at < entry->byte_len) {
                if (!change_next(entry, &at, &change)) {
                        say(stdout, "        MALFORMED: these changes make no sense\n");
                        return false;
                }
                if (change.kind == LOG_SHIFT)
                        say(stdout, "        shift  %5" PRIu32 "  from %" PRIu32 ", %s\n", change.to, change.from,
                            tool_count(change.length, "byte", "bytes"));
                else
                        say(stdout, "        bytes  %5" PRIu32 "  %s\n", change.to,
                            tool_count(change.length, "byte", "bytes"));
                if (change.kind == LOG_BYTES && has_bytes)
                        print_bytes(change.bytes, change.length, change.to);
        }
        return true;
}

static bool print_entry(const struct place *place, const struct log_entry *entry, bool has_bytes)
{
        static const char *const kinds[] = {
                [LOG_CHANGES] = "changes", [LOG_IMAGE] = "image", [LOG_MOVED] = "moved", [LOG_CLEARED] = "cleared"
        };

        say(stdout, "    %s page %" PRIu64 "  %s", place_file_name(place, page_name_file(entry->page)),
            page_name_number(entry->page), kinds[entry->kind]);
        if (entry->kind == LOG_MOVED)
                say(stdout, " from page %" PRIu64, page_name_number(entry->from));
        say(stdout, ", %s\n", tool_count(entry->byte_len, "byte", "bytes"));
        if (entry->kind != LOG_IMAGE)
                return print_changes(entry, has_bytes);
        if (has_bytes)
                print_bytes(entry->bytes, entry->byte_len, 0);
        return true;
}

uint64_t log_entry_count(const unsigned char *payload, size_t payload_len, uint32_t page_bytes)
{
        struct log_entry entry;
        uint64_t count = 0;
        size_t at = 0;

        while (log_entry_next(payload, payload_len, &at, page_bytes, &entry) == 1)
                count++;
        return count;
}

bool log_entry_print_all(const struct place *place, const unsigned char *payload, size_t payload_len, bool has_bytes)
{
        struct log_entry entry;
        bool is_right = true;
        size_t at = 0;
        int more;

        while ((more = log_entry_next(payload, payload_len, &at, place->manifest.page_bytes, &entry)) == 1)
                is_right &= print_entry(place, &entry, has_bytes);
        if (more < 0)
                say(stdout, "    MALFORMED: this entry makes no sense\n");
        return is_right && more == 0;
}
