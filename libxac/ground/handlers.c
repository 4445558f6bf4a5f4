/* SPDX-License-Identifier: MIT */
#include "libxac/ground/handlers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "libxac/ground/place.h"
#include "libxac/ground/thread_local.h"

enum {
        LAYERS = 8,
        ENTRIES = 2 * LAYERS, /* two for each layer, used in turn (H3) */
        NOBODY = -1,
        TRIES = 4 /* against threads that install handlers at this moment */
};

struct layer {
        struct sigaction behind; /* (H1) */
        _Atomic int turn;        /* 0 or 1: its present entry */
        _Atomic bool is_spent;   /* SA_RESETHAND: what is behind it has had its signal */
};

struct owned {
        int signal_no;
        const char *name;
        handlers_mend mend;
        struct layer layer[LAYERS];
        int used;
        bool has_told;
};

static struct owned owned_segv = { .signal_no = SIGSEGV, .name = "SIGSEGV" };
static struct owned owned_bus = { .signal_no = SIGBUS, .name = "SIGBUS" };
static pthread_mutex_t look_mutex = PTHREAD_MUTEX_INITIALIZER;

_Atomic uint32_t handlers_due;

/* ---- What was there before ---- */

static void fall_to_default(int signal_no, const siginfo_t *info)
{
        /* Returning runs the access again, which faults again and ends the process. */
        struct sigaction by_default = { .sa_handler = SIG_DFL };
        sigaction(signal_no, &by_default, NULL);
        if (info->si_code <= 0) /* sent, not raised by an access */
                raise(signal_no);
}

/* With the signals blocked that the kernel would have blocked. */
static void call(const struct sigaction *before, int signal_no, siginfo_t *info, void *context)
{
        sigset_t ours, only;
        sigemptyset(&only);
        sigaddset(&only, signal_no);
        pthread_sigmask(SIG_BLOCK, &before->sa_mask, &ours);
        if (before->sa_flags & SA_NODEFER && !sigismember(&before->sa_mask, signal_no))
                pthread_sigmask(SIG_UNBLOCK, &only, NULL);
        if (before->sa_flags & SA_SIGINFO)
                before->sa_sigaction(signal_no, info, context);
        else
                before->sa_handler(signal_no);
        pthread_sigmask(SIG_SETMASK, &ours, NULL);
}

void handlers_pass_on(const struct sigaction *before, int signal_no, siginfo_t *info, void *context)
{
        if (before->sa_handler == SIG_IGN && info->si_code <= 0)
                return;
        if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN)
                fall_to_default(signal_no, info);
        else
                call(before, signal_no, info, context);
}

/* ---- Chains that end (H2) ---- */

/* What this thread is handing on. A handler that jumps out leaves it behind: who comes later is not deeper on the
 * stack then, or has another siginfo_t. */
struct passing {
        const struct owned *owned; /* NULL: nothing */
        int layer;
        const siginfo_t *info;
        const void *frame;
};

static THREAD_TLS struct passing passing;
/* What ran behind a layer has sent itself the signal, which is blocked until we return. */
static THREAD_TLS struct passing resent;

static bool is_own(const siginfo_t *info)
{
        return info->si_code <= 0 && info->si_pid == getpid();
}

/* Was this layer called, or sent the signal, by what is behind a layer? Then it stands for a lower one. */
static bool is_passed(const struct owned *owned, const siginfo_t *info, const void *frame)
{
        if (passing.owned != owned || (uintptr_t)frame >= (uintptr_t)passing.frame)
                return false;
        return info == passing.info || (is_own(info) && owned->layer[passing.layer].behind.sa_flags & SA_NODEFER);
}

static int lower(int layer, int than)
{
        return layer < than ? layer : than - 1;
}

static int layer_to_run(const struct owned *owned, int layer, const siginfo_t *info, const void *frame)
{
        if (is_passed(owned, info, frame))
                layer = lower(layer, passing.layer);
        if (resent.owned == owned && is_own(info)) {
                resent.owned = NULL;
                layer = lower(layer, resent.layer);
        }
        return layer;
}

static void run_behind(struct owned *owned, int layer_no, siginfo_t *info, void *context, const void *frame)
{
        struct layer *layer = layer_no < 0 ? NULL : &owned->layer[layer_no];
        if (!layer || (layer->behind.sa_flags & SA_RESETHAND && atomic_exchange(&layer->is_spent, true))) {
                fall_to_default(owned->signal_no, info);
                return;
        }
        const struct passing outer = passing, mine = { owned, layer_no, info, frame };
        sigset_t pending;
        passing = mine;
        handlers_pass_on(&layer->behind, owned->signal_no, info, context);
        if (!sigpending(&pending) && sigismember(&pending, owned->signal_no))
                resent = mine;
        passing = (uintptr_t)frame < (uintptr_t)outer.frame ? outer : (struct passing){ .owned = NULL };
}

__attribute__((noinline)) static void handle(int entry, int signal_no, siginfo_t *info, void *context)
{
        const int saved_errno = errno;
        const void *frame = __builtin_frame_address(0);
        struct owned *owned = signal_no == SIGSEGV ? &owned_segv : &owned_bus;
        bool is_mended = info->si_code > 0 && !is_passed(owned, info, frame) && owned->mend(info, context);
        if (!is_mended) {
                int layer = entry / 2;
                if (atomic_load(&owned->layer[layer].turn) != entry % 2)
                        layer--; /* (H3) */
                run_behind(owned, layer_to_run(owned, layer, info, frame), info, context, frame);
        }
        errno = saved_errno;
}

