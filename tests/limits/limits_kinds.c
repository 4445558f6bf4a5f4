/* SPDX-License-Identifier: MIT */
#include "tests/limits/limits_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/limits/limits_ground.h"
#include "tests/support/check.h"

/* ---- setrlimit(2) ---- */

static void set_soft(int what, rlim_t value)
{
        struct rlimit limit;

        check_equal(getrlimit(what, &limit), 0);
        limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
        check_equal(setrlimit(what, &limit), 0);
}

static void lift_soft(int what)
{
        set_soft(what, RLIM_INFINITY);
}

enum { LITTLE_BYTES = 1 << 18, PAGE_BYTES = 4096 };

static void set_addresses(void)
{
        unsigned long pages = 0;
        FILE *file = fopen("/proc/self/statm", "re");

        check(file != NULL && fscanf(file, "%lu", &pages) == 1);
        fclose(file);
        set_soft(RLIMIT_AS, pages * PAGE_BYTES + LITTLE_BYTES);
}

static void lift_addresses(void)
{
        lift_soft(RLIMIT_AS);
}

static void set_descriptors(void)
{
        const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

        check(next >= 0);
        close(next);
        set_soft(RLIMIT_NOFILE, (rlim_t)next);
}

static void lift_descriptors(void)
{
        lift_soft(RLIMIT_NOFILE);
}

static void set_file_length(void)
{
        set_soft(RLIMIT_FSIZE, LITTLE_BYTES);
}

static void lift_file_length(void)
{
        lift_soft(RLIMIT_FSIZE);
}

/* What is there is locked, and what is mapped from now on; of that there may be little. */
static void set_locked(void)
{
        set_soft(RLIMIT_MEMLOCK, LITTLE_BYTES);
        check_equal(mlockall(MCL_FUTURE), 0);
}

static void lift_locked(void)
{
        munlockall();
        lift_soft(RLIMIT_MEMLOCK);
}

static void set_threads(void)
{
        set_soft(RLIMIT_NPROC, 1);
}

static void lift_threads(void)
{
        lift_soft(RLIMIT_NPROC);
}

static size_t little_stack(const char *call)
{
        enum { USUAL_KIB = 64, BACKUP_KIB = 128, KIB = 1024 };

        return (size_t)(strstr(call, "backup") ? BACKUP_KIB : USUAL_KIB) * KIB;
}

/* ---- Mappings ---- */

static char *many_mappings;
static size_t many_len;

/* Every other page has another protection, until no more fit. */
static void set_mappings(void)
{
        enum { PAGES = 1 << 18 };

        many_len = (size_t)PAGES * PAGE_BYTES;
        many_mappings = mmap(NULL, many_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        check(many_mappings != MAP_FAILED);
        for (size_t page = 1; page < PAGES; page += 2)
                if (mprotect(many_mappings + page * PAGE_BYTES, PAGE_BYTES, PROT_READ))
                        return;
        check(!"vm.max_map_count is too large");
}

static void lift_mappings(void)
{
        munmap(many_mappings, many_len);
}

/* ---- What the system refuses ---- */

/* As in containers: what Docker's default profile refuses without rights, with -EPERM. */
static void set_filter(void)
{
        static const int refused[] = { SYS_userfaultfd,
                                       SYS_io_uring_setup,
                                       SYS_io_uring_enter,
                                       SYS_io_uring_register,
                                       SYS_name_to_handle_at,
                                       SYS_open_by_handle_at,
                                       SYS_perf_event_open,
                                       SYS_process_vm_readv,
                                       SYS_process_vm_writev,
                                       SYS_kcmp,
                                       SYS_bpf,
                                       SYS_setns,
                                       SYS_unshare,
                                       SYS_mount,
                                       SYS_umount2,
                                       SYS_pivot_root,
                                       SYS_keyctl,
                                       SYS_add_key,
                                       SYS_request_key,
                                       SYS_mbind,
                                       SYS_move_pages,
                                       SYS_set_mempolicy,
                                       SYS_get_mempolicy,
                                       SYS_ptrace,
                                       SYS_personality };
        enum { COUNT = sizeof(refused) / sizeof(refused[0]) };
        struct sock_filter filter[2 * COUNT + 2] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                              offsetof(struct seccomp_data, nr)) };
        struct sock_fprog program;
        unsigned short at = 1;

        for (unsigned i = 0; i < COUNT; i++) {
                filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refused[i], 0, 1);
                filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
        }
        filter[at] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        program = (struct sock_fprog){ .len = at + 1, .filter = filter };
        check_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        check_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void become_guest(void)
{
        check_equal(unshare(CLONE_NEWUSER), 0); /* nobody is known there */
}

