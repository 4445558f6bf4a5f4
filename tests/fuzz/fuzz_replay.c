/* SPDX-License-Identifier: MIT */

/*
 * replay: any records may be given to it. What it says and the pages it ends with are those of a second,
 * naive replay: no commit is invented, none is applied in part, and home is read where the log says so.
 *
 *      first byte   bit 0: records as they come (a log, whose header checksums are not looked at);
 *                   else a program that makes records, most of which make sense
 *      second byte  the checkpoint's commit
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <xac/xac.h>

#include "recovery/bytes.h"
#include "recovery/replay.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const char fuzz_target[] = "replay";

enum {
        PAGE = 4096,
        PAYLOAD_MAX = 16 * 1024,
        ENTRY_MAX = LOG_ENTRY_HEADER + PAGE,
        PIECES_MAX = 64,
        RECORDS_MAX = 64,
        PAGES_MAX = 4200, /* each takes an entry of an input */
        LOST_PAGE = 13    /* cannot be read */
};

/* ---- The naive replay ---- */

struct piece {
        uint64_t transaction;
        unsigned char *bytes;
        size_t byte_len;
};

struct naive_page {
        uint64_t page;
        uint64_t sequence;
        unsigned char bytes[PAGE];
};

struct naive {
        uint64_t base, begin, seen, sequence, commits;
        uint32_t piece_count, page_count;
        struct piece piece[PIECES_MAX]; /* of transactions that are still open, in order */
        struct naive_page page[PAGES_MAX];
        unsigned char (*source)[PAGE]; /* what the moves of a commit read, in their order */
        uint32_t source_count, source_used;
};

static struct naive naive;

static int home_content(uint64_t page, unsigned char *bytes)
{
        fuzz_noise(page, bytes, PAGE);
        return page == LOST_PAGE ? -EIO : 0;
}

static int read_home(void *arg, uint64_t page, void *bytes)
{
        fuzz_check(arg == &naive);
        return home_content(page, bytes);
}

static struct naive_page *naive_find(uint64_t page)
{
        for (uint32_t i = 0; i < naive.page_count; i++)
                if (naive.page[i].page == page)
                        return &naive.page[i];
        return NULL;
}

static int naive_keep_source(const unsigned char *entry, uint64_t sequence)
{
        const struct naive_page *page;
        uint64_t from;

        (void)sequence;
        if (bytes_get_u32(entry + 8) != LOG_MOVED)
                return 0;
        naive.source = realloc(naive.source, (naive.source_count + 1) * sizeof(naive.source[0]));
        fuzz_check(naive.source != NULL);
        from = bytes_get_u64(entry + LOG_ENTRY_HEADER);
        page = naive_find(from);
        if (!page)
                return home_content(from, naive.source[naive.source_count++]);
        memcpy(naive.source[naive.source_count++], page->bytes, PAGE);
        return 0;
}

static int naive_apply(const unsigned char *entry, uint64_t sequence)
{
        uint64_t page_no = bytes_get_u64(entry);
        uint32_t kind = bytes_get_u32(entry + 8), byte_len = bytes_get_u32(entry + 12);
        const unsigned char *body = entry + LOG_ENTRY_HEADER;
        struct naive_page *page = naive_find(page_no);

        if (!page) {
                fuzz_check(naive.page_count < PAGES_MAX);
                page = &naive.page[naive.page_count++];
                page->page = page_no;
                if (kind == LOG_CHANGES) {
                        int err = home_content(page_no, page->bytes);

                        if (err)
                                return err;
                }
        }
        page->sequence = sequence;
        if (kind == LOG_IMAGE) {
                memcpy(page->bytes, body, PAGE);
                return 0;
        }
        if (kind == LOG_CLEARED)
                memset(page->bytes, 0, PAGE);
        if (kind == LOG_MOVED) {
                memcpy(page->bytes, naive.source[naive.source_used++], PAGE);
                body += LOG_ENTRY_FROM;
                byte_len -= LOG_ENTRY_FROM;
        }
        return model_apply(page->bytes, PAGE, body, byte_len) ? 0 : XAC_CORRUPT;
}

