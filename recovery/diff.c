/* SPDX-License-Identifier: MIT */
#include "recovery/diff.h"

/*
 * Building. First the plain way: runs of bytes that differ. If that is short, it is the answer, and costs
 * little more than a memcmp. Else something may have moved, and shifts are looked for:
 *
 *      old   | a b c d e f g h i j k . . . |
 *      new   | a b c X d e f g h i j k . . |
 *                    ^ at
 *
 * At the first difference what the old page has, "defg...", is found again further on in the new one
 * (something was inserted), or what the new one has further on in the old one (something was removed).
 *
 * The match is extended both ways, a few differing words inside it allowed, as long as each step further wins
 * more bytes than it loses (in the way of BLAST: S. Altschul et al., J. Mol. Biol. 1990). Shifts cut the
 * page into stretches, each of which is compared with where it came from; the differences inside them are
 * bytes again.
 *
 * Every loop is bounded: a search looks at SHIFT_REACH bytes, and there are at most SHIFTS_MAX shifts and
 * TRIES_MAX searches in vain, two in a run of differing bytes: where nothing is found at its beginning it is new, as a
 * rule, and searching it to its end costs more than all else.
 *
 * Applying. Shifts stand before bytes and do not overlap in what they write.
 */

#include <string.h>

#include "recovery/bytes.h"
#include "recovery/log_format.h"

enum {
        WORD = 8,
        BLOCK = 512,        /* compared by one memcmp, */
        LINE = 64,          /* then by smaller ones */
        PLAIN_ENOUGH = 64,  /* bytes of changes; less is not worth a search, */
        RUN_ENOUGH = 160,   /* nor is a run of them alone, which costs less to log than to look for */
        NEEDLE = 16,        /* bytes looked for */
        NEAR = 64,          /* and how far by whole words first */
        STRIDE = 128,       /* compared by one memcmp where something moved */
        SHIFT_REACH = 1024, /* how far things move, at most */
        SHIFTS_MAX = 32,
        TRIES_MAX = 8,
        HITS_MAX = 2,      /* places looked at per search */
        MARKS_MAX = 64,    /* places where the needle's first telling byte stands */
        WORTH = 32,        /* what a shift must win */
        CLEARLY = 128,     /* and what it wins that needs no comparison with another */
        GIVE_UP_LOSS = 64, /* extending ends this much below the best */
        GIVE_UP_LEN = 128  /* or this far behind it */
};

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { BYTES_ARE_REVERSED = 1 };
#else
enum { BYTES_ARE_REVERSED = 0 };
#endif

/* What moved: new[to, to + len) = old[from, from + len). */
struct shift {
        uint32_t to;
        uint32_t from;
        uint32_t len;
        int32_t won;         /* bytes that need not be logged */
        uint32_t sure_begin; /* in here, offsets of the new page, it has been compared */
        uint32_t sure_end;
};

struct plan {
        const unsigned char *old;
        const unsigned char *new;
        uint32_t page_bytes;
        bool is_rest_equal; /* behind the last shift */
        uint32_t count;
        struct shift shift[SHIFTS_MAX];
};

struct output {
        unsigned char *bytes;
        size_t used;
        size_t room;
        bool is_full;
};

static uint64_t load(const unsigned char *bytes)
{
        uint64_t word;

        memcpy(&word, bytes, sizeof(word));
        return word;
}

static uint32_t pad(uint32_t byte_len)
{
        return (byte_len + WORD - 1) & ~(uint32_t)(WORD - 1);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
        return a < b ? a : b;
}

/* ---- Runs of differing bytes ---- */

/* Of two words that differ by `bits`: how many of their bytes are equal at the beginning, at the end. */
static uint32_t equal_first(uint64_t bits)
{
        return (uint32_t)(BYTES_ARE_REVERSED ? __builtin_clzll(bits) : __builtin_ctzll(bits)) / 8;
}

static uint32_t equal_last(uint64_t bits)
{
        return (uint32_t)(BYTES_ARE_REVERSED ? __builtin_ctzll(bits) : __builtin_clzll(bits)) / 8;
}

