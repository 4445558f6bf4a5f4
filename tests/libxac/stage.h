/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_STAGE_H
#define TESTS_UNIT_STAGE_H

/*
 * Transactions with views, played by hand on the engine of engine.h. Where a program would
 * fault the test calls touch_fault itself, so that no signal is needed and every step is the
 * test's own. Participant 0 (and 1) have a transaction; STAGE_OTHER commits without one.
 *
 * stage_audit compares what a view believes of its pages with what the kernel says
 * (/proc/self/maps): content, protection, I7, I11, and the number of mappings.
 */

#include "tests/libxac/engine.h"

#include <xac/xac.h>

#include "libxac/txn/txn.h"
#include "libxac/view/touch.h"
#include "libxac/view/view_mapper.h"
#include "libxac/view/view_sync.h"
#include "rewire/mappings.h"

enum { STAGE_ACTORS = 2, STAGE_OTHER = 5 };

struct stage {
        struct engine *engine;
        struct txn txn[STAGE_ACTORS];
        struct views views[STAGE_ACTORS];
};

static inline struct stage *stage_start(uint32_t pool_slots, int env_flags)
{
        struct stage *stage = calloc(1, sizeof(*stage));

        stage->engine = engine_start(pool_slots);
        for (int who = 0; who < STAGE_ACTORS; who++) {
                struct participant *self = &stage->engine->participant[who];

                views_init(&stage->views[who], self, env_flags & XAC_TRACK);
                assert_int_equal(txn_init(&stage->txn[who], self, &stage->engine->files, &view_mapper,
                                          &stage->views[who], env_flags),
                                 0);
        }
        return stage;
}

/* This actor's view of a file. */
static inline struct view *stage_map_file(struct stage *stage, int who, uint32_t file_no)
{
        struct files *files = &stage->engine->files;
        struct view *view;

        assert_int_equal(view_create(files, file_no, files_byte_len(files, file_no), XAC_ANYWHERE, &view), 0);
        views_add(stage->txn[who].views, view);
        return view;
}

static inline struct view *stage_map(struct stage *stage, int who)
{
        return stage_map_file(stage, who, stage->engine->file_no);
}

static inline void stage_stop(struct stage *stage)
{
        sys_fail = NULL;
        for (int who = 0; who < STAGE_ACTORS; who++) {
                struct views *views = stage->txn[who].views;

                txn_abort_all(&stage->txn[who]);
                for (uint32_t i = 0; i < FILES_MAX; i++) {
                        struct view *view = views->by_file[i];

                        if (!view)
                                continue;
                        views_remove(views, view);
                        view_destroy(view);
                }
                txn_free(&stage->txn[who]);
        }
        assert_int_equal(mappings_in_use(), 0);
        engine_stop(stage->engine);
        free(stage);
}

/* ---- What a program does ---- */

static inline uint64_t *stage_word(const struct view *view, uint64_t page_no)
{
        return (uint64_t *)(void *)(view->base + page_no * ENGINE_PAGE_BYTES);
}

static inline uint64_t stage_load(struct txn *txn, struct view *view, uint64_t page_no)
{
        if (view_is_hidden(view, page_no))
                assert_int_equal(touch_fault(txn, view, stage_word(view, page_no), TOUCH_READ), TOUCH_DONE);
        return *(volatile uint64_t *)stage_word(view, page_no);
}

static inline void stage_store(struct txn *txn, struct view *view, uint64_t page_no, uint64_t value)
{
        if (view_state(view, page_no) < VIEW_WRITABLE)
                assert_int_equal(touch_fault(txn, view, stage_word(view, page_no), TOUCH_WRITE), TOUCH_DONE);
        *(volatile uint64_t *)stage_word(view, page_no) = value;
}

/* Somebody else commits a value. */
static inline void stage_other_puts(struct stage *stage, uint64_t page_no, uint64_t value)
{
        engine_put(stage->engine, STAGE_OTHER, page_no, value);
}

/* What everybody sees who begins now. */
static inline uint64_t stage_committed(struct stage *stage, uint64_t page_no)
{
        return engine_visible(stage->engine, page_no, atomic_load(&stage->engine->shared.control->sequence));
}

/* ---- Audit ---- */

/* One line of /proc/self/maps, cut to the pages of a view. */
struct stage_mapping {
        uint64_t first, end;
        bool readable, writable, shared;
        uint64_t inode, offset; /* offset of the first page */
};