/* ---- Entries ---- */

#define ENTRY(no)                                                             \
        static void enter_##no(int signal_no, siginfo_t *info, void *context) \
        {                                                                     \
                handle(no, signal_no, info, context);                         \
        }
ENTRY(0)
ENTRY(1)
ENTRY(2)
ENTRY(3)
ENTRY(4)
ENTRY(5)
ENTRY(6)
ENTRY(7)
ENTRY(8)
ENTRY(9)
ENTRY(10)
ENTRY(11)
ENTRY(12)
ENTRY(13)
ENTRY(14)
ENTRY(15)

static void (*const entries[ENTRIES])(int, siginfo_t *, void *) = {
        enter_0, enter_1, enter_2,  enter_3,  enter_4,  enter_5,  enter_6,  enter_7,
        enter_8, enter_9, enter_10, enter_11, enter_12, enter_13, enter_14, enter_15,
};

/* The entry that is installed there, or NOBODY's. */
static int entry_of(const struct sigaction *action)
{
        for (int i = 0; action->sa_flags & SA_SIGINFO && i < ENTRIES; i++)
                if (action->sa_sigaction == entries[i])
                        return i;
        return NOBODY;
}

/* ---- Looking ---- */

static bool is_same(const struct sigaction *one, const struct sigaction *other)
{
        return one->sa_handler == other->sa_handler && one->sa_flags == other->sa_flags;
}

/* The layer that a handler had, else a new one; NULL: there are too many. */
static struct layer *layer_for(struct owned *owned, const struct sigaction *behind)
{
        for (int i = 0; i < owned->used; i++) {
                struct layer *layer = &owned->layer[i];
                if (!is_same(&layer->behind, behind))
                        continue;
                atomic_store(&layer->is_spent, false);
                atomic_store(&layer->turn, !atomic_load(&layer->turn));
                return layer;
        }
        if (owned->used == LAYERS)
                return NULL;
        owned->layer[owned->used].behind = *behind;
        return &owned->layer[owned->used++];
}

/* Puts the layer in front of `before`. If another handler has come meanwhile, it is left there for the next try. */
static int put_in_front(struct owned *owned, const struct layer *layer, const struct sigaction *before)
{
        struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK }, found = { 0 };
        action.sa_sigaction = entries[2 * (layer - owned->layer) + atomic_load(&layer->turn)];
        sigemptyset(&action.sa_mask);
        int err = sigaction(owned->signal_no, &action, &found) ? -errno : 0;
        if (!err && !is_same(&found, before))
                sigaction(owned->signal_no, &found, NULL);
        return err;
}

/* 0: we are in front. Else `now` is what is. */
static int look_locked(struct owned *owned, struct sigaction *now)
{
        for (int i = 0; i < TRIES; i++) {
                if (sigaction(owned->signal_no, NULL, now))
                        return -errno;
                int entry = entry_of(now);
                if (entry != NOBODY) { /* perhaps an earlier one that was put back: now it is what it was */
                        atomic_store(&owned->layer[entry / 2].turn, entry % 2);
                        return 0;
                }
                struct layer *layer = layer_for(owned, now);
                int err = layer ? put_in_front(owned, layer, now) : -ENOSPC;
                if (err)
                        return err;
        }
        return -EBUSY;
}

static void tell(struct owned *owned, const struct sigaction *now)
{
        char place[PLACE_BYTES];
        if (owned->has_told)
                return;
        owned->has_told = true;
        say(stderr,
            "libxac: %s goes to %s, and the library's handler cannot be put in front of it: the first touch of a "
            "page in a view will end there (see xac(7), signal handlers)\n",
            owned->name, place_name((const void *)(uintptr_t)now->sa_sigaction, place));
}

static void look_at(struct owned *owned)
{
        struct sigaction now = { 0 };
        if (owned->mend && look_locked(owned, &now))
                tell(owned, &now);
}

void handlers_lock(void)
{
        pthread_mutex_lock(&look_mutex);
}

void handlers_unlock(void)
{
        pthread_mutex_unlock(&look_mutex);
}

void handlers_install(handlers_mend segv, handlers_mend bus)
{
        handlers_lock();
        owned_segv.mend = segv;
        owned_bus.mend = bus;
        handlers_unlock();
        handlers_look();
}

void handlers_look(void)
{
        handlers_lock();
        look_at(&owned_segv);
        look_at(&owned_bus);
        handlers_unlock();
}

/* Of two that watch at once, the one that wants more begins to look prevails. */
void handlers_watch(uint32_t begins)
{
        uint32_t due = atomic_load_explicit(&handlers_due, memory_order_relaxed);
        while (due < begins && !atomic_compare_exchange_weak(&handlers_due, &due, begins))
                ;
}

/* Another thread may count at the same time: then there is one look more. */
void handlers_look_due(void)
{
        uint32_t due = atomic_load(&handlers_due);
        if (due)
                (void)atomic_compare_exchange_strong(&handlers_due, &due, due - 1);
        handlers_look();
}
