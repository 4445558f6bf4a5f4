/* SPDX-License-Identifier: MIT */

/*
 * xac scrub: compares every page at home with its checksum, while others use the environment (xac_scrub). A file that
 * somebody has changed while it was closed is damage here.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <xac/xac.h>

#include "base/say.h"
#include "recovery/checksums.h"
#include "recovery/manifest.h"
#include "tools/xac/interrupt.h"
#include "tools/xac/json.h"
#include "tools/xac/meter.h"
#include "tools/xac/opening.h"
#include "tools/xac/tool.h"

const char scrub_help[] =
        "Usage: xac scrub [OPTION]... DIR\n"
        "Reads all data files of the environment and compares each page with its checksum, while others may\n"
        "use it. It opens it as a program does, which recovers it after a crash. 'xac check' does the same for\n"
        "one at rest, and changes nothing; 'xac repair' takes damaged pages from a backup.\n"
        "\n"
        "  --rate=BYTES  reads so many bytes a second, at most; K, M or G behind it: KiB, MiB, GiB\n"
        "  --sum         makes the checksums that pages do not have yet, of what they are\n"
        "  --quiet       says nothing unless something is damaged or fails\n"
        "  --json        says what it found as JSON, and nothing else\n"
        "  --force       although root is not its owner, who could not open the files that root makes in it; or\n"
        "                although its archive takes nothing, which then lacks what is given up of the log\n"
        "  --help        this text\n"
        "\n"
        "Exit status: 0 sound, 1 damaged, or it could not be looked at, 2 usage, 4 pages have no checksum, so that\n"
        "nobody knows; or it was not opened, as files are not as they were closed: changed by others, or of\n"
        "another moment.\n";

struct scrub {
        xac_scrub_options options;
        xac_scrub_result result;
        struct meter meter;
        struct json json;
        bool is_json, is_quiet;
        bool is_forced;
        const char *path;
};

static int tell_progress(void *arg, const char *file, uint64_t done, uint64_t total)
{
        struct scrub *scrub = arg;

        (void)file;
        return meter_go_on(&scrub->meter, "scrub", done / 4096, total / 4096);
}

static void tell_of_damage(void *arg, const char *file, uint64_t offset)
{
        struct scrub *scrub = arg;

        if (!scrub->is_json) {
                say(stdout, "DAMAGED: %s: offset %" PRIu64 ": %s\n", file, offset,
                    !checksums_is_name(file) ? "the page is not what its checksum says"
                    : offset                 ? "checksums of up to 127 pages"
                                             : "the checksums are not those that " MANIFEST_NAME
                               " was written for: changed, or of another moment");
                return;
        }
        json_open(&scrub->json, NULL, '{');
        json_text(&scrub->json, "file", file);
        json_number(&scrub->json, "offset", offset);
        json_close(&scrub->json, '}');
}

/* ---- What it found ---- */

static void print_count(const char *label, uint64_t pages, const char *meaning)
{
        tool_label(label);
        say(stdout, "%s%s\n", tool_count(pages, "page", "pages"), meaning);
}

static void print_result(const struct scrub *scrub)
{
        const xac_scrub_result *result = &scrub->result;

        print_count("verified", result->verified, "");
        if (result->in_pool)
                print_count("in the pool", result->in_pool, ", newer than what is at home");
        if (result->summed)
                print_count("summed", result->summed, ", which had no checksum");
        if (result->unknown)
                print_count("unknown", result->unknown, " without a checksum ('xac scrub --sum' makes it)");
        if (result->damaged)
                print_count("DAMAGED", result->damaged, "; 'xac repair' may take them from a backup");
        if (result->sums_damaged)
                print_count("DAMAGED", result->sums_damaged,
                            " whose checksums are damaged; 'xac repair' compares them with a backup, 'xac scrub "
                            "--sum' takes them for sound");
        if (result->sums_changed) {
                tool_label("DAMAGED");
                say(stdout,
                    "%s not of this moment: restore the whole directory; 'xac scrub --sum' takes pages and "
                    "checksums "
                    "as they are\n",
                    tool_count(result->sums_changed, "file of checksums", "files of checksums"));
        }
}

