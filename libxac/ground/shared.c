/* SPDX-License-Identifier: MIT */
#include "libxac/ground/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/byte_lock.h"
#include "base/sys.h"

void shared_make_name(char name[SHARED_NAME_BYTES], const struct shared_identity *identity, const char *part)
{
        snprintf(name, SHARED_NAME_BYTES, SHARED_DIRECTORY "/xac.%llx.%llx.%s", (unsigned long long)identity->device,
                 (unsigned long long)identity->inode, part);
}

static int map_shared(int fd, uint64_t byte_len, void *out)
{
        void *addr;
        int err = sys_mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0, &addr);
        if (!err)
                *(void **)out = addr;
        return err;
}

/* The parts' addresses, once control_fd is open and sized. */
static int map_parts(struct shared *shared, uint32_t page_bytes, uint32_t max_participants, uint32_t pool_slots,
                     uint64_t log_ring_bytes)
{
        shared->page_bytes = page_bytes;
        shared->page_shift = (uint32_t)__builtin_ctz(page_bytes);
        shared->pool_slots = pool_slots;
        shared->layout = control_layout(max_participants, pool_slots, log_ring_bytes);
        char *base;
        int err = map_shared(shared->control_fd, shared->layout.end, &base);
        if (err)
                return err;
        err = map_shared(shared->pool_fd, (uint64_t)pool_slots * page_bytes, &shared->pool);
        if (err) {
                sys_munmap(base, shared->layout.end);
                return err;
        }
        shared->control = (struct control *)base;
        shared->processes = (struct process_row *)(base + shared->layout.processes);
        shared->rows = (struct row *)(base + shared->layout.rows);
        shared->chunk_marks = (_Atomic uint8_t *)(base + shared->layout.chunk_marks);
        shared->slots = (struct slot *)(base + shared->layout.slots);
        shared->rings = (struct ring_entry *)(base + shared->layout.rings);
        shared->liveness = (struct shlock_liveness){ shared_is_alive, shared };
        allowance_begin(&shared->allowance);
        return 0;
}

static void close_parts(struct shared *shared)
{
        int *fds[] = { &shared->control_fd, &shared->heads_fd, &shared->pool_fd };
        for (unsigned i = 0; i < 3; i++) {
                if (*fds[i] >= 0)
                        sys_close(*fds[i]);
                *fds[i] = -1;
        }
}

/* A name prepared by somebody else is not trusted, unless the environment is shared with them: with
 * the group (whose file it can only be if a member made it), or with everybody. */
bool shared_is_trusted(const struct stat *st, const struct shared_identity *identity)
{
        if (!S_ISREG(st->st_mode))
                return false;
        if (st->st_uid == geteuid() || st->st_uid == identity->directory_owner || st->st_uid == 0)
                return true;
        if (identity->mode & S_IWGRP && st->st_gid == identity->directory_group)
                return true;
        return identity->mode & S_IWOTH;
}

/* R22. -ESTALE: somebody has removed it since it was opened; -ENOENT: it is a stranger's, who might never unlock it. */
static int share_use(int control_fd, const struct shared_identity *identity)
{
        struct stat st;
        int err = sys_stat(control_fd, &st);
        if (!err && !shared_is_trusted(&st, identity))
                err = -ENOENT;
        if (!err)
                err = byte_lock_share(control_fd, SHARED_USE_BYTE);
        if (!err)
                err = sys_stat(control_fd, &st);
        return !err && st.st_nlink == 0 ? -ESTALE : err;
}

static int open_parts(struct shared *shared, const struct shared_identity *identity, int flags)
{
        char name[SHARED_NAME_BYTES];
        const char *parts[] = { "control", "heads", "pool" };
        int *fds[] = { &shared->control_fd, &shared->heads_fd, &shared->pool_fd };
        shared->control_fd = shared->heads_fd = shared->pool_fd = -1;
        for (unsigned i = 0; i < 3; i++) {
                shared_make_name(name, identity, parts[i]);
                int err = sys_open(AT_FDCWD, name, O_RDWR | flags, 0600, fds[i]);
                if (!err && i == 0)
                        err = share_use(shared->control_fd, identity);
                if (err) {
                        close_parts(shared);
                        return err;
                }
        }
        return 0;
}

static int check_owners(const struct shared *shared, const struct shared_identity *identity)
{
        const int fds[] = { shared->control_fd, shared->heads_fd, shared->pool_fd };
        for (unsigned i = 0; i < 3; i++) {
                struct stat st;
                int err = sys_stat(fds[i], &st);
                if (err)
                        return err;
                if (!shared_is_trusted(&st, identity))
                        return -ENOENT;
        }
        return 0;
}

