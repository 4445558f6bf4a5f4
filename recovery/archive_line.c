/* SPDX-License-Identifier: MIT */
#include "recovery/archive_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/sys.h"

/* ---- Do the parts belong together? ---- */

static int check_part(const struct archive_line *line, const struct archive_part *parts, uint32_t i,
                      struct findings *findings)
{
        const struct archive_part *part = &parts[i];
        const struct archive_part *before = i ? &parts[i - 1] : part;
        char name[ARCHIVE_NAME_BYTES];

        archive_file_name(name, part->from, part->to, part->session.incarnation);
        if (memcmp(part->uuid, line->uuid, sizeof(line->uuid)) != 0)
                return findings_add(findings, "%s: it is of another environment", name);
        if (part->segment_bytes != parts[0].segment_bytes || part->page_bytes != parts[0].page_bytes)
                return findings_add(findings, "%s: its log has segments or pages of another size", name);
        if (part->session.incarnation == before->session.incarnation &&
            memcmp(&part->session, &before->session, sizeof(part->session)) != 0)
                return findings_add(findings,
                                    "%s: it is of another history than the part before: a copy of the environment went "
                                    "on by itself, into the same archive",
                                    name);
        return 0;
}

/* ---- The pieces ---- */

/* Is it the same session, or has the later one begun where the other one ended? */
static bool goes_on(const struct manifest_session *session, const struct manifest_session *later)
{
        return later->time_ns == session->time_ns || later->parent_ns == session->time_ns;
}

static const char *gap_between(const struct archive_piece *before, const struct archive_piece *piece)
{
        if (before->end != piece->begin)
                return "the log in between is missing";
        if (!goes_on(&before->part.session, &piece->part.session))
                return "a copy of the environment went on by itself, or sessions in between are missing";
        if (before->part.session.history != piece->part.session.history)
                return "a session without a log (XAC_VOLATILE) came in between, others changed the files, or a damaged "
                       "log was given up in part";
        return NULL;
}

static uint64_t earliest_of(const struct archive_part *part)
{
        const uint64_t earliest_ns = part->earliest_ns ? part->earliest_ns : part->first_ns;

        return earliest_ns ? earliest_ns : UINT64_MAX;
}

/* What of a piece the pieces behind it say; `next` is the one behind it, or NULL. */
static void look_at_next(struct archive_piece *piece, const struct archive_piece *next, uint64_t *group_ns)
{
        const struct archive_piece *same = next; /* if it is of the same session */

        if (next && piece->part.session.incarnation != next->part.session.incarnation)
                same = NULL;
        if (same && !same->gap)
                *group_ns = same->part.first_ns ? same->part.first_ns : *group_ns;
        else
                *group_ns = 0;
        piece->newest_ns = *group_ns ? *group_ns : piece->part.last_ns;
        piece->session_end = same ? same->session_end : piece->end;
        piece->earliest_ns = earliest_of(&piece->part);
        if (next && next->earliest_ns < piece->earliest_ns)
                piece->earliest_ns = next->earliest_ns;
}

static void look_back(struct archive_line *line)
{
        uint64_t group_ns = 0, newest = 0;
        uint32_t next_commits = line->count;

        for (uint32_t i = line->count; i-- > 0;) {
                struct archive_piece *piece = &line->piece[i];

                look_at_next(piece, i + 1 < line->count ? piece + 1 : NULL, &group_ns);
                next_commits = piece->part.last ? i : next_commits;
                piece->next_commits = next_commits;
        }
        for (uint32_t i = 0; i < line->count; i++) {
                line->piece[i].newest_before = newest;
                newest = line->piece[i].part.last ? line->piece[i].part.last : newest;
        }
}

/* From the newest session back: what one wrote counts up to where one begins that goes on from it. Then forwards, each
 * from where the one before has ended. A session that does not go on from the one before is judged by itself. */
