/* SPDX-License-Identifier: MIT */
#include "bench/papers/shortcut-eh/shortcut_systems.h"

#include <string.h>

#include "bench/support/options.h"
#include "bench/support/report.h"

static const struct hash_system *const files[] = { hash_open, hash_incremental, hash_chained, hash_ehash };

/* All of this name; word NULL: of any. */
static void choose(const char *word, void *systems_)
{
        struct hash_systems *systems = systems_;
        const int before = systems->count;

        for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++)
                for (const struct hash_system *system = files[f]; system->name; system++)
                        if ((!word || strcmp(system->name, word) == 0) && systems->count < HASH_SYSTEMS_MAX)
                                systems->system[systems->count++] = system;
        if (systems->count == before)
                options_refuse("no such system", word);
}

void hash_systems_choose(struct hash_systems *systems, const char *names)
{
        systems->count = 0;
        if (names)
                options_words(names, choose, systems);
        else
                choose(NULL, systems);
}

void hash_systems_print(struct table *table, const struct hash_system *system)
{
        table_text(table, system->name);
        report_page(table, system->page_bytes);
}