/* Parts that are too short would be a SIGBUS. */
static int check_sizes(const struct shared *shared, const struct control *header)
{
        struct stat heads, pool;
        int err = sys_stat(shared->heads_fd, &heads);
        if (!err)
                err = sys_stat(shared->pool_fd, &pool);
        if (err)
                return err;
        bool is_right = (uint64_t)heads.st_size == SHARED_HEADS_BYTES &&
                        (uint64_t)pool.st_size == (uint64_t)header->pool_slots * header->page_bytes;
        return is_right ? 0 : -ENOENT;
}

static bool is_header_right(const struct control *control, const struct shared_identity *identity, uint64_t size,
                            const char boot_id[40])
{
        if (memcmp(control->magic, SHARED_MAGIC, sizeof(control->magic)) || control->version != CONTROL_VERSION)
                return false;
        if (!atomic_load(&control->is_ready) || control->device != identity->device ||
            control->inode != identity->inode || control->page_bytes != identity->page_bytes ||
            control->max_participants != identity->max_participants)
                return false;
        if (!control->pool_slots || control->pool_slots > SLOT_MASK || control->log_ring_bytes > LOG_RING_MAX)
                return false;
        if (control_layout(control->max_participants, control->pool_slots, control->log_ring_bytes).end != size)
                return false;
        return (control->generation == identity->generation || control->next_generation == identity->generation) &&
               control->session_ns == identity->session_ns &&
               !memcmp(control->uuid, identity->uuid, sizeof(control->uuid)) &&
               !strncmp(control->boot_id, boot_id, sizeof(control->boot_id));
}

int shared_check_header(int fd, const struct shared_identity *identity, struct control *header)
{
        struct stat st;
        char boot_id[40] = "";
        int err = sys_stat(fd, &st);
        if (!err)
                err = sys_boot_id(boot_id);
        if (!err)
                err = sys_read_all(fd, header, offsetof(struct control, commit_lock), 0);
        if (err)
                return err == -ENODATA ? -ENOENT : err;
        return is_header_right(header, identity, (uint64_t)st.st_size, boot_id) ? 0 : -ENOENT;
}

/* What cannot be looked at is not taken for absent: there may be commits in it. */
int shared_attach(struct shared *shared, const struct shared_identity *identity)
{
        struct control header;
        int err = open_parts(shared, identity, 0);
        if (err)
                return err == -ELOOP || err == -EISDIR || err == -ESTALE ? -ENOENT : err; /* no file of ours */
        err = check_owners(shared, identity);
        if (!err)
                err = shared_check_header(shared->control_fd, identity, &header);
        if (!err)
                err = check_sizes(shared, &header);
        if (!err && header.is_volatile != identity->is_volatile && !identity->joins_either)
                err = -EINVAL;
        if (!err)
                err = map_parts(shared, header.page_bytes, header.max_participants, header.pool_slots,
                                header.log_ring_bytes);
        if (err)
                close_parts(shared);
        return err;
}