static void print_json(struct scrub *scrub)
{
        const xac_scrub_result *result = &scrub->result;

        json_close(&scrub->json, ']');
        json_number(&scrub->json, "pages", result->pages);
        json_number(&scrub->json, "verified", result->verified);
        json_number(&scrub->json, "damaged", result->damaged);
        json_number(&scrub->json, "unknown", result->unknown);
        json_number(&scrub->json, "summed", result->summed);
        json_number(&scrub->json, "in_pool", result->in_pool);
        json_number(&scrub->json, "sums_damaged", result->sums_damaged);
        json_number(&scrub->json, "sums_changed", result->sums_changed);
        json_close(&scrub->json, '}');
        say(stdout, "\n");
}

/* ---- Open and look ---- */

static int look(struct scrub *scrub, xac_env *env)
{
        int err;

        if (scrub->is_json) {
                scrub->json = (struct json){ .to = stdout };
                json_open(&scrub->json, NULL, '{');
                json_open(&scrub->json, "damage", '[');
        }
        meter_begin(&scrub->meter, scrub->is_quiet || scrub->is_json);
        err = xac_scrub(env, &scrub->options, &scrub->result);
        meter_end(&scrub->meter);
        if (scrub->is_json)
                print_json(scrub);
        else if (!scrub->is_quiet || err)
                print_result(scrub);
        return err;
}

static enum tool_exit scrub_place(struct scrub *scrub)
{
        xac_env *env;
        int close_err;
        const struct opening opening = { .path = scrub->path,
                                         .command = "scrub",
                                         .is_forced = scrub->is_forced,
                                         .may_adopt = scrub->options.flags & XAC_SCRUB_SUM,
                                         .writes = scrub->options.flags & XAC_SCRUB_SUM,
                                         .may_be_volatile = true };

        interrupt_catch();
        const enum tool_exit opened = opening_open(&opening, &env);
        if (opened != TOOL_DONE)
                return opened;
        int err = look(scrub, env);
        if (err && err != XAC_CORRUPT)
                tool_complain("%s: %s", scrub->path, err == -ECANCELED ? "interrupted" : tool_explain(err));
        close_err = xac_close(env);
        if (close_err)
                tool_complain("%s: %s", scrub->path, tool_explain(close_err));
        if (err)
                interrupt_follow();
        if (err || close_err)
                return TOOL_FAILED;
        return scrub->result.unknown ? TOOL_CHANGED : TOOL_DONE;
}

enum tool_exit scrub_main(int argc, char **argv)
{
        static const struct option known[] = { { "rate", required_argument, NULL, 'r' },
                                               { "sum", no_argument, NULL, 's' },
                                               { "json", no_argument, NULL, 'j' },
                                               { "quiet", no_argument, NULL, 'q' },
                                               { "force", no_argument, NULL, 'f' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        static struct scrub scrub;
        int option;

        scrub.options = (xac_scrub_options){ .progress = tell_progress, .damage = tell_of_damage, .arg = &scrub };
        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                switch (option) {
                case 'h':
                        fputs(scrub_help, stdout);
                        return TOOL_DONE;
                case 'r':
                        if (!tool_bytes_option(optarg, "--rate", &scrub.options.bytes_per_second))
                                return tool_usage("scrub");
                        break;
                case 's':
                        scrub.options.flags |= XAC_SCRUB_SUM;
                        break;
                case 'j':
                        scrub.is_json = true;
                        break;
                case 'q':
                        scrub.is_quiet = true;
                        break;
                case 'f':
                        scrub.is_forced = true;
                        break;
                default:
                        return tool_usage("scrub");
                }
        }
        scrub.path = tool_operand(argc, argv, "scrub");
        return scrub.path ? scrub_place(&scrub) : tool_usage("scrub");
}
