/* SPDX-License-Identifier: MIT */
#include "libxac/store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <xac/xac.h>

#include "base/hook.h"
#include "base/sys.h"
#include "libxac/ground/line.h"
#include "libxac/store/at_rest.h"
#include "libxac/store/window.h"
#include "recovery/data_name.h"
#include "recovery/seal.h"

enum { HOLE_STEP = 64 << 10 /* so exactly is it asked where a file's data ends */ };

void files_init(struct files *files, struct shared *shared, int directory, uint64_t reserve_bytes, uint64_t address)
{
        memset(files, 0, sizeof(*files));
        files->shared = shared;
        files->directory = directory;
        files->reserve_bytes = reserve_bytes;
        files->address = address;
        for (uint32_t i = 0; i < FILES_MAX; i++)
                files->file[i].fd = -1;
}

void files_only_read(struct files *files, struct at_rest *at_rest)
{
        files->is_read_only = true;
        files->at_rest = at_rest;
        atomic_store(&files->wants_look, true);
}

int files_check_rest(const struct files *files)
{
        return files->at_rest ? at_rest_check(files->at_rest) : 0;
}

void files_load_entries(struct shared *shared, const struct manifest *manifest)
{
        for (uint32_t i = 0; i < manifest->file_count; i++) {
                memcpy(shared->control->file[i].name, manifest->file_name[i], MANIFEST_NAME_BYTES);
                atomic_store(&shared->control->file[i].place_first, manifest->file_place[i].first);
                atomic_store(&shared->control->file[i].place_units, manifest->file_place[i].units);
        }
        atomic_store(&shared->control->file_count, manifest->file_count);
}

static int check_name(const char *name)
{
        if (!name || !data_name_makes_sense(name))
                return -EINVAL;
        return strlen(name) < MANIFEST_NAME_BYTES ? 0 : -ENAMETOOLONG;
}

static uint64_t round_up(uint64_t byte_len, uint64_t unit)
{
        return (byte_len + unit - 1) / unit * unit;
}

static bool find_name(const struct control *control, const char *name, uint32_t *file_no)
{
        uint32_t count = atomic_load(&control->file_count);
        for (*file_no = 0; *file_no < count; ++*file_no)
                if (!strcmp(control->file[*file_no].name, name))
                        return true;
        return false;
}

static int write_name_locked(struct files *files, struct manifest *manifest, const char *name, uint64_t byte_len)
{
        shlock_assert_held(&files->shared->control->file_lock);
        if (manifest->file_count == FILES_MAX)
                return XAC_LIMIT;
        struct manifest_place place = window_choose(manifest, byte_len, files->address);
        char *entry = manifest->file_name[manifest->file_count];
        memset(entry, 0, MANIFEST_NAME_BYTES);
        strcpy(entry, name);
        seal_begin_file(manifest, manifest->file_count);
        manifest->file_place[manifest->file_count++] = place;
        return shared_write_manifest_locked(files->shared, files->directory, manifest);
}

/* The file's checksums are to change, or have changed, in a way that the manifest does not follow (seal.h). */
static int break_seal_locked(struct files *files, uint32_t file_no)
{
        shlock_assert_held(&files->shared->control->file_lock);
        struct manifest manifest;
        int err = manifest_read(files->directory, &manifest);
        if (err || !seal_is_there(&manifest, file_no))
                return err;
        err = manifest_read_settled(files->directory, &manifest);
        if (err)
                return err;
        seal_break(&manifest, file_no);
        return shared_write_manifest_locked(files->shared, files->directory, &manifest);
}

int files_break_seal(struct files *files, uint32_t file_no)
{
        shared_lock_as_process(files->shared, &files->shared->control->file_lock);
        int err = break_seal_locked(files, file_no);
        shared_unlock_as_process(files->shared, &files->shared->control->file_lock);
        return err;
}

/* Commits will rely on it: a sync that failed may have lost what it was to save, and the next one would not tell. */
static int sync_or_poison(struct files *files, int fd)
{
        int err = sys_sync(fd);
        if (err && shared_is_durable(files->shared))
                log_set_poison(&files->shared->log, err);
        return err;
}

/* The name goes into the manifest first, so that its number is the same ever after; there may be
 * names already that a failed or killed writer left. */
