/* SPDX-License-Identifier: MIT */
#include "trace/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/byte_lock.h"
#include "base/sys.h"
#include "trace/ticks.h"

#define RINGS_DIRECTORY "/dev/shm"
#define RINGS_PREFIX    "xac-trace."
#define RINGS_MAGIC     "XACRINGS" /* its eight bytes */

enum { OWNER_ALONE = 0600, OPENING_TRIES = 200, OPENING_PAUSE_NS = 1000000 };

static uint64_t memory_bytes(void)
{
        return rings_events_at(RINGS_MAX);
}

/* TR4 */
static bool is_own(const struct stat *st)
{
        return st->st_uid == geteuid();
}

/* ---- the file's header ---- */

static bool makes_sense(const struct trace_header *header, uint64_t file_bytes)
{
        return !memcmp(header->magic, TRACE_MAGIC, sizeof(header->magic)) && header->version == TRACE_VERSION &&
               header->byte_len >= TRACE_HEADER_BYTES && header->byte_len <= file_bytes && header->byte_len % 8 == 0;
}

static int read_header(int file, struct trace_header *header)
{
        struct stat st;
        int err = sys_stat(file, &st);
        if (err)
                return err;
        if (!S_ISREG(st.st_mode))
                return -EEXIST;
        if (!is_own(&st))
                return -EPERM;
        if (!st.st_size)
                return -ENODATA;
        err = st.st_size < TRACE_HEADER_BYTES ? -EEXIST : sys_read_all(file, header, sizeof(*header), 0);
        if (err)
                return err;
        header->rings[TRACE_RINGS_NAME_BYTES - 1] = '\0';
        err = sys_stat(file, &st); /* once more: the collector may have written since, also the header */
        if (err)
                return err;
        return makes_sense(header, (uint64_t)st.st_size) ? 0 : -EEXIST;
}

static uint64_t lost_so_far(const struct rings_shared *shared)
{
        uint64_t lost = atomic_load(&shared->lost);
        for (uint32_t i = 0; i < RINGS_MAX; i++)
                lost += atomic_load(&shared->ring[i].lost);
        return lost;
}

static void fill_header(const struct rings *rings, struct trace_header *header)
{
        const struct rings_shared *shared = rings->shared;
        *header = (struct trace_header){ .version = TRACE_VERSION,
                                         .ended = atomic_load(&shared->ended),
                                         .byte_len = atomic_load(&shared->byte_len),
                                         .ticks = { shared->begin_ticks, ticks_now() },
                                         .ns = { shared->begin_ns, sys_monotonic_ns() },
                                         .real_ns = shared->begin_real_ns,
                                         .lost = lost_so_far(shared),
                                         .untraced = atomic_load(&shared->untraced),
                                         .tracks = atomic_load(&shared->tracks) };
        memcpy(header->magic, TRACE_MAGIC, sizeof(header->magic));
        memcpy(header->rings, rings->name, sizeof(header->rings));
        sys_boot_id(header->boot_id);
}

int rings_write_header(const struct rings *rings)
{
        union {
                struct trace_header header;
                char bytes[TRACE_HEADER_BYTES];
        } page;
        memset(&page, 0, sizeof(page));
        fill_header(rings, &page.header);
        return sys_write_all(rings->file, &page, sizeof(page), 0);
}

/* ---- the memory ---- */

static int open_directory(int *directory)
{
        return sys_open(AT_FDCWD, RINGS_DIRECTORY, O_RDONLY | O_DIRECTORY, 0, directory);
}

static int map_memory(struct rings *rings)
{
        void *memory;
        int err = sys_mmap(NULL, memory_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, rings->memory, 0, &memory);
        if (!err)
                rings->shared = memory;
        return err;
}

/* TR4 */
static bool is_of_file(const struct rings_shared *shared, int file)
{
        struct stat st;
        return !sys_stat(file, &st) && shared->device == st.st_dev && shared->inode == st.st_ino;
}

