/* SPDX-License-Identifier: MIT */
#include "libxac/care/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "libxac/care/strangers.h"
#include "libxac/ground/directory_mark.h"
#include "libxac/ground/shared.h"
#include "recovery/manifest.h"

enum { PARTS = 3, CONTROL = 0 };

static const char *const part_names[PARTS] = { "control", "heads", "pool" };

static void make_name(char name[SHARED_NAME_BYTES], const struct leftover *leftover, int part)
{
        const struct shared_identity identity = { .device = leftover->device, .inode = leftover->inode };
        shared_make_name(name, &identity, part_names[part]);
}

/* ---- What is in it ---- */

static void count_bytes(struct leftover *leftover)
{
        enum { BLOCK = 512 };
        leftover->byte_len = 0;
        for (int part = 0; part < PARTS; part++) {
                char name[SHARED_NAME_BYTES];
                struct stat st;
                make_name(name, leftover, part);
                if (!sys_stat_at(AT_FDCWD, name, &st))
                        leftover->byte_len += (uint64_t)st.st_blocks * BLOCK;
        }
}

static void list_processes(struct leftover *leftover, const struct control *control, int fd)
{
        struct control_layout at =
                control_layout(control->max_participants, control->pool_slots, control->log_ring_bytes);
        uint32_t max = control_processes_max(control->max_participants);
        for (uint32_t i = 0; i < max; i++) {
                struct process_row row;
                if (sys_read_all(fd, &row, sizeof(row), at.processes + i * sizeof(row)))
                        return;
                if (!atomic_load(&row.is_used))
                        continue;
                if (leftover->process_count < LEFTOVER_PIDS)
                        leftover->pid[leftover->process_count] = atomic_load(&row.pid);
                leftover->process_count++;
        }
}

/* Is there nothing in it that the files of the environment have not? Without a log nobody knows. */
static bool is_on_disk(const struct control *control)
{
        uint64_t decided = atomic_load(&control->decided);
        return !control->is_volatile && atomic_load(&control->durable_sequence) == decided;
}

/* ---- Whose it is ---- */

static bool is_believed(const struct manifest *manifest, const struct control *control)
{
        return !memcmp(manifest->uuid, control->uuid, sizeof(control->uuid)) &&
               manifest->session.time_ns == control->session_ns &&
               (manifest->generation == control->generation || manifest->generation == control->next_generation);
}

/* Would an open of this directory go on with it? (R15) Not on the stack, of which an open that asks has little. */
static enum leftover_kind ask_environment(struct leftover *leftover, int directory, const struct control *control)
{
        enum leftover_kind kind = LEFTOVER_UNKNOWN;
        struct manifest *manifest = malloc(sizeof(*manifest));
        leftover->err = manifest ? manifest_read(directory, manifest) : -ENOMEM;
        if (leftover->err == -ENOENT)
                kind = LEFTOVER_REPLACED;
        else if (!leftover->err)
                kind = is_believed(manifest, control) ? LEFTOVER_NEEDED : LEFTOVER_REPLACED;
        free(manifest);
        return kind;
}

static enum leftover_kind ask_file_system(const struct leftover *leftover, const struct control *control)
{
        const bool is_gone = directory_mark_is_gone(&control->mark, leftover->device, leftover->where - 1);
        return is_gone ? LEFTOVER_GONE : LEFTOVER_HOMELESS;
}

static enum leftover_kind ask_directory(struct leftover *leftover, const struct control *control)
{
        int directory;
        if (leftover->where)
                return ask_file_system(leftover, control); /* a path may lie behind a mount that never answers */
        if (leftover->path[0] != '/')
                return LEFTOVER_UNKNOWN; /* nobody knows where to ask */
        leftover->err = sys_open(AT_FDCWD, leftover->path, O_RDONLY | O_DIRECTORY, 0, &directory);
        if (leftover->err == -ENOENT || leftover->err == -ENOTDIR)
                return ask_file_system(leftover, control);
        if (leftover->err)
                return LEFTOVER_UNKNOWN;
        struct stat st;
        enum leftover_kind kind = LEFTOVER_UNKNOWN;
        leftover->err = sys_stat(directory, &st);
        if (!leftover->err && (st.st_dev != leftover->device || st.st_ino != leftover->inode))
                kind = ask_file_system(leftover, control);
        else if (!leftover->err)
                kind = ask_environment(leftover, directory, control);
        sys_close(directory);
        return kind;
}

