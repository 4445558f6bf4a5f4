// SPDX-License-Identifier: MIT

/*
 * dynamic_cast and the resources of std::pmr in a view that a second thread has, too. Both lie in libstdc++.so for
 * other programs, and would end this one. Casts between all parts of objects give what libstdc++.so gives.
 */

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <map>
#include <memory_resource>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include <xac/xac.h>

namespace
{

/* ---- classes whose parts lie in many ways ---- */

struct a {
        virtual ~a() = default;
        long number = 1;
};
struct b {
        virtual ~b() = default;
        long number = 2;
};
struct single : a {
};
struct other : a {
};
struct both : single, b {
};
struct twice : single, other {
}; /* has two a */
struct hidden : private a, public b {
}; /* none may get to a */
struct half_hidden : private single, other {
};
struct left : virtual a {
};
struct right : virtual a {
};
struct diamond : left, right, b {
};
struct secret : private virtual a {
};
struct open_and_secret : secret, left {
}; /* one a, which both ways lead to */
struct deep : diamond, both {
}; /* two b, two a */
struct deeper : private deep, half_hidden {
};

using cast = void *(*)(const void *, const abi::__class_type_info *, const abi::__class_type_info *, ptrdiff_t);

cast theirs;
int casts, casts_that_lead;

struct part {
        const void *at;
        const std::type_info *type;
};

const std::type_info *const types[] = {
        &typeid(a),       &typeid(b),      &typeid(single),          &typeid(other), &typeid(both),
        &typeid(twice),   &typeid(hidden), &typeid(half_hidden),     &typeid(left),  &typeid(right),
        &typeid(diamond), &typeid(secret), &typeid(open_and_secret), &typeid(deep),  &typeid(deeper)
};

void must(int err, int line = __builtin_LINE())
{
        if (!err)
                return;
        std::printf("line %d: %s\n", line, err > 0 ? "failed" : xac_strerror(err));
        std::exit(1);
}

const abi::__class_type_info *class_of(const std::type_info *type)
{
        return static_cast<const abi::__class_type_info *>(type);
}

void compare_casts(const std::vector<part> &parts)
{
        for (const part &from : parts)
                for (const std::type_info *to : types) {
                        void *above = const_cast<void *>(from.at);
                        if (*from.type == *to || from.type->__do_upcast(class_of(to), &above))
                                continue; /* no compiler asks */
                        const void *own = abi::__dynamic_cast(from.at, class_of(from.type), class_of(to), -1);
                        const void *its = theirs(from.at, class_of(from.type), class_of(to), -1);
                        casts++;
                        casts_that_lead += its != nullptr;
                        if (own == its)
                                continue;
                        std::printf("differs: from %s to %s, %p not %p\n", from.type->name(), to->name(), own, its);
                        std::exit(1);
                }
}

/* C's casts go where others may not. */
template <typename Part, typename Whole> part part_of(Whole *whole)
{
        return { (Part *)whole, &typeid(Part) };
}

void compare_all()
{
        void *library = dlopen("libstdc++.so.6", RTLD_NOW);
        theirs = library ? reinterpret_cast<cast>(dlsym(library, "__dynamic_cast")) : nullptr;
        must(!theirs);
        static both has_both;
        static twice has_twice;
        static hidden has_hidden;
        static half_hidden has_half;
        static diamond has_diamond;
        static open_and_secret has_secret;
        static deep has_deep;
        static deeper has_deeper;
        deep *below = (deep *)&has_deeper;
        compare_casts(
                { part_of<a>(&has_both), part_of<b>(&has_both), part_of<single>(&has_both), part_of<both>(&has_both) });
        compare_casts(
                { part_of<a>((single *)&has_twice), part_of<a>((other *)&has_twice), part_of<twice>(&has_twice) });
        compare_casts({ part_of<a>(&has_hidden), part_of<b>(&has_hidden), part_of<hidden>(&has_hidden) });
        compare_casts({ part_of<a>((single *)&has_half), part_of<a>((other *)&has_half), part_of<single>(&has_half),
                        part_of<other>(&has_half) });
        compare_casts({ part_of<a>(&has_diamond), part_of<b>(&has_diamond), part_of<left>(&has_diamond),
                        part_of<right>(&has_diamond) });
        compare_casts({ part_of<a>(&has_secret), part_of<secret>(&has_secret), part_of<left>(&has_secret) });
        compare_casts({ part_of<a>((diamond *)&has_deep), part_of<a>((both *)&has_deep),
                        part_of<b>((diamond *)&has_deep), part_of<b>((both *)&has_deep), part_of<left>(&has_deep),
                        part_of<single>(&has_deep) });
        compare_casts({ part_of<a>((diamond *)below), part_of<b>((both *)below), part_of<left>(below),
                        part_of<deep>(below), part_of<diamond>(below), part_of<deeper>(&has_deeper) });
}

/* ---- in a view ---- */

constexpr size_t BYTES = size_t(1) << 24;

xac_env *env;

/* What is given back is not used again: the resources below seldom give anything back. */
struct store : std::pmr::memory_resource {
        size_t used = sizeof(store);
        size_t unused = 0;

