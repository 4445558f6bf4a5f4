/* SPDX-License-Identifier: MIT */
#include "libxac/store/file_sums.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <xac/xac.h>

#include "base/hook.h"
#include "base/sys.h"
#include "libxac/ground/line.h"
#include "recovery/bytes.h"
#include "recovery/sums.h"

enum {
        CHANGED = 1, /* size or time of the data file are not those of its header */
        BEGUN = 2,   /* and the header says so, where it has to */
        TOLD_MAX = 16
};

static struct sums_id id_of(const struct file_sums *sums)
{
        const struct control *control = sums->shared->control;
        struct sums_id id = { .file_no = sums->file_no, .page_bytes = control->page_bytes, .mode = control->mode };
        memcpy(id.uuid, control->uuid, sizeof(id.uuid));
        return id;
}

static uint64_t pages_of(const struct file_sums *sums, uint64_t byte_len)
{
        return (byte_len + sums->shared->page_bytes - 1) >> sums->shared->page_shift;
}

static _Atomic uint32_t *changes_of(const struct file_sums *sums)
{
        return &sums->shared->control->file[sums->file_no].sums_changed;
}

/* ---- Lines ---- */

static void begin_line(struct line *line, const struct file_sums *sums)
{
        const struct control *control = sums->shared->control;
        line_add(line, "libxac: ");
        line_add(line, control->path);
        line_add(line, control->path[0] ? "/" : "");
        line_add(line, control->file[sums->file_no].name);
        line_add(line, ": ");
}

/* The program may go on to touch any number of such pages. */
static void tell_of_rot(const struct file_sums *sums, uint64_t page_no)
{
        static _Atomic uint32_t told;
        struct line line = { .len = 0 };
        if (atomic_fetch_add(&told, 1) >= TOLD_MAX)
                return;
        begin_line(&line, sums);
        line_add(&line, "offset ");
        line_add_number(&line, page_no << sums->shared->page_shift);
        line_add(&line, ": the page is not what its checksum (" SUMS_NAME_PREFIX);
        line_add_number(&line, sums->file_no);
        line_add(&line, ") says: damaged, or changed by somebody else; see xac check and xac repair");
        line_print(&line);
}

static void tell_of_loss(const struct file_sums *sums)
{
        struct line line = { .len = 0 };
        begin_line(&line, sums);
        line_add(&line, "its checksums (" SUMS_NAME_PREFIX);
        line_add_number(&line, sums->file_no);
        line_add(&line, ") are damaged, or another environment's; they are made anew as pages are written, and all of "
                        "them by xac scrub --sum");
        line_print(&line);
}

/* ---- Attach ---- */

/* 1: they were made. */
static int open_or_make(struct file_sums *sums, int directory, const struct file_sums_found *found)
{
        const struct sums_id id = id_of(sums);
        struct sums_note note;
        int err = sums_open(directory, &id, O_RDWR, &sums->fd, &note);
        if (err != -ENOENT && err != XAC_CORRUPT)
                return err;
        if (err == XAC_CORRUPT)
                tell_of_loss(sums);
        /* Also of what is a hole: it may have been more when somebody lost the checksums. */
        err = sums_make(directory, &id, pages_of(sums, found->data_end), &sums->fd);
        if (err)
                return err;
        atomic_fetch_or(changes_of(sums), CHANGED);
        return 1;
}

static int map(struct file_sums *sums, uint64_t pages)
{
        const uint64_t unit = sums->shared->page_bytes;
        void *memory;
        sums->map_bytes = (sums_offset(pages) + SUMS_SECTOR_BYTES + unit - 1) / unit * unit;
        if (sys_mmap(NULL, sums->map_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, sums->fd, 0, &memory))
                return -ENOMEM;
        atomic_store_explicit(&sums->map, memory, memory_order_release);
        return 0;
}

int file_sums_attach(struct file_sums *sums, struct shared *shared, int directory, uint32_t file_no,
                     const struct file_sums_found *found)
{
        sums->shared = shared;
        sums->file_no = file_no;
        int made = open_or_make(sums, directory, found);
        int err = 0;
        if (made < 0)
                return made;
        if (!found->size && !found->byte_len) {
                err = sums_cut(sums->fd, 0);
                made = 1;
        }
        if (!err)
                err = sums_grow(sums->fd, pages_of(sums, found->byte_len));
        if (!err)
                err = map(sums, pages_of(sums, found->reserve_bytes));
        if (err)
                sys_close(sums->fd);
        return err ? err : made;
}

int file_sums_look(struct file_sums *sums, struct shared *shared, int directory, uint32_t file_no,
                   uint64_t reserve_bytes)
{
        sums->shared = shared;
        sums->file_no = file_no;
        const struct sums_id id = id_of(sums);
        struct sums_note note;
        int err = sums_open(directory, &id, O_RDONLY | O_NONBLOCK, &sums->fd, &note);
        if (err) {
                sums->fd = -1; /* nothing is known of its pages */
                return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
        }
        err = map(sums, pages_of(sums, reserve_bytes));
        if (err)
                sys_close(sums->fd);
        return err;
}