static enum leftover_kind judge_header(struct leftover *leftover, struct control *control)
{
        static const char nothing[8];
        char boot_id[40] = "";
        if (!memcmp(control->magic, nothing, sizeof(nothing)))
                return LEFTOVER_UNFINISHED;
        if (memcmp(control->magic, SHARED_MAGIC, sizeof(control->magic)) || control->version != CONTROL_VERSION ||
            control->device != leftover->device || control->inode != leftover->inode || !control->max_participants ||
            control->max_participants > PARTICIPANTS_MAX)
                return LEFTOVER_OTHERS;
        if (!atomic_load(&control->is_ready))
                return LEFTOVER_UNFINISHED;
        if (!leftover->path[0])
                snprintf(leftover->path, sizeof(leftover->path), "%.*s", CONTROL_PATH_BYTES - 1, control->path);
        leftover->err = sys_boot_id(boot_id);
        if (leftover->err)
                return LEFTOVER_UNKNOWN;
        if (strncmp(control->boot_id, boot_id, sizeof(boot_id)))
                return LEFTOVER_PAST_BOOT;
        return ask_directory(leftover, control);
}

static struct control *read_control(int fd, int *err)
{
        struct control *control = aligned_alloc(CACHE_LINE, sizeof(*control));
        *err = control ? sys_read_all(fd, control, sizeof(*control), 0) : -ENOMEM;
        if (!*err)
                return control;
        free(control);
        return NULL;
}

/* path may be given; else it is what the control part says. */
static void judge_open(struct leftover *leftover, int fd)
{
        struct control *control = read_control(fd, &leftover->err);
        if (!control) { /* too short: not yet, or no more, what it was to be */
                leftover->kind = leftover->err == -ENODATA ? LEFTOVER_UNFINISHED : LEFTOVER_UNKNOWN;
                return;
        }
        leftover->kind = judge_header(leftover, control);
        if (leftover->kind < LEFTOVER_UNFINISHED) {
                leftover->is_on_disk = is_on_disk(control);
                list_processes(leftover, control, fd);
        }
        free(control);
}

/* Neither a FIFO nor a link nor somebody's directory. */
static int open_plain(const char *name, int flags, int *fd)
{
        struct stat st;
        int err = sys_open(AT_FDCWD, name, flags, 0, fd);
        if (err)
                return err;
        err = sys_stat(*fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = -ELOOP;
        if (err)
                sys_close(*fd);
        return err;
}

static void judge(struct leftover *leftover)
{
        char name[SHARED_NAME_BYTES];
        int fd;
        make_name(name, leftover, CONTROL);
        count_bytes(leftover);
        leftover->err = open_plain(name, O_RDONLY, &fd);
        if (leftover->err) {
                leftover->kind = leftover->err == -ENOENT  ? LEFTOVER_PARTS
                                 : leftover->err == -ELOOP ? LEFTOVER_OTHERS
                                                           : LEFTOVER_UNKNOWN;
                return;
        }
        int in_use = sys_is_byte_locked(fd, SHARED_USE_BYTE);
        leftover->is_in_use = in_use != 0; /* unsure counts as in use */
        judge_open(leftover, fd);
        sys_close(fd);
}

/* ---- What there is ---- */

/* Of a directory that has shared memory, once for each part. Everybody may make any number of such names. */
struct owner {
        uint64_t device, inode;
};

struct list {
        struct owner *all;
        size_t count;
        size_t room;
};

/* xac.DEVICE.INODE.PART, written as we write it. */
static bool parse(const char *entry, struct leftover *leftover)
{
        unsigned long long device, inode;
        char part[8] = "", again[SHARED_NAME_BYTES];
        if (sscanf(entry, "xac.%llx.%llx.%7[a-z]", &device, &inode, part) != 3)
                return false;
        snprintf(again, sizeof(again), "xac.%llx.%llx.%s", device, inode, part);
        bool is_part = false;
        for (int i = 0; i < PARTS; i++)
                is_part |= strcmp(part, part_names[i]) == 0;
        *leftover = (struct leftover){ .device = device, .inode = inode };
        return is_part && strcmp(entry, again) == 0;
}

static int add(void *arg, const char *entry)
{
        struct list *list = arg;
        struct leftover leftover;
        if (!parse(entry, &leftover))
                return 0;
        if (list->count == list->room) {
                const size_t room = 2 * list->room + 16;
                struct owner *more = realloc(list->all, room * sizeof(*more));
                if (!more)
                        return -ENOMEM;
                list->all = more;
                list->room = room;
        }
        list->all[list->count++] = (struct owner){ leftover.device, leftover.inode };
        return 0;
}

static int compare_owners(const void *a_, const void *b_)
{
        const struct owner *a = a_;
        const struct owner *b = b_;
        if (a->device != b->device)
                return a->device < b->device ? -1 : 1;
        return (a->inode > b->inode) - (a->inode < b->inode);
}

static int list_owners(struct list *list)
{
        int directory;
        int err = sys_open(AT_FDCWD, SHARED_DIRECTORY, O_RDONLY | O_DIRECTORY, 0, &directory);
        if (err)
                return err;
        err = sys_list(directory, add, list);
        sys_close(directory);
        if (!err && list->count)
                qsort(list->all, list->count, sizeof(list->all[0]), compare_owners);
        return err;
}

/* The parts of one stand side by side now. */
static int visit_owners(int (*visit)(void *arg, const struct owner *owner), void *arg)
{
        struct list list = { 0 };
        int err = list_owners(&list);
        for (size_t i = 0; !err && i < list.count; i++)
                if (!i || compare_owners(&list.all[i - 1], &list.all[i]))
                        err = visit(arg, &list.all[i]);
        free(list.all);
        return err;
}

struct visitor {
        int (*visit)(void *arg, const struct leftover *leftover);
        void *arg;
};

static int judge_and_visit(void *visitor_, const struct owner *owner)
{
        struct visitor *visitor = visitor_;
        struct leftover leftover = { .device = owner->device, .inode = owner->inode };
        judge(&leftover);
        return visitor->visit(visitor->arg, &leftover);
}

int leftovers_visit(int (*visit)(void *arg, const struct leftover *leftover), void *arg)
{
        struct visitor visitor = { visit, arg };
        return visit_owners(judge_and_visit, &visitor);
}

int leftovers_room(uint64_t *all, uint64_t *unused)
{
        return sys_space(SHARED_DIRECTORY, all, unused);
}

static int judge_if_there(struct leftover *leftover)
{
        judge(leftover);
        return leftover->kind == LEFTOVER_PARTS && !leftover->byte_len ? -ENOENT : 0;
}

int leftover_of_directory(const char *path, struct leftover *leftover)
{
        struct stat st;
        int directory;
        int err = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &directory);
        if (err)
                return err;
        err = sys_stat(directory, &st);
        *leftover = (struct leftover){ .device = st.st_dev, .inode = st.st_ino };
        sys_path_of(directory, leftover->path, sizeof(leftover->path));
        const bool is_of_strangers = !err && strangers_are_there(directory) > 0;
        sys_close(directory);
        if (err)
                return err;
        if (!is_of_strangers)
                return judge_if_there(leftover);
        leftover->kind = LEFTOVER_STRANGERS; /* also if they say that they use it */
        count_bytes(leftover);
        return 0;
}