/* For those who check it (shlock.h). The lead of the log, between the last two, is no such lock. */
static void order_locks(struct control *control)
{
        struct shlock *const order[] = { &control->participant_lock, &control->checkpoint_lock, &control->backlog_lock,
                                         &control->file_lock,        &control->pool_lock,       &control->commit_lock };
        /* archive_lock: held by who holds and wants none of these. */

        for (uint32_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
                shlock_set_rank(order[i], i + 1);
}

static void fill_header(struct control *control, const struct shared_identity *identity)
{
        memcpy(control->magic, SHARED_MAGIC, sizeof(control->magic));
        order_locks(control);
        control->version = CONTROL_VERSION;
        control->page_bytes = identity->page_bytes;
        control->max_participants = identity->max_participants;
        control->pool_slots = identity->pool_slots;
        control->mode = identity->mode;
        control->is_volatile = identity->is_volatile;
        control->log_ring_bytes = identity->log_ring_bytes;
        control->log_bytes = identity->log_bytes;
        control->area_bytes = identity->area_bytes;
        control->device = identity->device;
        control->inode = identity->inode;
        control->generation = identity->generation;
        control->next_generation = identity->generation;
        control->session_ns = identity->session_ns;
        memcpy(control->uuid, identity->uuid, sizeof(control->uuid));
        memcpy(control->path, identity->path, sizeof(control->path));
        control->mark = identity->mark;
        memcpy(control->archive, identity->archive, sizeof(control->archive));
        control->archive_is_packed = identity->archive_is_packed;
        atomic_store(&control->sequence, identity->sequence); /* 1 and up: 0 means no snapshot */
        atomic_store(&control->decided, identity->sequence);
        atomic_store(&control->checkpoint_sequence, identity->sequence);
        atomic_store(&control->durable_sequence, identity->is_volatile ? 0 : identity->sequence);
        atomic_store(&control->flip_epoch, 1);
        atomic_store(&control->slots_allocated, 1); /* slot 0 is home */
        control->awaited_from = 1;
        atomic_store(&control->aliases_end, identity->pool_slots);
        atomic_store(&control->room_wanted, identity->pool_slots / 2);
        atomic_store(&control->ceiling, identity->pool_slots);
        control->next_id = shared_first_id(identity->generation);
        control->ids_end = shared_first_id(identity->generation + 1);
}

static struct control_layout layout_of(const struct shared_identity *identity)
{
        return control_layout(identity->max_participants, identity->pool_slots, identity->log_ring_bytes);
}

/* The rest of the log's ring (R43) and the moves (moves_give_memory) get memory when they are used. */
static uint64_t first_bytes(const struct shared_identity *identity)
{
        return layout_of(identity).log_ring + log_ring_first(identity->log_ring_bytes);
}

/* Where that rest would not fit even now, there is no room for an environment. */
static int check_space(const struct shared_identity *identity)
{
        uint64_t all, unused;
        if (sys_space(SHARED_DIRECTORY, &all, &unused) || !all) /* without a limit it has size 0 */
                return 0;
        return unused < layout_of(identity).slots - first_bytes(identity) ? -ENOSPC : 0;
}

static int size_parts(struct shared *shared, const struct shared_identity *identity)
{
        struct control_layout layout = layout_of(identity);
        int err = sys_truncate(shared->control_fd, layout.end);
        if (!err)
                err = sys_allocate(shared->control_fd, 0, first_bytes(identity));
        if (!err) /* the first row's ring at once: who can open can also join, to close */
                err = sys_allocate(shared->control_fd, layout.rings, RING_ENTRIES * sizeof(struct ring_entry));
        if (!err)
                err = sys_truncate(shared->heads_fd, SHARED_HEADS_BYTES);
        if (!err)
                err = sys_truncate(shared->pool_fd, (uint64_t)identity->pool_slots * identity->page_bytes);
        if (!err) /* slot 0: zeros for whoever shows them */
                err = sys_allocate(shared->pool_fd, 0, identity->page_bytes);
        return err;
}

/* The environment's permissions, and its group where that is to have any. */
static int permit_parts(struct shared *shared, const struct shared_identity *identity)
{
        const int fds[] = { shared->control_fd, shared->heads_fd, shared->pool_fd };
        int err = 0;
        for (unsigned i = 0; i < 3 && !err; i++) {
                if (identity->mode & S_IRWXG)
                        err = sys_chgrp(fds[i], identity->directory_group);
                if (!err || err == -EPERM) /* not a member: then it shares with nobody of the group */
                        err = sys_chmod(fds[i], (mode_t)identity->mode & 0666);
        }
        return err;
}

int shared_remove_old(const struct shared_identity *identity)
{
        char name[SHARED_NAME_BYTES];
        int fd;
        shared_make_name(name, identity, "control");
        if (sys_open(AT_FDCWD, name, O_RDWR, 0, &fd)) {
                shared_remove(identity); /* what cannot be opened is not ours to remove: then the name stays taken */
                return 0;
        }
        int err = share_use(fd, identity);
        if (err == -ESTALE || err == -ENOENT)
                err = 0;
        if (!err)
                shared_remove(identity);
        sys_close(fd);
        return err;
}

/* Somebody who cleans up may take a new part for a forgotten one before it is locked: then it is made again. */
static int make_parts(struct shared *shared, const struct shared_identity *identity)
{
        enum { TRIES = 10 };
        int err = -ESTALE;
        for (int i = 0; i < TRIES && err == -ESTALE; i++)
                err = open_parts(shared, identity, O_CREAT | O_EXCL);
        return err;
}

int shared_create(struct shared *shared, const struct shared_identity *identity)
{
        int err = shared_remove_old(identity);
        if (err)
                return err;
        err = make_parts(shared, identity);
        if (err == -EEXIST)
                return -EACCES; /* somebody else's, and not ours to remove */
        if (err == -ENOENT)
                return -ENODEV; /* there is no /dev/shm */
        if (!err)
                err = permit_parts(shared, identity);
        if (!err)
                err = size_parts(shared, identity);
        if (!err)
                err = check_space(identity);
        if (!err)
                err = map_parts(shared, identity->page_bytes, identity->max_participants, identity->pool_slots,
                                identity->log_ring_bytes);
        if (err)
                goto fail_size;
        fill_header(shared->control, identity);
        atomic_store(&shared->rows[0].has_ring, 1);
        err = sys_boot_id(shared->control->boot_id);
        if (err)
                goto fail_map;
        shared->is_creator = true;
        return 0;

fail_map:
        shared_detach(shared);
fail_size:
        close_parts(shared);
        shared_remove(identity);
        return err;
}

static int make_parts_alone(struct shared *shared)
{
        int *fds[] = { &shared->control_fd, &shared->heads_fd, &shared->pool_fd };
        int err = 0;
        shared->control_fd = shared->heads_fd = shared->pool_fd = -1;
        for (unsigned i = 0; i < 3 && !err; i++) {
                err = sys_memory_file("xac", 0, fds[i]);
                if (err)
                        *fds[i] = -1;
        }
        return err;
}

int shared_create_alone(struct shared *shared, const struct shared_identity *identity)
{
        int err = make_parts_alone(shared);
        if (!err)
                err = size_parts(shared, identity);
        if (!err)
                err = map_parts(shared, identity->page_bytes, identity->max_participants, identity->pool_slots,
                                identity->log_ring_bytes);
        if (err) {
                close_parts(shared);
                return err;
        }
        fill_header(shared->control, identity);
        atomic_store(&shared->rows[0].has_ring, 1);
        return 0;
}

void shared_mark_ready(struct shared *shared)
{
        atomic_store(&shared->control->is_ready, 1);
}

void shared_detach(struct shared *shared)
{
        uint64_t pool_len = (uint64_t)shared->control->pool_slots * shared->page_bytes;
        for (uint32_t i = 0; i < FILES_MAX; i++)
                if (shared->heads[i])
                        sys_munmap((void *)shared->heads[i], FILE_PAGES_MAX * sizeof(uint64_t));
        sys_munmap(shared->pool, pool_len);
        sys_munmap(shared->control, shared->layout.end);
        close_parts(shared);
}

/* The control part last: without it nobody could say whose the others were. */
void shared_remove(const struct shared_identity *identity)
{
        char name[SHARED_NAME_BYTES];
        const char *parts[] = { "pool", "heads", "control" };
        for (unsigned i = 0; i < 3; i++) {
                shared_make_name(name, identity, parts[i]);
                sys_unlink(AT_FDCWD, name);
        }
}

int shared_write_manifest_locked(struct shared *shared, int directory, struct manifest *manifest)
{
        shlock_assert_held(&shared->control->file_lock);
        struct control *control = shared->control;
        control->generation = manifest->generation; /* whoever wrote that one may have died before he said so */
        atomic_signal_fence(memory_order_seq_cst);
        control->next_generation = manifest->generation + 1;
        int err = manifest_write(directory, manifest);
        if (!err)
                control->generation = manifest->generation;
        return err;
}

/* Byte 0 of the lock file is the open/close lock; process n holds byte n + 1. */
bool shared_is_process_alive(struct shared *shared, uint32_t process_no)
{
        if (process_no == shared->process_no)
                return true;
        return sys_is_byte_locked(shared->lock_fd, process_no + 1) != 0; /* unsure counts as alive */
}

int shared_is_any_other_alive(struct shared *shared, uint32_t max_participants)
{
        return sys_is_range_locked(shared->lock_fd, 1, control_processes_max(max_participants));
}

bool shared_is_alive(void *arg, uint32_t owner)
{
        struct shared *shared = arg;
        if (owner > PARTICIPANTS_MAX)
                return shared_is_process_alive(shared, owner - PARTICIPANTS_MAX - 1);
        return shared_is_process_alive(shared, atomic_load(&shared->rows[owner - 1].process_no));
}

static pthread_mutex_t *mutex_of(struct shared *shared, const struct shlock *lock)
{
        return lock == &shared->control->file_lock ? &shared->file_mutex : &shared->participant_mutex;
}

int shared_lock_as_process(struct shared *shared, struct shlock *lock)
{
        pthread_mutex_lock(mutex_of(shared, lock));
        return shlock_lock(lock, control_owner_of_process(shared->process_no), &shared->liveness);
}

void shared_unlock_as_process(struct shared *shared, struct shlock *lock)
{
        shlock_unlock(lock);
        pthread_mutex_unlock(mutex_of(shared, lock));
}

void shared_call_for_duty(struct shared *shared)
{
        struct control *control = shared->control;
        if (atomic_load_explicit(&control->duty_wanted, memory_order_relaxed) ||
            atomic_exchange(&control->duty_wanted, 1))
                return;
        atomic_fetch_add(&control->duty, 1);
        sys_futex_wake((const uint32_t *)&control->duty, 1);
}

_Atomic uint64_t *shared_map_heads(struct shared *shared, uint32_t file_no)
{
        _Atomic uint64_t *heads = atomic_load_explicit(&shared->heads[file_no], memory_order_acquire);
        if (heads)
                return heads;
        const uint64_t byte_len = FILE_PAGES_MAX * sizeof(uint64_t);
        void *addr;
        if (sys_mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, shared->heads_fd,
                     file_no * byte_len, &addr))
                return NULL;
        _Atomic uint64_t *expected = NULL;
        if (atomic_compare_exchange_strong(&shared->heads[file_no], &expected, addr))
                return addr;
        sys_munmap(addr, byte_len); /* another thread was first */
        return expected;
}
