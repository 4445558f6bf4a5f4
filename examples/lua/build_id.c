/* SPDX-License-Identifier: MIT */
#include "examples/lua/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static size_t padded(size_t byte_len)
{
        return (byte_len + 3) & ~(size_t)3;
}

/* Of one segment of notes: a header, a name and bytes, each padded to 4 bytes. */
static void read_notes(const char *at, const char *end, struct build_id *id)
{
        ElfW(Nhdr) note;

        for (; at + sizeof(note) <= end; at += sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz)) {
                memcpy(&note, at, sizeof(note));
                const char *name = at + sizeof(note), *bytes = name + padded(note.n_namesz);
                if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") && memcmp(name, "GNU", 4) == 0)
                        memcpy(id->bytes, bytes, note.n_descsz < BUILD_ID_BYTES ? note.n_descsz : BUILD_ID_BYTES);
        }
}

/* The first that dl_iterate_phdr() shows is the program; 1: enough. */
static int read_program(struct dl_phdr_info *info, size_t byte_len, void *id)
{
        (void)byte_len;
        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
                const char *notes = (const char *)(info->dlpi_addr + segment->p_vaddr);
                if (segment->p_type == PT_NOTE)
                        read_notes(notes, notes + segment->p_memsz, id);
        }
        return 1;
}

void build_id_get(struct build_id *id)
{
        memset(id, 0, sizeof(*id));
        id->place = (const void *)(uintptr_t)build_id_get;
        dl_iterate_phdr(read_program, id);
}

void build_id_print(const struct build_id *id, char text[BUILD_ID_TEXT])
{
        size_t byte_len = BUILD_ID_BYTES;

        while (byte_len && !id->bytes[byte_len - 1])
                byte_len--;
        text[0] = '\0';
        for (size_t i = 0; i < byte_len; i++)
                snprintf(text + 2 * i, 3, "%02x", id->bytes[i]);
}
