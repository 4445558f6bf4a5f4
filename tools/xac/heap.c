/* SPDX-License-Identifier: MIT */

/*
 * xac heap: the heap (libxacheap) in a file of an environment: how full it is, its roots, and whether every byte is
 * accounted for. It opens the environment as any program does, and reads.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>
#include <xac/heap.h>

#include "base/say.h"
#include "tools/xac/opening.h"
#include "tools/xac/tool.h"

const char heap_help[] =
        "Usage: xac heap [--force] DIR FILE\n"
        "Checks the heap in the environment's FILE, and says how full it is and what its roots are. It opens\n"
        "the environment as a program does, which recovers it after a crash; others may use it meanwhile.\n"
        "\n"
        "  --force  although root is not its owner, who could not open the files that root makes in it; or although\n"
        "           its archive takes nothing, which then lacks what is given up of the log\n"
        "  --help   this text\n"
        "\n"
        "Exit status: 0 sound, 1 damaged, or it could not be looked at, 2 usage, 4 it was not opened, as files are\n"
        "not as they were closed: changed by others, or of another moment.\n";

static void print_finding(void *unused, const char *text)
{
        (void)unused;
        say(stdout, "DAMAGED: %s\n", text);
}

static int print_root(void *heap, const xac_heap_root *root)
{
        say(stdout, "    %-*s %s at offset %" PRIu64 ", tag %" PRIu64 "\n", XAC_HEAP_NAME_MAX / 2, root->name,
            tool_bytes(root->size), xac_heap_offset(heap, root->object), root->tag);
        return 0;
}

static void print_stats(const xac_heap_stats *stats)
{
        tool_label("spans");
        say(stdout, "%s\n", tool_bytes(stats->file_bytes));
        tool_label("live");
        say(stdout, "%s in %s\n", tool_bytes(stats->live_bytes), tool_count(stats->live_objects, "object", "objects"));
        tool_label("small");
        say(stdout, "%s of pages, in which %s are free\n", tool_bytes(stats->slab_bytes), tool_bytes(stats->slab_free));
        tool_label("large");
        say(stdout, "%s of pages\n", tool_bytes(stats->run_bytes));
        tool_label("free");
        say(stdout, "%s of pages\n", tool_bytes(stats->free_bytes));
        tool_label("kept");
        say(stdout, "%s of maps, header and roots\n", tool_bytes(stats->kept_bytes));
        tool_label("roots");
        say(stdout, "%" PRIu64 "\n", stats->roots);
}

/* To map a file would make it. */
static bool is_file(const char *directory, const char *file)
{
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/%s", directory, file);
        return access(path, F_OK) == 0;
}

static int look(xac_env *env, const char *file)
{
        xac_heap *heap;
        xac_heap_stats stats;
        int err = xac_heap_open(env, file, 0, &heap);

        if (err)
                return err;
        err = xac_heap_check(heap, &stats, print_finding, NULL);
        if (!err || err == XAC_CORRUPT)
                print_stats(&stats);
        if (!err)
                err = xac_heap_root_list(heap, print_root, heap);
        xac_heap_close(heap);
        return err;
}

static enum tool_exit look_at(const struct opening *opening, const char *file)
{
        const char *directory = opening->path;
        xac_env *env;

        const enum tool_exit opened = opening_open(opening, &env);
        if (opened != TOOL_DONE)
                return opened;
        const int err = is_file(directory, file) ? look(env, file) : -ENOENT;
        if (err)
                tool_complain("%s in %s: %s", file, directory, err == -ENOENT ? "there is no heap" : tool_explain(err));
        const int close_err = xac_close(env);
        if (close_err)
                tool_complain("%s: closing it: %s", directory, tool_explain(close_err));
        return err || close_err ? TOOL_FAILED : TOOL_DONE;
}

enum tool_exit heap_main(int argc, char **argv)
{
        static const struct option known[] = { { "force", no_argument, NULL, 'f' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        struct opening opening = { .command = "heap", .may_adopt = true, .may_be_volatile = true };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                if (option == 'h') {
                        fputs(heap_help, stdout);
                        return TOOL_DONE;
                }
                if (option != 'f')
                        return tool_usage("heap");
                opening.is_forced = true;
        }
        if (argc - optind != 2) {
                tool_complain("an environment's directory and a file of it, please");
                return tool_usage("heap");
        }
        opening.path = argv[optind];
        return look_at(&opening, argv[optind + 1]);
}
