/* SPDX-License-Identifier: MIT */
#ifndef XAC_XAC_H
#define XAC_XAC_H

/*
 * libxac: transactions on memory-mapped files.
 *
 * Let xac_run() run serial code over a mapped file, and several threads and processes may do so at once:
 *
 *         static int pay(void *amount)
 *         {
 *                 account[7]   -= *(long *)amount;
 *                 account[900] += *(long *)amount;
 *                 return 0;
 *         }
 *
 *         xac_open("bank.xac", XAC_CREATE, NULL, &bank);
 *         account = xac_mmap(bank, "accounts", 1 << 20, 0);
 *         err = xac_run(bank, 0, pay, &amount);
 *
 * It runs the body again when that lost a race, and undoes it when it returns anything but 0. The same by hand:
 *
 *         do {
 *                 xbegin(bank, 0);
 *                 account[7]   -= amount;
 *                 account[900] += amount;
 *         } while ((err = xend(bank)) == XAC_CONFLICT);
 *
 * Pointers are plain, and a file may hold pointers into itself: its first view in a process lies at the same address
 * in every process, and the next time. In further threads it lies elsewhere: where threads share a file, store offsets.
 *
 * When xac_run() or xend() returns 0 the transaction is on disk: it survives the death of the process and of the
 * machine, whole, with everything committed before it. Modes that promise less:
 *
 *         XAC_NOSYNC     it does not wait for the disk. Processes may die; a machine crash may lose the newest
 *                        commits since the last xac_sync(). What is left has no gaps
 *         XAC_VOLATILE   no log. Processes may die; a machine crash goes back to the last checkpoint, and one
 *                        during a checkpoint leaves pages of different ages
 *
 * Functions return 0 or a negative number: -errno, or one of enum xac_code (all below
 * -4096, so that the two never meet); xac_strerror() explains both. A lost race
 * (XAC_CONFLICT) is an outcome, not an error; a loop that loses again and again gets
 * through in the end, for the others then wait for it (at most 100 ms).
 *
 * The idea, and the names xbegin and xend, are from J. Sukha, "Memory-Mapped Transactions"
 * (MEng thesis, MIT 2005); page versions live in rewired memory (F. M. Schuhknecht et al.,
 * "RUMA has it", VLDB 2016).
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct timespec; /* <time.h> */

/* An open environment: a directory of data files, and shared memory while it is open. */
typedef struct xac_env xac_env;

enum xac_code {
        XAC_COMMITTED = 0, /* what xend() returns when the transaction took effect */

        XAC_CONFLICT = -5001, /* lost to a concurrent commit: run it again */
        XAC_WROTE = -5002,    /* it wrote although begun XAC_RDONLY */
        XAC_FULL = -5003,     /* the version pool is at its ceiling */
        /* A write or sync failed, so that nobody knows what is on disk. What was waiting for it is visible in memory
         * but perhaps not durable; nothing more is committed; reads go on. Once all have closed the environment,
         * the next xac_open() recovers what the log proves. */
        XAC_POISONED = -5004,
        XAC_CORRUPT = -5005, /* a file of the environment is damaged */
        XAC_FORMAT = -5006,  /* made by another version of libxac */
        XAC_FORKED = -5007,  /* used in a child without reopening */
        XAC_NOTXN = -5008,   /* no transaction is open */
        XAC_NOVIEW = -5009,  /* the address is in no view of this thread */
        XAC_LIMIT = -5010,   /* too many participants or files */
        XAC_UNENDED = -5011  /* an xend or xabort is missing; what was open is undone, or cannot commit */
};

enum xac_flags {
        /* xac_open() */
        XAC_CREATE = 0x0001,   /* create the environment if there is none */
        XAC_EXCL = 0x0002,     /* with XAC_CREATE: fail with -EEXIST if there is one */
        XAC_NOSYNC = 0x0004,   /* commits do not wait for the disk (also for xbegin) */
        XAC_VOLATILE = 0x0008, /* no log; data reach their files at checkpoints and the last close */
        XAC_TRACK = 0x0010,    /* detect every first read by a fault, as the thesis did */
        XAC_STRICT = 0x0020,   /* views are inaccessible outside transactions */
        /* Data files that somebody else has changed since the last close are XAC_CORRUPT, instead of taken as they are
         */
        XAC_UNCHANGED = 0x0040,

        /* xbegin(), and xac_open(): the environment is only read. One at rest (closed cleanly, and nobody has it open)
         * stays as it is to the byte, and may be on a read-only medium, or of users who let others read. Beside others
         * who have it open: by those who may write to it. Else an error (xac_open(3), "Reading only") */
        XAC_RDONLY = 0x0100,             /* it will not write; it always commits */
        XAC_SNAPSHOT_ISOLATION = 0x0200, /* snapshot isolation: reads are not validated */
        XAC_DURABLE = 0x0400,            /* with XAC_RDONLY, or of a snapshot: see only what is durable */
        XAC_NESTED = 0x1000,             /* may begin a nested level, also where the environment is XAC_STRICT */