/* Is what follows the header of the entry's kind? */
static bool is_body_sound(const unsigned char *entry, uint32_t byte_len)
{
        uint64_t page = bytes_get_u64(entry), from;

        switch (bytes_get_u32(entry + 8)) {
        case LOG_CHANGES:
        case LOG_CLEARED:
                return true;
        case LOG_IMAGE:
                return byte_len == PAGE;
        case LOG_MOVED:
                if (byte_len < 8)
                        return false;
                from = bytes_get_u64(entry + LOG_ENTRY_HEADER);
                return from != page && from >> 28 == page >> 28;
        default:
                return false;
        }
}

typedef int (*naive_visit)(const unsigned char *entry, uint64_t sequence);

static int naive_payload(const unsigned char *payload, size_t payload_len, uint64_t sequence, naive_visit visit)
{
        int err = 0;

        for (size_t at = 0; !err && at < payload_len;) {
                const unsigned char *entry = payload + at;
                uint32_t byte_len;

                if (payload_len - at < LOG_ENTRY_HEADER)
                        return XAC_CORRUPT;
                byte_len = bytes_get_u32(entry + 12);
                at += LOG_ENTRY_HEADER;
                if (byte_len > payload_len - at || byte_len % 8)
                        return XAC_CORRUPT;
                if (!is_body_sound(entry, byte_len))
                        return XAC_CORRUPT;
                at += byte_len;
                err = visit(entry, sequence);
        }
        return err;
}

static bool naive_has(uint64_t transaction)
{
        for (uint32_t i = 0; i < naive.piece_count; i++)
                if (naive.piece[i].transaction == transaction)
                        return true;
        return false;
}

static void naive_forget(uint64_t transaction)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < naive.piece_count; i++) {
                if (naive.piece[i].transaction == transaction)
                        free(naive.piece[i].bytes);
                else
                        naive.piece[kept++] = naive.piece[i];
        }
        naive.piece_count = kept;
}

static int naive_fragment(const struct log_record *record, const unsigned char *payload)
{
        bool is_known = naive_has(record->transaction);

        if (record->sequence || !record->transaction || record->transaction > record->position)
                return XAC_CORRUPT;
        if (record->transaction == record->position && is_known)
                return XAC_CORRUPT;
        if (record->transaction != record->position && !is_known) /* it was decided before the checkpoint */
                return record->transaction < naive.begin ? 0 : XAC_CORRUPT;
        fuzz_check(naive.piece_count < PIECES_MAX);
        naive.piece[naive.piece_count++] =
                (struct piece){ record->transaction, fuzz_copy(payload, record->payload_len), record->payload_len };
        return 0;
}

/* All of a transaction's entries; `payload` are those that are in no fragment. */
static int naive_all(const struct log_record *record, const unsigned char *payload, size_t payload_len,
                     naive_visit visit)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < naive.piece_count; i++)
                if (naive.piece[i].transaction == record->transaction)
                        err = naive_payload(naive.piece[i].bytes, naive.piece[i].byte_len, record->sequence, visit);
        return err ? err : naive_payload(payload, payload_len, record->sequence, visit);
}

/* Does it join on to what was seen, or else to what is home? */
static bool naive_joins(uint64_t first, uint64_t last)
{
        if (!first || first > last)
                return false;
        if (naive.seen && first != naive.seen + 1)
                return false;
        if (last <= naive.base)
                return true;
        return naive.seen && naive.seen > naive.base ? true : first == naive.base + 1;
}

/* Those from `first` on. */
static int naive_commits(const struct log_record *record, uint64_t first, const unsigned char *payload,
                         size_t payload_len)
{
        uint64_t sequence = record->sequence;
        int err;

        if (!naive_joins(first, sequence))
                return XAC_CORRUPT;
        if (record->transaction >= record->position)
                return XAC_CORRUPT;
        if (sequence > naive.base && record->transaction && !naive_has(record->transaction))
                return XAC_CORRUPT;
        naive.seen = sequence;
        if (sequence > naive.base) {
                naive.source_count = naive.source_used = 0;
                err = naive_all(record, payload, payload_len, naive_keep_source);
                if (!err)
                        err = naive_all(record, payload, payload_len, naive_apply);
                if (err)
                        return err;
                naive.sequence = sequence;
                naive.commits += sequence + 1 - first;
        }
        naive_forget(record->transaction);
        return 0;
}

