/* SPDX-License-Identifier: MIT */
#include "trees/ehash_shortcut.h"

/*
 * The owner's side first, then the mapper's. Between them are a queue, the number of requests that are in it and were,
 * and two bells: the mapper sleeps on one while there is nothing to do, and the owner on the other in
 * ehash_shortcut_wait().
 *
 * The mapper takes as many requests as it knows to have been queued, notes in `pages` what each asks for, and compares
 * that with what the area shows: so slots that changed several times are mapped once, and what comes before a new
 * directory is not mapped at all. Neighbours that changed are mapped together.
 *
 *      SM1  What was asked for before a whole directory is not carried out after it;
 *      SM2  what was asked for after it is.
 *      SM3  The mapper says that it sleeps, and then looks for requests once more; the owner queues one, and then looks
 *          whether the mapper sleeps.
 *      SM4  The owner says that it waits, and then looks at `shown` once more; the mapper stores that, and then looks
 *          whether the owner waits.
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <urcu/wfcqueue.h>

#include "pages/arena.h"
#include "trees/ehash_trial.h"

enum {
        NEVER = -1,            /* as a request: none has this number */
        SLOT_NS = 5000,        /* to map a page and fill the page table takes about so long */
        QUIET_NS_MIN = 100000, /* so long at least must no request have come, */
        QUIETS_MAX = 8,        /* but so many times as long is waited for that */
        LOOK_NS = 1000000      /* so often does who waits look */
};

struct request {
        struct cds_wfcq_node node;
        bool is_anew;
        uint32_t bits; /* anew: the slots, in `pages`; */
        uint32_t first, count, page;
        uint32_t pages[];
};

struct ehash_mapper {
        struct ehash_shortcut *shortcut;
        const struct xac_arena *arena;
        bool is_tried;
        pthread_t thread;
        sem_t bell;
        sem_t answered;
        _Atomic bool is_asleep;
        _Atomic bool is_awaited;
        _Atomic bool stops;
        _Atomic uint64_t queued;
        _Atomic uint64_t mappings;
        _Atomic bool is_slower;    /* than the directory: so there is no area */
        struct cds_wfcq_tail tail; /* the owner's end */

        struct __cds_wfcq_head head; /* the mapper's from here on */
        xac_rewire_area *area;       /* NULL: refused, or none yet */
        uint64_t area_slots;
        uint64_t noted;  /* requests */
        uint64_t *pages; /* what is to be shown */
        uint64_t slots;
        uint64_t low, high; /* slots of which that may not be so are in [low, high), */
        uint64_t changed;   /* so many, if none was changed twice */
        bool is_anew;       /* what is to be shown is a whole directory: it may be tried, whatever came before */
};

/* ---- bells ---- */

static void wait_for(sem_t *bell)
{
        while (sem_wait(bell))
                assert(errno == EINTR);
}

/* SM3 */
static void wake(struct ehash_mapper *mapper)
{
        if (atomic_load(&mapper->is_asleep) && atomic_exchange(&mapper->is_asleep, false))
                sem_post(&mapper->bell);
}

/* ---- the owner ---- */

static bool is_worth_it(const struct ehash_shortcut *shortcut)
{
        return shortcut->has_slots && UINT64_C(1) << shortcut->bits <= shortcut->buckets * EHASH_SHORTCUT_FAN_IN_MAX;
}

static void want(struct ehash_shortcut *shortcut)
{
        const bool is_wanted = !shortcut->is_lost && is_worth_it(shortcut);
        shortcut->wanted = is_wanted ? shortcut->requests : (uint64_t)NEVER;
}

static struct request *request_new(uint64_t slots)
{
        struct request *request = malloc(sizeof(*request) + slots * sizeof(request->pages[0]));
        if (request) {
                *request = (struct request){ .is_anew = slots > 0 };
                cds_wfcq_node_init(&request->node);
        }
        return request;
}

/* Without memory for it, what the mapper would show is wrong until it gets the whole directory. */
static void put(struct ehash_shortcut *shortcut, struct request *request)
{
        struct ehash_mapper *mapper = shortcut->mapper;
        if (request) {
                cds_wfcq_enqueue(&mapper->head, &mapper->tail, &request->node);
                atomic_store(&mapper->queued, ++shortcut->requests);
                wake(mapper);
        } else {
                shortcut->is_lost = true;
        }
        want(shortcut);
}