static void make_pieces(struct archive_line *line, const struct archive_part *parts, uint32_t count)
{
        uint64_t session_end = UINT64_MAX;
        uint64_t covered = 0;

        for (uint32_t i = count; i-- > 0;) {
                const struct manifest_session *later = i + 1 < count ? &parts[i + 1].session : NULL;

                if (later && !goes_on(&parts[i].session, later))
                        session_end = UINT64_MAX;
                else if (later && later->time_ns != parts[i].session.time_ns && later->position < session_end)
                        session_end = later->position;
                line->piece[i] = (struct archive_piece){
                        .part = parts[i],
                        .begin = parts[i].from,
                        .end = parts[i].to < session_end ? parts[i].to : session_end,
                };
        }
        for (uint32_t i = 0; i < count; i++) {
                struct archive_piece piece = line->piece[i];

                if (i && !goes_on(&parts[i - 1].session, &piece.part.session))
                        covered = 0;
                if (piece.begin < covered)
                        piece.begin = covered;
                if (piece.begin >= piece.end)
                        continue;
                covered = piece.end;
                piece.gap = line->count ? gap_between(&line->piece[line->count - 1], &piece) : NULL;
                line->piece[line->count++] = piece;
        }
        look_back(line);
}

static bool is_behind(const struct archive_line *line, const struct archive_lost *lost)
{
        const struct archive_part *last = &line->piece[line->count - 1].part;

        return lost->incarnation > last->session.incarnation ||
               (lost->incarnation == last->session.incarnation && lost->to > last->to);
}

int archive_line_open(struct archive_line *line, int directory, const uint8_t uuid[16], struct findings *findings)
{
        struct vector parts = { 0 };
        struct archive_lost lost = { 0 };
        int err = archive_list(directory, &parts, &lost, findings);
        const struct archive_part *part = parts.items;

        *line = (struct archive_line){ 0 };
        if (!err && !parts.count)
                err = -ENOENT;
        if (err)
                goto out;
        memcpy(line->uuid, uuid ? uuid : part[0].uuid, sizeof(line->uuid));
        for (uint32_t i = 0; !err && i < parts.count; i++)
                err = check_part(line, part, i, findings);
        if (!err) {
                line->piece = malloc(parts.count * sizeof(*line->piece));
                err = line->piece ? 0 : -ENOMEM;
        }
        if (!err) {
                make_pieces(line, part, parts.count);
                line->is_end_lost = is_behind(line, &lost);
        }
out:
        vector_free(&parts, sizeof(struct archive_part));
        return err;
}

/* Has the part a commit that is to stay within reach? */
static bool is_wanted(const struct archive_line *line, uint32_t i, uint64_t sequence, uint64_t time_ns)
{
        if (sequence && line->piece[i].part.last > sequence)
                return true;
        return time_ns && line->piece[i].newest_ns > time_ns;
}

uint32_t archive_line_old(const struct archive_line *line, uint64_t sequence, uint64_t time_ns)
{
        uint64_t needed = UINT64_MAX;
        uint32_t count = 0;

        /* All behind a part that is wanted stay, and what the fragments of their commits need. */
        for (uint32_t i = 0; i < line->count; i++) {
                const struct archive_part *part = &line->piece[i].part;

                if (i + 1 < line->count && needed == UINT64_MAX && !is_wanted(line, i, sequence, time_ns))
                        continue;
                needed = part->from < needed ? part->from : needed;
                needed = part->oldest < needed ? part->oldest : needed;
        }
        while (count < line->count && line->piece[count].part.to <= needed)
                count++;
        return count;
}

int archive_line_forget(const struct archive_line *line, int directory, uint64_t sequence, uint64_t time_ns,
                        uint64_t *removed)
{
        const uint32_t count = archive_line_old(line, sequence, time_ns);
        char name[ARCHIVE_NAME_BYTES];
        int err = 0;

        *removed = 0;
        for (uint32_t i = 0; !err && i < count; i++) {
                const struct archive_part *part = &line->piece[i].part;

                archive_file_name(name, part->from, part->to, part->session.incarnation);
                err = sys_unlink(directory, name);
                *removed += !err;
        }
        return err ? err : *removed ? sys_sync(directory) : 0;
}

void archive_line_close(struct archive_line *line)
{
        free(line->piece);
        *line = (struct archive_line){ 0 };
}