static int naive_record(const struct log_record *record, const unsigned char *payload)
{
        if (!naive.begin)
                naive.begin = record->position;
        switch (record->kind) {
        case LOG_COMMIT:
                return naive_commits(record, record->sequence, payload, record->payload_len);
        case LOG_MERGED:
                if (record->payload_len < 8 || bytes_get_u64(payload) == UINT64_MAX)
                        return XAC_CORRUPT;
                return naive_commits(record, bytes_get_u64(payload) + 1, payload + 8, record->payload_len - 8);
        case LOG_FRAGMENT:
                return naive_fragment(record, payload);
        default:
                return XAC_CORRUPT;
        }
}

static void naive_reset(uint64_t base)
{
        while (naive.piece_count)
                naive_forget(naive.piece[0].transaction);
        naive.base = naive.sequence = base;
        naive.begin = naive.seen = naive.commits = 0;
        naive.page_count = 0;
}

/* ---- Records ---- */

/* What a program has under way. */
struct maker {
        uint64_t position, sequence;
        uint64_t attempt[2]; /* transactions that wrote fragments; 0: none */
        uint64_t committed;  /* the last of them that was */
};

/* Where the page comes from: mostly another one of the same file. */
static uint64_t make_from(struct fuzz_input *input, uint64_t page)
{
        uint8_t how = fuzz_u8(input);
        uint64_t from = (page & ~UINT64_C(15)) | (how & 15);

        return how & 128 ? from ^ UINT64_C(1) << 28 : from;
}

static size_t make_entry(struct fuzz_input *input, unsigned char *out)
{
        static const uint32_t kinds[] = { LOG_IMAGE, LOG_IMAGE, LOG_MOVED, LOG_CLEARED };
        uint8_t how = fuzz_u8(input);
        uint64_t page = how & 8 ? UINT64_C(9) + (how & 7) : (uint64_t)(how & 3) << 28 | (how & 7);
        uint32_t kind = how & 16 ? kinds[how >> 5 & 3] : LOG_CHANGES;
        uint32_t len = kind == LOG_MOVED ? LOG_ENTRY_FROM : 0;

        if (kind == LOG_IMAGE) {
                fuzz_noise(how, out + LOG_ENTRY_HEADER, PAGE);
                len = PAGE;
        } else {
                if (kind == LOG_MOVED)
                        log_entry_encode_from(out + LOG_ENTRY_HEADER, make_from(input, page));
                for (unsigned i = kind == LOG_CHANGES ? how >> 5 & 3 : how >> 7; i-- > 0;)
                        len += (uint32_t)model_change(input, PAGE, out + LOG_ENTRY_HEADER + len);
        }
        if (how >= 248) /* perhaps senseless */
                len = (uint32_t)fuzz_number(input, len);
        if (how >= 252)
                kind = (uint32_t)fuzz_number(input, kind);
        log_entry_encode(out, page, kind, len);
        return LOG_ENTRY_HEADER + (len > PAGE ? PAGE : len);
}

/* Several commits at once; they may say that they follow another one than they do. */
static void make_merged(struct fuzz_input *input, struct maker *maker, uint64_t *attempt, struct log_record *record,
                        unsigned char *payload)
{
        uint8_t how = fuzz_u8(input);

        log_merged_encode(payload, how & 128 ? fuzz_number(input, maker->sequence) : maker->sequence);
        maker->sequence += 1 + (how & 63);
        record->kind = LOG_MERGED;
        record->sequence = maker->sequence;
        if (how & 64) {
                record->transaction = *attempt;
                *attempt = 0;
        }
}