int leftover_of_name(const char *name, struct leftover *leftover)
{
        char entry[SHARED_NAME_BYTES];
        int length = snprintf(entry, sizeof(entry), "%s.%s", name, part_names[CONTROL]);
        if (length >= (int)sizeof(entry) || !parse(entry, leftover))
                return -EINVAL;
        return judge_if_there(leftover);
}

/* ---- Removing ---- */

bool leftover_is_removable(const struct leftover *leftover, bool may_lose)
{
        if (leftover->is_in_use)
                return false;
        switch (leftover->kind) {
        case LEFTOVER_NEEDED:
                return may_lose;
        case LEFTOVER_HOMELESS:
                return may_lose || leftover->is_on_disk;
        case LEFTOVER_GONE:
        case LEFTOVER_REPLACED:
        case LEFTOVER_PAST_BOOT:
        case LEFTOVER_UNFINISHED:
        case LEFTOVER_PARTS:
        case LEFTOVER_STRANGERS:
                return true;
        default:
                return false;
        }
}

/* The control part to lock: where there is none, ours, so that nobody else makes one while we remove the others. */
static int open_to_remove(const struct leftover *leftover, int *fd)
{
        char name[SHARED_NAME_BYTES];
        make_name(name, leftover, CONTROL);
        if (leftover->kind != LEFTOVER_PARTS)
                return open_plain(name, O_RDWR, fd);
        int err = sys_open(AT_FDCWD, name, O_RDWR | O_CREAT | O_EXCL, 0600, fd);
        return err == -EEXIST ? -EAGAIN : err;
}

static int check_again(const struct leftover *leftover, int fd, bool may_lose)
{
        struct leftover now = { .device = leftover->device, .inode = leftover->inode, .where = leftover->where };
        struct stat st;
        int err = sys_stat(fd, &st);
        if (err || st.st_nlink == 0)
                return err ? err : -EAGAIN;
        if (leftover->kind == LEFTOVER_PARTS)
                return 0; /* that one is ours */
        memcpy(now.path, leftover->path, sizeof(now.path));
        judge_open(&now, fd);
        return now.kind == leftover->kind && leftover_is_removable(&now, may_lose) ? 0 : -EAGAIN;
}