/* The first offset in [at, end) where a and b differ, or `end`. */
static uint32_t skip_equal(const unsigned char *a, const unsigned char *b, uint32_t at, uint32_t end)
{
        if (end - at >= LINE && memcmp(a + at, b + at, LINE) == 0) { /* else the next difference is near */
                while (end - at >= BLOCK && memcmp(a + at, b + at, BLOCK) == 0)
                        at += BLOCK;
                while (end - at >= LINE && memcmp(a + at, b + at, LINE) == 0)
                        at += LINE;
        }
        for (; end - at >= WORD; at += WORD) {
                uint64_t bits = load(a + at) ^ load(b + at);
                if (bits)
                        return at + equal_first(bits);
        }
        while (at < end && a[at] == b[at])
                at++;
        return at;
}

/* They differ at `at`: the first offset behind it from which a whole word is equal, or `end`. */
static uint32_t skip_different(const unsigned char *a, const unsigned char *b, uint32_t at, uint32_t end)
{
        uint64_t bits = 0;

        for (; end - at >= WORD; at += WORD) {
                uint64_t next = load(a + at) ^ load(b + at);
                if (!next)
                        return bits ? at - equal_last(bits) : at;
                bits = next;
        }
        at = end;
        while (a[at - 1] == b[at - 1])
                at--;
        return at;
}

static unsigned char *take_change(struct output *out, enum log_change_kind kind, uint32_t to, uint32_t from,
                                  uint32_t len)
{
        size_t needed = LOG_CHANGE_HEADER + (kind == LOG_BYTES ? pad(len) : 0);

        if (out->is_full || needed > out->room - out->used) {
                out->is_full = true;
                return NULL;
        }
        unsigned char *change = out->bytes + out->used;
        uint64_t header = (uint64_t)kind | (uint64_t)to << 16 | (uint64_t)from << 32 | (uint64_t)(len - 1) << 48;
        bytes_put_u64(change, header);
        out->used += needed;
        return change + LOG_CHANGE_HEADER;
}

static void put_bytes(struct output *out, const unsigned char *new, uint32_t len, uint32_t to)
{
        unsigned char *bytes = take_change(out, LOG_BYTES, to, 0, len);

        if (!bytes)
                return;
        memset(bytes + pad(len) - WORD, 0, WORD);
        memcpy(bytes, new, len);
}

/* Where a run that begins here would be too long for the output, which is as good as its end. */
static uint32_t run_limit(const struct output *out, uint32_t begin, uint32_t len)
{
        size_t room = out->room - out->used;

        return len - begin <= room ? len : begin + (uint32_t)room + 1;
}

static void put_again(struct output *out, const unsigned char *changes, size_t len)
{
        out->is_full |= len > out->room - out->used;
        if (out->is_full)
                return;
        memcpy(out->bytes + out->used, changes, len);
        out->used += len;
}

/* Logs where `new` differs from `base`, both `len` bytes that stand at offset `to` of the page. Two runs
 * become one where the bytes between them are cheaper than a second header. Returns where the run begins that was
 * too long for the output, if there is one. */
static uint32_t put_runs(struct output *out, const unsigned char *base, const unsigned char *new, uint32_t len,
                         uint32_t to)
{
        uint32_t begin = skip_equal(base, new, 0, len);

        if (begin == len)
                return len;
        uint32_t end = skip_different(base, new, begin, run_limit(out, begin, len));
        while (!out->is_full) {
                uint32_t next = skip_equal(base, new, end, len);

                if (next == len)
                        break;
                uint32_t next_end = skip_different(base, new, next, run_limit(out, next, len));
                if (pad(next_end - begin) > pad(end - begin) + LOG_CHANGE_HEADER + pad(next_end - next)) {
                        put_bytes(out, new + begin, end - begin, to + begin);
                        if (out->is_full)
                                break;
                        begin = next;
                }
                end = next_end;
                out->is_full |= end - begin > out->room - out->used;
        }
        put_bytes(out, new + begin, end - begin, to + begin);
        return begin;
}

/* ---- Shifts ---- */