static inline bool stage_read_mapping(FILE *maps, const struct view *view, struct stage_mapping *mapping)
{
        const uint64_t base = (uint64_t)(uintptr_t)view->base;
        const uint64_t base_end = base + view->reserve_bytes;
        unsigned long long from, to, offset, inode;
        char line[512], prot[5];

        while (fgets(line, sizeof(line), maps)) {
                assert_int_equal(sscanf(line, "%llx-%llx %4s %llx %*s %llu", &from, &to, prot, &offset, &inode), 5);
                if (to <= base || from >= base_end)
                        continue;
                mapping->first = from < base ? 0 : (from - base) / ENGINE_PAGE_BYTES;
                mapping->end = ((to < base_end ? to : base_end) - base) / ENGINE_PAGE_BYTES;
                mapping->readable = prot[0] == 'r';
                mapping->writable = prot[1] == 'w';
                mapping->shared = prot[3] == 's';
                mapping->inode = inode;
                mapping->offset = offset;
                return true;
        }
        return false;
}

static inline uint64_t stage_inode(int fd)
{
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        return st.st_ino;
}

/* I7: what is writable and not a stray copy is this level's own version. */
static inline void stage_check_writable(const struct txn *txn, const struct view *view, uint64_t page_no)
{
        const struct page_entry *entry = txn_pages_find(&txn->pages, page_id(view->file_no, page_no));

        assert_true(txn_is_open(txn));
        assert_non_null(entry);
        if (!entry) /* the compiler does not know that this has ended the test */
                return;
        assert_int_equal(entry->slot, view_slot(view, page_no));
        assert_int_equal(entry->level, txn->depth);
        assert_true(entry->slot != 0);
}

/* I11: a frame is nobody's version, in no transaction, and has the content of the version that the page should show. */
static inline void stage_check_frame(const struct stage *stage, const struct txn *txn, const struct view *view,
                                     uint64_t page_no)
{
        const struct shared *shared = &stage->engine->shared;
        const uint64_t page = page_id(view->file_no, page_no);
        const struct page_entry *entry = txn_pages_find(&txn->pages, page);
        const struct slot *slot = &shared->slots[view_slot(view, page_no)];
        uint64_t word = version_visible(&stage->engine->shared, page, txn->views->synced);

        assert_int_equal(slot_state(slot), SLOT_PRIVATE);
        assert_int_equal(slot_owner(slot), txn->self->owner);
        assert_true(!txn_is_open(txn) || !entry || !entry->slot);
        assert_memory_equal(shared_slot_bytes(shared, view_slot(view, page_no)),
                            files_word_bytes(&stage->engine->files, page, word), ENGINE_PAGE_BYTES);
}

static inline void stage_check_page(const struct stage *stage, const struct txn *txn, const struct view *view,
                                    uint64_t page_no, const struct stage_mapping *mapping)
{
        const enum view_state state = view_state(view, page_no);
        const uint32_t slot = view_slot(view, page_no);
        const int fd = slot ? stage->engine->shared.pool_fd : stage->engine->files.file[view->file_no].fd;
        const uint64_t offset = mapping->offset + (page_no - mapping->first) * ENGINE_PAGE_BYTES;

        assert_int_equal(mapping->readable, state > VIEW_VEILED);
        assert_int_equal(mapping->writable, state >= VIEW_WRITABLE);
        if (state == VIEW_WRITABLE)
                stage_check_writable(txn, view, page_no);
        if (view_is_framed(view, page_no))
                stage_check_frame(stage, txn, view, page_no);
        if (view_is_hidden(view, page_no) || (state == VIEW_STRAY && !mapping->inode))
                return; /* nothing to be seen, or zeros in the place of what home lost */
        assert_int_equal(mapping->shared, !view_is_stray(view, page_no));
        assert_int_equal(mapping->inode, stage_inode(fd));
        assert_int_equal(offset, (slot ? slot : page_no) * (uint64_t)ENGINE_PAGE_BYTES);
}

/* Returns how many mappings the kernel has. */
static inline uint64_t stage_audit(const struct stage *stage, const struct txn *txn, const struct view *view)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        struct stage_mapping mapping;
        uint64_t count = 0, pages = 0;

        assert_non_null(maps);
        while (stage_read_mapping(maps, view, &mapping)) {
                count++;
                for (uint64_t page_no = mapping.first; page_no < mapping.end; page_no++, pages++)
                        stage_check_page(stage, txn, view, page_no, &mapping);
        }
        fclose(maps);
        assert_int_equal(pages, view->reserve_bytes / ENGINE_PAGE_BYTES);
        assert_true(count <= view->mappings);
        return count;
}

#endif
