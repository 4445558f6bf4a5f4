/* SPDX-License-Identifier: MIT */
#include "recovery/restore_until.h"
#include "recovery/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "recovery/archive_reader.h"
#include "recovery/double_write.h"
#include "recovery/home_files.h"
#include "recovery/log_header.h"
#include "recovery/log_record.h"
#include "recovery/manifest_slot.h"
#include "recovery/replay.h"
#include "recovery/restored_files.h"
#include "recovery/seal.h"

enum { PROGRESS_PAGES = 1024 };

struct run {
        struct restore_until *restore;
        struct manifest manifest; /* of the base; then of what is made */
        struct archive_line line;
        struct restored_files files;
        struct findings findings;
        struct home_files homes;
        struct replay *replay;

        uint32_t first;  /* piece with the first commit behind the base */
        uint32_t last;   /* piece in which the target's record begins */
        uint64_t oldest; /* where replay has to begin */
};

static void keep_sentence(void *arg, const char *sentence)
{
        struct restore_until *restore = arg;

        if (!restore->damage[0])
                snprintf(restore->damage, sizeof(restore->damage), "%s", sentence);
}

static int out_of_range(struct run *run, uint64_t before, uint64_t after, const char *why)
{
        run->restore->before = before;
        run->restore->after = after;
        snprintf(run->restore->damage, sizeof(run->restore->damage), "%s", why);
        return -ERANGE;
}

/* ---- 1. The target ---- */

/* The commits of the archive, as they are passed by. */
struct search {
        uint64_t newest;    /* that can be reached */
        uint64_t newest_ns; /* and its time; 0: not known yet */
        uint64_t reached;   /* the same, of a time that is known and early enough */
        uint64_t reached_ns;
        uint64_t after; /* the next one that can be reached; 0: none */
        uint32_t piece; /* in which the record of `newest` begins */
        uint32_t reached_piece;
        uint64_t undated; /* the oldest commit whose group has not ended yet; 0: none */
        uint64_t base_ns; /* time of the base; 0: not known */
        bool is_over;
        bool is_end; /* the archive's, has come */
};

static bool span_of(const struct log_record *record, const unsigned char *payload, uint64_t *before)
{
        *before = record->sequence - 1;
        return record->kind != LOG_MERGED || log_merged_base(payload, record->payload_len, before);
}

/* May a group from here on be of the target's time, or before, by the machine's clock? It may have been set back. */
static bool may_be_reached(const struct run *run, uint32_t piece)
{
        return run->line.piece[piece].earliest_ns <= run->restore->target;
}

static void note_set_back(struct restore_until *restore, const struct search *search, const struct log_record *pad)
{
        const uint64_t back_ns = log_pad_back(pad);

        if (back_ns <= restore->set_back_ns)
                return;
        restore->set_back_ns = back_ns;
        restore->set_back = search->newest;
}

/* A group ends: its commits have the time that the machine's clock had. The last group that is early enough counts:
 * what stands before it was made before it, whatever the clock said then. */
static void pass_time(struct run *run, struct search *search, const struct log_record *pad)
{
        struct restore_until *restore = run->restore;
        const uint64_t time_ns = log_pad_clock(pad);

        if (!search->undated || !time_ns)
                return;
        if (search->undated == restore->base)
                search->base_ns = time_ns;
        search->undated = 0;
        search->newest_ns = time_ns;
        if (restore->kind != RESTORE_TIME)
                return;
        note_set_back(restore, search, pad);
        if (time_ns > restore->target) {
                search->after = search->after ? search->after : search->newest;
                search->is_over = !may_be_reached(run, search->piece);
                return;
        }
        search->after = 0;
        search->reached = search->newest;
        search->reached_ns = time_ns;
        search->reached_piece = search->piece;
}

static int report_missing(struct run *run, const struct archive_part *part)
{
        return findings_add(&run->findings,
                            "commits %" PRIu64 " to %" PRIu64 ", which follow the backup, are not in the archive",
                            run->restore->base + 1, part->before);
}

