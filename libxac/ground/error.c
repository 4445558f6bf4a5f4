/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xac/xac.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#error "PACKAGE_VERSION comes from config.h"
#endif

static const struct {
        int code;
        const char *text;
} explanations[] = {
        { 0, "success" },
        { XAC_CONFLICT, "lost to a concurrent commit: run the transaction again" },
        { XAC_WROTE, "the transaction wrote although it was begun with XAC_RDONLY: begin it without" },
        { XAC_FULL,
          "the version pool is full: end long transactions, or open with larger pool_bytes; if /dev/shm or the control "
          "group's memory is what is full ('xac stat' says so), make that larger (containers: --shm-size, --memory)" },
        { XAC_POISONED, "an earlier log write or sync failed: close the environment and open it again" },
        { XAC_CORRUPT, "a file of the environment is damaged: 'xac check DIR' says which and where" },
        { XAC_FORMAT, "of another type or version, or not libxac's at all: open it with what made it" },
        { XAC_FORKED, "the environment belongs to the parent process: open it again in the child" },
        { XAC_NOTXN, "no transaction is open: xbegin was not called, or the transaction has been ended already" },
        { XAC_NOVIEW, "the address is in no view of this thread: call xac_mmap in this thread first" },
        { XAC_LIMIT,
          "too many threads use the environment (max_participants, chosen at creation), or it has too many files" },
        { XAC_UNENDED,
          "an xend or xabort is missing: the transaction that was open is undone, or cannot commit any more (xabort "
          "until XAC_NOTXN ends it)" },
        { -ENOTSUP, "not supported by this system" },
        { -EINVAL,
          "not valid here (the man page of the call says what is): NULL, an unknown flag, a value out of range, a "
          "reserved field that is not zero, a wait in XAC_RDONLY, or XAC_VOLATILE or XAC_RDONLY unlike those who have "
          "the environment open" },
        { -ENOSPC,
          "no space left: on the disk, or in /dev/shm, which holds the shared memory ('df' says which; "
          "containers: --shm-size; 'xac clean' removes what nobody uses); or an archive takes nothing ('xac stat')" },
        { -ENOMEM, "out of memory: of memory itself, of address space (reserve_bytes), or of mappings "
                   "(vm.max_map_count)" },
        { -EMFILE, "too many open files: of this process ('ulimit -n'), or of the environment's own (files, "
                   "participants, mapped snapshots)" },
        { -ENFILE, "too many open files on this machine (fs.file-max)" },
        { -EADDRNOTAVAIL, "the file's address is taken in this process (a line on standard error says by what): "
                          "XAC_ANYWHERE maps it elsewhere, for programs that store offsets" },
        { -EACCES, "permission denied: to the directory, to its files, or to its shared memory in /dev/shm" },
        { -EBUSY, "busy: a transaction is open, or something that has to be closed before; or another process that "
                  "does not share this shared memory has the environment open" },
        { -ENODEV, "/dev/shm is missing, which has the shared memory, or /proc is missing, or hides "
                   "/proc/sys/kernel/random/boot_id, which tells whether shared memory is of "
                   "this boot: mount it ('mount -t proc proc /proc', also in a chroot)" },
        { -ENOENT,
          "not found: no such key, tree, heap, root, file or directory (XAC_CREATE creates an environment, but not the "
          "directories above it)" },
        { -EEXIST, "it is there already (if XAC_EXCL asked for a new one, leave it out to use what is there)" },
        { -ESTALE, "a tree was removed, the transaction of a cursor has ended, nobody holds that snapshot, or an "
                   "environment that is open with XAC_RDONLY was opened for writing meanwhile: open it again" },
        { -EROFS, "read-only: the environment is open with XAC_RDONLY, or its file system is mounted so" },
        { -EUCLEAN,
          "the environment was not closed, and XAC_RDONLY recovers nothing: open it once without, as a user who "
          "may write, or run 'xac scrub'" },
        { -ECANCELED, "the open transaction is lost: end it, and xend() says why" },
};

/* With its number, good until this thread has asked for a few more. */
static const char *unknown(int code)
{
        enum { TEXTS = 4, TEXT_BYTES = 32 };
        static _Thread_local char text[TEXTS][TEXT_BYTES];
        static _Thread_local unsigned turn;
        char *here = text[turn++ % TEXTS];

        snprintf(here, TEXT_BYTES, "unknown error %d", code);
        return here;
}

const char *xac_strerror(int code)
{
        for (size_t i = 0; i < sizeof(explanations) / sizeof(explanations[0]); i++)
                if (explanations[i].code == code)
                        return explanations[i].text;
        const char *text = code < 0 && code > -4096 ? strerrordesc_np(-code) : NULL;
        return text ? text : unknown(code);
}

const char *xac_version(void)
{
        return PACKAGE_VERSION;
}
