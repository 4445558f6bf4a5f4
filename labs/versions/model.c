/* SPDX-License-Identifier: MIT */

#include "labs/versions/model.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/versions/acts.h"

enum { COMMITS_MOST = 4096, SHOWN_BYTES = 1500 };

struct model {
        long last_commit, held[READERS];
        bool wrote[COMMITS_MOST][PAGES];
        long value[COMMITS_MOST][PAGES];
};

static struct model *model;
struct store *store;

void model_create(void)
{
        if (model == NULL)
                model = mmap(NULL, sizeof(*model), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(model != MAP_FAILED, "mmap: %s", strerror(errno));
        memset(model->wrote, 0, sizeof(model->wrote));
        memset(model->held, 0, sizeof(model->held));
        store = &((struct shared *)host_memory(sizeof(struct shared)))->store;
        store_create(store);
        model->last_commit = store->last_commit;
}

void model_hold(int reader, long snapshot)
{
        model->held[reader] = snapshot;
        store->snapshot[reader] = snapshot;
}

void model_hold_last(int reader)
{
        model_hold(reader, model->last_commit);
}

void model_let_go(int reader)
{
        model_hold(reader, 0);
}

long model_held(int reader)
{
        return model->held[reader];
}

long model_last(void)
{
        return model->last_commit;
}

void model_check_held(void)
{
        for (int reader = 0; reader < READERS; reader++)
                grader_check(store->snapshot[reader] == model->held[reader],
                             "reader %d holds snapshot %ld, and snapshot[%d] is %ld now: nobody else writes it", reader,
                             model->held[reader], reader, (long)store->snapshot[reader]);
        grader_check(store->last_commit == model->last_commit, "last_commit was %ld, and is %ld: only commits write it",
                     model->last_commit, (long)store->last_commit);
}

unsigned model_draw_pages(void)
{
        unsigned pages = 1U << grader_random(PAGES);
        for (uint32_t more = grader_random(3); more > 0; more--)
                pages |= 1U << grader_random(PAGES);
        return pages;
}

void model_commit(unsigned pages)
{
        int page[PAGES], count = 0;
        long value[PAGES], commit = model->last_commit + 1;

        grader_check(commit < COMMITS_MOST, "too many commits for the model");
        for (int i = 0; i < PAGES; i++) {
                if ((pages >> i & 1) == 0)
                        continue;
                page[count] = i;
                value[count] = 1 + grader_random(1000);
                model->wrote[commit][i] = true;
                model->value[commit][i] = value[count++];
        }
        grader_check(store_commit(store, count, page, value) == 0,
                     "the store is full: all %d slots are in use; of %d versions somebody sees them", SLOTS,
                     model_count(MODEL_EXACT));
        model->last_commit = commit;
}

long model_visible(int page, long snapshot)
{
        long commit = snapshot;
        while (commit > 0 && !model->wrote[commit][page])
                commit--;
        return commit;
}

int answer_visible(int page, long snapshot, bool is_stepped)
{
        int slot;
        host_do(ACT_VISIBLE, &(struct visible){ page, snapshot, is_stepped }, sizeof(struct visible), &slot,
                sizeof(slot));
        return slot;
}

int answer_reclaim(bool is_stepped)
{
        int count;
        host_do(ACT_RECLAIM, &is_stepped, sizeof(is_stepped), &count, sizeof(count));
        return count;
}

long answer_take(int reader, bool is_stepped)
{
        long snapshot;
        host_do(ACT_TAKE, &(struct take){ reader, is_stepped }, sizeof(struct take), &snapshot, sizeof(snapshot));
        model->held[reader] = snapshot;
        return snapshot;
}

/* Who sees a version of `page` made by `commit`, superseded by `newer`? A reader; READERS: who begins now; or NONE. */
static int seen_by(long commit, long newer)
{
        if (newer == 0)
                return READERS;
        for (int reader = 0; reader < READERS; reader++)
                if (model->held[reader] >= commit && model->held[reader] < newer)
                        return reader;
        return NONE;
}

static long oldest_snapshot(void)
{
        long oldest = model->last_commit;
        for (int reader = 0; reader < READERS; reader++)
                if (model->held[reader] != 0 && model->held[reader] < oldest)
                        oldest = model->held[reader];
        return oldest;
}

/* Must the version be there by the rule of the oldest snapshot: is it seen by that one, or newer? */
static bool is_kept(enum model_rule rule, long commit, long newer)
{
        if (rule == MODEL_EXACT)
                return seen_by(commit, newer) != NONE;
        return newer == 0 || newer > oldest_snapshot();
}

int model_count(enum model_rule rule)
{
        int count = 0;
        for (int page = 0; page < PAGES; page++) {
                long newer = 0;
                for (long commit = model->last_commit; commit > 0; commit--) {
                        if (!model->wrote[commit][page])
                                continue;
                        count += is_kept(rule, commit, newer);
                        newer = commit;
                }
        }
        return count;
}

void model_show_page(int page, char *text, size_t text_bytes)
{
        long slot = store->newest[page];
        size_t used = (size_t)snprintf(text, text_bytes, "page %d:", page);
        for (int i = 0; slot >= 0 && slot < SLOTS && i <= SLOTS && used < text_bytes; i++) {
                used += (size_t)snprintf(text + used, text_bytes - used, "%s commit %ld (slot %ld)", i ? " <-" : "",
                                         (long)store->slot[slot].commit, slot);
                slot = store->slot[slot].older;
        }
        if (used < text_bytes)
                used += (size_t)snprintf(text + used, text_bytes - used, "; snapshots:");
        for (int reader = 0; reader < READERS && used < text_bytes; reader++)
                if (store->snapshot[reader] != 0)
                        used += (size_t)snprintf(text + used, text_bytes - used, " %ld of reader %d,",
                                                 (long)store->snapshot[reader], reader);
        if (used < text_bytes)
                snprintf(text + used, text_bytes - used, " last commit %ld", (long)store->last_commit);
}

void model_check_slot(const char *who, int page, long snapshot, int slot)
{
        char shown[SHOWN_BYTES];
        long should = model_visible(page, snapshot);

        model_show_page(page, shown, sizeof(shown));
        grader_check(slot >= NONE && slot < SLOTS, "%s\n%s: slot %d of page %d at snapshot %ld: no such slot", shown,
                     who, slot, page, snapshot);
        if (slot == NONE) {
                grader_check(should == 0,
                             "%s\n%s: page %d has no version for snapshot %ld, it should have that of commit %ld",
                             shown, who, page, snapshot, should);
                return;
        }
        long commit = store->slot[slot].commit, page_there = store->slot[slot].page, value = store->slot[slot].value;
        grader_check(should != 0 && commit == should && page_there == page && value == model->value[should][page],
                     "%s\n%s: page %d at snapshot %ld is slot %d (page %ld, commit %ld, value %ld),\n"
                     "should be that of commit %ld, value %ld (commit 0: none)",
                     shown, who, page, snapshot, slot, page_there, commit, value, should,
                     should ? model->value[should][page] : 0);
}

/* One page: the chain against what was written, from the newest on. */
static void check_page(int page, enum model_rule rule)
{
        char shown[SHOWN_BYTES];
        long slot = store->newest[page], newer = 0;

        model_show_page(page, shown, sizeof(shown));
        for (long commit = model->last_commit; commit > 0; commit--) {
                if (!model->wrote[commit][page])
                        continue;
                bool is_there = slot >= 0 && slot < SLOTS && store->slot[slot].commit == commit;
                int seer = seen_by(commit, newer);
                grader_check(is_there || seer == NONE, "%s\nthe version of commit %ld is gone, and %s sees it", shown,
                             commit, seer == READERS ? "whoever begins now" : "a reader");
                grader_check(!is_there || is_kept(rule, commit, newer),
                             "%s\nthe version of commit %ld is still there, and nobody sees it, or ever will", shown,
                             commit);
                if (is_there) {
                        model_check_slot("the chain", page, commit, (int)slot);
                        slot = store->slot[slot].older;
                }
                newer = commit;
        }
        grader_check(slot == NONE, "%s\nthe chain goes on after the oldest version", shown);
}

void model_check(enum model_rule rule)
{
        int linked = 0;
        model_check_held();
        for (int page = 0; page < PAGES; page++) {
                check_page(page, rule);
                for (long slot = store->newest[page]; slot != NONE; slot = store->slot[slot].older)
                        linked++;
        }
        grader_check(linked == slots_used(store), "%d versions are in chains, and %d slots are in use", linked,
                     slots_used(store));
}

void field_name(size_t offset, char *name, size_t name_bytes)
{
        static const char *const fields[] = { "commit", "page", "older", "value" };
        size_t word = offset / sizeof(long);

        if (offset < offsetof(struct store, snapshot))
                snprintf(name, name_bytes, "last_commit");
        else if (offset < offsetof(struct store, newest))
                snprintf(name, name_bytes, "snapshot[%zu]", word - offsetof(struct store, snapshot) / sizeof(long));
        else if (offset < offsetof(struct store, slot))
                snprintf(name, name_bytes, "newest[%zu]", word - offsetof(struct store, newest) / sizeof(long));
        else {
                word -= offsetof(struct store, slot) / sizeof(long);
                snprintf(name, name_bytes, "slot[%zu].%s", word / 4, fields[word % 4]);
        }
}
