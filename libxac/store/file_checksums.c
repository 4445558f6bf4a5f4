/* SPDX-License-Identifier: MIT */
#include "libxac/store/file_checksums.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <xac/xac.h>

#include "base/hook.h"
#include "base/sys.h"
#include "libxac/ground/line.h"
#include "recovery/bytes.h"
#include "recovery/checksums.h"

enum {
        CHANGED = 1, /* size or time of the data file are not those of its header */
        BEGUN = 2,   /* and the header says so, where it has to */
        TOLD_MAX = 16
};

static struct checksums_id id_of(const struct file_checksums *checksums)
{
        const struct control *control = checksums->shared->control;
        struct checksums_id id = { .file_no = checksums->file_no,
                                   .page_bytes = control->page_bytes,
                                   .mode = control->mode };
        memcpy(id.uuid, control->uuid, sizeof(id.uuid));
        return id;
}

static uint64_t pages_of(const struct file_checksums *checksums, uint64_t byte_len)
{
        return (byte_len + checksums->shared->page_bytes - 1) >> checksums->shared->page_shift;
}

static _Atomic uint32_t *changes_of(const struct file_checksums *checksums)
{
        return &checksums->shared->control->file[checksums->file_no].checksums_changed;
}

/* ---- Lines ---- */

static void begin_line(struct line *line, const struct file_checksums *checksums)
{
        const struct control *control = checksums->shared->control;
        line_add(line, "libxac: ");
        line_add(line, control->path);
        line_add(line, control->path[0] ? "/" : "");
        line_add(line, control->file[checksums->file_no].name);
        line_add(line, ": ");
}

/* The program may go on to touch any number of such pages. */
static void tell_of_rot(const struct file_checksums *checksums, uint64_t page_no)
{
        static _Atomic uint32_t told;
        struct line line = { .len = 0 };
        if (atomic_fetch_add(&told, 1) >= TOLD_MAX)
                return;
        begin_line(&line, checksums);
        line_add(&line, "offset ");
        line_add_number(&line, page_no << checksums->shared->page_shift);
        line_add(&line, ": the page is not what its checksum (" CHECKSUMS_NAME_PREFIX);
        line_add_number(&line, checksums->file_no);
        line_add(&line, ") says: damaged, or changed by somebody else; see xac check and xac repair");
        line_print(&line);
}

static void tell_of_loss(const struct file_checksums *checksums)
{
        struct line line = { .len = 0 };
        begin_line(&line, checksums);
        line_add(&line, "its checksums (" CHECKSUMS_NAME_PREFIX);
        line_add_number(&line, checksums->file_no);
        line_add(&line, ") are damaged, or another environment's; they are made anew as pages are written, and all of "
                        "them by xac scrub --sum");
        line_print(&line);
}

/* ---- Attach ---- */

/* 1: they were made. */
static int open_or_make(struct file_checksums *checksums, int directory, const struct file_checksums_found *found)
{
        const struct checksums_id id = id_of(checksums);
        struct checksums_note note;
        int err = checksums_open(directory, &id, O_RDWR, &checksums->fd, &note);
        if (err != -ENOENT && err != XAC_CORRUPT)
                return err;
        if (err == XAC_CORRUPT)
                tell_of_loss(checksums);
        /* Also of what is a hole: it may have been more when somebody lost the checksums. */
        err = checksums_make(directory, &id, pages_of(checksums, found->data_end), &checksums->fd);
        if (err)
                return err;
        atomic_fetch_or(changes_of(checksums), CHANGED);
        return 1;
}

static int map(struct file_checksums *checksums, uint64_t pages)
{
        const uint64_t unit = checksums->shared->page_bytes;
        void *memory;
        checksums->map_bytes = (checksums_offset(pages) + CHECKSUMS_SECTOR_BYTES + unit - 1) / unit * unit;
        if (sys_mmap(NULL, checksums->map_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, checksums->fd, 0, &memory))
                return -ENOMEM;
        atomic_store_explicit(&checksums->map, memory, memory_order_release);
        return 0;
}

int file_checksums_attach(struct file_checksums *checksums, struct shared *shared, int directory, uint32_t file_no,
                          const struct file_checksums_found *found)
{
        checksums->shared = shared;
        checksums->file_no = file_no;
        int made = open_or_make(checksums, directory, found);
        int err = 0;
        if (made < 0)
                return made;
        if (!found->size && !found->byte_len) {
                err = checksums_cut(checksums->fd, 0);
                made = 1;
        }
        if (!err)
                err = checksums_grow(checksums->fd, pages_of(checksums, found->byte_len));
        if (!err)
                err = map(checksums, pages_of(checksums, found->reserve_bytes));
        if (err)
                sys_close(checksums->fd);
        return err ? err : made;
}

int file_checksums_look(struct file_checksums *checksums, struct shared *shared, int directory, uint32_t file_no,
                        uint64_t reserve_bytes)
{
        checksums->shared = shared;
        checksums->file_no = file_no;
        const struct checksums_id id = id_of(checksums);
        struct checksums_note note;
        int err = checksums_open(directory, &id, O_RDONLY | O_NONBLOCK, &checksums->fd, &note);
        if (err) {
                checksums->fd = -1; /* nothing is known of its pages */
                return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
        }
        err = map(checksums, pages_of(checksums, reserve_bytes));
        if (err)
                sys_close(checksums->fd);
        return err;
}

