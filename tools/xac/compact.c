/* SPDX-License-Identifier: MIT */

/*
 * xac compact: gives back what free pages take on the disk (xac_arena_trim, xac_heap_trim), while others use the
 * environment.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <xac/arena.h>
#include <xac/heap.h>

#include "base/say.h"
#include "base/sys.h"
#include "base/zeros.h"
#include "tools/xac/interrupt.h"
#include "tools/xac/meter.h"
#include "tools/xac/opening.h"
#include "tools/xac/place.h"
#include "tools/xac/tool.h"

const char compact_help[] =
        "Usage: xac compact [OPTION]... DIR\n"
        "Gives back what pages take on the disk that are free: those of records that were deleted from trees,\n"
        "and of objects that were freed in heaps. They become zeros, by small transactions beside those of\n"
        "others, and holes in their files when a checkpoint takes them home. Files stay as long as they are,\n"
        "and take less. What was deleted can be read there no more; in the log, in an archive, in the\n"
        "double-write buffer and in backups it may still be. Pages that an open snapshot shows go home when it\n"
        "ends. Files that are neither of trees nor of a heap are left as they are.\n"
        "\n"
        "  --quiet  says nothing unless something fails\n"
        "  --force  although root is not its owner, who could not open the files that root makes in it; or although\n"
        "           its archive takes nothing, which then lacks what is given up of the log\n"
        "  --help   this text\n"
        "\n"
        "Exit status: 0 done, 1 failed, 2 usage, 4 it was not opened, as files are not as they were closed: changed\n"
        "by others, or of another moment.\n";

enum { SECTOR_BYTES = 512 /* in which stat(2) counts */ };

struct compact {
        struct place place;
        struct meter meter;
        bool is_quiet;
        uint64_t before[MANIFEST_FILES];  /* bytes on disk */
        uint64_t trimmed[MANIFEST_FILES]; /* that were not zeros */
        bool is_known[MANIFEST_FILES];    /* it has trees, or a heap */
};

static int tell_progress(void *arg, uint64_t done, uint64_t total)
{
        return meter_go_on(arg, "compact", done / 4096, total / 4096);
}

static uint64_t bytes_on_disk(const struct compact *compact, uint32_t file_no)
{
        struct stat st;

        return sys_stat_at(compact->place.directory, compact->place.manifest.file_name[file_no], &st)
                       ? 0
                       : (uint64_t)st.st_blocks * SECTOR_BYTES;
}

/* ---- One file ---- */

static int trim_trees(struct compact *compact, xac_env *env, const char *name, uint64_t *trimmed)
{
        xac_arena *arena;
        int err = xac_arena_open_env(env, name, XAC_ARENA_DECLARED, &arena);

        if (err)
                return err;
        err = xac_arena_trim(arena, tell_progress, &compact->meter, trimmed);
        xac_arena_close(arena);
        return err;
}

static int trim_heap(struct compact *compact, xac_env *env, const char *name, uint64_t *trimmed)
{
        xac_heap *heap;
        int err = xac_heap_open(env, name, 0, &heap);

        if (err)
                return err;
        err = xac_heap_trim(heap, tell_progress, &compact->meter, trimmed);
        xac_heap_close(heap);
        return err;
}

/* 1: is there anything in its first page? If not, it might become an arena, and to open that would make it longer. */
static int is_used(xac_env *env, const char *name)
{
        xac_snapshot *snapshot;
        xac_snapshot_file found = { .pages = 0 };
        int err = xac_snapshot_open(env, 0, &snapshot);

        if (err)
                return err;
        err = xac_snapshot_find(snapshot, name, &found);
        const void *page = !err && found.pages ? xac_snapshot_page(snapshot, found.number, 0) : NULL;
        const bool has_bytes = page && !are_zeros(page, found.page_bytes);
        xac_snapshot_close(snapshot);
        return err && err != -ENOENT ? err : has_bytes;
}

static int trim_file(struct compact *compact, xac_env *env, uint32_t file_no)
{
        const char *name = compact->place.manifest.file_name[file_no];
        int err = is_used(env, name);

        if (err <= 0)
                return err;
        err = trim_trees(compact, env, name, &compact->trimmed[file_no]);
        if (err == XAC_FORMAT)
                err = trim_heap(compact, env, name, &compact->trimmed[file_no]);
        compact->is_known[file_no] = err != XAC_FORMAT && err != -ENOENT;
        return compact->is_known[file_no] ? err : 0;
}

/* ---- All of them ---- */

static void print_file(const struct compact *compact, uint32_t file_no)
{
        tool_label(place_file_name(&compact->place, file_no));
        if (!compact->is_known[file_no])
                say(stdout, "neither trees nor a heap: left as it is\n");
        else
                say(stdout, "%s of free pages given back: %s on disk, %s before\n",
                    tool_bytes(compact->trimmed[file_no]), tool_bytes(bytes_on_disk(compact, file_no)),
                    tool_bytes(compact->before[file_no]));
}

static int trim_all(struct compact *compact, xac_env *env)
{
        const uint32_t count = compact->place.manifest.file_count;
        int err = 0;

        for (uint32_t i = 0; i < count && !err; i++) {
                compact->before[i] = bytes_on_disk(compact, i);
                err = trim_file(compact, env, i);
                if (err && err != -ECANCELED)
                        tool_complain("%s in %s: %s", place_file_name(&compact->place, i), compact->place.path,
                                      tool_explain(err));
        }
        if (!err)
                err = xac_checkpoint(env);
        meter_end(&compact->meter);
        for (uint32_t i = 0; i < count && !err && !compact->is_quiet; i++)
                print_file(compact, i);
        return err;
}

static enum tool_exit compact_place(struct compact *compact, const struct opening *opening)
{
        xac_env *env;

        interrupt_catch();
        enum tool_exit result = opening_open(opening, &env);
        if (result != TOOL_DONE)
                return result;
        result = place_open_with_manifest(&compact->place, opening->path);
        if (result == TOOL_DONE) {
                meter_begin(&compact->meter, compact->is_quiet);
                const int err = trim_all(compact, env);
                if (err)
                        tool_complain("%s: %s", opening->path,
                                      err == -ECANCELED ? "interrupted: what was done stays so" : tool_explain(err));
                result = err ? TOOL_FAILED : TOOL_DONE;
                place_close(&compact->place);
        }
        const int close_err = xac_close(env);
        if (close_err)
                tool_complain("%s: closing it: %s", opening->path, tool_explain(close_err));
        interrupt_follow();
        return close_err ? TOOL_FAILED : result;
}

enum tool_exit compact_main(int argc, char **argv)
{
        static const struct option known[] = { { "quiet", no_argument, NULL, 'q' },
                                               { "force", no_argument, NULL, 'f' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        static struct compact compact;
        struct opening opening = { .command = "compact", .writes = true, .may_be_volatile = true };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                switch (option) {
                case 'h':
                        fputs(compact_help, stdout);
                        return TOOL_DONE;
                case 'q':
                        compact.is_quiet = true;
                        break;
                case 'f':
                        opening.is_forced = true;
                        break;
                default:
                        return tool_usage("compact");
                }
        }
        opening.path = tool_operand(argc, argv, "compact");
        return opening.path ? compact_place(&compact, &opening) : tool_usage("compact");
}
