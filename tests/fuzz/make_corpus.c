/* SPDX-License-Identifier: MIT */

/*
 * Makes seeds for the fuzz targets from a real environment: merged commits, small ones, a large one, a checkpoint,
 * growth; and what the files hold at several moments of it. For trees: operations at random; for traces, too; for what
 * is received: responses. Usage: make_corpus ENVIRONMENT CORPUS
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "recovery/bytes.h"
#include "recovery/double_write.h"
#include "recovery/log_reader.h"
#include "recovery/manifest_slot.h"
#include "tests/send/sent_model.h"
#include "tests/support/chance.h"

enum { MODEL_STREAM_MAX = 4000, PAGES = 8, PAGE = 4096, LOG_MAX = 12 * 1024, FILE_MAX = 128 * 1024 };

static const char *environment, *corpus;
static xac_env *env;
static char *view;

static _Noreturn void give_up(const char *what, int err)
{
        fprintf(stderr, "make_corpus: %s: %s\n", what, xac_strerror(err));
        exit(1);
}

static void need(const char *what, int err)
{
        if (err)
                give_up(what, err);
}

/* ---- Seeds ---- */

static int seed_open(const char *target, const char *moment)
{
        char path[4096];
        int fd;

        snprintf(path, sizeof(path), "%s/%s/real-%s", corpus, target, moment);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0)
                give_up(path, -errno);
        return fd;
}

static void seed_write(int fd, const void *bytes, size_t byte_len)
{
        if (write(fd, bytes, byte_len) != (ssize_t)byte_len)
                give_up("write", -errno);
}

static size_t without_zeros(const unsigned char *bytes, size_t byte_len)
{
        while (byte_len && !bytes[byte_len - 1])
                byte_len--;
        return byte_len;
}

/* ---- Log and replay ---- */

/* The records as they stand in the log, pads but for their header left out where `is_dense`. */
static size_t collect_log(int directory, const struct manifest *manifest, unsigned char *log, bool is_dense)
{
        struct log_range range = { .segment_bytes = manifest->segment_bytes,
                                   .position = manifest->redo_position,
                                   .incarnation = manifest->incarnation };
        struct log_reader *reader;
        struct log_record record;
        const unsigned char *payload;
        size_t used = 0;

        memcpy(range.uuid, manifest->uuid, sizeof(range.uuid));
        need("log_reader_open", log_reader_open(directory, &range, &reader));
        while (log_reader_next(reader, &record, &payload) == 1) {
                size_t at = is_dense ? used : (size_t)(record.position - range.position);

                if (at + record.byte_len > LOG_MAX)
                        break;
                memcpy(log + at, payload - LOG_RECORD_HEADER, record.byte_len);
                used = at + record.byte_len;
        }
        log_reader_close(reader);
        return used;
}

static void seed_log(int directory, const struct manifest *manifest, const char *moment)
{
        static unsigned char log[LOG_MAX];
        unsigned char head[13] = { 1 };
        int fd = seed_open("log_reader", moment);
        size_t len;

        bytes_put_u64(head + 1, manifest->redo_position);
        bytes_put_u32(head + 9, manifest->incarnation);
        seed_write(fd, head, sizeof(head));
        memset(log, 0, sizeof(log));
        len = collect_log(directory, manifest, log, false);
        seed_write(fd, log, without_zeros(log, len));
        close(fd);

        head[1] = (unsigned char)manifest->base_sequence;
        head[2] = 0;
        fd = seed_open("replay", moment);
        seed_write(fd, head, 3);
        len = collect_log(directory, manifest, log, true);
        seed_write(fd, log, len);
        close(fd);
}