void file_checksums_detach(struct file_checksums *checksums)
{
        if (!checksums->map)
                return;
        sys_munmap((void *)(uintptr_t)checksums->map, checksums->map_bytes);
        sys_close(checksums->fd);
        checksums->map = NULL;
}

/* M4 of seal.h. Its number stays: nobody has closed it. */
static int note_size(const struct file_checksums *checksums, enum checksums_state state, uint64_t byte_len)
{
        struct checksums_note note = { .is_lost = false };
        int err = checksums_get_note(checksums->fd, &note);
        if (err && err != XAC_CORRUPT)
                return err;
        note = (struct checksums_note){ .state = note.state == CHECKSUMS_VOLATILE ? CHECKSUMS_VOLATILE : state,
                                        .size = byte_len,
                                        .number = note.number };
        return checksums_put_note(checksums->fd, &note);
}

/* Bytes that a grower who died has left are a hole; others are somebody else's. */
int file_checksums_grow(struct file_checksums *checksums, int data_fd, uint64_t before, uint64_t others, uint64_t after)
{
        int err = checksums_grow(checksums->fd, pages_of(checksums, after));
        atomic_fetch_or(changes_of(checksums), CHANGED);
        if (!err && others > before && sys_is_hole_from(data_fd, before) != 1)
                err = checksums_write_unknown_data(checksums->fd, data_fd, checksums->shared->page_bytes,
                                                   pages_of(checksums, before),
                                                   pages_of(checksums, others) - pages_of(checksums, before));
        return err ? err : note_size(checksums, CHECKSUMS_OPEN, after);
}

int file_checksums_find(struct shared *shared, int directory, uint32_t file_no, uint64_t first, uint64_t *page_no)
{
        const struct file_checksums checksums = { .shared = shared, .file_no = file_no };
        const struct checksums_id id = id_of(&checksums);
        struct checksums_note note;
        int fd;
        int err = checksums_open(directory, &id, O_RDONLY, &fd, &note);
        *page_no = UINT64_MAX;
        if (err)
                return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
        err = checksums_find(fd, first, page_no);
        sys_close(fd);
        return err;
}

/* ---- Home is written ---- */

int file_checksums_begin(struct file_checksums *checksums)
{
        const struct file_entry *entry = &checksums->shared->control->file[checksums->file_no];
        if (atomic_load(changes_of(checksums)) & BEGUN)
                return 0;
        int err = shared_is_durable(checksums->shared)
                          ? 0
                          : note_size(checksums, CHECKSUMS_VOLATILE, atomic_load(&entry->byte_len));
        if (!err)
                atomic_fetch_or(changes_of(checksums), CHANGED | BEGUN);
        return err;
}

int file_checksums_put(struct file_checksums *checksums, uint64_t page_no, const uint32_t *values, uint32_t count)
{
        return checksums_write(checksums->fd, page_no, values, count);
}

int file_checksums_sync(struct file_checksums *checksums)
{
        return hook_has_bug(HOOK_BUG_CHECKSUMS_NOT_SYNCED) ? 0 : sys_sync_data(checksums->fd);
}

bool file_checksums_is_changed(const struct shared *shared, uint32_t file_no)
{
        return atomic_load(&shared->control->file[file_no].checksums_changed) != 0;
}

int file_checksums_note(struct file_checksums *checksums, int data_fd)
{
        struct checksums_note note;
        int err = checksums_note_of(data_fd, &note);
        if (!err)
                err = checksums_put_note(checksums->fd, &note);
        if (!err)
                atomic_store(changes_of(checksums), 0);
        return err;
}

/* ---- Verify ---- */

bool file_checksums_agree(const struct file_checksums *checksums, uint64_t page_no, const void *bytes)
{
        const unsigned char *map = atomic_load_explicit(&checksums->map, memory_order_acquire);
        const uint64_t at = checksums_offset(page_no);
        if (!map || at >= checksums->map_bytes)
                return true;
        const uint32_t expected = bytes_get_u32(map + at);
        return expected == CHECKSUMS_UNKNOWN || checksums_of(bytes, checksums->shared->page_bytes) == expected;
}

bool file_checksums_know(const struct file_checksums *checksums, uint64_t page_no)
{
        const unsigned char *map = atomic_load_explicit(&checksums->map, memory_order_acquire);
        const uint64_t at = checksums_offset(page_no);
        return !map || at >= checksums->map_bytes || bytes_get_u32(map + at) != CHECKSUMS_UNKNOWN;
}

int file_checksums_verify(const struct file_checksums *checksums, uint64_t page_no, const void *bytes)
{
        uint32_t expected;
        if (!file_checksums_are_there(checksums))
                return 0;
        int err = checksums_read(checksums->fd, page_no, &expected, 1, NULL);
        if (err || expected == CHECKSUMS_UNKNOWN || expected == checksums_of(bytes, checksums->shared->page_bytes))
                return err;
        tell_of_rot(checksums, page_no);
        return XAC_CORRUPT;
}

bool file_checksums_replace_lost(struct file_checksums *checksums, const char *addr)
{
        const uint64_t unit = checksums->shared ? checksums->shared->page_bytes : 1;
        const char *map = (const char *)atomic_load(&checksums->map);
        void *same;
        if (!map || addr < map || addr >= map + checksums->map_bytes)
                return false;
        return !sys_mmap((char *)(uintptr_t)map + (uint64_t)(addr - map) / unit * unit, unit, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, &same);
}