static bool is_sound(const struct rings *rings)
{
        const struct rings_shared *shared = rings->shared;
        return !memcmp(shared->magic, RINGS_MAGIC, sizeof(shared->magic)) && shared->version == RINGS_VERSION &&
               atomic_load(&shared->is_ready) && is_of_file(shared, rings->file);
}

static bool may_be_mapped(int memory)
{
        struct stat st;
        return !sys_stat(memory, &st) && S_ISREG(st.st_mode) && is_own(&st) && !(st.st_mode & 077) &&
               (uint64_t)st.st_size >= memory_bytes();
}

/* What the header names. -ENOENT: there is none. */
static int attach(struct rings *rings, const struct trace_header *header)
{
        int directory;
        if (strncmp(header->rings, RINGS_PREFIX, strlen(RINGS_PREFIX)) != 0 || strchr(header->rings, '/'))
                return -ENOENT;
        int err = open_directory(&directory);
        if (err)
                return err;
        memcpy(rings->name, header->rings, sizeof(rings->name));
        err = sys_open(directory, rings->name, O_RDWR, 0, &rings->memory);
        sys_close(directory);
        if (err)
                return err;
        err = may_be_mapped(rings->memory) ? map_memory(rings) : -ENOENT;
        if (!err && !is_sound(rings)) {
                sys_munmap(rings->shared, memory_bytes());
                err = -ENOENT;
        }
        if (err)
                sys_close(rings->memory);
        return err;
}

static int make_memory(struct rings *rings)
{
        uint64_t number;
        int directory;
        int err = sys_random(&number, sizeof(number));
        if (!err)
                err = open_directory(&directory);
        if (err)
                return err;
        snprintf(rings->name, sizeof(rings->name), RINGS_PREFIX "%016llx", (unsigned long long)number);
        err = sys_open(directory, rings->name, O_RDWR | O_CREAT | O_EXCL, OWNER_ALONE, &rings->memory);
        if (!err && ((err = sys_truncate(rings->memory, memory_bytes())) ||
                     (err = sys_allocate(rings->memory, 0, rings_events_at(0))) || (err = map_memory(rings)))) {
                sys_unlink(directory, rings->name);
                sys_close(rings->memory);
        }
        sys_close(directory);
        return err;
}

/* Goes on where the file ends. */
static int create(struct rings *rings, const struct trace_header *before, uint64_t most_bytes)
{
        struct timespec real;
        struct stat st;
        int err = sys_stat(rings->file, &st);
        if (!err)
                err = make_memory(rings);
        if (err)
                return err;
        struct rings_shared *shared = rings->shared;
        clock_gettime(CLOCK_REALTIME, &real);
        memcpy(shared->magic, RINGS_MAGIC, sizeof(shared->magic));
        shared->version = RINGS_VERSION;
        shared->device = st.st_dev;
        shared->inode = st.st_ino;
        shared->most_bytes = most_bytes;
        shared->begin_ns = sys_monotonic_ns();
        shared->begin_ticks = ticks_now();
        shared->begin_real_ns = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec;
        atomic_store(&shared->byte_len, TRACE_HEADER_BYTES);
        if (before) {
                shared->begin_ns = before->ns[0];
                shared->begin_ticks = before->ticks[0];
                shared->begin_real_ns = before->real_ns;
                atomic_store(&shared->byte_len, before->byte_len);
                atomic_store(&shared->lost, before->lost);
                atomic_store(&shared->untraced, before->untraced);
                atomic_store(&shared->tracks, before->tracks);
        }
        atomic_store(&shared->is_ready, 1);
        return rings_write_header(rings);
}

/* ---- opening and closing ---- */

static bool is_of_this_boot(const struct trace_header *header)
{
        char boot_id[sizeof(header->boot_id)];
        return !sys_boot_id(boot_id) && !strncmp(boot_id, header->boot_id, sizeof(boot_id));
}

/* Somebody records although this process cannot use the rings that the header names: they are of another version of
 * the library, or their name was removed. Whoever makes other ones would write over what the first collector writes. */
