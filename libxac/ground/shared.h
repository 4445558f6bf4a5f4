/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_SHARED_H
#define LIBXAC_GROUND_SHARED_H

/*
 * This process's attachment to the shared memory of one environment: three files named by
 * the directory's device and inode (R15),
 *
 *      control   struct control and its tables
 *      heads     for each page of each file, the word of its newest version (sparse)
 *      pool      the slots themselves, mapped linearly
 *
 * Memory is allocated (fallocate) before it is touched: on a full tmpfs touching a hole is a
 * SIGBUS, an allocation that fails is a code.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "libxac/ground/allowance.h"
#include "libxac/ground/control.h"

struct shared {
        struct control *control;
        struct process_row *processes;
        struct row *rows;
        _Atomic uint8_t *chunk_marks; /* [file][chunk]: 1 = its heads have memory */
        struct slot *slots;
        struct ring_entry *rings;
        char *pool;
        uint32_t page_bytes;
        uint32_t page_shift;
        uint32_t pool_slots;
        uint32_t process_no; /* this process's row */

        _Atomic(_Atomic uint64_t *) heads[FILES_MAX]; /* mapped when first needed */
        struct control_layout layout;
        struct shlock_liveness liveness;
        struct log log; /* of a durable environment; redo.h */
        int lock_fd;
        int control_fd;
        int heads_fd;
        int pool_fd;
        bool is_creator;
        struct allowance allowance;
        /* Around the locks that the process owns as a whole: one for each, as one may be wanted while another
         * thread holds the other (control.h: order). */
        pthread_mutex_t participant_mutex;
        pthread_mutex_t file_mutex;
};

struct shared_identity {
        uint64_t device;
        uint64_t inode;
        uid_t directory_owner;
        gid_t directory_group;
        uint32_t page_bytes;
        uint32_t max_participants;
        uint32_t pool_slots;
        bool has_pool_default; /* nobody has asked for so many */
        uint32_t mode;
        bool is_volatile;
        bool joins_either;       /* volatile or not, as it is */
        uint64_t log_ring_bytes; /* 0: volatile */
        uint64_t log_bytes;
        uint64_t area_bytes;
        uint64_t sequence; /* the newest commit that is home */
        uint64_t generation;
        uint64_t session_ns;
        uint8_t uuid[16];
        struct directory_mark mark;
        char path[CONTROL_PATH_BYTES];    /* for people */
        char archive[CONTROL_PATH_BYTES]; /* empty: none is wanted */
        bool archive_is_packed;
        bool archive_may_drop;
        uint64_t archive_held;                  /* log that is kept while the archive takes nothing */
        uint64_t archive_device, archive_inode; /* as in the control part */
        uint8_t archive_marker[16];             /* likewise */
        int archive_away;                       /* -errno: why its directory is not there now */
};

/* Whoever is attached shares byte 0 of the control part, which the kernel gives up when all descriptors and mappings of
 * it are gone. Who cleans up wants it alone (leftover.h), and whoever comes meanwhile waits for him (R22). */
enum { SHARED_USE_BYTE = 0 };

/* May what lies in /dev/shm under one of the names be this environment's? Anybody can have made it. */
bool shared_is_trusted(const struct stat *st, const struct shared_identity *identity);

/* Attach to what is there. -ENOENT: nothing usable for this directory and boot.
 * -EINVAL: it is there, but durable against volatile. */
int shared_attach(struct shared *shared, const struct shared_identity *identity);
/* Make new shared memory, empty, not yet ready; what lay there before is removed. */
int shared_create(struct shared *shared, const struct shared_identity *identity);
/* Removes what an open has found not to be usable: not under the hands of somebody who cleans up, who would then remove
 * what is new (R22). */
int shared_remove_old(const struct shared_identity *identity);
/* The same, of this process alone: without names, and nobody else can join. */
int shared_create_alone(struct shared *shared, const struct shared_identity *identity);
void shared_mark_ready(struct shared *shared);
/* Unmap; the shared memory stays for others. */
void shared_detach(struct shared *shared);
/* Remove the names. */
void shared_remove(const struct shared_identity *identity);