/* By their numbers its commits would follow. */
static int refuse_other(struct run *run, const struct archive_part *part)
{
        if (part->before > run->restore->base)
                return report_missing(run, part);
        return findings_add(&run->findings,
                            "the archive's commits after %" PRIu64
                            " are not those that follow the backup: one of them is of a copy of the environment that "
                            "went on by itself, or the environment was set back since",
                            run->restore->base);
}

static int pass_commit(struct run *run, struct search *search, const struct log_record *record, uint64_t before,
                       uint32_t piece)
{
        const struct restore_until *restore = run->restore;

        if (before < restore->base && record->sequence > restore->base)
                return findings_add(&run->findings,
                                    "commits %" PRIu64 " to %" PRIu64
                                    " were logged merged, as they did not wait for the disk, and the backup stands "
                                    "between them",
                                    before + 1, record->sequence);
        if (before < restore->base && run->line.piece[piece].part.session.time_ns != restore->session_ns)
                return refuse_other(run, &run->line.piece[piece].part);
        /* Commits up to the base only tell its time. */
        if (restore->kind == RESTORE_SEQUENCE && record->sequence > restore->target && before >= restore->base &&
            search->newest != restore->target) {
                search->after = record->sequence;
                search->is_over = true;
                return 0;
        }
        if (record->sequence < restore->base ||
            (restore->kind == RESTORE_SEQUENCE && search->newest == restore->target && search->undated))
                return 0;
        search->newest = record->sequence;
        search->newest_ns = 0;
        search->piece = piece;
        search->undated = search->undated ? search->undated : record->sequence;
        return 0;
}

/* With a sequence the walk ends at its group's end, for its time. */
static int walk(struct run *run, struct search *search)
{
        const struct restore_until *restore = run->restore;
        struct archive_reader *reader;
        struct log_record record;
        const unsigned char *payload;
        uint32_t piece;
        uint64_t before;
        int more = archive_reader_open(restore->archive, &run->line, run->first, &run->findings, &reader);

        if (more)
                return more;
        while (!search->is_over && (more = archive_reader_next(reader, &record, &payload, &piece)) == 1) {
                if (record.kind == LOG_PAD) {
                        pass_time(run, search, &record);
                } else if (record.kind != LOG_FRAGMENT) {
                        more = span_of(&record, payload, &before) ? pass_commit(run, search, &record, before, piece)
                                                                  : XAC_CORRUPT;
                }
                search->is_over |=
                        restore->kind == RESTORE_SEQUENCE && search->newest == restore->target && search->newest_ns;
                if (more < 0)
                        break;
        }
        archive_reader_close(reader);
        /* What lies behind a gap does not matter if the target lies before it. */
        if (more == XAC_CORRUPT && restore->kind == RESTORE_SEQUENCE && search->newest == restore->target)
                more = 0;
        if (more == XAC_CORRUPT && search->after)
                more = 0;
        search->is_over |= search->after != 0;
        search->is_end = more == 0 && !search->is_over;
        return more < 0 ? more : 0;
}

/* Does the log of a piece follow the base, or have the base's own commit at its end, in the same history? */
static bool follows(const struct restore_until *restore, const struct archive_part *part)
{
        return part->last > restore->base || (part->last == restore->base && part->session.history == restore->history);
}

/* Is it of the session that wrote the base, or of one that went on from there? */
static bool goes_on(const struct restore_until *restore, const struct archive_part *part)
{
        return part->session.time_ns == restore->session_ns || part->session.parent_ns == restore->session_ns;
}

/* A session that went on from the base's begins behind the base; unless the environment was set back in between, to a
 * copy of before the base. */
static bool begins_behind(const struct run *run, const struct archive_part *first)
{
        const struct archive_line *line = &run->line;

        if (first->session.time_ns == run->restore->session_ns)
                return true;
        for (uint32_t i = 0; i < run->first; i++) {
                const struct archive_part *part = &line->piece[i].part;

                if (part->session.time_ns == first->session.time_ns && part->last && part->before < run->restore->base)
                        return false;
        }
        return first->before >= run->restore->base;
}