/* The changes of the newest commits. */
static void seed_changes(int directory, const struct manifest *manifest, const char *moment)
{
        static unsigned char log[LOG_MAX];
        size_t len = collect_log(directory, manifest, log, true);
        const unsigned char head[2] = { 16 | 4 << 1, 0 };
        struct log_record record;
        struct log_entry entry;
        int count = 0;

        for (size_t at = 0; at < len && log_record_decode(log + at, &record) && count < 3; at += record.byte_len) {
                const unsigned char *payload = log + at + LOG_RECORD_HEADER;
                size_t in_payload = 0;
                char name[32];

                if (log_entry_next(payload, record.payload_len, &in_payload, PAGE, &entry) != 1 ||
                    entry.kind != LOG_CHANGES)
                        continue;
                snprintf(name, sizeof(name), "%s-%d", moment, ++count);
                int fd = seed_open("diff", name);
                seed_write(fd, head, sizeof(head));
                seed_write(fd, entry.bytes, entry.byte_len);
                close(fd);
        }
}

/* ---- Manifest and double-write buffer ---- */

static size_t load(int directory, const char *name, unsigned char *bytes)
{
        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        ssize_t len;

        if (fd < 0)
                return 0;
        len = pread(fd, bytes, FILE_MAX, 0);
        close(fd);
        return len < 0 ? 0 : (size_t)len;
}

static void seed_manifest(int directory, const char *moment)
{
        static unsigned char bytes[FILE_MAX];
        const unsigned char *second = bytes + MANIFEST_SLOT_BYTES;
        int fd = seed_open("manifest", moment);
        unsigned char head[3] = { 1 | 2 | 4 };
        size_t first_len;

        if (load(directory, MANIFEST_NAME, bytes) != 2 * MANIFEST_SLOT_BYTES)
                give_up(MANIFEST_NAME, XAC_CORRUPT);
        first_len = without_zeros(bytes, MANIFEST_SLOT_BYTES);
        head[1] = (unsigned char)first_len;
        head[2] = (unsigned char)(first_len >> 8);
        seed_write(fd, head, sizeof(head));
        seed_write(fd, bytes, first_len);
        seed_write(fd, second, without_zeros(second, MANIFEST_SLOT_BYTES));
        close(fd);
}

static void seed_double_write(int directory, const char *moment)
{
        static unsigned char bytes[FILE_MAX];
        static const char *const names[2] = { DOUBLE_WRITE_NAME_0, DOUBLE_WRITE_NAME_1 };

        for (int i = 0; i < 2; i++) {
                unsigned char head[2] = { (unsigned char)(1 | i << 1), 0xff };
                size_t len = load(directory, names[i], bytes);
                char name[32];

                if (!len)
                        continue;
                snprintf(name, sizeof(name), "%s-%d", moment, i);
                int fd = seed_open("double_write", name);
                seed_write(fd, head, sizeof(head));
                seed_write(fd, bytes, len < 5 * PAGE ? len : 5 * PAGE);
                close(fd);
        }
}