/* How far from `at` on, in whole blocks before `high`, everything has moved and nothing is where it was. */
static uint32_t skip_moved(const struct plan *plan, int32_t moved, uint32_t at, uint32_t high)
{
        while (high - at >= STRIDE && memcmp(plan->new + at, plan->old + at - moved, STRIDE) == 0 &&
               load(plan->new + at) != load(plan->old + at))
                at += STRIDE;
        return at;
}

/* Extends from new[at] = old[at - moved] in steps of `step` (a word forwards or backwards) within
 * [low, high). Returns how far the best stretch goes and adds what it wins, as against the plain way: a word
 * that differs costs itself, and one that differs only when moved costs a header too. */
static uint32_t extend(const struct plan *plan, int32_t moved, uint32_t at, int32_t step, uint32_t low, uint32_t high,
                       int32_t *won)
{
        int32_t score = 0;
        int32_t best = 0;
        uint32_t best_at = at;

        if (step < 0 && at - low >= WORD)
                at -= WORD;
        else if (step < 0)
                return best_at;
        while (at >= low && at + WORD <= high) {
                uint64_t word = load(plan->new + at);
                bool is_moved = word == load(plan->old + at - moved);
                bool is_same = word == load(plan->old + at);

                if (is_moved && !is_same)
                        score += WORD;
                else if (!is_moved && is_same)
                        score -= WORD + LOG_CHANGE_HEADER;
                if (score > best) {
                        best = score;
                        best_at = step > 0 ? at + WORD : at;
                }
                uint32_t beyond = at > best_at ? at - best_at : best_at - at;
                if (score < best - GIVE_UP_LOSS || beyond > GIVE_UP_LEN || (step < 0 && at < low + WORD))
                        break;
                at += (uint32_t)step;
        }
        *won += best;
        return best_at;
}

/* The stretch around new[at] that came from `moved` bytes before it (after it, if negative); it may
 * begin at `low`. */
static struct shift stretch(const struct plan *plan, uint32_t low, uint32_t at, int32_t moved)
{
        const unsigned char *old = plan->old;
        const unsigned char *new = plan->new;
        uint32_t high = plan->page_bytes;
        struct shift shift = { .won = 0 };

        if (moved > 0 && low < (uint32_t)moved)
                low = (uint32_t)moved;
        if (moved < 0)
                high -= (uint32_t)-moved;
        shift.sure_begin = at;
        shift.sure_end = skip_moved(plan, moved, at, high);
        shift.won = (int32_t)(shift.sure_end - at);
        uint32_t end = extend(plan, moved, shift.sure_end, WORD, low, high, &shift.won);
        uint32_t begin = extend(plan, moved, at, -WORD, low, high, &shift.won);
        for (int i = 1; i < WORD && end < high && new[end] == old[end - (uint32_t)moved]; i++)
                end++;
        for (int i = 1; i < WORD && begin > low && new[begin - 1] == old[begin - 1 - (uint32_t)moved]; i++)
                begin--;
        shift.to = begin;
        shift.from = begin - (uint32_t)moved;
        shift.len = end - begin;
        return shift;
}

/* The first place in [begin, end) that holds the needle. Like memmem, but its time does not depend so much on
 * what it looks at; zeros are not worth finding. */
static const unsigned char *find(const unsigned char *begin, const unsigned char *end, const unsigned char *needle)
{
        uint32_t mark = 0;

        while (mark < NEEDLE && needle[mark] == 0)
                mark++;
        if (mark == NEEDLE || end - begin < NEEDLE)
                return NULL;
        end -= NEEDLE - mark - 1; /* the mark stands before it */
        begin += mark;
        for (int marks = 0; marks < MARKS_MAX && begin < end; marks++) {
                const unsigned char *hit = memchr(begin, needle[mark], (size_t)(end - begin));

                if (!hit)
                        return NULL;
                if (memcmp(hit - mark, needle, NEEDLE) == 0)
                        return hit - mark;
                begin = hit + 1;
        }
        return NULL;
}

