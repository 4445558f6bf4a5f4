/* SPDX-License-Identifier: MIT */
#include "tools/xac/repair_line.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/say.h"
#include "tools/xac/tool.h"

const struct repair_outcome repair_page_taken = { "the page is taken from the backup", "taken from the backup" };
const struct repair_outcome repair_checksum_made = { "the page is the backup's: its checksum is made anew",
                                                     "the pages are the backup's: their checksums are made anew" };
const struct repair_outcome repair_no_file = { "the backup has no such file: left as it is",
                                               "the backup has no such file: left as they are" };
const struct repair_outcome repair_another = {
        "the backup's page is another than the checksum is of: left as it is",
        "the backup's pages are others than the checksums are of: left as they are"
};
const struct repair_outcome repair_another_lost = {
        "its checksum is damaged, and the backup's page is another: left as it is",
        "their checksums are damaged, and the backup's pages are others: left as they are"
};
const struct repair_outcome repair_rotten = {
        "the backup's page is not what the backup's own checksum says: left as it is",
        "the backup's pages are not what the backup's own checksums say: left as they "
        "are"
};
const struct repair_outcome repair_unsure = {
        "both pages are the same, but the backup has no checksum of its own: left as it is",
        "the pages are the same as the backup's, which has no checksums of its own: left as they are"
};

void repair_line_end(struct repair_line *line)
{
        if (!line->outcome)
                return;
        say(stdout, "%s: offset %" PRIu64, line->name, line->first * line->page_bytes);
        if (line->count > 1)
                say(stdout, ", %s: %s\n", tool_count(line->count, "page", "pages"), line->outcome->many);
        else
                say(stdout, ": %s\n", line->outcome->one);
        line->outcome = NULL;
}

void repair_line_add(struct repair_line *line, uint64_t page_no, const struct repair_outcome *outcome)
{
        if (line->outcome == outcome && page_no == line->first + line->count) {
                line->count++;
                return;
        }
        repair_line_end(line);
        line->outcome = outcome;
        line->first = page_no;
        line->count = 1;
}