static int add_name_locked(struct files *files, const char *name, uint64_t byte_len, uint32_t *file_no)
{
        shlock_assert_held(&files->shared->control->file_lock);
        struct control *control = files->shared->control;
        struct manifest manifest;
        /* Settled: commits may refer to a name from here on. */
        int err = manifest_read_settled(files->directory, &manifest);
        if (err)
                return err;
        files_load_entries(files->shared, &manifest);
        if (find_name(control, name, file_no))
                return 0;
        err = write_name_locked(files, &manifest, name, byte_len);
        hook_step(HOOK_NAME_WRITTEN);
        if (err)
                return err;
        files_load_entries(files->shared, &manifest);
        *file_no = manifest.file_count - 1;
        return 0;
}

/* A file that was made before files had places, or when there was no room for it, gets its place now. One that may
 * become longer than its place gets a longer one, if there is room. */
static int settle_place_locked(struct files *files, uint32_t file_no, uint64_t byte_len)
{
        shlock_assert_held(&files->shared->control->file_lock);
        struct manifest manifest;
        struct manifest_place *place = &manifest.file_place[file_no];
        int err = manifest_read_settled(files->directory, &manifest);
        if (err)
                return err;
        const uint32_t units = place->units;
        *place = units ? window_extend(&manifest, file_no, byte_len)
                       : window_choose(&manifest, byte_len, files->address);
        if (place->units != units)
                err = shared_write_manifest_locked(files->shared, files->directory, &manifest);
        if (!err)
                files_load_entries(files->shared, &manifest);
        return err;
}