/* The piece to begin with; there may be none. */
static int find_first(struct run *run)
{
        const struct restore_until *restore = run->restore;
        const struct archive_line *line = &run->line;
        const struct archive_part *first = NULL, *other = NULL;

        for (run->first = 0; run->first < line->count; run->first++) {
                const struct archive_part *part = &line->piece[run->first].part;

                if (!follows(restore, part))
                        continue;
                first = goes_on(restore, part) ? part : NULL;
                if (first)
                        break;
                other = other ? other : part;
        }
        if (!first)
                return other ? refuse_other(run, other) : 0;
        if (first->before > restore->base)
                return report_missing(run, first);
        if (first->session.history == restore->history)
                return begins_behind(run, first) ? 0 : refuse_other(run, first);
        return findings_add(&run->findings,
                            "a session without a log (XAC_VOLATILE), a change by others, or damage of the log that was "
                            "given up lies between the backup and what the archive has: no log leads from the one "
                            "to the other");
}

static int judge_sequence(struct run *run, const struct search *search)
{
        struct restore_until *restore = run->restore;

        if (restore->target < restore->base)
                return out_of_range(run, 0, restore->base, "the backup is of a later commit");
        if (search->newest != restore->target)
                return out_of_range(run, search->newest, search->after,
                                    search->after ? "the commit was logged merged with others, as it did not wait for "
                                                    "the disk"
                                                  : "the archive ends before this commit");
        restore->sequence = search->newest;
        restore->time_ns = search->newest_ns;
        run->last = search->piece;
        return 0;
}

static int judge_time(struct run *run, struct search *search)
{
        struct restore_until *restore = run->restore;
        uint64_t base_ns = search->base_ns ? search->base_ns : restore->base_ns;

        if (search->reached < restore->base) {
                if (base_ns > restore->target)
                        return out_of_range(run, 0, restore->base, "the backup is of a later time");
                search->reached = restore->base;
                search->reached_ns = search->base_ns;
        }
        restore->sequence = search->reached;
        restore->time_ns = search->reached_ns;
        run->last = search->reached_piece;
        return 0;
}

/* Up to the target, or as far as the archive goes without a gap and without damage: search->newest. */
static int seek_target(struct run *run, struct search *search)
{
        const struct restore_until *restore = run->restore;
        const bool is_behind = restore->kind != RESTORE_SEQUENCE || restore->target > restore->base;
        int err = is_behind ? find_first(run) : 0;

        if (!err && is_behind && run->first < run->line.count)
                err = walk(run, search);
        if (err)
                return err;
        search->is_end |= is_behind && run->first == run->line.count;
        if (restore->kind == RESTORE_SEQUENCE && search->newest == restore->target)
                return 0;
        /* Reported: the part that is damaged may have what is wanted. */
        return run->line.is_end_lost && search->is_end ? XAC_CORRUPT : 0;
}

static int find_target(struct run *run)
{
        struct restore_until *restore = run->restore;
        struct search search = { .newest = restore->base };
        int err = seek_target(run, &search);

        if (err == XAC_CORRUPT)
                restore->before = search.newest;
        if (err)
                return err;
        run->findings.count = 0;
        restore->damage[0] = 0;
        restore->is_end = search.is_end;
        if (restore->kind == RESTORE_SEQUENCE)
                return judge_sequence(run, &search);
        if (restore->kind == RESTORE_TIME)
                return judge_time(run, &search);
        restore->sequence = search.newest;
        restore->time_ns = search.newest_ns;
        run->last = search.piece;
        return 0;
}

/* Fragments of the commits may lie further back. */
static int find_begin(struct run *run)
{
        uint64_t oldest = UINT64_MAX;

        for (uint32_t i = run->first; i <= run->last; i++)
                if (run->line.piece[i].part.last > run->restore->base && run->line.piece[i].part.oldest < oldest)
                        oldest = run->line.piece[i].part.oldest;
        for (uint32_t i = run->first;; i--) {
                const struct archive_piece *piece = &run->line.piece[i];

                if (piece->part.first_record <= oldest) {
                        run->first = i;
                        return 0;
                }
                if (i == 0 || piece->gap)
                        return findings_add(&run->findings,
                                            "a transaction that began at position %" PRIu64
                                            " is in the archive from position %" PRIu64 " on only",
                                            oldest, piece->part.first_record);
        }
}