        /* xac_mmap() */
        XAC_ANYWHERE = 0x2000, /* any address will do: what is stored in the file are offsets, not pointers */
        XAC_SHARED = 0x4000    /* one address for all threads that ask so: for declared access and compiled code */
};

enum xac_access { XAC_READ = 1, XAC_WRITE = 2, XAC_WILLNEED = 3 };

enum xac_archive_flags {
        XAC_ARCHIVE_DROP =
                1, /* beyond archive_held_bytes: go on, with a gap in the archive; else commits get -ENOSPC */
        XAC_ARCHIVE_PLAIN = 2 /* do not compress */
};

/* A zeroed field means its default. */
typedef struct xac_options {
        /* Ceiling of the version pool. Default: half of the machine's memory, at most 4 GiB, and at most three quarters
         * of what /dev/shm has free, and a quarter of what the process's control group allows. More than /dev/shm can
         * hold is lowered: xac_stat() tells. */
        uint64_t pool_bytes;
        uint64_t log_bytes;        /* redo log kept before a checkpoint is forced; default 256 MiB */
        uint64_t reserve_bytes;    /* address space reserved per view, to grow in place; default 16 GiB */
        uint32_t page_bytes;       /* at creation: a power of two, 4096 to 65536; default 4096 */
        uint32_t max_participants; /* at creation: threads, and snapshots, at once; 1024 (default) to 32768 */
        uint32_t mode;             /* at creation: permission bits, under the umask; default 0600 */
        uint32_t archive_flags;    /* enum xac_archive_flags */
        /* Long recoveries: "restore" (pages of the double-write buffer), "replay" (bytes of log); both and
         * long checkpoints: "checkpoint" (pages); data files that others have changed: "sum" (pages). Called by the
         * thread at work, which may be the library's own. */
        void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
        void *progress_arg;
        /* Where the next file that is created is to lie: a multiple of 16 GiB in the range for views (xac_mmap(3)).
         * Default: by chance, behind the other files of the environment. */
        uint64_t address;
        /* Memory of this process for the copies from which readers read: XAC_RDONLY in views, and snapshots. With less
         * they copy more often. Default: an eighth of the machine's memory, at most 4 GiB; at least 16 MiB. */
        uint64_t scan_bytes;
        /* Disk space for what checkpoints write before they write it home: both files together. A checkpoint of more
         * pages goes home in batches. Default: 64 MiB. Not bounded by it are pages that an old snapshot keeps from
         * going home. */
        uint64_t area_bytes;
        /* A directory that is there: the log is kept in it, so that the environment can be taken back to any moment
         * (xac_open(3), "The archive"). Default: none. */
        const char *archive;
        /* How much log is kept at least while the archive takes nothing; default 16 times log_bytes. */
        uint64_t archive_held_bytes;
        uint64_t reserved[3]; /* for options to come: zero */
} xac_options;

typedef struct xac_stats {
        uint64_t sequence;          /* number of the newest commit */
        uint64_t durable_sequence;  /* number of the newest commit known to be on disk; volatile: 0 */
        uint64_t commits;           /* outermost xend() calls that returned 0 */
        uint64_t conflicts;         /* outermost xend() calls that returned XAC_CONFLICT */
        uint64_t read_faults;       /* faults taken by reads of view pages */
        uint64_t write_faults;      /* faults taken by writes to view pages */
        uint64_t mappings;          /* kernel mappings that the views of this process use, at most */
        uint64_t pool_bytes;        /* ceiling of the version pool */
        uint64_t pool_bytes_used;   /* slots that hold a version, or a private page of a transaction or view */
        uint64_t log_bytes_used;    /* log that would be replayed after a crash now; volatile: 0 */
        uint64_t participants;      /* threads that are using the environment now, and snapshots */
        uint64_t checkpoints;       /* this and the following: since somebody first opened it */
        uint64_t log_groups;        /* writes to the log; each is of one commit or of many */
        uint64_t log_bytes_written; /* by them, padding included */
        uint64_t log_record_bytes;  /* of records among them */
        uint64_t page_bytes;        /* size of a page, as chosen at creation */
        uint64_t archive_sequence;  /* commits up to this one are in the archive; 0: there is none */
        int64_t archive_error;      /* why it takes nothing now, a negative number; 0: it does */
        uint64_t pool_bytes_now;    /* ceiling with what memory /dev/shm and the control group have left now */
        uint64_t reserved[13];      /* for figures to come: zero */
} xac_stats;

