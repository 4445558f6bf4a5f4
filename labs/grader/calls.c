/* SPDX-License-Identifier: MIT */

#include "labs/grader/calls.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE

/* Newer calls are refused as if the kernel did not have them: the C library then takes an older one. */
enum { NEWER = 424 };

/* What all may call. aarch64 never had the older ones. */
static const int allowed[] = {
#ifdef __x86_64__
        SYS_stat,
        SYS_lstat,
        SYS_access,
        SYS_readlink,
        SYS_dup2,
        SYS_poll,
        SYS_select,
        SYS_time,
        SYS_pause,
        SYS_getpgrp,
        SYS_arch_prctl,
#endif
        /* files that are there, and descriptors */
        SYS_read,
        SYS_write,
        SYS_readv,
        SYS_writev,
        SYS_pread64,
        SYS_preadv,
        SYS_close,
        436 /* close_range */,
        SYS_dup,
        SYS_dup3,
        SYS_fstat,
        SYS_newfstatat,
        SYS_statx,
        SYS_faccessat,
        439 /* faccessat2 */,
        SYS_readlinkat,
        SYS_getcwd,
        SYS_ppoll,
        SYS_pselect6,
        /* its own memory */
        SYS_brk,
        SYS_mmap,
        SYS_munmap,
        SYS_mprotect,
        SYS_madvise,
        SYS_msync,
        SYS_membarrier,
        /* threads, and itself */
        SYS_futex,
        SYS_set_tid_address,
        SYS_set_robust_list,
        SYS_rseq,
        SYS_sched_yield,
        SYS_sched_getaffinity,
        SYS_getcpu,
        SYS_gettid,
        SYS_getpid,
        SYS_getppid,
        SYS_getpgid,
        SYS_getsid,
        SYS_getuid,
        SYS_geteuid,
        SYS_getgid,
        SYS_getegid,
        SYS_getrusage,
        SYS_getrlimit,
        SYS_uname,
        SYS_getrandom,
        SYS_execve,
        SYS_wait4,
        SYS_waitid,
        SYS_exit,
        SYS_exit_group,
        /* time, and signals to itself */
        SYS_gettimeofday,
        SYS_clock_gettime,
        SYS_clock_getres,
        SYS_clock_nanosleep,
        SYS_nanosleep,
        SYS_times,
        SYS_getitimer,
        SYS_setitimer,
        SYS_rt_sigprocmask,
        SYS_rt_sigreturn,
        SYS_sigaltstack,
        SYS_restart_syscall,
};

/* What opens an environment, and works in it, may call these, too. They leave, or tell, what another process may find
 * later: locks, lengths, places in files that processes share, which pages are in memory, how much of it is left. */
static const int allowed_with_files[] = {
#ifdef __x86_64__
        SYS_pipe,
#endif
        SYS_pwrite64, SYS_pwritev,   SYS_preadv2,         SYS_pwritev2,  SYS_lseek,     SYS_flock,
        SYS_fsync,    SYS_fdatasync, SYS_sync_file_range, SYS_ftruncate, SYS_fallocate, SYS_fadvise64,
        SYS_statfs,   SYS_fstatfs,   SYS_getdents64,      SYS_chdir,     SYS_fchdir,    SYS_umask,
        SYS_pipe2,    SYS_eventfd2,  SYS_memfd_create,    SYS_mincore,   SYS_mlock,     SYS_mlock2,
        SYS_munlock,  SYS_sysinfo,
};

/* What fcntl() may be asked for: no signals to others. */
static const int commands_alone[] = { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL };
static const int commands_with_files[] = {
        F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,     F_GETFL,      F_SETFL,     F_GETLK,
        F_SETLK, F_SETLKW,        F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GET_SEALS, F_ADD_SEALS,
};

#define COUNT(numbers) ((int)(sizeof(numbers) / sizeof(*(numbers))))

enum { PROGRAM_MOST = 500 };

struct program {
        unsigned short count;
        struct sock_filter line[PROGRAM_MOST];
};

static void add(struct program *program, struct sock_filter line)
{
        program->line[program->count++] = line;
}

static void load(struct program *program, size_t offset)
{
        add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void give(struct program *program, uint32_t verdict)
{
        add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* The line behind is done only if what is loaded is that number. */
static void only_if(struct program *program, uint32_t number)
{
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
}

static void allow(struct program *program, int call)
{
        only_if(program, (uint32_t)call);
        give(program, SECCOMP_RET_ALLOW);
}

static void allow_all(struct program *program, const int *calls, int count)
{
        for (int i = 0; i < count; i++)
                allow(program, calls[i]);
}

/* The call fails with EPERM if of these bits of an argument one is set, or none; else it is allowed. */
static void look_at_bits(struct program *program, int call, int argument, uint32_t bits, bool if_set)
{
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4));
        load(program, offsetof(struct seccomp_data, args) + 8 * (size_t)argument); /* its lower half */
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, if_set ? 0 : 1, if_set ? 1 : 0));
        give(program, SECCOMP_RET_ERRNO | EPERM);
        give(program, SECCOMP_RET_ALLOW);
}

