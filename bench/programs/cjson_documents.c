/* SPDX-License-Identifier: MIT */
#include "bench/programs/crowd.h"

/*
 * Documents of cJSON, each a tree of some twenty nodes. An operation takes one by chance, adds 1 to a number in it and
 * exchanges a text.
 */

#include <stdio.h>

#include <cjson/cJSON.h>

#include "bench/programs/program.h"

enum { TEXT_BYTES = 512 };

struct shelf {
        uint64_t count;
        cJSON **documents;
};

static void join(void *root)
{
        cJSON_Hooks hooks = { crowd_malloc, crowd_free };

        (void)root;
        cJSON_InitHooks(&hooks);
}

static int make(void *root, uint64_t records)
{
        struct shelf *shelf = root;

        shelf->documents = crowd_malloc(records * sizeof(cJSON *));
        return shelf->documents ? 0 : -1;
}

static int add(void *root, uint64_t record)
{
        struct shelf *shelf = root;
        char text[TEXT_BYTES];

        snprintf(
                text, sizeof(text),
                "{\"name\":\"document %llu\",\"edits\":0,\"last\":\"nobody\",\"owner\":{\"name\":\"somebody\",\"mail\":"
                "\"somebody@example.org\",\"since\":2005},\"tags\":[\"one\",\"two\",\"three\"],\"size\":{\"pages\":12,"
                "\"words\":[312,298,305,77]},\"is_public\":true}",
                (unsigned long long)record);
        return (shelf->documents[shelf->count++] = cJSON_Parse(text)) ? 0 : -1;
}

static int operate(void *root, int worker, uint64_t number, uint64_t records)
{
        const struct shelf *shelf = root;
        const uint64_t chosen = program_random(((uint64_t)worker << 40) + number);
        cJSON *document = shelf->documents[chosen % records], *edits = cJSON_GetObjectItem(document, "edits");
        char text[TEXT_BYTES];

        snprintf(text, sizeof(text), "worker %d, for the %lluth time", worker, (unsigned long long)number);
        if (!edits)
                return -1;
        cJSON_SetNumberValue(edits, edits->valuedouble + 1);
        return cJSON_ReplaceItemInObject(document, "last", cJSON_CreateString(text)) ? 0 : -1;
}

static int count(void *root, uint64_t *operations)
{
        const struct shelf *shelf = root;

        *operations = 0;
        for (uint64_t i = 0; i < shelf->count; i++) {
                const cJSON *document = shelf->documents[i];
                if (cJSON_GetArraySize(document) != 7 || !cJSON_IsString(cJSON_GetObjectItem(document, "last")))
                        return -1;
                *operations += (uint64_t)cJSON_GetObjectItem(document, "edits")->valueint;
        }
        return 0;
}

const struct crowd_program crowd_program = { join, make, add, operate, count, 0 };