        void *do_allocate(size_t bytes, size_t alignment) override
        {
                used = (used + alignment - 1) / alignment * alignment;
                void *taken = reinterpret_cast<char *>(this) + used;
                used += bytes;
                if (used > BYTES)
                        throw std::bad_alloc();
                return taken;
        }

        void do_deallocate(void *, size_t bytes, size_t) override
        {
                unused += bytes;
        }

        bool do_is_equal(const memory_resource &other) const noexcept override
        {
                return this == &other;
        }
};

store *in_view;

struct words {
        explicit words(std::pmr::memory_resource *from) : by_number(from), list(from)
        {
        }
        std::pmr::map<int, std::pmr::string> by_number;
        std::pmr::vector<int> list;
};

template <typename Resource> void fill_and_empty()
{
        auto resource = new (in_view->allocate(sizeof(Resource))) Resource(in_view);
        auto many = new (in_view->allocate(sizeof(words))) words(resource);
        for (int i = 0; i < 500; i++) {
                many->by_number.emplace(i, std::pmr::string(size_t(i), 'x', resource));
                many->list.push_back(i);
        }
        for (int i = 0; i < 500; i += 2)
                many->by_number.erase(i);
        must(many->by_number.at(33) != std::string(33, 'x').c_str());
        must(many->list[499] != 499);
        void *large = resource->allocate(100000, 64);
        must(reinterpret_cast<uintptr_t>(large) % 64 != 0);
        resource->deallocate(large, 100000, 64);
        many->~words();
        resource->release();
        *static_cast<int *>(resource->allocate(sizeof(int))) = 1;
        resource->~Resource();
}

int resources_work(void *)
{
        const size_t used = in_view->used, unused = in_view->unused;
        fill_and_empty<std::pmr::monotonic_buffer_resource>();
        fill_and_empty<std::pmr::unsynchronized_pool_resource>();
        const size_t own = 2 * sizeof(words) + sizeof(std::pmr::monotonic_buffer_resource) +
                           sizeof(std::pmr::unsynchronized_pool_resource);
        const size_t kept = (in_view->used - used) - (in_view->unused - unused) - own;
        must(kept > BYTES / 1024); /* but for gaps all has come back */
        return 0;
}

int casts_work(void *)
{
        auto object = new (in_view->allocate(sizeof(diamond))) diamond;
        a *top = object;
        b *beside = object;
        must(dynamic_cast<diamond *>(top) != object);
        must(dynamic_cast<b *>(top) != beside);
        must(dynamic_cast<right *>(beside) != object);
        must(dynamic_cast<twice *>(top) != nullptr);
        must(dynamic_cast<void *>(beside) != object);
        try {
                must(dynamic_cast<single &>(*beside).number != 0);
                must(1);
        } catch (const std::bad_cast &) {
        }
        object->~diamond();
        return 0;
}

int prepare(void *view)
{
        in_view = new (view) store;
        return 0;
}

void *map_view()
{
        void *view = xac_mmap(env, "objects", BYTES, XAC_SHARED);
        must(view == MAP_FAILED);
        return view;
}

} // namespace

int main(int count, char **arguments)
{
        must(count != 2);
        compare_all();
        must(xac_open(arguments[1], XAC_CREATE | XAC_VOLATILE, nullptr, &env));
        void *view = map_view();
        std::mutex mutex;
        std::condition_variable changed;
        bool is_there = false, is_done = false;
        std::thread other([&] {
                map_view();
                std::unique_lock<std::mutex> lock(mutex);
                is_there = true;
                changed.notify_all();
                changed.wait(lock, [&] { return is_done; });
        });
        {
                std::unique_lock<std::mutex> lock(mutex);
                changed.wait(lock, [&] { return is_there; });
        }
        must(xac_run(env, 0, prepare, view));
        must(xac_run(env, 0, casts_work, nullptr));
        must(xac_run(env, 0, resources_work, nullptr));
        {
                std::unique_lock<std::mutex> lock(mutex);
                is_done = true;
                changed.notify_all();
        }
        other.join();
        xac_stats stats;
        must(xac_stat(env, &stats));
        std::printf("%d casts, of which %d lead somewhere, %llu faults\n", casts, casts_that_lead,
                    static_cast<unsigned long long>(stats.read_faults + stats.write_faults));
        must(stats.read_faults + stats.write_faults != 0);
        must(xac_close(env));
        return 0;
}