/* Things move by a few words, as a rule: where a search is to begin that has not to look there in detail. */
static const unsigned char *skip_near(const unsigned char *hay, const unsigned char *end, const unsigned char *needle)
{
        const uint64_t first = load(needle);
        const uint64_t second = load(needle + WORD);

        for (const unsigned char *at = hay + WORD; at < hay + NEAR && end - at >= NEEDLE; at += WORD)
                if (load(at) == first && load(at + WORD) == second)
                        return at;
        return hay + 1;
}

/* Looks for the bytes at needle[at] further on in `hay`, one of the two pages, and extends what it finds. */
static void search(const struct plan *plan, const unsigned char *needle, const unsigned char *hay, uint32_t low,
                   uint32_t at, struct shift *best)
{
        const unsigned char *end = hay + smaller(plan->page_bytes, at + NEEDLE + SHIFT_REACH);
        const unsigned char *begin = skip_near(hay + at, end, needle + at);

        for (int hits = 0; hits < HITS_MAX && begin < end; hits++) {
                const unsigned char *hit = find(begin, end, needle + at);

                if (!hit)
                        return;
                uint32_t place = (uint32_t)(hit - hay);
                int32_t moved = (int32_t)(place - at);
                struct shift shift =
                        hay == plan->new ? stretch(plan, low, place, moved) : stretch(plan, low, at, -moved);
                if (shift.won > best->won)
                        *best = shift;
                if (shift.won >= CLEARLY)
                        return;
                begin = hit + 1;
        }
}

/* They differ at `at`: the first difference from there on that is part of a long run, or close to another one. */
static uint32_t skip_lone_runs(const struct plan *plan, uint32_t at)
{
        while (at < plan->page_bytes) {
                uint32_t limit = smaller(at + RUN_ENOUGH, plan->page_bytes);
                uint32_t end = skip_different(plan->old, plan->new, at, limit);
                uint32_t next = skip_equal(plan->old, plan->new, end, plan->page_bytes);
                if (end == limit || next - end < LINE)
                        break;
                at = next;
        }
        return at;
}

/* Finds what moved, from `low` on and in ascending order of where it is now. */
static void plan_shifts(struct plan *plan, uint32_t low)
{
        const unsigned char *old = plan->old;
        const unsigned char *new = plan->new;
        uint32_t at = low;      /* where to look next; the next shift begins at `low` or behind */
        bool is_second = false; /* the second look at this run */

        for (int tries = 0; tries < TRIES_MAX && plan->count < SHIFTS_MAX;) {
                bool is_all_seen = at == low;

                at = skip_equal(old, new, smaller(at, plan->page_bytes), plan->page_bytes);
                plan->is_rest_equal = is_all_seen && at == plan->page_bytes;
                at = skip_lone_runs(plan, at);
                if (plan->page_bytes - at < NEEDLE)
                        return;
                struct shift best = { .won = 0 };
                search(plan, old, new, low, at, &best);
                if (best.won < CLEARLY)
                        search(plan, new, old, low, at, &best);
                if (best.won >= WORTH) {
                        plan->shift[plan->count++] = best;
                        low = best.to + best.len;
                        at = low;
                        is_second = false;
                } else {
                        tries++;
                        at = is_second ? skip_different(old, new, at, plan->page_bytes) : at + NEEDLE;
                        is_second = !is_second;
                }
        }
}

/* What differs in a stretch from where it came from. */
static void put_moved(struct output *out, const struct plan *plan, const struct shift *shift)
{
        const unsigned char *old = plan->old + shift->from;
        const unsigned char *new = plan->new + shift->to;
        uint32_t sure = shift->sure_end - shift->to;

        put_runs(out, old, new, shift->sure_begin - shift->to, shift->to);
        put_runs(out, old + sure, new + sure, shift->len - sure, shift->sure_end);
}