/* Writes the manifest, which was just read; its generation is this shared memory's. Whoever attaches
 * meanwhile believes either, the one on disk and the one in progress, as both are stored first. The caller holds
 * file_lock, and byte 0 of the lock file or an open environment. */
int shared_write_manifest_locked(struct shared *shared, int directory, struct manifest *manifest);

/* Participants are numbered for xac_self (alive.h). These are the numbers of a generation of the manifest. */
static inline uint64_t shared_first_id(uint64_t generation)
{
        enum { IDS_BITS = 28 };
        return generation << IDS_BITS;
}

#define SHARED_DIRECTORY "/dev/shm"
#define SHARED_MAGIC     "XACSHMEM" /* its eight bytes */

enum { SHARED_NAME_BYTES = 80 };

/* The newest version of each page that a file may have, of all files: holes but for the pages that are there. */
#define SHARED_HEADS_BYTES (FILES_MAX * FILE_PAGES_MAX * sizeof(uint64_t))
/* The name of a part: "control", "heads" or "pool". */
void shared_make_name(char name[SHARED_NAME_BYTES], const struct shared_identity *identity, const char *part);
/* Reads the header of an open control part by itself, before the rest is believed. -ENOENT: it is not this
 * environment's, or of an earlier boot. */
int shared_check_header(int fd, const struct shared_identity *identity, struct control *header);

/* Liveness of an owner number; `shared` is the argument (struct shlock_liveness). */
bool shared_is_alive(void *shared, uint32_t owner);
bool shared_is_process_alive(struct shared *shared, uint32_t process_no);
/* Does any other process have the environment open? 1, 0, or an error. Needs lock_fd only. */
int shared_is_any_other_alive(struct shared *shared, uint32_t max_participants);

/* Locks that a process takes as a whole, not as one of its participants. The result is
 * shlock_lock()'s. */
int shared_lock_as_process(struct shared *shared, struct shlock *lock);
void shared_unlock_as_process(struct shared *shared, struct shlock *lock);

/* Wakes the background thread of one process (duty.h), once for each time that it gets to work. */
void shared_call_for_duty(struct shared *shared);

/* The heads of a file, mapped; NULL with no memory. Async-signal-safe. */
_Atomic uint64_t *shared_map_heads(struct shared *shared, uint32_t file_no);

static inline bool shared_is_durable(const struct shared *shared)
{
        return shared->control->log_ring_bytes != 0;
}

static inline struct move_entry *shared_moves(const struct shared *shared)
{
        return (struct move_entry *)((char *)shared->control + shared->layout.moves);
}

static inline struct log_shared *shared_log(const struct shared *shared)
{
        return (struct log_shared *)((char *)shared->control + shared->layout.log);
}

/* Has the version no slot of its own (control.h)? */
static inline bool shared_is_alias(const struct shared *shared, uint32_t slot)
{
        return slot >= shared->pool_slots;
}

/* The slot where the content stands; in slot 0 of the pool there are zeros. */
static inline uint32_t shared_content(const struct shared *shared, uint32_t slot)
{
        if (!shared_is_alias(shared, slot))
                return slot;
        return atomic_load_explicit(&shared->slots[slot].content, memory_order_relaxed);
}

static inline char *shared_slot_bytes(const struct shared *shared, uint32_t slot)
{
        return shared->pool + ((uint64_t)shared_content(shared, slot) << shared->page_shift);
}

static inline const char *shared_zeros(const struct shared *shared)
{
        return shared->pool;
}

/* The descriptor after number `no`, of slots and aliases that have memory; 0 at the end. Begin with 0. */
static inline uint32_t shared_next_slot(const struct shared *shared, uint32_t no)
{
        const struct control *control = shared->control;
        if (++no < shared->pool_slots) {
                if (no < atomic_load_explicit(&control->slots_allocated, memory_order_relaxed))
                        return no;
                no = shared->pool_slots;
        }
        return no < atomic_load_explicit(&control->aliases_end, memory_order_relaxed) ? no : 0;
}

#endif
