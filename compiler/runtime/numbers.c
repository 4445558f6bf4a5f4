/* SPDX-License-Identifier: MIT */

/*
 * Numbers that compiled code loads and stores by a call (compiler/lookups.cc): in a view or in the program's own
 * memory, across pages or not. What is kept is looked up as xac_for_read() does it. They preserve more registers than
 * functions in C can.
 *
 *      xacrt_get_N             %rdi: the address; returns %rax, and loses %rdi
 *      xacrt_put_N             %rdi: the address, %rsi: the number; loses %r11, as preserve_most does
 *      xacrt_get_N_in_view, xacrt_put_N_in_view        the same for addresses in the window
 */

#include "compiler/runtime/runtime.h"

#if defined(__x86_64__)

_Static_assert(XAC_WINDOW_SHIFT == 45 && XAC_TRANSLATE_SHIFT == 12 && XAC_TRANSLATE_ENTRIES == 256 &&
                       sizeof(xac_translation) == 16 && offsetof(xac_translation, delta) == 8,
               "the numbers below");
_Static_assert(offsetof(xac_translations, of_reads) == 0 && offsetof(xac_translations, of_writes) == 4096,
               "the numbers below");

/* Where a number is that is not kept, or crosses a unit: then a copy, in `copy`. */
__attribute__((used)) const void *xacrt_get_slowly(const void *addr, size_t len, void *copy);
/* Where it is to be stored. One that crosses a unit has been, and goes to `spare` once more. */
__attribute__((used)) void *xacrt_put_slowly(void *addr, uint64_t number, size_t len, void *spare);

const void *xacrt_get_slowly(const void *addr, size_t len, void *copy)
{
        if (xacrt_piece(addr, len) == len)
                return xac_translate_read(addr);
        xacrt_fetch(copy, addr, len);
        return copy;
}

void *xacrt_put_slowly(void *addr, uint64_t number, size_t len, void *spare)
{
        if (xacrt_piece(addr, len) == len)
                return xac_translate_write(addr);
        xacrt_store(addr, &number, len);
        return spare;
}

#define BEGIN(name) ".p2align 4\n.globl " name "\n.hidden " name "\n.type " name ", @function\n" name ":\n"
#define END(name)   ".size " name ", . - " name "\n"

/* Equal: the address is in a view. */
#define ASK(scratch) "mov %rdi, %" scratch "\n shr $45, %" scratch "\n cmp $1, %" scratch "\n"

/* The entry; goes to 2 if it is not of the unit in which the number ends. %rax is lost. */
#define LOOK_UP(last, entry, table)                 \
        "mov xac_kept@GOTTPOFF(%rip), %" entry "\n" \
        "mov %edi, %eax\n"                          \
        "shr $8, %eax\n"                            \
        "and $0xff0, %eax\n"                        \
        "add %fs:(%" entry "), %rax\n"              \
        "lea " last "(%rdi), %" entry "\n"          \
        "shr $12, %" entry "\n"                     \
        "cmp %" entry ", " table "(%rax)\n"         \
        "jne 2f\n"

/* Calls a function in C on a stack that is aligned, with all that it may lose in the frame, and room for a number. */
#define SAVE                                                                                                         \
        "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset %rbp, -16\n mov %rsp, %rbp\n .cfi_def_cfa_register %rbp\n" \
        "push %rcx\n push %rdx\n push %rsi\n push %rdi\n push %r8\n push %r9\n push %r10\n push %r11\n push %rax\n"  \
        "sub $16, %rsp\n and $-16, %rsp\n"
#define RESTORE                                                                                 \
        "lea -64(%rbp), %rsp\n"                                                                 \
        "pop %r11\n pop %r10\n pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rdx\n pop %rcx\n" \
        "pop %rbp\n .cfi_def_cfa %rsp, 8\n .cfi_restore %rbp\n"

/* clang-format off */
#define GET(size, last, load)                                                                             \
        __asm__(".pushsection .text\n"                                                                    \
                BEGIN("xacrt_get_" size) ".cfi_startproc\n" ASK("rax")                                    \
                "je xacrt_get_" size "_in_view\n" load "\n ret\n"                                         \
                ".cfi_endproc\n" END("xacrt_get_" size)                                                   \
                BEGIN("xacrt_get_" size "_in_view") ".cfi_startproc\n mov %rcx, -8(%rsp)\n"               \
                LOOK_UP(last, "rcx", "0") "mov -8(%rsp), %rcx\n add 8(%rax), %rdi\n" load "\n ret\n"      \
                "2: mov -8(%rsp), %rcx\n" SAVE "mov $" size ", %esi\n mov %rsp, %rdx\n"                   \
                "call xacrt_get_slowly\n mov %rax, %rdi\n" load "\n"                                      \
                RESTORE "ret\n .cfi_endproc\n" END("xacrt_get_" size "_in_view") ".popsection\n")

#define PUT(size, last, store)                                                                            \
        __asm__(".pushsection .text\n"                                                                    \
                BEGIN("xacrt_put_" size) ".cfi_startproc\n" ASK("r11")                                    \
                "je xacrt_put_" size "_in_view\n" store " (%rdi)\n ret\n"                                 \
                ".cfi_endproc\n" END("xacrt_put_" size)                                                   \
                BEGIN("xacrt_put_" size "_in_view") ".cfi_startproc\n mov %rax, -8(%rsp)\n"               \
                LOOK_UP(last, "r11", "4096") "mov 4096+8(%rax), %r11\n mov -8(%rsp), %rax\n"              \
                store " (%rdi, %r11)\n ret\n"                                                             \
                "2: mov -8(%rsp), %rax\n" SAVE "mov $" size ", %edx\n mov %rsp, %rcx\n"                   \
                "call xacrt_put_slowly\n mov -24(%rbp), %rsi\n" store " (%rax)\n"                         \
                "mov -72(%rbp), %rax\n" RESTORE "ret\n .cfi_endproc\n"                                    \
                END("xacrt_put_" size "_in_view") ".popsection\n")
/* clang-format on */

GET("1", "0", "movzbl (%rdi), %eax");
GET("2", "1", "movzwl (%rdi), %eax");
GET("4", "3", "movl (%rdi), %eax");
GET("8", "7", "movq (%rdi), %rax");
PUT("1", "0", "movb %sil,");
PUT("2", "1", "movw %si,");
PUT("4", "3", "movl %esi,");
PUT("8", "7", "movq %rsi,");

#endif
