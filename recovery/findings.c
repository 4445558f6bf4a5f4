/* SPDX-License-Identifier: MIT */
#include "recovery/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <xac/xac.h>

#include "base/say.h"

int findings_add(struct findings *findings, const char *format, ...)
{
        char sentence[RECOVER_SENTENCE];
        va_list args;

        va_start(args, format);
        say_text_list(sentence, sizeof(sentence), format, args);
        va_end(args);
        findings->count++;
        findings->report(findings->arg, sentence);
        return XAC_CORRUPT;
}

void findings_begin(struct recovery *recovery)
{
        recovery->commits = 0;
        recovery->pages = 0;
        recovery->restored = 0;
        recovery->log_bytes = 0;
        recovery->checksums_pages = 0;
        recovery->checksums_missing = 0;
        recovery->checksums_unknown = 0;
        recovery->files_changed = 0;
        recovery->files_unknown = 0;
        recovery->has_torn_tail = false;
        recovery->time_ns = 0;
        recovery->has_given_up = false;
        recovery->has_lost = false;
        recovery->lost = 0;
        recovery->is_buffer_damaged = false;
        recovery->is_buffer_known = false;
        recovery->may_give_up = false;
        memset(recovery->damage, 0, sizeof(recovery->damage));
}

void progress_tell(struct progress *progress, uint64_t done, uint64_t total)
{
        const struct recovery *recovery = progress->recovery;

        if (!recovery->progress || (done < total && done - progress->told < progress->step))
                return;
        progress->told = done;
        recovery->progress(recovery->progress_arg, progress->what, done, total);
}