static int remove_names(const struct leftover *leftover)
{
        int err = 0;
        for (int part = PARTS - 1; part >= 0; part--) { /* as shared_remove */
                char name[SHARED_NAME_BYTES];
                make_name(name, leftover, part);
                int this_err = sys_unlink(AT_FDCWD, name);
                if (this_err && this_err != -ENOENT)
                        err = this_err;
        }
        return err;
}

static int remove_strangers(const struct leftover *leftover)
{
        struct stat st;
        int directory;
        int err = sys_open(AT_FDCWD, leftover->path, O_RDONLY | O_DIRECTORY, 0, &directory);
        if (err)
                return err;
        err = sys_stat(directory, &st);
        if (!err && (st.st_dev != leftover->device || st.st_ino != leftover->inode))
                err = -EAGAIN;
        if (!err)
                err = strangers_remove(directory);
        sys_close(directory);
        return err;
}

int leftover_remove(const struct leftover *leftover, bool may_lose)
{
        int fd;
        if (leftover->kind == LEFTOVER_STRANGERS)
                return remove_strangers(leftover);
        int err = open_to_remove(leftover, &fd);
        if (err)
                return err;
        err = sys_lock_byte(fd, SHARED_USE_BYTE, false);
        if (err)
                err = err == -EAGAIN ? -EBUSY : err;
        else
                err = check_again(leftover, fd, may_lose);
        if (!err)
                err = remove_names(leftover);
        sys_close(fd); /* and with it the lock */
        return err;
}

/* ---- By those who open ---- */

#define SWEEP_NS UINT64_C(60000000000) /* between two of a process */

struct sweep {
        uint64_t device;
        int where;
        uint32_t left; /* names to look at */
        uint64_t from; /* inodes, and up to which; there it ended last */
        uint64_t to;
        uint64_t last;
};

/* What another user has put there may name a path that never answers. */
static bool is_our_own(const struct leftover *leftover)
{
        struct stat st;
        char name[SHARED_NAME_BYTES];
        make_name(name, leftover, CONTROL);
        return !sys_stat_at(AT_FDCWD, name, &st) && st.st_uid == geteuid();
}

static int remove_if_gone(void *sweep_, const struct owner *owner)
{
        struct sweep *sweep = sweep_;
        struct leftover leftover = { .device = owner->device, .inode = owner->inode, .where = sweep->where + 1 };
        if (owner->device != sweep->device || owner->inode < sweep->from || owner->inode > sweep->to ||
            !is_our_own(&leftover))
                return 0;
        sweep->last = owner->inode;
        judge(&leftover);
        if (leftover.kind == LEFTOVER_GONE && leftover_is_removable(&leftover, false))
                leftover_remove(&leftover, false);
        return --sweep->left == 0;
}

/* Who opens and closes in a loop does not look each time. */
static bool is_time_to_sweep(void)
{
        static _Atomic uint64_t next_ns;
        uint64_t now_ns = sys_monotonic_ns(), due_ns = atomic_load(&next_ns);
        return now_ns >= due_ns && atomic_compare_exchange_strong(&next_ns, &due_ns, now_ns + SWEEP_NS);
}

/* Most processes look once in their lives: so that they do not all look at the same names, the first look of each
 * begins anywhere. */
static uint64_t first_from(int directory, uint64_t device)
{
        struct stat st;
        uint64_t any = 0;
        if (sys_stat(directory, &st) || st.st_dev != device || sys_random(&any, sizeof(any)))
                return 0;
        return any % (st.st_ino + 1);
}

/* Names are in the order of their inodes; behind the last comes the first. */
void leftovers_sweep(int directory, uint64_t device)
{
        enum { LOOKS = 64 };
        static _Atomic uint64_t next;
        static atomic_bool has_begun;
        if (!atomic_exchange(&has_begun, true))
                atomic_store(&next, first_from(directory, device));
        const uint64_t from = atomic_load(&next);
        struct sweep sweep = { .device = device, .where = directory, .left = LOOKS, .from = from, .to = UINT64_MAX };
        if (visit_owners(remove_if_gone, &sweep) == 0 && from) {
                sweep.from = 0;
                sweep.to = from - 1;
                visit_owners(remove_if_gone, &sweep);
        }
        atomic_store(&next, sweep.last + 1);
}

/* It makes as many system calls as others have left names. Tests that count calls, to fail one after the other, would
 * find another number each time. */
void leftovers_remove_gone(int directory, uint64_t device)
{
        const bool is_counted = sys_fail || sys_record;
        if (!is_counted && directory_mark_may_ask() && is_time_to_sweep())
                leftovers_sweep(directory, device);
}