static int create_if_alone(struct rings *rings, const struct trace_header *before, uint64_t most_bytes)
{
        const bool is_named = before && before->rings[0]; /* else the last one has left in an orderly way */
        const int is_used = !is_named ? 0
                                      : sys_is_range_locked(rings->file, RINGS_USE_BYTE,
                                                            RINGS_TRACK_BYTE - RINGS_USE_BYTE + RINGS_MAX);

        if (is_used)
                return is_used < 0 ? is_used : -EBUSY;
        return create(rings, before, most_bytes);
}

/* Caller holds RINGS_OPENING_BYTE. */
static int open_locked(struct rings *rings, uint64_t most_bytes, int may_create)
{
        struct trace_header header;
        int err = read_header(rings->file, &header);
        const bool is_new = err == -ENODATA;
        if (err && !is_new)
                return err;
        if (!is_new && !is_of_this_boot(&header))
                return -ESTALE;
        err = is_new ? -ENOENT : attach(rings, &header);
        if (err == -ENOENT && may_create)
                err = create_if_alone(rings, is_new ? NULL : &header, most_bytes);
        return err ? err : byte_lock_share(rings->file, RINGS_USE_BYTE);
}

/* Somebody else's trace is refused. Who may read one may lock it: who records into it closes it to others. */
static int keep_others_out(int file, bool may_change)
{
        struct trace_header header;
        struct stat st;
        int err = sys_stat(file, &st);
        if (!err)
                err = read_header(file, &header);
        if (err && err != -ENODATA)
                return err;
        return may_change && st.st_mode & 077 ? sys_chmod(file, OWNER_ALONE) : 0;
}

/* Who only looks at a trace does not change whose it is to read, and waits for nobody for long. */
static int lock_opening(const struct rings *rings)
{
        int err = -EAGAIN;
        if (rings->may_create)
                return byte_lock_wait(rings->file, RINGS_OPENING_BYTE);
        for (int i = 0; i < OPENING_TRIES && err == -EAGAIN; i++) {
                if (i)
                        sys_sleep_ns(OPENING_PAUSE_NS);
                err = sys_lock_byte(rings->file, RINGS_OPENING_BYTE, false);
        }
        return err;
}

int rings_open(struct rings *rings, const char *path, uint64_t most_bytes, int may_create)
{
        memset(rings, 0, sizeof(*rings));
        rings->may_create = may_create;
        int err = sys_open(AT_FDCWD, path, O_RDWR | (may_create ? O_CREAT : 0), OWNER_ALONE, &rings->file);
        if (err)
                return err;
        err = keep_others_out(rings->file, may_create);
        if (!err)
                err = lock_opening(rings);
        if (!err) {
                err = open_locked(rings, most_bytes, may_create);
                sys_unlock_byte(rings->file, RINGS_OPENING_BYTE);
        }
        if (err)
                sys_close(rings->file);
        return err;
}

void rings_detach(struct rings *rings)
{
        sys_munmap(rings->shared, memory_bytes());
        sys_close(rings->memory);
        sys_close(rings->file);
}

static bool is_all_in_file(const struct rings_shared *shared)
{
        for (uint32_t i = 0; i < RINGS_MAX; i++)
                if (atomic_load(&shared->ring[i].state) != RING_IS_FREE)
                        return false;
        return true;
}

/* Caller holds RINGS_OPENING_BYTE. */
static void remove_if_last(struct rings *rings)
{
        int directory;
        if (sys_is_byte_locked(rings->file, RINGS_USE_BYTE) || !is_all_in_file(rings->shared) ||
            open_directory(&directory))
                return;
        sys_unlink(directory, rings->name);
        sys_close(directory);
        memset(rings->name, 0, sizeof(rings->name));
        rings_write_header(rings);
}

void rings_close(struct rings *rings)
{
        if (!lock_opening(rings))
                remove_if_last(rings);
        rings_detach(rings); /* and with the file its locks */
}
