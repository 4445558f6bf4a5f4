/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_FILES_H
#define LIBXAC_STORE_FILES_H

/*
 * The data files of an environment, as this process has them open: one descriptor each, and one
 * read-only mapping of the whole reservation, through which home versions are read. Files are
 * only ever written by pwrite.
 *
 * Beside each stand the checksums of its pages (file_checksums.h).
 *
 * Names and lengths are shared (control->file); they are changed under the file lock. Creation
 * and growth are durable when they return.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/ground/shared.h"
#include "libxac/store/file_checksums.h"
#include "libxac/store/read_ahead.h"

struct chunks;
struct at_rest;
struct home_writer;

struct data_file {
        _Atomic(char *) home; /* NULL until this process has it open */
        int fd;
        uint64_t reserve_bytes;
        struct file_checksums checksums;
};

struct files {
        struct shared *shared;
        int directory;
        uint64_t reserve_bytes; /* for each, at least, as the opener wants it */
        uint64_t address;       /* where files that it creates are to lie; 0: anywhere in the window */
        int (*checkpoint)(const struct home_writer *writer); /* checkpoint_run(), for those below it (home.h) */
        struct chunks *chunks;    /* memory for readers' copies (regions.h); NULL: there is none */
        _Atomic uint32_t patches; /* pages of home that were lost, and were replaced by zeros, so far */
        _Atomic bool is_patched;  /* some still are */
        _Atomic int patch_reason; /* of the latest */
        _Atomic bool wants_look;  /* each transaction looks when it begins: one of the others here is set */
        bool is_read_only;        /* opened with XAC_RDONLY: no file is made, none grows, no transaction writes */
        struct read_ahead read_ahead;
        struct at_rest *at_rest; /* nothing is written at all (at_rest.h); NULL: it is in use */
        struct data_file file[FILES_MAX];
};

void files_init(struct files *files, struct shared *shared, int directory, uint64_t reserve_bytes, uint64_t address);
/* From here on they are only read. */
void files_only_read(struct files *files, struct at_rest *at_rest);
/* Of an environment at rest: -ESTALE, if it is no longer, and what stands in the way of looking. 0 of any other. */
int files_check_rest(const struct files *files);
/* Takes the names and places of the manifest, for new shared memory. */
void files_load_entries(struct shared *shared, const struct manifest *manifest);

/* Opens, creates or grows. byte_len 0: as long as it is. -EINVAL, -ENAMETOOLONG, -ENOENT,
 * -ENOMEM, -ENOSPC, -EACCES, XAC_LIMIT and what the file system says. */
int files_open(struct files *files, const char *name, uint64_t byte_len, uint32_t *file_no);
/* The same, but it does not grow beyond its place: -ENOMEM. */
int files_open_in_place(struct files *files, const char *name, uint64_t byte_len, uint32_t *file_no);
/* Opens file number file_no if this process has not yet. */
int files_attach(struct files *files, uint32_t file_no);
void files_close_all(struct files *files);
/* Before checksums change outside of a checkpoint, and before the next one: the caller holds the checkpoint lock. */
int files_break_seal(struct files *files, uint32_t file_no);
/* XAC_CORRUPT: somebody else has cut the file, and writing up to `end` would make a hole of what was lost. */
int files_check_cut(struct files *files, uint32_t file_no, uint64_t end);

/* Is this what home is to have, of which it is a copy (R29)? 0, or XAC_CORRUPT and a line that says where. The caller's
 * snapshot sees the page at home. Async-signal-safe. */
int files_verify_home(struct files *files, uint64_t page, const void *bytes);
/* For the last one to leave, when everything is home (file_checksums_note). Returns how many files were noted. */
int files_note_closed(struct files *files);

/* Home could not be read there. Why: XAC_CORRUPT (the file was cut), -ENOSPC (a hole on a full tmpfs),
 * -EIO. Async-signal-safe. */
int files_why_lost(const struct files *files, uint32_t file_no, uint64_t offset);
/* The address is in a home mapping, and could not be read: zeros stand there until files_heal, and
 * every transaction that was open meanwhile must not commit. 0 if it is in none, else why.
 * Async-signal-safe. */
int files_replace_lost_page(struct files *files, const char *addr);
/* Maps home anew where it was patched; what still cannot be read will fault again. */
void files_heal(struct files *files);

/* Where its first view lies (window.h); units 0: nowhere. */
static inline struct manifest_place files_place(const struct files *files, uint32_t file_no)
{
        const struct file_entry *entry = &files->shared->control->file[file_no];
        uint32_t units = atomic_load(&entry->place_units); /* stored last */
        return (struct manifest_place){ atomic_load(&entry->place_first), units };
}

static inline uint64_t files_byte_len(const struct files *files, uint32_t file_no)
{
        return atomic_load_explicit(&files->shared->control->file[file_no].byte_len, memory_order_acquire);
}

/* Somebody has cut a file that had `pages` pages when it was looked at, or before: the first page behind them that has
 * a checksum. UINT64_MAX: nobody has. */
int files_find_cut(struct files *files, uint32_t file_no, uint64_t pages, uint64_t *page_no);

/* The file is open here. */
static inline char *files_home_bytes(const struct files *files, uint64_t page)
{
        char *home = atomic_load_explicit(&files->file[page_id_file(page)].home, memory_order_relaxed);
        return home + (page_id_no(page) << files->shared->page_shift);
}

static inline bool files_read_singly(const struct files *files)
{
        return __builtin_expect(atomic_load_explicit(&files->read_ahead.is_single, memory_order_relaxed), 0);
}

/* The content of a version: a slot's, or home's, which is about to be touched. The file is open here. */
static inline char *files_version_bytes(const struct files *files, uint64_t page, uint32_t slot)
{
        if (slot != SLOT_HOME)
                return shared_slot_bytes(files->shared, slot);
        if (files_read_singly(files))
                read_ahead_follow(files, page);
        return files_home_bytes(files, page);
}

/* Does the page read as zeros because home never had it? It lies in the hole at the file's end when the file was found,
 * or where the file has grown since. */
static inline bool files_has_only_grown(const struct files *files, uint64_t page)
{
        const struct file_entry *entry = &files->shared->control->file[page_id_file(page)];
        return page_id_no(page) << files->shared->page_shift >=
               atomic_load_explicit(&entry->found_len, memory_order_acquire);
}

/* The same by its word. What home never had is not asked for there: that would cost a page fault, and memory for
 * nothing but zeros. */
static inline const char *files_word_bytes(const struct files *files, uint64_t page, uint64_t word)
{
        if (!word && files_has_only_grown(files, page))
                return shared_zeros(files->shared);
        return files_version_bytes(files, page, version_slot(word));
}

#endif