/* The call is allowed if an argument is one of these; else it fails with EPERM. */
static void look_at_number(struct program *program, int call, int argument, const int *numbers, int count)
{
        const uint8_t lines = (uint8_t)(2 * count + 2);
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, lines));
        load(program, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
        for (int i = 0; i < count; i++) {
                only_if(program, (uint32_t)numbers[i]);
                give(program, SECCOMP_RET_ALLOW);
        }
        give(program, SECCOMP_RET_ERRNO | EPERM);
}

/* Pages are moved, and never mapped a second time, where nothing would be seen of what is done to them: an old length
 * of 0 does that, and what is moved without being unmapped. */
static void look_at_moves(struct program *program)
{
        enum { UNMAPS_NOTHING = 4 /* MREMAP_DONTUNMAP */ };
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 7));
        load(program, offsetof(struct seccomp_data, args) + 8); /* the lower half: of 4 GiB neither */
        only_if(program, 0);
        give(program, SECCOMP_RET_ERRNO | EPERM);
        load(program, offsetof(struct seccomp_data, args) + 24);
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, UNMAPS_NOTHING, 1, 0));
        give(program, SECCOMP_RET_ALLOW);
        give(program, SECCOMP_RET_ERRNO | EPERM);
}

/* The call fails with EPERM if an argument is one of these; else it is allowed. */
static void refuse_number(struct program *program, int call, int argument, const int *numbers, int count)
{
        const uint8_t lines = (uint8_t)(2 * count + 2);
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, lines));
        load(program, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
        for (int i = 0; i < count; i++) {
                only_if(program, (uint32_t)numbers[i]);
                give(program, SECCOMP_RET_ERRNO | EPERM);
        }
        give(program, SECCOMP_RET_ALLOW);
}

/* It does not learn that it was stopped and goes on, nor ends the C library's own threads; and has no names or flags
 * that others could look at. */
static void look_at_itself(struct program *program)
{
        enum { OF_LIBC = 32 };
        const int signals[] = { SIGCONT, OF_LIBC, OF_LIBC + 1 };
        const int names[] = { PR_SET_NAME, PR_SET_DUMPABLE };
        refuse_number(program, SYS_rt_sigaction, 0, signals, COUNT(signals));
        refuse_number(program, SYS_prctl, 0, names, COUNT(names));
}

static void look_at_machine(struct program *program)
{
        load(program, offsetof(struct seccomp_data, arch));
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0));
        give(program, SECCOMP_RET_KILL_PROCESS);
        load(program, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
        enum { X32 = 0x40000000 }; /* numbers of another table */
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1));
        give(program, SECCOMP_RET_KILL_PROCESS);
#endif
}

/* The filter is there before the host's program is: its number stays. */
static void look_at_processes(struct program *program, enum calls calls)
{
        const int itself = getpid(), none = 0;
        look_at_number(program, SYS_prlimit64, 0, &none, 1);
        if (calls == CALLS_WITH_FORK) {
                const int any[] = {
#ifdef __x86_64__
                        SYS_fork, SYS_vfork,
#endif
                        SYS_clone, SYS_kill, SYS_tgkill
                };
                for (size_t i = 0; i < sizeof(any) / sizeof(*any); i++)
                        allow(program, any[i]);
                return;
        }
        look_at_number(program, SYS_kill, 0, &itself, 1);
        look_at_number(program, SYS_tgkill, 0, &itself, 1);
        look_at_bits(program, SYS_clone, 0, CLONE_THREAD, false);
}

static void look_at_files(struct program *program, enum calls calls)
{
        enum { TEMPORARY = O_TMPFILE & ~O_DIRECTORY };
        const int is_terminal = TCGETS;
#ifdef __x86_64__
        look_at_bits(program, SYS_open, 1, O_CREAT | TEMPORARY, true);
#endif
        look_at_bits(program, SYS_openat, 2, O_CREAT | TEMPORARY, true);
        if (calls == CALLS_ALONE)
                look_at_number(program, SYS_fcntl, 1, commands_alone, COUNT(commands_alone));
        else
                look_at_number(program, SYS_fcntl, 1, commands_with_files, COUNT(commands_with_files));
        look_at_number(program, SYS_ioctl, 1, &is_terminal, 1);
}

int calls_limit(enum calls calls)
{
        struct program program = { .count = 0 };
        look_at_machine(&program);
        look_at_processes(&program, calls);
        look_at_files(&program, calls);
        look_at_itself(&program);
        allow_all(&program, allowed, COUNT(allowed));
        if (calls != CALLS_ALONE) {
                look_at_moves(&program);
                allow_all(&program, allowed_with_files, COUNT(allowed_with_files));
        }
        add(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NEWER, 0, 1));
        give(&program, SECCOMP_RET_ERRNO | ENOSYS);
        give(&program, SECCOMP_RET_ERRNO | EPERM);
        const struct sock_fprog given = { program.count, program.line };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &given) != 0)
                return -errno;
        return 0;
}

#else

int calls_limit(enum calls calls)
{
        (void)calls;
        return -ENOSYS;
}

#endif
