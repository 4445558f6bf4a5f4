/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void trace_words_ns(uint64_t ns, char *text)
{
        static const struct {
                uint64_t ns;
                const char *name;
        } units[] = { { UINT64_C(1000000000), "s" }, { 1000000, "ms" }, { 1000, "us" } };

        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
                double amount = (double)ns / (double)units[i].ns;

                if (ns < units[i].ns)
                        continue;
                snprintf(text, TRACE_WORDS_BYTES, "%.*f %s",
                         amount < 10    ? 2
                         : amount < 100 ? 1
                                        : 0,
                         amount, units[i].name);
                return;
        }
        snprintf(text, TRACE_WORDS_BYTES, "%" PRIu64 " ns", ns);
}

void trace_words_page(const struct trace_file *file, uint32_t env, uint64_t page, char *text)
{
        const char *name = trace_file_name(file, env, trace_page_file(page));
        char number[32];

        snprintf(number, sizeof(number), "file %" PRIu32, trace_page_file(page));
        snprintf(text, TRACE_WORDS_BYTES, "page %" PRIu32 " of %.700s%s%.1000s", trace_page_no(page),
                 name ? name : number, file->named_env_count > 1 ? " in " : "",
                 file->named_env_count > 1 ? file->envs[env].path : "");
}

void trace_words_track(const struct trace_file *file, uint32_t track, char *text)
{
        const struct trace_file_track *its;

        if (track == TRACE_WINNER_NOT_TRACED || track == TRACE_WINNER_NOT_KNOWN) {
                snprintf(text, TRACE_WORDS_BYTES, "%s",
                         track == TRACE_WINNER_NOT_TRACED ? "who is not traced" : "it is not known whom");
                return;
        }
        its = &file->tracks[track];
        if (!its->is_introduced)
                snprintf(text, TRACE_WORDS_BYTES, "track %" PRIu32, its->no);
        else if (its->is_background)
                snprintf(text, TRACE_WORDS_BYTES, "%s %" PRIu32 " background", its->program, its->pid);
        else
                snprintf(text, TRACE_WORDS_BYTES, "%s %" PRIu32 "/%" PRIu32, its->program, its->pid, its->tid);
}

void trace_words_end(const struct trace_file_track *track, char *text)
{
        char since[TRACE_WORDS_BYTES];

        text[0] = '\0';
        if (!track->how)
                snprintf(text, TRACE_WORDS_BYTES, "still there");
        else if (track->how == TRACE_END_DIED && !track->is_open)
                snprintf(text, TRACE_WORDS_BYTES, "died");
        else if (track->how == TRACE_END_DIED) {
                trace_words_ns(track->open_ns, since);
                snprintf(text, TRACE_WORDS_BYTES, "died in a transaction begun at %.40s", since);
        }
}

const char *trace_words_ended(int ended)
{
        switch (ended) {
        case 0:
                return NULL;
        case -EFBIG:
                return "it has as many bytes as XAC_TRACE_BYTES allows";
        case -ENOSPC:
                return "the disk was full";
        default:
                return strerror(ended < 0 && ended > -4096 ? -ended : EIO);
        }
}

/* ---- Advice ---- */

static void advise_apart(const char *where, const struct trace_ranges *both, uint32_t page_bytes, char *text)
{
        char bytes[TRACE_RANGES_TEXT];

        trace_ranges_text(both, bytes);
        snprintf(text, TRACE_WORDS_BYTES,
                 "%s of %.700s are written by different transactions: put each on a page of its own: in an array or a "
                 "struct by alignas(%" PRIu32 "), in a heap by xac_heap_aligned_alloc(heap, %" PRIu32
                 ", size), as what malloc() gives shares pages however it is padded",
                 bytes, where, page_bytes, page_bytes);
}

static void advise_same(const struct trace_ranges *both, char *text)
{
        char bytes[TRACE_RANGES_TEXT];

        trace_ranges_text(both, bytes);
        snprintf(text, TRACE_WORDS_BYTES,
                 "all write %s: a counter, the head of a list, or the like: split it, one for each thread on a page of "
                 "its own, or make the transactions that change it short",
                 bytes);
}

static void advise_read(const struct trace_ranges *others, char *text)
{
        char bytes[TRACE_RANGES_TEXT];

        trace_ranges_text(others, bytes);
        snprintf(text, TRACE_WORDS_BYTES,
                 "others write %s, and the losers only read the page, or one beside it: if they read other bytes, put "
                 "those on a page of its own; who writes nothing does not lose with XAC_RDONLY",
                 bytes);
}

void trace_words_advice(const struct trace_file *file, const struct trace_sum_page *page, char *text)
{
        uint32_t page_bytes = file->envs[page->env].page_bytes;
        struct trace_ranges both = page->own;
        char where[TRACE_WORDS_BYTES];

        trace_ranges_add_parts(&both, &page->others, page_bytes);
        trace_words_page(file, page->env, page->page, where);
        switch (page->sharing) {
        case TRACE_SHARING_APART:
                advise_apart(where, &both, page_bytes, text);
                break;
        case TRACE_SHARING_SAME:
                advise_same(&both, text);
                break;
        case TRACE_SHARING_READ:
                advise_read(&page->others, text);
                break;
        default:
                snprintf(text, TRACE_WORDS_BYTES, "what others had changed is not known");
        }
}

/* ---- Names ---- */

const char *trace_words_kind(enum trace_kind kind)
{
        static const char *const names[] = {
                [TRACE_COMMIT] = "commit",         [TRACE_CONFLICT] = "conflict", [TRACE_ABORT] = "abort",
                [TRACE_FAULT] = "fault",           [TRACE_PAUSE] = "pause",       [TRACE_GROUP] = "log",
                [TRACE_CHECKPOINT] = "checkpoint", [TRACE_WAIT] = "wait"
        };

        return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "?";
}

const char *trace_words_sharing(enum trace_sharing sharing)
{
        static const char *const names[TRACE_SHARINGS] = { "apart", "same", "read", "unknown" };

        return names[sharing];
}

const char *trace_words_fault(unsigned index)
{
        static const char *const names[TRACE_SUM_FAULTS] = { "read", "write", "read again", "write again" };

        return names[index];
}