/* What the manifest will say is judged now, while there is the old one still. */
static void plan_manifest(struct run *run)
{
        struct manifest *manifest = &run->manifest;

        manifest_begin_log(manifest, run->restore->sequence);
        manifest->generation++;
        manifest->time_ns = run->restore->time_ns;
}

/* From here on run->manifest is that of the result, but for its uuid. */
static int plan_result(struct run *run)
{
        struct restore_until *restore = run->restore;
        int err = 0;

        if (restore->sequence > restore->base) {
                run->files = (struct restored_files){ .directory = restore->directory,
                                                      .archive = restore->archive,
                                                      .part = &run->line.piece[run->last].part,
                                                      .findings = &run->findings };
                err = restored_files_plan(&run->files, &run->manifest);
        }
        if (err)
                return err;
        plan_manifest(run);
        return manifest_makes_sense(&run->manifest)
                       ? 0
                       : findings_add(&run->findings, "commit %" PRIu64 " is none that an environment can come to",
                                      restore->sequence);
}

/* ---- 2. No environment any more ---- */

static int visit_to_remove(void *arg, const char *name)
{
        uint32_t file_no;

        return log_file_number(name, &file_no) ? sys_unlink(*(const int *)arg, name) : 0;
}

/* The log that came with the base would be another environment's. */
static int take_apart(int directory)
{
        int err = sys_unlink(directory, MANIFEST_NAME);

        if (!err)
                err = sys_sync(directory);
        if (!err)
                err = sys_list(directory, visit_to_remove, &directory);
        if (!err)
                double_write_clear(directory);
        return err;
}

/* ---- 3. Replay ---- */

static int read_home(void *arg, uint64_t page, void *bytes)
{
        struct run *run = arg;

        return home_files_read(&run->homes, page, bytes);
}

static int need_home(void *arg, uint64_t page)
{
        struct run *run = arg;

        return home_files_need(&run->homes, page);
}

static int replay_one(struct run *run, const struct log_record *record, const unsigned char *payload)
{
        int err = record->kind == LOG_PAD ? 0 : replay_record(run->replay, record, payload);

        if (err != XAC_CORRUPT)
                return err;
        return findings_add(&run->findings,
                            "position %" PRIu64 ": the record's checksums are right but it makes no sense",
                            record->position);
}

static int replay_log(struct run *run)
{
        const struct restore_until *restore = run->restore;
        struct archive_reader *reader;
        struct log_record record;
        const unsigned char *payload;
        const uint64_t begin = run->line.piece[run->first].begin, end = run->line.piece[run->last].end;
        uint32_t piece, told = UINT32_MAX;
        int more = archive_reader_open(restore->archive, &run->line, run->first, &run->findings, &reader);

        if (more)
                return more;
        while (replay_sequence(run->replay) < restore->sequence &&
               (more = archive_reader_next(reader, &record, &payload, &piece)) == 1) {
                int err = replay_one(run, &record, payload);

                if (err) {
                        more = err;
                        break;
                }
                if (restore->progress && piece != told)
                        restore->progress(restore->progress_arg, "replay", record.position - begin, end - begin);
                told = piece;
        }
        archive_reader_close(reader);
        if (more < 0)
                return more;
        return replay_sequence(run->replay) == restore->sequence
                       ? 0
                       : findings_add(&run->findings, "the archive ends before commit %" PRIu64, restore->sequence);
}

/* ---- 4. Pages, 5. the manifest ---- */

static int write_home(struct run *run)
{
        struct restore_until *restore = run->restore;
        int err = 0;

        restore->pages = replay_finish(run->replay);
        restore->commits = replay_commits(run->replay);
        for (uint64_t i = 0; !err && i < restore->pages; i++) {
                struct page_image image = replay_page(run->replay, i);

                err = home_files_put(&run->homes, &image);
                if (restore->progress && ((i + 1) % PROGRESS_PAGES == 0 || i + 1 == restore->pages))
                        restore->progress(restore->progress_arg, "restore", i + 1, restore->pages);
        }
        return err ? err : home_files_sync(&run->homes);
}