typedef struct xac_backup_result {
        uint64_t sequence;       /* the commit as of which it is */
        uint64_t since_sequence; /* the one of the backup that it continues; 0: a full backup */
        uint64_t files;
        uint64_t pages;        /* that are not all zeros */
        uint64_t pages_copied; /* those of them that are in this backup */
        uint64_t bytes_copied;
        uint64_t pages_unknown; /* those in data files that had no checksum: nobody knows whether they are what was
                                   written */
        uint64_t reserved[7];
        char problem[512]; /* after a failure: what went wrong where, and what to do about it */
} xac_backup_result;

/* A zeroed field means its default. */
typedef struct xac_backup_options {
        const char *since; /* a backup, or its file xac.backup: copy only what has changed since */
        /* To be read, at most. Default: as fast as it goes while nobody commits, and an eighth of the time while
         * somebody does. UINT64_MAX: as fast as it goes, whatever that costs others. */
        uint64_t bytes_per_second;
        int stream; /* where the destination "-" writes to; default: standard output */
        /* "backup" and "verify": pages. What is not 0 ends it, and is returned. */
        int (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
        void *progress_arg;
        xac_backup_result *result; /* out */
        uint64_t reserved[6];      /* for options to come: zero */
} xac_backup_options;

/* Environments. */
int xac_open(const char *dir, int flags, const xac_options *options, xac_env **env);
int xac_close(xac_env *env);
/* For libraries on top of this one: what they have open in an environment, and what its close would leave dangling.
 * Until it is released as often as it was retained, or the threads that did so end, the last xac_close() is -EBUSY.
 * -EINVAL: it is not retained. */
int xac_retain(xac_env *env);
int xac_release(xac_env *env);

/* Views: this thread's mapping of a data file, at the file's address if no other thread has it there; MAP_FAILED and
 * errno on failure. EADDRNOTAVAIL: something else is there; XAC_ANYWHERE does without. */
void *xac_mmap(xac_env *env, const char *file, size_t length, int flags);
int xac_munmap(xac_env *env, void *view);

/* Transactions. */
int xbegin(xac_env *env, int flags);
int xend(xac_env *env);
int xabort(xac_env *env);
int xac_run(xac_env *env, int flags, int (*body)(void *arg), void *arg);
/* Undoes the whole transaction, sleeps until a commit has changed something that it had read, and returns XAC_CONFLICT,
 * which a body hands to xac_run() to be run again. -ETIMEDOUT after so long; NULL: never. */
int xac_wait(xac_env *env, const struct timespec *timeout);

#ifdef __GNUC__
/* A transaction, or a nested level, that is aborted when the scope is left without xend():
 *
 *         XAC_SCOPE(transfer, bank, 0);
 *         if (transfer.err || account[from] < amount)
 *                 return -1;
 *         ...
 *         return xend(bank);
 *
 * xend() may say XAC_CONFLICT: then the function is to be called again.
 */
#define XAC_SCOPE(name, env, flags) \
        __attribute__((cleanup(xac_scope_leave))) xac_scope name = xac_scope_begin(env, flags)

typedef struct xac_scope {
        int err; /* what xbegin() said */
        uint32_t depth;
        uint64_t id;
        xac_env *env;
} xac_scope;

xac_scope xac_scope_begin(xac_env *env, int flags);
void xac_scope_leave(xac_scope *scope);
#endif

/* Snapshots: one commit, to be read for as long as the program likes, by any thread of the process. */
typedef struct xac_snapshot xac_snapshot;

/* As of the newest commit; XAC_DURABLE: as of the newest that is on disk. The environment stays open until its last
 * snapshot is closed. */
int xac_snapshot_open(xac_env *env, int flags, xac_snapshot **snapshot);
/* As of the commit of a snapshot that somebody, in whatever process, has open. -ESTALE: nobody has. */
int xac_snapshot_open_at(xac_env *env, uint64_t sequence, xac_snapshot **snapshot);
/* A data file as of the snapshot, read-only, at one address for all threads, until the snapshot is closed. Costs next
 * to nothing until it is touched. *length: bytes, may be NULL. MAP_FAILED and errno on failure. */
const void *xac_snapshot_map(xac_snapshot *snapshot, const char *file, size_t *length);
/* Another one, as of the newest commit by now. The older stays as it is until it is closed; what has not changed since
 * is not copied again. */
int xac_snapshot_refresh(xac_snapshot *snapshot, xac_snapshot **fresh);
uint64_t xac_snapshot_sequence(const xac_snapshot *snapshot);
int xac_snapshot_close(xac_snapshot *snapshot);
/* As xac_retain(), of xac_snapshot_close(). */
int xac_snapshot_retain(xac_snapshot *snapshot);
int xac_snapshot_release(xac_snapshot *snapshot);

/* The pages themselves, where they lie: no page faults, no copies, and next to no cost. */
typedef struct xac_snapshot_file {
        uint32_t number; /* of the file, for xac_snapshot_page() */
        uint32_t page_bytes;
        uint64_t pages;       /* the file has at least as many as the snapshot knows */
        uint64_t reserved[4]; /* for figures to come: zero */
} xac_snapshot_file;

/* -ENOENT, and what else xac_snapshot_map() says. */
int xac_snapshot_find(xac_snapshot *snapshot, const char *file, xac_snapshot_file *found);
/* Is what it shows still what was committed? 0: nothing changes it; 1: it was opened at rest (XAC_RDONLY), and has not
 * changed so far; -ESTALE: somebody has opened the environment for writing, and what was read may be of two moments. */
int xac_snapshot_check(const xac_snapshot *snapshot);
/* page_bytes bytes that nothing changes until the snapshot is closed. The number of the page is not checked. */
const void *xac_snapshot_page(const xac_snapshot *snapshot, uint32_t number, uint64_t page);
/* For who has the kernel read a page by itself, after the call (MSG_ZEROCOPY): lend it before, take it back when the
 * kernel is done, both while the snapshot is open. What was not taken back when the snapshot ends, or the process,
 * stays as it is for the kernel: its place is used for something else only with other memory behind it. -EINVAL: the
 * page is none of the pool's, but the data file's, which checkpoints write to: copy it; -ENOSPC. */
int xac_snapshot_lend(xac_snapshot *snapshot, const void *page);
void xac_snapshot_take_back(xac_snapshot *snapshot, const void *page);

/* Announced and declared access. */
int xac_advise(xac_env *env, const void *addr, size_t length, int access);
const void *xac_page_read(xac_env *env, const void *addr);
void *xac_page_write(xac_env *env, void *addr);
/* Pages change places: `to` shows what `from` showed, as by memmove(), and the pages of `from` that are not among
 * `to` read as zeros. Both begin on a page, in one file. Pointers into them are asked for again afterwards. What
 * is in the version pool is not copied, and the log says where it went in a few bytes a page. */
int xac_page_move(xac_env *env, void *to, void *from, size_t pages);

/* Care. */
int xac_checkpoint(xac_env *env);
int xac_sync(xac_env *env);
/* An environment of its own as of one durable commit, while others go on: in a new directory, which is there as a whole
 * or not at all, or, as an archive of tar, on standard output ("-"). */
int xac_backup(xac_env *env, const char *destination, const xac_backup_options *options);

enum xac_scrub_flags {
        XAC_SCRUB_SUM = 1 /* pages that have no checksum yet get one of what they are */
};

/* A zeroed field means its default. */
typedef struct xac_scrub_options {
        uint64_t bytes_per_second; /* to be read, at most; default: as fast as it goes */
        uint32_t flags;
        /* Called now and then: bytes of a file that are done, of so many. What is not 0 ends it, and is returned. */
        int (*progress)(void *arg, const char *file, uint64_t done, uint64_t total);
        /* Called for each page that is not what its checksum says; and for each sector of checksums that is damaged
         * itself, with the name of their file (xac.sums.N). Offset 0 of that: all of them, sums_changed. */
        void (*damage)(void *arg, const char *file, uint64_t offset);
        void *arg;
        uint64_t reserved[4]; /* for options to come: zero */
} xac_scrub_options;

/* Pages. */
typedef struct xac_scrub_result {
        uint64_t pages; /* in all; each is one of the following */
        uint64_t verified;
        uint64_t damaged;
        uint64_t unknown;      /* no checksum yet: files that were there before there were any, or are not ours */
        uint64_t summed;       /* got one (XAC_SCRUB_SUM) */
        uint64_t in_pool;      /* newer ones are on their way */
        uint64_t sums_damaged; /* the checksum itself is damaged; XAC_SCRUB_SUM makes a new one */
        uint64_t sums_changed; /* files whose checksums are not those that libxac has left; XAC_SCRUB_SUM takes them */
        uint64_t reserved[2];
} xac_scrub_result;

/* Reads all data files and compares each page with its checksum, while others go on. 0, XAC_CORRUPT: some differ. */
int xac_scrub(xac_env *env, const xac_scrub_options *options, xac_scrub_result *result);
int xac_stat(xac_env *env, xac_stats *stats);
uint64_t xac_txn_id(xac_env *env);
/* Who is still there: a number for this thread's use of the environment, which is never used again, also after a
 * restart of the machine (0: it cannot use it); and whether that use goes on: 1, 0, or a negative number. */
uint64_t xac_self(xac_env *env);
int xac_alive(xac_env *env, uint64_t id);
const char *xac_strerror(int code);
const char *xac_version(void);

#ifdef __cplusplus
}
#endif

#endif