/* A file that does not exist is created, durably, if it is to have a length, and had none (`known_len`). */
static int open_file(struct files *files, const char *name, uint64_t byte_len, uint64_t known_len, int *fd,
                     uint64_t *size)
{
        int err = sys_open(files->directory, name, files->at_rest ? O_RDONLY | O_NONBLOCK : O_RDWR, 0, fd);
        if (err == -ENOENT && byte_len && !known_len && !files->is_read_only) {
                err = sys_open(files->directory, name, O_RDWR | O_CREAT | O_EXCL, 0600, fd);
                hook_step(HOOK_FILE_CREATED);
                if (!err)
                        err = sys_chmod(*fd, (mode_t)files->shared->control->mode);
                if (!err)
                        err = sync_or_poison(files, files->directory);
        }
        struct stat st;
        if (err == -EISDIR || err == -ELOOP) /* no plain file; links are not followed */
                err = -EINVAL;
        if (!err)
                err = sys_stat(*fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = -EINVAL;
        if (!err)
                *size = (uint64_t)st.st_size;
        return err;
}

static uint64_t longest(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static int grow_locked(struct files *files, uint32_t file_no, uint64_t byte_len)
{
        shlock_assert_held(&files->shared->control->file_lock);
        struct file_entry *entry = &files->shared->control->file[file_no];
        struct data_file *file = &files->file[file_no];
        if (byte_len > file->reserve_bytes)
                return -ENOMEM;
        struct stat st;
        int err = files_check_cut(files, file_no, byte_len);
        if (!err)
                err = sys_stat(file->fd, &st);
        if (!err && (uint64_t)st.st_size > files_byte_len(files, file_no)) /* somebody else's bytes, perhaps */
                atomic_store_explicit(&entry->found_len, byte_len, memory_order_release);
        if (!err && (uint64_t)st.st_size < byte_len)
                err = sys_truncate(file->fd, byte_len);
        if (!err)
                err = sync_or_poison(files, file->fd);
        if (!err && (uint64_t)st.st_size > files_byte_len(files, file_no))
                err = break_seal_locked(files, file_no);
        if (!err)
                err = file_checksums_grow(&file->checksums, file->fd, files_byte_len(files, file_no),
                                          (uint64_t)st.st_size, byte_len);
        hook_step(HOOK_FILE_GROWN);
        if (!err)
                atomic_store_explicit(&entry->byte_len, byte_len, memory_order_release);
        return err;
}

/* A file becomes long before its pages are written: where the hole begins in which it ends, or its end. To be asked
 * after a sync, when nobody writes: no file system then takes for a hole what it has yet to write. One that knows no
 * holes, or a call that fails, says that all is data. */
static uint64_t find_data_end(int fd, uint64_t byte_len)
{
        uint64_t first = 0;                                    /* in steps: it begins there or behind it, */
        uint64_t end = (byte_len + HOLE_STEP - 1) / HOLE_STEP; /* and no later than here */
        while (first < end) {
                uint64_t middle = first + (end - first) / 2;
                if (sys_is_hole_from(fd, middle * HOLE_STEP) == 1)
                        end = middle;
                else
                        first = middle + 1;
        }
        return end * HOLE_STEP < byte_len ? end * HOLE_STEP : byte_len;
}

/* The first opener of the environment learns the length from the file itself. Whoever made it so long may have died
 * before that was on disk. Later ones believe the entry: what is beyond it a grower has left who died, and the next one
 * grows into it. */
static int learn_length(struct files *files, uint32_t file_no, int fd, uint64_t size, uint64_t *byte_len)
{
        *byte_len = files_byte_len(files, file_no);
        if (*byte_len || !size)
                return 0;
        *byte_len = round_up(size, files->shared->page_bytes);
        return files->at_rest ? 0 : sync_or_poison(files, fd);
}

/* When it has checksums as far as that: from now on others may read it. */
static void publish_length(struct files *files, uint32_t file_no, int fd, uint64_t byte_len)
{
        struct file_entry *entry = &files->shared->control->file[file_no];
        if (byte_len <= files_byte_len(files, file_no))
                return;
        atomic_store_explicit(&entry->found_len, find_data_end(fd, byte_len), memory_order_release);
        atomic_store_explicit(&entry->byte_len, byte_len, memory_order_release);
}

/* Other threads of this process take a file that has a home for attached, with its length. */
static int map_home(struct files *files, uint32_t file_no, int fd, uint64_t byte_len, uint64_t reserve)
{
        struct data_file *file = &files->file[file_no];
        void *home;
        int err = sys_mmap(NULL, reserve, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0, &home);
        if (err) {
                file_checksums_detach(&file->checksums);
                return -ENOMEM;
        }
        read_ahead_mapped(files, home, reserve);
        publish_length(files, file_no, fd, byte_len);
        file->fd = fd;
        file->reserve_bytes = reserve;
        atomic_store_explicit(&file->home, home, memory_order_release);
        read_ahead_judge(files);
        return 0;
}

static int attach_checksums_locked(struct files *files, uint32_t file_no, int fd, uint64_t size, uint64_t byte_len,
                                   uint64_t reserve)
{
        shlock_assert_held(&files->shared->control->file_lock);
        const struct file_checksums_found found = {
                .size = size, .data_end = find_data_end(fd, size), .byte_len = byte_len, .reserve_bytes = reserve
        };
        int err = file_checksums_attach(&files->file[file_no].checksums, files->shared, files->directory, file_no,
                                        &found);
        if (err != 1)
                return err;
        err = size ? break_seal_locked(files, file_no) : 0; /* of a file that is new, it is that of no checksums */
        if (err)
                file_checksums_detach(&files->file[file_no].checksums);
        return err;
}

/* Without a change to manifest or checksums. A view lies where its file's place is, and is no longer than that. */
static int attach_at_rest_locked(struct files *files, uint32_t file_no, int fd, uint64_t size, uint64_t reserve)
{
        struct data_file *file = &files->file[file_no];
        const uint64_t room = window_place_bytes(files_place(files, file_no));
        uint64_t byte_len;
        int err =
                shared_map_heads(files->shared, file_no) ? learn_length(files, file_no, fd, size, &byte_len) : -ENOMEM;
        if (room && room < reserve)
                reserve = longest(room, round_up(size, files->shared->page_bytes));
        if (!err)
                err = file_checksums_look(&file->checksums, files->shared, files->directory, file_no, reserve);
        return err ? err : map_home(files, file_no, fd, byte_len, reserve);
}

static int attach_locked(struct files *files, uint32_t file_no, int fd, uint64_t size, uint64_t reserve)
{
        if (!shared_map_heads(files->shared, file_no))
                return -ENOMEM;
        uint64_t byte_len;
        int err = learn_length(files, file_no, fd, size, &byte_len);
        if (!err && window_place_bytes(files_place(files, file_no)) < reserve)
                err = settle_place_locked(files, file_no, reserve);
        if (!err)
                err = attach_checksums_locked(files, file_no, fd, size, byte_len, reserve);
        return err ? err : map_home(files, file_no, fd, byte_len, reserve);
}

static void tell_of_removal(const struct files *files, const char *name)
{
        struct line line = { .len = 0 };
        line_add(&line, "libxac: ");
        line_add(&line, files->shared->control->path);
        line_add(&line, "/");
        line_add(&line, name);
        line_add(&line, ": it is missing, and the environment is in use, or its processes were killed: somebody has "
                        "removed it; xac repair may take it from a backup");
        line_print(&line);
}

/* Opens a file that this process has not open; *file_no is its number, or to be found. */
static int open_new_locked(struct files *files, const char *name, uint64_t byte_len, uint32_t *file_no)
{
        shlock_assert_held(&files->shared->control->file_lock);
        int fd = -1;
        uint64_t size = 0;
        struct control *control = files->shared->control;
        bool is_known = find_name(control, name, file_no);
        if (!is_known && *file_no == FILES_MAX)
                return XAC_LIMIT; /* before a file is created for nothing */
        const uint64_t known_len = is_known ? files_byte_len(files, *file_no) : 0;
        if (!is_known && files->is_read_only)
                return -ENOENT;
        int err = open_file(files, name, byte_len, known_len, &fd, &size);
        if (err == -ENOENT && byte_len && known_len && !files->at_rest) {
                tell_of_removal(files, name);
                return XAC_CORRUPT;
        }
        if (!err && !byte_len && !size && !known_len)
                err = -EINVAL;
        if (!err && round_up(size, files->shared->page_bytes) >> files->shared->page_shift > FILE_PAGES_MAX)
                err = -EINVAL;
        const uint64_t reserve = longest(longest(byte_len, size), files->reserve_bytes);
        /* Whoever made the file may have died before its name in the directory was on disk. */
        if (!err && !is_known)
                err = sync_or_poison(files, files->directory);
        if (!err && !is_known)
                err = add_name_locked(files, name, reserve, file_no);
        if (!err)
                err = (files->at_rest ? attach_at_rest_locked : attach_locked)(files, *file_no, fd, size, reserve);
        if (err && fd >= 0)
                sys_close(fd);
        return err;
}

static bool is_beyond_place(const struct files *files, uint32_t file_no, uint64_t byte_len)
{
        uint64_t room = window_place_bytes(files_place(files, file_no));
        return room && longest(byte_len, files_byte_len(files, file_no)) > room;
}

static int open_or_grow(struct files *files, const char *name, uint64_t byte_len, bool in_place, uint32_t *file_no)
{
        struct control *control = files->shared->control;
        int err = check_name(name);
        if (err)
                return err;
        if (byte_len > FILE_PAGES_MAX << files->shared->page_shift)
                return -EINVAL;
        byte_len = round_up(byte_len, files->shared->page_bytes);

        /* A dead owner may have left a name that is in the manifest only, which add_name_locked
         * finds, or a file that is longer than its entry says, as if it had died earlier. */
        shared_lock_as_process(files->shared, &control->file_lock);
        if (!find_name(control, name, file_no) || !files->file[*file_no].home)
                err = open_new_locked(files, name, byte_len, file_no);
        if (!err && in_place && is_beyond_place(files, *file_no, byte_len))
                err = -ENOMEM;
        if (!err && byte_len > files_byte_len(files, *file_no))
                err = files->is_read_only ? -EROFS : grow_locked(files, *file_no, byte_len);
        shared_unlock_as_process(files->shared, &control->file_lock);
        return err;
}

int files_open(struct files *files, const char *name, uint64_t byte_len, uint32_t *file_no)
{
        return open_or_grow(files, name, byte_len, false, file_no);
}

int files_open_in_place(struct files *files, const char *name, uint64_t byte_len, uint32_t *file_no)
{
        return open_or_grow(files, name, byte_len, true, file_no);
}

int files_attach(struct files *files, uint32_t file_no)
{
        if (atomic_load_explicit(&files->file[file_no].home, memory_order_acquire))
                return 0;
        uint32_t same_no;
        return files_open(files, files->shared->control->file[file_no].name, 0, &same_no);
}

int files_check_cut(struct files *files, uint32_t file_no, uint64_t end)
{
        struct stat st;
        int err = sys_stat(files->file[file_no].fd, &st);
        if (err)
                return err;
        uint64_t left = round_up((uint64_t)st.st_size, files->shared->page_bytes);
        return left < files_byte_len(files, file_no) && end > left ? XAC_CORRUPT : 0;
}

int files_verify_home(struct files *files, uint64_t page, const void *bytes)
{
        const struct file_checksums *checksums = &files->file[page_id_file(page)].checksums;
        if (file_checksums_agree(checksums, page_id_no(page), bytes))
                return 0;
        if (atomic_load(&files->is_patched)) /* it could not be read: whoever reads it is doomed for that */
                return 0;
        return file_checksums_verify(checksums, page_id_no(page), bytes);
}

/* Somebody has cut it meanwhile. What was cut off is zeros, whose checksums tell where it was something else. */
static int lengthen(struct files *files, uint32_t file_no)
{
        const int fd = files->file[file_no].fd;
        const uint64_t byte_len = files_byte_len(files, file_no);
        struct stat st;
        int err = sys_stat(fd, &st);
        if (err || round_up((uint64_t)st.st_size, files->shared->page_bytes) >= byte_len)
                return err;
        err = sys_truncate(fd, byte_len);
        return err ? err : sys_sync(fd);
}

int files_note_closed(struct files *files)
{
        const uint32_t count = atomic_load(&files->shared->control->file_count);
        int noted = 0;
        for (uint32_t i = 0; i < count; i++) {
                if (!file_checksums_is_changed(files->shared, i))
                        continue;
                int err = files_attach(files, i);
                if (err == -ENOENT || err == -EINVAL)
                        continue; /* somebody has removed it, or it never became a file of ours */
                if (!err)
                        err = lengthen(files, i);
                if (!err)
                        err = file_checksums_note(&files->file[i].checksums, files->file[i].fd);
                if (err)
                        return err;
                noted++;
        }
        return noted;
}

int files_why_lost(const struct files *files, uint32_t file_no, uint64_t offset)
{
        struct stat st;
        bool is_in_memory;
        int fd = files->file[file_no].fd;
        if (sys_stat(fd, &st) || offset >= (uint64_t)st.st_size)
                return XAC_CORRUPT;
        return !sys_is_in_memory(fd, &is_in_memory) && is_in_memory ? -ENOSPC : -EIO;
}

int files_replace_lost_page(struct files *files, const char *addr)
{
        const uint64_t page_bytes = files->shared->page_bytes;
        for (uint32_t i = 0; i < FILES_MAX; i++) {
                struct data_file *file = &files->file[i];
                char *home = atomic_load(&file->home);
                if (file_checksums_replace_lost(&file->checksums, addr))
                        return XAC_CORRUPT;
                if (!home || addr < home || addr >= home + file->reserve_bytes)
                        continue;
                void *same;
                uint64_t offset = (uint64_t)(addr - home) / page_bytes * page_bytes;
                if (sys_mmap(home + offset, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0,
                             &same))
                        return 0;
                int reason = files_why_lost(files, i, offset);
                atomic_store(&files->patch_reason, reason);
                atomic_fetch_add(&files->patches, 1);
                atomic_store(&files->is_patched, true);
                atomic_store(&files->wants_look, true);
                return reason;
        }
        return 0;
}

/* The next begin tries again. */
static void patch_again(struct files *files)
{
        atomic_store(&files->is_patched, true);
        atomic_store(&files->wants_look, true);
}

/* Mapping over what is there leaves no moment without a mapping to other threads. */
void files_heal(struct files *files)
{
        atomic_store(&files->is_patched, false);
        atomic_store(&files->wants_look, files->is_read_only);
        for (uint32_t i = 0; i < FILES_MAX; i++) {
                struct data_file *file = &files->file[i];
                void *same;
                if (!file->home)
                        continue;
                if (sys_mmap(file->home, file->reserve_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                             file->fd, 0, &same))
                        patch_again(files);
                read_ahead_mapped(files, file->home, file->reserve_bytes);
        }
}

void files_close_all(struct files *files)
{
        for (uint32_t i = 0; i < FILES_MAX; i++) {
                struct data_file *file = &files->file[i];
                if (!file->home)
                        continue;
                file_checksums_detach(&file->checksums);
                sys_munmap(file->home, file->reserve_bytes);
                sys_close(file->fd);
                file->home = NULL;
        }
}

int files_find_cut(struct files *files, uint32_t file_no, uint64_t pages, uint64_t *page_no)
{
        int err = file_checksums_find(files->shared, files->directory, file_no, pages, page_no);
        if (!err && *page_no < files_byte_len(files, file_no) >> files->shared->page_shift)
                *page_no = UINT64_MAX; /* it has grown since */
        return err;
}