static void make_record(struct fuzz_input *input, struct maker *maker, struct log_record *record,
                        unsigned char *payload)
{
        uint8_t how = fuzz_u8(input);
        uint64_t *attempt = &maker->attempt[how & 1];
        bool is_merged = (how & 24) == 24;
        size_t len = is_merged ? LOG_MERGED_HEADER : 0;

        for (unsigned i = how >> 1 & 3; i-- > 0 && PAYLOAD_MAX - len >= ENTRY_MAX;)
                len += make_entry(input, payload + len);
        if (how & 128)
                len += fuzz_bytes(input, payload + len, fuzz_u8(input) & 31);
        *record = (struct log_record){ .position = maker->position, .payload_len = (uint32_t)len };
        if (is_merged) {
                make_merged(input, maker, attempt, record, payload);
        } else if (how & 8) {
                record->kind = LOG_FRAGMENT;
                if (!*attempt)
                        *attempt = maker->position;
                record->transaction = *attempt;
        } else {
                record->kind = LOG_COMMIT;
                record->sequence = ++maker->sequence;
                record->transaction = how & 16 ? 0 : *attempt;
                if ((how & 96) == 32) /* once more */
                        record->transaction = maker->committed;
                else if (record->transaction)
                        *attempt = 0;
                maker->committed = record->transaction;
        }
        if ((how & 96) == 96) { /* one field is something else */
                uint64_t *field[] = { &record->position, &record->sequence, &record->transaction };
                uint64_t *spoilt = field[fuzz_u8(input) % 3];

                *spoilt = fuzz_number(input, *spoilt);
        } else if ((how & 96) == 64) {
                *attempt = 0; /* it is given up */
        }
        maker->position += log_record_len(record->payload_len);
}

/* The next record of a log given as it is; false at its end. */
static bool take_record(struct fuzz_input *input, struct log_record *record, unsigned char *payload)
{
        unsigned char header[LOG_RECORD_HEADER];
        size_t rest;

        do {
                if (fuzz_bytes(input, header, sizeof(header)) < sizeof(header))
                        return false;
                bytes_put_u32(header, model_crc(header + 4, sizeof(header) - 4));
                if (!log_record_decode(header, record) || record->payload_len > PAYLOAD_MAX)
                        return false;
                rest = record->byte_len - sizeof(header);
                if (record->kind == LOG_PAD)
                        input->bytes += rest < input->left ? rest : input->left;
                if (record->kind == LOG_PAD)
                        input->left -= rest < input->left ? rest : input->left;
        } while (record->kind == LOG_PAD);
        memset(payload, 0, PAYLOAD_MAX);
        fuzz_bytes(input, payload, record->payload_len);
        rest -= record->payload_len;
        fuzz_bytes(input, header, rest);
        return true;
}

/* ---- Both, and what they make of it ---- */

static int run(struct fuzz_input *input, struct replay *replay, bool is_log)
{
        static unsigned char payload[PAYLOAD_MAX];
        struct maker maker = { .position = 65536, .sequence = naive.base };
        struct log_record record;
        int err = 0;

        if (fuzz_u8(input) & 1 && maker.sequence > 0)
                maker.sequence -= fuzz_u8(input) % maker.sequence; /* reading begins before the checkpoint */
        for (int i = 0; !err && i < RECORDS_MAX && input->left; i++) {
                if (!is_log)
                        make_record(input, &maker, &record, payload);
                else if (!take_record(input, &record, payload))
                        break;
                replay_expect(replay, payload, false); /* a hint: it may come or not */
                replay_expect(replay, payload, true);
                unsigned char *exact = fuzz_copy(payload, record.payload_len);

                err = replay_record(replay, &record, exact);
                free(exact); /* its bytes need not last */
                fuzz_check(err == naive_record(&record, payload));
        }
        return err;
}

static void compare(struct replay *replay)
{
        uint64_t count = replay_finish(replay);
        uint64_t before = 0;

        fuzz_check(replay_sequence(replay) == naive.sequence);
        fuzz_check(replay_commits(replay) == naive.commits);
        fuzz_check(count == naive.page_count);
        for (uint64_t i = 0; i < count; i++) {
                struct page_image image = replay_page(replay, i);
                const struct naive_page *page = naive_find(image.page);

                fuzz_check(i == 0 || image.page > before);
                fuzz_check(page != NULL && page->sequence == image.sequence);
                fuzz_check(memcmp(page->bytes, image.bytes, PAGE) == 0);
                before = image.page;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        bool is_log = fuzz_u8(&input) & 1;
        struct replay *replay;
        static bool is_set_up;

        if (!is_set_up) /* a huge page zeroed for each input takes longer than all the rest */
                is_set_up = prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0;
        naive_reset(fuzz_u8(&input));
        fuzz_check(replay_open(PAGE, naive.base, read_home, &naive, &replay) == 0);
        if (run(&input, replay, is_log) == 0)
                compare(replay);
        replay_close(replay);
        return 0;
}