void ehash_shortcut_set(struct ehash_shortcut *shortcut, uint32_t first, uint32_t count, uint32_t page)
{
        if (shortcut->is_lost)
                return;
        assert(shortcut->has_slots && count && first + (uint64_t)count <= UINT64_C(1) << shortcut->bits);
        struct request *request = request_new(0);
        if (request) {
                request->first = first;
                request->count = count;
                request->page = page;
        }
        put(shortcut, request);
}

void ehash_shortcut_anew(struct ehash_shortcut *shortcut, uint32_t bits, const uint32_t *pages)
{
        struct request *request = request_new(UINT64_C(1) << bits);
        if (request) {
                request->bits = bits;
                memcpy(request->pages, pages, sizeof(pages[0]) << bits);
        }
        shortcut->bits = bits;
        shortcut->has_slots = true;
        shortcut->is_lost = false;
        put(shortcut, request);
}

void ehash_shortcut_note_buckets(struct ehash_shortcut *shortcut, uint64_t buckets)
{
        shortcut->buckets = buckets;
        want(shortcut);
}

static bool is_in_step(const struct ehash_shortcut *shortcut)
{
        return !shortcut->is_lost && atomic_load(&shortcut->shown) == shortcut->requests;
}

bool ehash_shortcut_wait(struct ehash_shortcut *shortcut)
{
        struct ehash_mapper *mapper = shortcut->mapper;
        if (shortcut->is_lost)
                return false;
        for (;;) {
                atomic_store(&mapper->is_awaited, true);
                if (is_in_step(shortcut))
                        break;
                wait_for(&mapper->answered);
        }
        return shortcut->base;
}

static enum ehash_shortcut_state state_of(const struct ehash_shortcut *shortcut)
{
        if (!shortcut->has_slots)
                return EHASH_SHORTCUT_NONE;
        if (shortcut->is_lost)
                return EHASH_SHORTCUT_REFUSED;
        if (!is_in_step(shortcut))
                return EHASH_SHORTCUT_BEHIND;
        if (!shortcut->base)
                return atomic_load(&shortcut->mapper->is_slower) ? EHASH_SHORTCUT_SLOWER : EHASH_SHORTCUT_REFUSED;
        return is_worth_it(shortcut) ? EHASH_SHORTCUT_READY : EHASH_SHORTCUT_WIDE;
}

void ehash_shortcut_stat(const struct ehash_shortcut *shortcut, struct ehash_shortcut_stats *stats)
{
        *stats = (struct ehash_shortcut_stats){
                .bits = shortcut->bits,
                .mappings = atomic_load(&shortcut->mapper->mappings),
                .requests = shortcut->requests,
                .is_in_step = is_in_step(shortcut),
                .state = state_of(shortcut),
        };
}

/* ---- the mapper: what is asked for ---- */

static int note_anew(struct ehash_mapper *mapper, const struct request *request)
{
        const uint64_t slots = UINT64_C(1) << request->bits;
        if (slots != mapper->slots) {
                uint64_t *pages = realloc(mapper->pages, slots * sizeof(*pages));
                if (!pages)
                        return -ENOMEM;
                mapper->pages = pages;
                mapper->slots = slots;
        }
        for (uint64_t i = 0; i < slots; i++)
                mapper->pages[i] = request->pages[i];
        mapper->is_anew = true;
        mapper->low = 0;
        mapper->high = mapper->changed = slots;
        return 0;
}

static void note_set(struct ehash_mapper *mapper, const struct request *request)
{
        const uint64_t first = request->first, end = first + request->count;
        if (end > mapper->slots)
                return; /* there was no memory for the directory */
        for (uint64_t i = first; i < end; i++)
                mapper->pages[i] = request->page;
        mapper->low = first < mapper->low ? first : mapper->low;
        mapper->high = end > mapper->high ? end : mapper->high;
        mapper->changed += request->count;
}

static struct request *take(struct ehash_mapper *mapper)
{
        struct cds_wfcq_node *node = __cds_wfcq_dequeue_blocking(&mapper->head, &mapper->tail);
        return node ? (struct request *)((char *)node - offsetof(struct request, node)) : NULL;
}