/* The page up to `at` is in the output already: the shifts go before that. */
static void put_plan(struct output *out, const struct plan *plan, uint32_t at)
{
        const unsigned char *old = plan->old;
        const unsigned char *new = plan->new;
        unsigned char before[PLAIN_ENOUGH];
        size_t before_len = out->used;

        memcpy(before, out->bytes, before_len);
        out->used = 0;
        for (uint32_t i = 0; i < plan->count; i++)
                take_change(out, LOG_SHIFT, plan->shift[i].to, plan->shift[i].from, plan->shift[i].len);
        put_again(out, before, before_len);
        for (uint32_t i = 0; i < plan->count; i++) {
                const struct shift *shift = &plan->shift[i];

                put_runs(out, old + at, new + at, shift->to - at, at);
                put_moved(out, plan, shift);
                at = shift->to + shift->len;
        }
        if (!plan->is_rest_equal)
                put_runs(out, old + at, new + at, plan->page_bytes - at, at);
}

size_t diff_build(const unsigned char *old, const unsigned char *new, uint32_t page_bytes, unsigned char *out,
                  size_t room)
{
        uint32_t plain = smaller(PLAIN_ENOUGH, page_bytes);
        struct output output = { .room = room < plain ? room : plain };
        struct plan plan;

        output.bytes = out;
        uint32_t at = put_runs(&output, old, new, page_bytes, 0);
        if (!output.is_full)
                return output.used;
        plan.old = old;
        plan.new = new;
        plan.page_bytes = page_bytes;
        plan.count = 0;
        plan.is_rest_equal = false;
        plan_shifts(&plan, at);
        output.room = room;
        output.is_full = false;
        put_plan(&output, &plan, at);
        return output.is_full ? room + 1 : output.used;
}

/* ---- Applying ---- */

struct change {
        uint32_t kind;
        uint32_t to;
        uint32_t from;
        uint32_t len;
};

/* Reads the header at `at`; false if it is not whole, or its range leaves the page. */
static bool change_read(const unsigned char *changes, size_t changes_len, size_t at, uint32_t page_bytes,
                        struct change *change)
{
        if (changes_len - at < LOG_CHANGE_HEADER)
                return false;
        uint64_t header = bytes_get_u64(changes + at);
        change->kind = header & 0xffff;
        change->to = header >> 16 & 0xffff;
        change->from = header >> 32 & 0xffff;
        change->len = (uint32_t)(header >> 48) + 1;
        return change->to + change->len <= page_bytes && change->from + change->len <= page_bytes;
}

/* Applies the shifts that stand at the beginning; *at is behind them. As they do not overlap, they write no more than a
 * page: of a log that somebody has made, 8 bytes would else copy 64 KiB. */
static bool apply_shifts(unsigned char *page, uint32_t page_bytes, const unsigned char *changes, size_t changes_len,
                         unsigned char *scratch, size_t *at)
{
        struct change change;
        struct change first = { .len = 0 };
        uint32_t written = 0;

        for (*at = 0; *at < changes_len; *at += LOG_CHANGE_HEADER) {
                if (!change_read(changes, changes_len, *at, page_bytes, &change))
                        return false;
                if (change.kind != LOG_SHIFT)
                        break;
                if (change.len > page_bytes - written)
                        return false;
                written += change.len;
                if (!first.len) {
                        first = change;
                        continue;
                }
                /* All read the old content: one alone is a memmove, several need a copy. */
                if (*at == LOG_CHANGE_HEADER) {
                        memcpy(scratch, page, page_bytes);
                        memcpy(page + first.to, scratch + first.from, first.len);
                }
                memcpy(page + change.to, scratch + change.from, change.len);
        }
        if (*at == LOG_CHANGE_HEADER)
                memmove(page + first.to, page + first.from, first.len);
        return true;
}

bool diff_apply(unsigned char *page, uint32_t page_bytes, const unsigned char *changes, size_t changes_len,
                unsigned char *scratch)
{
        struct change change;
        size_t at;

        if (!apply_shifts(page, page_bytes, changes, changes_len, scratch, &at))
                return false;
        while (at < changes_len) {
                if (!change_read(changes, changes_len, at, page_bytes, &change) || change.kind != LOG_BYTES)
                        return false;
                at += LOG_CHANGE_HEADER;
                if (pad(change.len) > changes_len - at)
                        return false;
                memcpy(page + change.to, changes + at, change.len);
                at += pad(change.len);
        }
        return true;
}
