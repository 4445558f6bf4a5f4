/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

/*
 * What the fuzz targets share. A target is libFuzzer's LLVMFuzzerTestOneInput; with fuzz_main.c it
 * is also a plain program that runs the inputs of its corpus, and mutations of them, without clang.
 *
 * The bytes of an input are a small program: it builds something sound, checksums included, and then damages
 * it and perhaps makes the checksums right again, so that a fuzzer gets behind them. What the code under
 * test makes of it is compared with what a second, simple-minded reading of the format says.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The target's name, also that of its folder in the corpus. */
extern const char fuzz_target[];
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len);

/* A finding: says where and ends the process by SIGABRT, for the fuzzer to keep the input. */
#define fuzz_check(condition) ((condition) ? (void)0 : fuzz_failed(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_failed(const char *file, int line, const char *what);

/* ---- The program ---- */

struct fuzz_input {
        const uint8_t *bytes;
        size_t left;
};

/* Little-endian numbers; zeros where the input has ended. */
uint8_t fuzz_u8(struct fuzz_input *input);
uint16_t fuzz_u16(struct fuzz_input *input);
uint32_t fuzz_u32(struct fuzz_input *input);
uint64_t fuzz_u64(struct fuzz_input *input);
/* As many bytes as are left, at most byte_len; how many is the result. */
size_t fuzz_bytes(struct fuzz_input *input, void *bytes, size_t byte_len);
/* A number that a field of a format may hold: small, about `usual`, or anything. */
uint64_t fuzz_number(struct fuzz_input *input, uint64_t usual);

/* Bytes that look random, the same for the same seed. */
void fuzz_noise(uint64_t seed, void *bytes, size_t byte_len);

/* Damages bytes: flips a bit, zeroes a sector, writes a number, copies a run. */
void fuzz_damage(struct fuzz_input *input, unsigned char *bytes, size_t byte_len);

/* A block of exactly this size, so that a sanitizer sees each step beyond it. Never NULL. */
void *fuzz_alloc(size_t byte_len);
void *fuzz_copy(const void *bytes, size_t byte_len);

/* ---- Files ---- */

/* A scratch directory in memory, made at the first call and removed at exit. */
int fuzz_directory(void);
/* The file has byte_len bytes; the first `used` of them are these, the others zeros. */
void fuzz_store(const char *name, const void *bytes, size_t used, uint64_t byte_len);
void fuzz_remove(const char *name);

#endif