static void forget_area(struct ehash_mapper *mapper)
{
        xac_rewire_area_destroy(mapper->area);
        mapper->area = NULL;
}

/* What has been asked for by now. */
static void note(struct ehash_mapper *mapper)
{
        for (const uint64_t queued = atomic_load(&mapper->queued); mapper->noted != queued; mapper->noted++) {
                struct request *request = take(mapper);
                if (!request->is_anew)
                        note_set(mapper, request);
                else if (note_anew(mapper, request)) {
                        mapper->slots = 0;
                        atomic_store(&mapper->is_slower, false);
                        forget_area(mapper);
                }
                free(request);
        }
}

/* ---- the mapper: what is shown ---- */

static bool is_shown(const struct ehash_mapper *mapper, uint64_t slot)
{
        return xac_rewire_area_page(mapper->area, slot) == mapper->pages[slot];
}

/* What is in the page tables takes no fault at the first lookup. */
static int show_run(struct ehash_mapper *mapper, uint64_t first, uint64_t end)
{
        int err = xac_rewire_area_map_each(mapper->area, first, mapper->pages + first, end - first);
        if (!err)
                xac_rewire_area_populate(mapper->area, first, end - first);
        return err;
}

static int show_changed(struct ehash_mapper *mapper)
{
        int err = 0;
        for (uint64_t slot = mapper->low, end; slot < mapper->high && !err; slot = end + 1) {
                for (end = slot; end < mapper->high && !is_shown(mapper, end); end++)
                        ;
                err = end > slot ? show_run(mapper, slot, end) : 0;
        }
        return err;
}

/* The old one's mappings are given back before the new one needs some. */
static int fit_area(struct ehash_mapper *mapper)
{
        if (mapper->area && mapper->area_slots == mapper->slots)
                return 0;
        forget_area(mapper);
        mapper->area_slots = mapper->slots;
        return xac_rewire_area_create(mapper->arena->pool, mapper->slots, XAC_REWIRE_READ_ONLY, &mapper->area);
}

/* Without memory for the trial it is not known. */
static bool is_slower(const struct ehash_mapper *mapper)
{
        page_no *directory = malloc(mapper->slots * sizeof(*directory));
        struct ehash_ways ways = { .arena = mapper->arena->base,
                                   .page_shift = mapper->arena->page_shift,
                                   .directory = directory,
                                   .area = xac_rewire_area_address(mapper->area) };
        if (!directory)
                return true;
        for (uint64_t slot = 0; slot < mapper->slots; slot++)
                directory[slot] = (page_no)mapper->pages[slot];
        while (UINT64_C(1) << ways.bits < mapper->slots)
                ways.bits++;
        const bool is_faster = ehash_area_is_faster(&ways);
        free(directory);
        return !is_faster;
}

/* An area that could not be made, or is slower than the directory, is tried again with the next whole directory. */
static void show(struct ehash_mapper *mapper)
{
        if (mapper->slots && (mapper->area || mapper->is_anew)) {
                int err = fit_area(mapper);
                if (!err)
                        err = show_changed(mapper);
                if (mapper->is_anew)
                        atomic_store(&mapper->is_slower, !err && mapper->is_tried && is_slower(mapper));
                if (err || atomic_load(&mapper->is_slower))
                        forget_area(mapper);
        }
        mapper->is_anew = false;
        mapper->low = mapper->slots;
        mapper->high = mapper->changed = 0;
}

static void publish(struct ehash_mapper *mapper)
{
        struct ehash_shortcut *shortcut = mapper->shortcut;
        atomic_store(&mapper->mappings, mapper->area ? xac_rewire_area_mappings(mapper->area) : 0);
        shortcut->base = mapper->area ? xac_rewire_area_address(mapper->area) : NULL;
        atomic_store(&shortcut->shown, mapper->noted);
        if (atomic_exchange(&mapper->is_awaited, false)) /* SM4 */
                sem_post(&mapper->answered);
}

/* ---- the mapper: its thread ---- */

static uint64_t lesser(uint64_t one, uint64_t other)
{
        return one < other ? one : other;
}

