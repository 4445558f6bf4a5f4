/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

/*
 * A temporary directory for one test, in which it makes its environments.
 *
 * The runner (isolate.c) makes it before the test and removes it afterwards, whatever
 * became of the test. It also looks for shared memory that an environment of this directory
 * left behind: after the last close there must be none.
 */

#include <stddef.h>
#include <sys/types.h>

int scratch_make(int in_memory); /* 0 or -errno */
void scratch_clear(void);        /* of all that is in it */
void scratch_remove(void);

/* The path of `name` in the scratch directory; lasts until the process ends. */
const char *scratch_path(const char *name);

/* Counts the shared memory files of environments in the scratch directory, and of `env_dir`
 * alone. Removes them when told to. */
int scratch_shared_memory_left(int remove);
int scratch_shared_memory_of(const char *env_dir);
/* The permission bits of env_dir's shared memory file; 0 if there is none. */
mode_t scratch_shared_memory_mode(const char *env_dir);

/* Bytes free for shared memory. */
unsigned long long scratch_shared_memory_free(void);

/* Whole files, for what is checked behind the library's back. */
void scratch_write_file(const char *path, const void *bytes, size_t byte_len);
/* Reads exactly byte_len bytes at the file's beginning, or fails the test. */
void scratch_read_file(const char *path, void *bytes, size_t byte_len);
long long scratch_file_size(const char *path); /* -errno if there is none */

/* A command of the shell, which must succeed. */
void scratch_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
