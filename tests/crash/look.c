/* SPDX-License-Identifier: MIT */
#include "tests/crash/look.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recovery/recover.h"

/* Only coverage builds have it. */
extern void __gcov_dump(void) __attribute__((weak));

/* ---- Wrong ---- */

void look_leave(int status)
{
        if (__gcov_dump)
                __gcov_dump();
        _exit(status);
}

void look_wrong(struct life_of_image *life, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        vsnprintf(life->told->text, sizeof(life->told->text), format, args);
        va_end(args);
        look_leave(LIFE_WRONG);
}

void look_expect_ok(struct life_of_image *life, int code, const char *what)
{
        if (code != 0)
                look_wrong(life, "%s: %d (%s)", what, code, xac_strerror(code));
}

/* ---- Offline ---- */

static void take_sentence(void *arg, const char *sentence)
{
        struct life_of_image *life = arg;

        snprintf(life->told->text, sizeof(life->told->text), "the check says: %s", sentence);
}

/* False: there is no manifest. */
bool look_offline(struct life_of_image *life)
{
        struct manifest *manifest = malloc(sizeof(*manifest));
        int fd = open(life->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct recovery recovery = { .directory = fd };
        int err = manifest ? manifest_read(fd, manifest) : -ENOMEM;

        if (err && err != -ENOENT)
                look_wrong(life, "manifest: %d (%s)", err, xac_strerror(err));
        if (!err && recover_check(&recovery, manifest, take_sentence, life) != 0)
                look_leave(LIFE_WRONG);
        close(fd);
        free(manifest);
        return !err;
}

/* ---- Looking ---- */

void look_open(struct life_of_image *life)
{
        const struct workload *workload = life->world.workload;
        xac_options options = workload_options(workload, life->directory);
        /* Nobody but us has written to the files, unless somebody else has made them. */
        const int unchanged = workload->is_odd ? 0 : XAC_UNCHANGED;

        look_expect_ok(life, xac_open(life->directory, XAC_CREATE | unchanged, &options, &life->seat.env), "xac_open");
        life->seat.world = &life->world;
        memset(life->seat.pages, 0, sizeof(life->seat.pages));
        memset(&life->seat.desk, 0, sizeof(life->seat.desk));
        memset(&life->seat.heap_desk, 0, sizeof(life->seat.heap_desk));
}

void look_close(struct life_of_image *life)
{
        look_expect_ok(life, workload_leave(&life->seat), "closing the trees or the heap");
        look_expect_ok(life, xac_close(life->seat.env), "xac_close");
        if (life->world.workload->has_archive)
                look_inside_archive(life);
}

/* Maps what is there of a file; its pages. */
static unsigned map_file(struct life_of_image *life, unsigned file)
{
        char name[16], path[300];
        struct stat st;

        world_file_name(file, name);
        snprintf(path, sizeof(path), "%s/%s", life->directory, name);
        if (stat(path, &st) != 0 || st.st_size < WORLD_PAGE)
                return 0;
        life->seat.views[file] = xac_mmap(life->seat.env, name, 0, 0);
        if (life->seat.views[file] == MAP_FAILED)
                look_wrong(life, "xac_mmap of %s: %s", name, strerror(errno));
        return life->seat.pages[file] = (unsigned)((st.st_size + WORLD_PAGE - 1) / WORLD_PAGE);
}

static const unsigned char *read_page(struct life_of_image *life, unsigned file, unsigned page)
{
        const void *bytes = xac_page_read(life->seat.env, life->seat.views[file] + (size_t)page * WORLD_PAGE);

        if (!bytes)
                look_wrong(life, "page %u of file %u cannot be read", page, file);
        return bytes;
}

static void find_counters(struct life_of_image *life)
{
        const struct workload *workload = life->world.workload;

        for (unsigned lane = 0; lane < workload->lanes; lane++) {
                unsigned file = lane * workload->files;

                life->told->found[lane] = 0;
                if (life->seat.pages[file] > 0)
                        memcpy(&life->told->found[lane], read_page(life, file, 0), sizeof(uint64_t));
                if (life->told->found[lane] > workload->commits + 64)
                        look_wrong(life, "lane %u: the counter is %" PRIu64, lane, life->told->found[lane]);
        }
}

/* What a lane's newest commit saw of the others came before it, so it is there, too. */
static void compare_seen(struct life_of_image *life, unsigned lane, const unsigned char *first)
{
        for (unsigned other = 0; other < life->world.workload->lanes; other++) {
                uint64_t seen;

                memcpy(&seen, first + world_seen_at(other), sizeof(seen));
                if (other != lane && seen > life->told->found[other])
                        look_wrong(life,
                                   "lane %u has commit %" PRIu64 ", which saw commit %" PRIu64
                                   " of lane %u, which has only %" PRIu64,
                                   lane, life->told->found[lane], seen, other, life->told->found[other]);
        }
}

static void compare_page(struct life_of_image *life, unsigned file, unsigned page)
{
        const struct workload *workload = life->world.workload;
        const unsigned char *bytes = read_page(life, file, page);
        unsigned char *expected = life->told->state.bytes[file][page];
        unsigned lane = file / workload->files, at = 0;

        if (workload->lanes > 1 && page == 0 && file % workload->files == 0) {
                compare_seen(life, lane, bytes);
                memcpy(expected + 8, bytes + 8, 8 * WORLD_LANES);
        }
        if (memcmp(bytes, expected, WORLD_PAGE) == 0)
                return;
        while (bytes[at] == expected[at])
                at++;
        look_wrong(life, "file %u page %u offset %u is %02x, but %02x after commit %" PRIu64 " of lane %u", file, page,
                   at, bytes[at], expected[at], life->told->found[lane], lane);
}

static void compare_file(struct life_of_image *life, unsigned file)
{
        const struct workload *workload = life->world.workload;
        unsigned lane = file / workload->files;
        uint64_t k = life->told->found[lane];
        unsigned wanted = k ? world_pages(workload, file, k) : 0;

        if (life->seat.pages[file] < wanted)
                look_wrong(life, "file %u has %u pages, but %u at commit %" PRIu64, file, life->seat.pages[file],
                           wanted, k);
        for (unsigned page = 0; page < life->seat.pages[file] && page < WORLD_PAGES; page++)
                compare_page(life, file, page);
        life->told->found[WORLD_FILE + file] = life->seat.pages[file];
}

/* What is there is the world after found[lane] commits of each lane. */
void look_inside(struct life_of_image *life)
{
        unsigned files = world_files(life->world.workload);

        if (life->world.workload->is_tree) {
                look_inside_trees(life);
                return;
        }
        if (life->world.workload->is_heap) {
                look_inside_heap(life);
                return;
        }
        for (unsigned file = 0; file < files; file++)
                map_file(life, file);
        look_expect_ok(life, xbegin(life->seat.env, XAC_RDONLY), "xbegin");
        find_counters(life);
        world_fill(&life->world, life->told->found, &life->told->state);
        for (unsigned file = 0; file < files; file++)
                compare_file(life, file);
        look_expect_ok(life, xend(life->seat.env), "xend of a reader");
}