/* The checksums are of the new environment's pages, and its own from now on. */
static int rename_checksums(struct run *run, const struct manifest *before)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < before->file_count; i++) {
                const struct checksums_id from = seal_checksums_id(before, i),
                                          to = seal_checksums_id(&run->manifest, i);

                err = checksums_rename(run->restore->directory, &from, &to);
        }
        if (!err)
                (void)adopt_note_recovered(run->restore->directory, &run->manifest);
        return err;
}

static int draw_uuid(struct run *run)
{
        struct manifest *before = malloc(sizeof(*before));
        int err = before ? 0 : -ENOMEM;

        if (!err) {
                *before = run->manifest;
                err = sys_random(run->manifest.uuid, sizeof(run->manifest.uuid));
        }
        if (!err)
                err = rename_checksums(run, before);
        free(before);
        return err;
}

static int make_manifest(struct run *run)
{
        struct manifest *manifest = &run->manifest;
        int err = draw_uuid(run);

        if (!err)
                err = seal_close(run->restore->directory, manifest, false);
        return err ? err : manifest_create_as(run->restore->directory, manifest);
}

/* ---- All of it ---- */

static int bring_on(struct run *run)
{
        const struct restore_until *restore = run->restore;
        int err = restored_files_make(&run->files, run->manifest.mode);

        if (err)
                return err;
        err = home_files_open(&run->homes, restore->directory, &run->manifest, true, &run->findings);
        if (err)
                return err;
        err = replay_open(run->manifest.page_bytes, restore->base, read_home, run, &run->replay);
        if (!err) {
                replay_ask(run->replay, need_home);
                err = replay_log(run);
        }
        if (!err)
                err = write_home(run);
        replay_close(run->replay);
        home_files_close(&run->homes);
        return err;
}

static int check_sizes(struct run *run)
{
        const struct archive_part *part = &run->line.piece[0].part;

        return part->page_bytes == run->manifest.page_bytes
                       ? 0
                       : findings_add(&run->findings, "the archive is of pages of %u bytes, the backup of %u",
                                      part->page_bytes, run->manifest.page_bytes);
}

static int check_base(struct run *run)
{
        if (run->restore->history != MANIFEST_NO_HISTORY)
                return 0;
        return findings_add(&run->findings, "the backup was made while the environment was open without a log "
                                            "(XAC_VOLATILE): no archive goes on from there");
}

static int steps(struct run *run)
{
        const struct restore_until *restore = run->restore;
        int err = archive_line_open(&run->line, restore->archive, restore->uuid, &run->findings);

        if (!err)
                err = check_base(run);
        if (!err)
                err = check_sizes(run);
        if (!err)
                err = find_target(run);
        if (!err && restore->sequence > restore->base)
                err = find_begin(run);
        if (!err)
                err = plan_result(run);
        if (!err)
                err = take_apart(restore->directory);
        if (!err && restore->sequence > restore->base)
                err = bring_on(run);
        return err ? err : make_manifest(run);
}

int restore_until_base(struct restore_until *restore, int directory)
{
        struct manifest *manifest = malloc(sizeof(*manifest));
        int err = manifest ? manifest_read(directory, manifest) : -ENOMEM;

        if (!err && (!manifest->is_clean || manifest->buffer >= 0))
                err = -EBUSY;
        if (!err) {
                restore->directory = directory;
                memcpy(restore->uuid, manifest->uuid, sizeof(restore->uuid));
                restore->history = manifest->history;
                restore->session_ns = manifest_logged_last(manifest);
                restore->base = manifest->base_sequence;
                restore->base_ns = manifest->time_ns;
        }
        free(manifest);
        return err;
}

int restore_until_run(struct restore_until *restore)
{
        struct run *run = calloc(1, sizeof(*run));
        int err;

        if (!run)
                return -ENOMEM;
        run->restore = restore;
        run->findings = (struct findings){ .report = keep_sentence, .arg = restore };
        restore->damage[0] = 0;
        restore->before = restore->after = 0;
        restore->set_back = restore->set_back_ns = 0;
        err = manifest_read(restore->directory, &run->manifest);
        if (!err)
                err = steps(run);
        archive_line_close(&run->line);
        free(run);
        return err;
}