static void write_line(const char *path, const char *line)
{
        const int fd = open(path, O_WRONLY | O_CLOEXEC);

        check(fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line));
        close(fd);
}

static void become_guest_root(void)
{
        char line[64];

        become_guest();
        snprintf(line, sizeof(line), "0 %d 1", GROUND_USER);
        write_line("/proc/self/setgroups", "deny");
        write_line("/proc/self/uid_map", line);
        write_line("/proc/self/gid_map", line);
}

/* ---- Disk and shared memory ---- */

/* As small as what is in it. */
static void shrink(const char *where)
{
        struct statfs st;
        char options[64];

        check_equal(statfs(where, &st), 0);
        const unsigned long long used = st.f_blocks - st.f_bfree;
        snprintf(options, sizeof(options), "mode=1777,size=%llu", (used ? used : 1) * (unsigned long long)st.f_bsize);
        check_equal(mount("none", where, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, options), 0);
}

static void widen(const char *where)
{
        check_equal(mount("none", where, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, "mode=1777,size=96m"), 0);
}

static void fill_disk(void)
{
        shrink(GROUND_DISK);
}

static void free_disk(void)
{
        widen(GROUND_DISK);
}

static void fill_shm(void)
{
        shrink(GROUND_SHM);
}

static void free_shm(void)
{
        widen(GROUND_SHM);
}

/* tmpfs counts inodes and names. */
static void use_up_inodes(void)
{
        struct statfs st;
        char options[64];

        check_equal(statfs(GROUND_DISK, &st), 0);
        snprintf(options, sizeof(options), "mode=1777,nr_inodes=%llu", (unsigned long long)(st.f_files - st.f_ffree));
        check_equal(mount("none", GROUND_DISK, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, options), 0);
}

static void free_inodes(void)
{
        check_equal(mount("none", GROUND_DISK, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, "mode=1777,nr_inodes=1000"),
                    0);
}

/* What was there cannot be seen, and nothing can be made. */
static void hide_shm(void)
{
        check_equal(mount("none", GROUND_SHM, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=1777"), 0);
}

static void show_shm(void)
{
        check_equal(umount(GROUND_SHM), 0);
}

const struct kinds_limit kinds_all[] = {
        { .name = "`RLIMIT_AS`", .set = set_addresses, .lift = lift_addresses },
        { .name = "`RLIMIT_NOFILE`", .set = set_descriptors, .lift = lift_descriptors },
        { .name = "`RLIMIT_FSIZE`", .set = set_file_length, .lift = lift_file_length },
        { .name = "little stack", .stack_bytes = little_stack },
        { .name = "`mlockall()`", .set = set_locked, .lift = lift_locked },
        { .name = "`RLIMIT_NPROC`", .set = set_threads, .lift = lift_threads },
        { .name = "mappings", .set = set_mappings, .lift = lift_mappings, .varies = true },
        { .name = "disk full", .set_by_root = fill_disk, .lift_by_root = free_disk },
        { .name = "no inode", .set_by_root = use_up_inodes, .lift_by_root = free_inodes },
        { .name = "/dev/shm full", .set_by_root = fill_shm, .lift_by_root = free_shm },
        { .name = "/dev/shm read-only", .set_by_root = hide_shm, .lift_by_root = show_shm },
        { .name = "seccomp", .set = set_filter, .stays = true },
        { .name = "user namespace", .set_at_start = become_guest_root, .stays = true },
        { .name = "... not mapped", .set_at_start = become_guest, .stays = true },
};

unsigned kinds_count(void)
{
        return sizeof(kinds_all) / sizeof(kinds_all[0]);
}
