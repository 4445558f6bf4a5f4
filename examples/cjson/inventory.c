/* SPDX-License-Identifier: MIT */

/*
 * The inventory of a shop, as a JSON document of the library cJSON, as it is: serial code, which takes hooks for
 * malloc() and free(). These lead into a heap in a file, so that several processes edit the document at once, any of
 * them may be killed, and it is there again tomorrow. It is never written out or parsed for that: the tree itself lies
 * in the file.
 *
 *      {"shelf 0":{"orders":[{"item":"item 12","count":5}, ...],"stock":{"item 3":17, ...}},"shelf 1": ...}
 *
 * An operation is a transaction: an order that comes as text is parsed and put behind the others of its shelf, the
 * first one is delivered, or something is taken from stock.
 *
 *      inventory [-v] DIRECTORY run 4 10000      four processes; and more (examples/support/workers.h)
 *
 *      cc -I. -o inventory examples/cjson/inventory.c examples/support/workers.c -lcjson \
 *              $(pkg-config --cflags --libs libxacheap)
 *
 * works by page faults, those of Debian's libcjson included. Compiled by xac-cc, with cJSON.c, it takes none.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "examples/support/workers.h"

enum { SHELVES = 32, ITEMS = 20, COUNT_MAX = 20, TEXT_BYTES = 64, DOCUMENT_BYTES = 4 << 20 };
enum { ORDERED, DELIVERED, TAKEN }; /* what a worker counts, in pieces */

static xac_env *env;
static xac_heap *heap;
static cJSON **document; /* the root */
static struct workers_tally *tally;

/* ---- cJSON's memory ---- */

static void *heap_malloc(size_t byte_len)
{
        return xac_heap_malloc(heap, byte_len);
}

static void heap_free(void *object)
{
        xac_heap_free(heap, object);
}

static cJSON_Hooks in_heap = { heap_malloc, heap_free };

static int make_document(void *unused)
{
        char name[TEXT_BYTES];

        (void)unused;
        if (*document)
                return 0;
        *document = cJSON_CreateObject();
        for (int i = 0; i < SHELVES; i++) {
                snprintf(name, sizeof(name), "shelf %d", i);
                cJSON *shelf = cJSON_AddObjectToObject(*document, name);
                if (!cJSON_AddArrayToObject(shelf, "orders") || !cJSON_AddObjectToObject(shelf, "stock"))
                        return -ENOMEM;
        }
        return 0;
}

static xac_env *open_inventory(const char *directory, int flags, int worker)
{
        xac_heap_root root;

        workers_must(xac_open(directory, flags, NULL, &env), directory);
        workers_must(xac_heap_open(env, "inventory", XAC_CREATE, &heap), "inventory");
        const int err = xac_heap_root_create(heap, "document", sizeof(cJSON *), 0, &root);
        if (err && err != -EEXIST)
                workers_must(err, "document");
        document = root.object;
        tally = workers_tally(heap, worker);
        cJSON_InitHooks(&in_heap);
        workers_must(xac_run(env, 0, make_document, NULL), "the document");
        return env;
}

static void close_inventory(void)
{
        workers_must(xac_heap_close(heap), "inventory");
        workers_must(xac_close(env), "xac_close");
}

/* ---- serial code ---- */

static int order(cJSON *shelf, const char *text, int count)
{
        cJSON *parsed = cJSON_Parse(text);

        if (!parsed || !cJSON_AddItemToArray(cJSON_GetObjectItem(shelf, "orders"), parsed))
                return -ENOMEM;
        tally->number[ORDERED] += count;
        return 0;
}

/* More pieces of an item, or less. One of which there is none is not in the document. */
static int change_stock(cJSON *shelf, const char *item, int difference)
{
        cJSON *stock = cJSON_GetObjectItem(shelf, "stock"), *number = cJSON_GetObjectItem(stock, item);

        if (!number && !(number = cJSON_AddNumberToObject(stock, item, 0)))
                return -ENOMEM;
        cJSON_SetNumberValue(number, number->valuedouble + difference);
        if (number->valuedouble == 0)
                cJSON_Delete(cJSON_DetachItemViaPointer(stock, number));
        return 0;
}

static int deliver(cJSON *shelf)
{
        cJSON *first = cJSON_DetachItemFromArray(cJSON_GetObjectItem(shelf, "orders"), 0);

        if (!first)
                return 0;
        const int count = cJSON_GetObjectItem(first, "count")->valueint;
        const int err = change_stock(shelf, cJSON_GetObjectItem(first, "item")->valuestring, count);
        cJSON_Delete(first);
        tally->number[DELIVERED] += count;
        return err;
}

