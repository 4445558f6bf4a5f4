/* SPDX-License-Identifier: MIT */

/* Size classes of pages of each size, and slabs of each class: objects lie in the page, apart, and are taken once. */

#include <stdlib.h>
#include <string.h>

#include "heap/slab.h"
#include "pages/arena.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

static struct size_classes classes;

static void sizes_have_the_smallest_class_that_holds_them(void)
{
        for (uint32_t page_bytes = 4096; page_bytes <= 65536; page_bytes *= 2) {
                size_classes_make(&classes, page_bytes);
                check(classes.count > 20 && classes.count <= SIZE_CLASSES_MAX);
                check(classes.size_max >= page_bytes / 2 - 64);
                for (uint32_t size = 0; size <= classes.size_max; size++) {
                        const uint32_t no = size_class_for(&classes, size);
                        check(classes.of[no].size >= size);
                        check(!no || classes.of[no - 1].size < size);
                        /* a page of smaller ones would hold more, or the step is a single one */
                        check(size < 16 || classes.of[no].size - size < SIZE_STEP ||
                              (uint32_t)classes.of[no].count * (size + SIZE_STEP) <= page_bytes);
                }
        }
}

static void objects_lie_in_the_page_and_apart(void)
{
        static unsigned char page[65536] __attribute__((aligned(4096)));
        struct slab *slab = (void *)page;

        for (uint32_t page_bytes = 4096; page_bytes <= 65536; page_bytes *= 4) {
                size_classes_make(&classes, page_bytes);
                for (uint32_t no = 0; no < classes.count; no++) {
                        const struct size_class *class = &classes.of[no];
                        uint32_t before = 0, number;
                        slab_make(slab, no, class, 7);
                        check(class->first >= sizeof(*slab) + class->words * 8u && class->first % 16 == 0);
                        for (uint32_t i = 0; i < class->count; i++) {
                                uint32_t at = slab_take(slab, class);
                                check(at >= class->first && at + class->size <= page_bytes);
                                check(i == 0 || at == before + class->size);
                                check(slab_finds(class, at, &number) && number == i && !slab_is_free(slab, i));
                                check(!slab_finds(class, at + 8, &number));
                                check(slab_is_sound(slab, no, class));
                                before = at;
                        }
                        check(!slab->free_count && !slab_take(slab, class));
                        slab_give_back(slab, class->count / 2);
                        check(slab_is_free(slab, class->count / 2) && slab_is_sound(slab, no, class));
                        check_equal(slab_take(slab, class), class->first + class->count / 2 * class->size);
                }
        }
}

static void what_is_no_slab_is_seen(void)
{
        static unsigned char page[4096] __attribute__((aligned(4096)));
        struct slab *slab = (void *)page;

        size_classes_make(&classes, 4096);
        const uint32_t no = size_class_for(&classes, 100);
        const struct size_class *class = &classes.of[no];
        check(!slab_is_sound(slab, no, class));
        slab_make(slab, no, class, 0);
        check(slab_is_sound(slab, no, class) && !slab_is_sound(slab, no + 1, class));
        slab->free_count--;
        check(!slab_is_sound(slab, no, class));
        slab->free_count++;
        slab->free[class->words - 1] |= UINT64_C(1) << 63; /* stands for no object */
        slab->free_count++;
        check(!slab_is_sound(slab, no, class));
        for (uint32_t i = 0; i < class->count; i++)
                check(slab_take(slab, class) != 0);
        check_equal(slab_take(slab, class), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(sizes_have_the_smallest_class_that_holds_them),
                isolated_test(objects_lie_in_the_page_and_apart),
                isolated_test(what_is_no_slab_is_seen),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