/* What is on disk now. */
static void take_seeds(const char *moment, bool has_new_buffer)
{
        int directory = open(environment, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct manifest manifest;

        if (directory < 0)
                give_up(environment, -errno);
        need("manifest_read", manifest_read(directory, &manifest));
        seed_manifest(directory, moment);
        if (has_new_buffer)
                seed_double_write(directory, moment);
        seed_log(directory, &manifest, moment);
        seed_changes(directory, &manifest, moment);
        close(directory);
}

/* ---- Trees ---- */

/* Operations at random for each first byte of these (stage.h): of each kind of trees and arenas, damaged or not. */
static void seed_operations(const char *target, const unsigned char *kinds, size_t count)
{
        unsigned char bytes[1200];
        char name[16];

        for (unsigned i = 0; i < count; i++) {
                struct chance chance = { i };
                size_t len = kinds[i] & 1 ? 600 : sizeof(bytes);

                for (size_t at = 0; at < len; at++)
                        bytes[at] = (unsigned char)chance_next(&chance);
                bytes[0] = kinds[i];
                snprintf(name, sizeof(name), "trees-%02u", i + 1);
                int fd = seed_open(target, name);
                seed_write(fd, bytes, len);
                close(fd);
        }
}

/* The first table gets many records, and loses them: runs of neighbours are put, and then deleted, in two goes as those
 * begin elsewhere. Values are of two kinds, by turns, which an input tells in value_len bytes (stage.c). */
static void seed_growth(const char *name, unsigned char kind, const unsigned char (*values)[3], size_t value_len)
{
        enum { RUNS = 60 };
        static const unsigned char puts_and_deletes[] = { 1 | 2, 1, 1 | 4 };
        int fd = seed_open("ehash", name);

        seed_write(fd, &kind, 1);
        for (unsigned i = 0; i < 3 * RUNS; i++) {
                const unsigned char run_of_first[] = { 9, 1 }, key[] = { 64, 0, (unsigned char)(i % RUNS) };
                const unsigned char how = (unsigned char)(i % 4 * 64 | puts_and_deletes[i / RUNS]);

                seed_write(fd, run_of_first, sizeof(run_of_first));
                seed_write(fd, key, sizeof(key));
                seed_write(fd, values[i % 2], value_len);
                seed_write(fd, &how, 1);
        }
        close(fd);
}

static void seed_trees(void)
{
        static const unsigned char cobtrees[] = { 0, 2, 4, 8 | 2, 16, 16 | 2, 32, 32 | 8, 32 | 16, 1, 1 | 2, 1 | 32 };
        static const unsigned char tables[] = { 0,      2,          4 | 2, 8 | 4,     16,        16 | 4 | 2,
                                                32 | 2, 32 | 4 | 2, 1,     1 | 4 | 2, 1 | 8 | 2, 1 | 32 };
        static const unsigned char short_values[2][3] = { { 0 }, { 0 } };
        static const unsigned char long_values[2][3] = { { 240, 232, 3 }, { 255, 136, 19 } }; /* 1,000 bytes; 5,000 */

        seed_operations("cobtree", cobtrees, sizeof(cobtrees));
        seed_operations("ehash", tables, sizeof(tables));
        seed_growth("growth-1", 4 | 2, short_values, 1);
        seed_growth("growth-2", 32 | 4 | 2, short_values, 1);
        seed_growth("growth-3", 32 | 16 | 4, short_values, 1);
        seed_growth("growth-4", 16, long_values, 3);
}

/* ---- Traces ---- */

/* Steps at random: sound, and to be damaged (fuzz_trace.c, fuzz_range.c). */
static void seed_steps(const char *target)
{
        enum { SEEDS = 8 };
        unsigned char bytes[800];
        char name[16];

        for (unsigned i = 0; i < SEEDS; i++) {
                struct chance chance = { 100 + i };

                for (size_t at = 0; at < sizeof(bytes); at++)
                        bytes[at] = (unsigned char)chance_next(&chance);
                bytes[0] = i & 1 ? 2 : 0;
                snprintf(name, sizeof(name), "steps-%02u", i + 1);
                int fd = seed_open(target, name);
                seed_write(fd, bytes, sizeof(bytes));
                close(fd);
        }
}

/* Names about as long as a header has room for, and longer; and lengths of files (fuzz_tar.c). */
static void seed_tar(void)
{
        enum { NAME_LEN, NAME_HOW, LENGTH_HOW, POWER = 128 /* and which of two */ };
        static const unsigned char lens[] = { 1, 99, 100, 101, 200, 255 }, powers[] = { 9, 12, 33, 32, 34, 62 };
        unsigned char bytes[300];
        char name[16];

        for (unsigned i = 0; i < sizeof(lens); i++) {
                struct chance chance = { 300 + i };

                for (size_t at = 0; at < sizeof(bytes); at++)
                        bytes[at] = (unsigned char)chance_next(&chance);
                bytes[NAME_LEN] = lens[i];
                bytes[NAME_HOW] = 0;
                bytes[LENGTH_HOW] = POWER + powers[i];
                snprintf(name, sizeof(name), "names-%02u", i + 1);
                int fd = seed_open("tar", name);
                seed_write(fd, bytes, sizeof(bytes));
                close(fd);
        }
}

/* Responses about a few keys: all, then changes; as they are sent (fuzz_range.c). */
static void seed_responses(void)
{
        enum { SEEDS = 8, KEYS = 40 };
        static const xac_tree_options kinds[] = { { .key_bytes = 0 }, { .key_bytes = 8, .value_bytes = 8 } };
        static struct sent_model model;
        char name[24];

        for (unsigned i = 0; i < SEEDS; i++) {
                struct chance chance = { 200 + i };
                struct stream stream = { 0 };

                stream_add(&stream, (const unsigned char[]){ 1, (unsigned char)(i * 2) }, 2);
                model_start(&model, &chance, &kinds[i & 1], 4096);
                memset(model.now, 1, sizeof(model.now));
                model_aim(&model, 100, 100 + KEYS);
                for (unsigned response = 0; response < 4 && stream.len < MODEL_STREAM_MAX; response++) {
                        model_respond(&model, response == 0, &stream);
                        for (unsigned number = 100 + i; number < 100 + KEYS; number += 5 + i)
                                model.now[number] = (uint8_t)(number & 1 ? response + 2 : 0);
                }
                snprintf(name, sizeof(name), "responses-%02u", i + 1);
                int fd = seed_open("range", name);
                seed_write(fd, stream.bytes, stream.len);
                close(fd);
                stream_free(&stream);
        }
}

/* ---- The environment ---- */

struct step {
        int kind;
        unsigned page;
        unsigned value;
};

enum { WORD, INSERT, SEVERAL, MOVE };

static int commit(void *arg)
{
        const struct step *step = arg;
        char *page = view + (size_t)step->page * PAGE;

        switch (step->kind) {
        case WORD:
                memcpy(page + (size_t)step->value % 500 * 8, &step->value, sizeof(step->value));
                break;
        case INSERT: /* as into a sorted array */
                memmove(page + 64, page + 40, 600);
                memcpy(page + 40, &step->value, sizeof(step->value));
                break;
        case MOVE:
                return xac_page_move(env, view + (size_t)step->value * PAGE, page, 2);
        default:
                for (unsigned i = 0; i < 4; i++)
                        memset(page + i * PAGE + (size_t)step->value % 4000, (int)step->value, 40);
                break;
        }
        return 0;
}

static void run_with(int flags, int kind, unsigned page, unsigned value)
{
        struct step step = { kind, page, value };

        need("xac_run", xac_run(env, flags, commit, &step));
}

static void run(int kind, unsigned page, unsigned value)
{
        run_with(0, kind, page, value);
}

/* Logged together, twice. */
static void run_merged(void)
{
        for (unsigned i = 1; i <= 12; i++) {
                run_with(XAC_NOSYNC, i % 3 ? WORD : INSERT, i % 4, i * 7919);
                if (i % 6 == 0)
                        need("xac_sync", xac_sync(env));
        }
}

int main(int argc, char **argv)
{
        xac_options options = { .log_bytes = 256 * 1024 };

        if (argc != 3) {
                fprintf(stderr, "usage: make_corpus ENVIRONMENT CORPUS\n");
                return 2;
        }
        environment = argv[1];
        corpus = argv[2];
        need("xac_open", xac_open(environment, XAC_CREATE | XAC_EXCL, &options, &env));
        view = xac_mmap(env, "accounts", (size_t)PAGES * PAGE, 0);
        if (view == MAP_FAILED)
                give_up("xac_mmap", -errno);
        run_merged();
        take_seeds("merged", false);
        need("xac_checkpoint", xac_checkpoint(env));
        for (unsigned i = 1; i <= 3; i++)
                run(WORD, i % 2, i * 7919);
        take_seeds("words", false);
        need("xac_checkpoint", xac_checkpoint(env));
        take_seeds("checkpoint", true);
        for (unsigned i = 1; i <= 2; i++)
                run(INSERT, 1, i * 104729);
        run(SEVERAL, 2, 12345);
        run(MOVE, 1, 5);
        if (xac_mmap(env, "index", PAGE, 0) == MAP_FAILED)
                give_up("xac_mmap", -errno);
        take_seeds("inserts", false);
        need("xac_checkpoint", xac_checkpoint(env));
        take_seeds("second", true);
        need("xac_close", xac_close(env));
        seed_trees();
        seed_steps("trace");
        seed_steps("range");
        seed_tar();
        seed_responses();
        return 0;
}