void file_sums_detach(struct file_sums *sums)
{
        if (!sums->map)
                return;
        sys_munmap((void *)(uintptr_t)sums->map, sums->map_bytes);
        sys_close(sums->fd);
        sums->map = NULL;
}

/* M4 of seal.h. Its number stays: nobody has closed it. */
static int note_size(const struct file_sums *sums, enum sums_state state, uint64_t byte_len)
{
        struct sums_note note = { .is_lost = false };
        int err = sums_get_note(sums->fd, &note);
        if (err && err != XAC_CORRUPT)
                return err;
        note = (struct sums_note){ .state = note.state == SUMS_VOLATILE ? SUMS_VOLATILE : state,
                                   .size = byte_len,
                                   .number = note.number };
        return sums_put_note(sums->fd, &note);
}

/* Bytes that a grower who died has left are a hole; others are somebody else's. */
int file_sums_grow(struct file_sums *sums, int data_fd, uint64_t before, uint64_t others, uint64_t after)
{
        int err = sums_grow(sums->fd, pages_of(sums, after));
        atomic_fetch_or(changes_of(sums), CHANGED);
        if (!err && others > before && sys_is_hole_from(data_fd, before) != 1)
                err = sums_write_unknown_data(sums->fd, data_fd, sums->shared->page_bytes, pages_of(sums, before),
                                              pages_of(sums, others) - pages_of(sums, before));
        return err ? err : note_size(sums, SUMS_OPEN, after);
}

int file_sums_find(struct shared *shared, int directory, uint32_t file_no, uint64_t first, uint64_t *page_no)
{
        const struct file_sums sums = { .shared = shared, .file_no = file_no };
        const struct sums_id id = id_of(&sums);
        struct sums_note note;
        int fd;
        int err = sums_open(directory, &id, O_RDONLY, &fd, &note);
        *page_no = UINT64_MAX;
        if (err)
                return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
        err = sums_find(fd, first, page_no);
        sys_close(fd);
        return err;
}

/* ---- Home is written ---- */

int file_sums_begin(struct file_sums *sums)
{
        const struct file_entry *entry = &sums->shared->control->file[sums->file_no];
        if (atomic_load(changes_of(sums)) & BEGUN)
                return 0;
        int err = shared_is_durable(sums->shared) ? 0 : note_size(sums, SUMS_VOLATILE, atomic_load(&entry->byte_len));
        if (!err)
                atomic_fetch_or(changes_of(sums), CHANGED | BEGUN);
        return err;
}

int file_sums_put(struct file_sums *sums, uint64_t page_no, const uint32_t *values, uint32_t count)
{
        return sums_write(sums->fd, page_no, values, count);
}

int file_sums_sync(struct file_sums *sums)
{
        return hook_has_bug(HOOK_BUG_SUMS_NOT_SYNCED) ? 0 : sys_sync_data(sums->fd);
}

bool file_sums_is_changed(const struct shared *shared, uint32_t file_no)
{
        return atomic_load(&shared->control->file[file_no].sums_changed) != 0;
}

int file_sums_note(struct file_sums *sums, int data_fd)
{
        struct sums_note note;
        int err = sums_note_of(data_fd, &note);
        if (!err)
                err = sums_put_note(sums->fd, &note);
        if (!err)
                atomic_store(changes_of(sums), 0);
        return err;
}

/* ---- Verify ---- */

bool file_sums_agree(const struct file_sums *sums, uint64_t page_no, const void *bytes)
{
        const unsigned char *map = atomic_load_explicit(&sums->map, memory_order_acquire);
        const uint64_t at = sums_offset(page_no);
        if (!map || at >= sums->map_bytes)
                return true;
        const uint32_t expected = bytes_get_u32(map + at);
        return expected == SUMS_UNKNOWN || sums_of(bytes, sums->shared->page_bytes) == expected;
}

bool file_sums_know(const struct file_sums *sums, uint64_t page_no)
{
        const unsigned char *map = atomic_load_explicit(&sums->map, memory_order_acquire);
        const uint64_t at = sums_offset(page_no);
        return !map || at >= sums->map_bytes || bytes_get_u32(map + at) != SUMS_UNKNOWN;
}

int file_sums_verify(const struct file_sums *sums, uint64_t page_no, const void *bytes)
{
        uint32_t expected;
        if (!file_sums_are_there(sums))
                return 0;
        int err = sums_read(sums->fd, page_no, &expected, 1, NULL);
        if (err || expected == SUMS_UNKNOWN || expected == sums_of(bytes, sums->shared->page_bytes))
                return err;
        tell_of_rot(sums, page_no);
        return XAC_CORRUPT;
}

bool file_sums_replace_lost(struct file_sums *sums, const char *addr)
{
        const uint64_t unit = sums->shared ? sums->shared->page_bytes : 1;
        const char *map = (const char *)atomic_load(&sums->map);
        void *same;
        if (!map || addr < map || addr >= map + sums->map_bytes)
                return false;
        return !sys_mmap((char *)(uintptr_t)map + (uint64_t)(addr - map) / unit * unit, unit, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, &same);
}