static int take(cJSON *shelf, const char *item, int count)
{
        const cJSON *number = cJSON_GetObjectItem(cJSON_GetObjectItem(shelf, "stock"), item);

        if (!number || number->valueint < count)
                return 0;
        tally->number[TAKEN] += count;
        return change_stock(shelf, item, -count);
}

struct edit {
        char shelf[TEXT_BYTES], item[TEXT_BYTES], text[2 * TEXT_BYTES];
        int count, kind;
};

static int do_edit(void *arg)
{
        const struct edit *edit = arg;
        cJSON *shelf = cJSON_GetObjectItem(*document, edit->shelf);

        tally->operations++;
        switch (edit->kind) {
        case ORDERED:
                return order(shelf, edit->text, edit->count);
        case DELIVERED:
                return deliver(shelf);
        default:
                return take(shelf, edit->item, edit->count);
        }
}

/* ---- transactions ---- */

static int operate(uint64_t random)
{
        struct edit edit = { .kind = (int)(random % 3), .count = (int)(random / 3 % COUNT_MAX) + 1 };

        snprintf(edit.shelf, sizeof(edit.shelf), "shelf %d", (int)(random >> 16 & 0xffff) % SHELVES);
        snprintf(edit.item, sizeof(edit.item), "item %d", (int)(random >> 32 & 0xffff) % ITEMS);
        snprintf(edit.text, sizeof(edit.text), "{\"item\":\"%s\",\"count\":%d}", edit.item, edit.count);
        return xac_run(env, 0, do_edit, &edit);
}

/* What there is. */
struct sight {
        long ordered, stored, objects;
        bool is_text_same; /* what it looks like as text, parsed again, is equal to it */
};

/* A node, its name and its text are an object each. */
static long objects_of(const cJSON *node)
{
        long objects = 1 + (node->string != NULL) + (node->valuestring != NULL);

        for (const cJSON *child = node->child; child; child = child->next)
                objects += objects_of(child);
        return objects;
}

/* Outside of the heap, which is not written here. */
static bool is_text_same(void)
{
        char *text = malloc(DOCUMENT_BYTES);

        cJSON_InitHooks(NULL);
        cJSON *parsed = text && cJSON_PrintPreallocated(*document, text, DOCUMENT_BYTES, 0) ? cJSON_Parse(text) : NULL;
        const bool is_same = cJSON_Compare(parsed, *document, 1);
        cJSON_Delete(parsed);
        free(text);
        cJSON_InitHooks(&in_heap);
        return is_same;
}

static struct sight look(void)
{
        struct sight sight = { .objects = objects_of(*document), .is_text_same = is_text_same() };

        for (const cJSON *shelf = (*document)->child; shelf; shelf = shelf->next) {
                for (const cJSON *entry = cJSON_GetObjectItem(shelf, "orders")->child; entry; entry = entry->next)
                        sight.ordered += cJSON_GetObjectItem(entry, "count")->valueint;
                for (const cJSON *entry = cJSON_GetObjectItem(shelf, "stock")->child; entry; entry = entry->next)
                        sight.stored += entry->valueint;
        }
        return sight;
}

static void say_finding(void *unused, const char *text)
{
        (void)unused;
        fprintf(stderr, "the heap: %s\n", text);
}

/* Of one moment: all of it is one transaction that reads. */
static int check(void)
{
        xac_heap_stats stats;

        workers_must(xbegin(env, XAC_RDONLY), "xbegin");
        const struct sight sight = look();
        const struct workers_tally sum = workers_sum(heap);
        const int err = xac_heap_check(heap, &stats, say_finding, NULL);
        workers_must(xend(env), "xend");

        const long objects = sight.objects + (long)stats.roots;
        printf("%ld on order and %ld in stock, %lld ordered, %lld delivered, %lld taken; as text it is %s\n",
               sight.ordered, sight.stored, (long long)sum.number[ORDERED], (long long)sum.number[DELIVERED],
               (long long)sum.number[TAKEN], sight.is_text_same ? "the same" : "SOMETHING ELSE");
        printf("%lu objects in the heap, %ld wanted: %s\n", (unsigned long)stats.live_objects, objects,
               xac_strerror(err));
        const bool is_whole = !err && sight.is_text_same && (long)stats.live_objects == objects;
        return is_whole && sight.ordered == sum.number[ORDERED] - sum.number[DELIVERED] &&
                               sight.stored == sum.number[DELIVERED] - sum.number[TAKEN]
                       ? 0
                       : -1;
}

int main(int argc, char **argv)
{
        static const struct workers_program program = { open_inventory, close_inventory, operate, check };
        return workers_main(argc, argv, &program);
}
