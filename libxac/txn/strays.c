/* SPDX-License-Identifier: MIT */
#include "libxac/txn/strays.h"

#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"

struct stray {
        uint64_t page;
        char *bytes;
};

static struct stray *stray_at(const struct strays *strays, uint32_t i)
{
        return (struct stray *)strays->pages.items + i;
}

char *strays_find(const struct strays *strays, uint64_t page)
{
        for (uint32_t i = 0; i < strays->pages.count; i++)
                if (stray_at(strays, i)->page == page)
                        return stray_at(strays, i)->bytes;
        return NULL;
}

char *strays_add(struct strays *strays, uint64_t page, const char *bytes, size_t page_bytes)
{
        void *copy;
        if (vector_reserve(&strays->pages, strays->pages.count + 1, sizeof(struct stray)) ||
            sys_mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &copy))
                return NULL;
        memcpy(copy, bytes, page_bytes);
        strays->page_bytes = page_bytes;
        *stray_at(strays, strays->pages.count++) = (struct stray){ page, copy };
        return copy;
}

void strays_drop(struct strays *strays)
{
        for (uint32_t i = 0; i < strays->pages.count; i++)
                sys_munmap(stray_at(strays, i)->bytes, strays->page_bytes);
        strays->pages.count = 0;
}

void strays_free(struct strays *strays)
{
        strays_drop(strays);
        vector_free(&strays->pages, sizeof(struct stray));
}