static uint64_t work_ns(const struct ehash_mapper *mapper)
{
        const uint64_t ns = lesser(mapper->changed, mapper->slots) * SLOT_NS;
        return ns > QUIET_NS_MIN ? ns : QUIET_NS_MIN;
}

static void pause_for(uint64_t ns)
{
        const struct timespec pause = { .tv_nsec = (long)ns };
        nanosleep(&pause, NULL);
}

/* Notes requests until none has come for as long as the work will take: while they come one after another, what is
 * mapped is out of date as soon as it is done, and the owner pays, too, as its processor is interrupted, and waits for
 * the kernel's lock on mappings when it has a page fault. But not for ever: a steady trickle finds most of the work
 * done. */
static void note_until_quiet(struct ehash_mapper *mapper)
{
        uint64_t before = mapper->noted, quiet_ns = 0, waited_ns = 0;
        for (;;) {
                note(mapper);
                quiet_ns = mapper->noted == before ? quiet_ns : 0;
                before = mapper->noted;
                const uint64_t work = work_ns(mapper);
                if (quiet_ns >= work || waited_ns >= work * QUIETS_MAX || atomic_load(&mapper->is_awaited) ||
                    atomic_load(&mapper->stops))
                        return;
                const uint64_t pause_ns = lesser(work - quiet_ns, LOOK_NS);
                pause_for(pause_ns);
                quiet_ns += pause_ns;
                waited_ns += pause_ns;
        }
}

static void sleep_until_asked(struct ehash_mapper *mapper)
{
        atomic_store(&mapper->is_asleep, true);
        if (atomic_load(&mapper->queued) == mapper->noted && !atomic_load(&mapper->stops))
                wait_for(&mapper->bell);
        atomic_store(&mapper->is_asleep, false);
}

static void *run(void *mapper_)
{
        struct ehash_mapper *mapper = mapper_;
        sem_post(&mapper->answered);
        while (!atomic_load(&mapper->stops)) {
                if (atomic_load(&mapper->queued) == mapper->noted) {
                        sleep_until_asked(mapper);
                        continue;
                }
                note_until_quiet(mapper);
                if (atomic_load(&mapper->stops))
                        break;
                show(mapper);
                publish(mapper);
        }
        return NULL;
}

/* ---- beginning and end ---- */

/* Signals are the program's business: this thread takes none. It has begun when this returns, as the program may fork,
 * and a thread that is just starting holds locks of the C library. */
static int start_thread(struct ehash_mapper *mapper)
{
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int err = pthread_create(&mapper->thread, NULL, run, mapper);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!err)
                wait_for(&mapper->answered);
        return -err;
}

static void free_all(struct ehash_shortcut *shortcut)
{
        struct ehash_mapper *mapper = shortcut->mapper;
        struct request *request;
        while ((request = take(mapper)))
                free(request);
        forget_area(mapper);
        sem_destroy(&mapper->bell);
        sem_destroy(&mapper->answered);
        free(mapper->pages);
        free(mapper);
        free(shortcut);
}

int ehash_shortcut_start(struct xac_arena *arena, bool is_tried, struct ehash_shortcut **shortcut)
{
        if (!arena->pool)
                return -EINVAL;
        struct ehash_shortcut *self = calloc(1, sizeof(*self));
        struct ehash_mapper *mapper = calloc(1, sizeof(*mapper));
        if (!self || !mapper) {
                free(self);
                free(mapper);
                return -ENOMEM;
        }
        self->mapper = mapper;
        mapper->shortcut = self;
        mapper->arena = arena;
        mapper->is_tried = is_tried;
        __cds_wfcq_init(&mapper->head, &mapper->tail);
        sem_init(&mapper->bell, 0, 0);
        sem_init(&mapper->answered, 0, 0);
        want(self);
        int err = start_thread(mapper);
        if (err)
                free_all(self);
        else
                *shortcut = self;
        return err;
}

void ehash_shortcut_stop(struct ehash_shortcut *shortcut)
{
        if (!shortcut)
                return;
        struct ehash_mapper *mapper = shortcut->mapper;
        atomic_store(&mapper->stops, true);
        sem_post(&mapper->bell);
        pthread_join(mapper->thread, NULL);
        free_all(shortcut);
}
