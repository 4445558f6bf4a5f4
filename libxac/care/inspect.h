/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_INSPECT_H
#define LIBXAC_CARE_INSPECT_H

/*
 * A look at the shared memory of an environment from outside, for `xac stat` and `xac top`: who uses it and how
 * full it is; and which pages change.
 *
 * Whoever looks joins nothing, waits for nothing and changes nothing. The shared memory is copied by
 * pread and never mapped: a mapping would give memory to the holes it touches, and a part that is
 * removed or cut meanwhile would be a SIGBUS. The copy is not of one moment: figures may be a few
 * commits apart from each other.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_lock.h"
#include "base/memory_group.h"
#include "libxac/ground/shared.h"
#include "recovery/manifest.h"

enum inspect_lock {
        INSPECT_COMMIT_LOCK,
        INSPECT_POOL_LOCK,
        INSPECT_FILE_LOCK,
        INSPECT_BACKLOG_LOCK,
        INSPECT_CHECKPOINT_LOCK,
        INSPECT_PARTICIPANT_LOCK,
        INSPECT_SEGMENT_LOCK,
        INSPECT_LOCKS
};

/* What others wait for, if they need it. */
struct inspect_holding {
        uint32_t locks; /* 1 << enum inspect_lock */
        bool is_writing_log;
        uint64_t writing_ns; /* for so long by now; 0: not known */
};

struct inspect_process {
        uint32_t process_no;
        uint32_t pid; /* in its own pid namespace */
        bool is_alive;
        uint32_t participants;
        struct inspect_holding holding; /* while it opens or closes; else its participants hold */
};

struct inspect_participant {
        uint32_t row_no;
        uint32_t pid;
        bool is_alive;
        bool is_on_duty;   /* the library's own thread, which writes checkpoints */
        bool is_exclusive; /* only it may commit at present */
        bool is_asleep;    /* in xac_wait, until something changes */
        uint64_t snapshot; /* 0: it is in no transaction */
        struct inspect_holding holding;
        uint64_t commits;
        uint64_t conflicts;
        uint64_t read_faults;
        uint64_t write_faults;
        uint32_t views;
};

struct inspect_file {
        char name[MANIFEST_NAME_BYTES];
        uint64_t byte_len;
};

enum { INSPECT_PARTS = 3 }; /* control, heads, pool */

struct inspect_part {
        uint64_t device;
        uint64_t inode;
        uint64_t byte_len; /* of memory that it has */
};

struct inspection {
        bool is_volatile;
        uint32_t page_bytes;
        uint32_t max_participants;
        uint64_t sequence;
        uint64_t durable_sequence;    /* this and the log's: 0 in a volatile environment */
        uint64_t logged_sequence;     /* of the newest commit that the log has; later ones do not wait for the disk */
        uint64_t checkpoint_sequence; /* of the newest checkpoint that is complete */
        uint64_t checkpoints;
        uint32_t checkpointer; /* pid of who is writing a checkpoint now; 0: nobody */
        uint64_t pinned; /* the oldest snapshot that is no participant's: of the checkpoint, the backlog; 0: none */

        uint64_t past_commits; /* of participants that have left */
        uint64_t past_conflicts;
        uint64_t past_read_faults;
        uint64_t past_write_faults;

        uint64_t log_end;     /* positions: of what is staged, */
        uint64_t log_durable; /* on disk, */
        uint64_t log_low;     /* and where the oldest segment in use begins */
        uint64_t log_limit;   /* segments are there up to here */
        uint64_t log_bytes;   /* of log before a checkpoint is forced */
        uint64_t segment_bytes;
        uint32_t segments_free;
        uint64_t log_held; /* the archive has what is before, and nothing else is given up; 0: there is no archive */
        int archive_error; /* -errno: why it takes nothing now */
        uint64_t archive_sequence;
        uint64_t archive_waits_ns; /* so long log on disk has been waiting by now, and none of it was taken; 0: none
                                      waits */
        char archive[CONTROL_PATH_BYTES];
        uint64_t groups; /* written so far */
        int poison;      /* -errno of what poisoned the environment; 0: nothing did */

        uint64_t pool_bytes; /* ceiling */
        uint64_t pool_bytes_allocated;
        uint64_t slots_used;    /* that are not free; the others count versions, with and without a slot of their own */
        uint64_t slots_private; /* pages of open transactions */
        uint64_t slots_published; /* newest versions: pages that are not home */
        uint64_t slots_retired;   /* older versions that some snapshot may see */

        struct inspect_part part[INSPECT_PARTS];
        char memory[SHARED_NAME_BYTES]; /* pattern of the names of the parts */
        uint32_t file_count;
        uint32_t process_count;
        uint32_t participant_count;
        struct inspect_file *file;
        struct inspect_process *process;
        struct inspect_participant *participant;
};

/* Stores what inspect_free frees. `directory` is a descriptor, `lock` its lock file. -ENOENT: no shared memory that an
 * open would believe; -EACCES, -ENOMEM, ... */
int inspect_take(int directory, const struct byte_lock_file *lock, const struct manifest *manifest,
                 struct inspection **out);
void inspect_free(struct inspection *inspection);

/* What the control group of a process lets the pool still have (R44). */
struct inspect_room {
        uint64_t more;  /* bytes; UINT64_MAX: nothing limits it */
        uint64_t left;  /* that the group has, or the one above it that has least, */
        uint64_t limit; /* of so many */
        char group[MEMORY_GROUP_PATH];
};
void inspect_room(uint32_t pid, struct inspect_room *room);

/* Which commit made the newest version of a page. */
struct inspect_page {
        uint32_t file_no;
        uint64_t page_no;
        uint64_t sequence; /* 0: the page is as it was when the environment was opened */
        uint64_t now;      /* the newest commit just before that was read, or that */
};

typedef void (*inspect_visit)(void *arg, uint32_t file_no, uint64_t page_no);

/* Visits pages of which the pool has versions that commits behind `after` made; one perhaps several times. Finds all
 * that are left in peace, and some of those that change while it looks. Stores the newest commit at the end. Reads the
 * descriptors of all slots. Errors as of inspect_take. */
int inspect_changes(int directory, const struct manifest *manifest, uint64_t after, inspect_visit visit, void *arg,
                    uint64_t *sequence);
/* Fills in sequence and now. */
int inspect_pages(int directory, const struct manifest *manifest, struct inspect_page *pages, uint32_t count);

#endif
