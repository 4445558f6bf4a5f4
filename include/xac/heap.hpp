/* SPDX-License-Identifier: MIT */
#ifndef XAC_HEAP_HPP
#define XAC_HEAP_HPP

/*
 * A heap in a file (<xac/heap.h>) for C++17: objects with names, and allocators by which containers of the standard
 * library live there as they are.
 *
 *         xac::environment env("phones.xac", XAC_CREATE);
 *         xac::heap heap(env, "heap", XAC_CREATE);
 *         auto &phones = *heap.find_or_construct<xac::map<xac::string, long>>("phones");
 *
 *         xac::atomically(env, [&] { phones["Ada"] = 1815; });
 *
 * Containers in the heap are touched in transactions only, by threads that have opened the heap. Several threads of one
 * process open it with XAC_SHARED, and are compiled by xac-c++.
 */

#include <xac/standard.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#ifndef __cpp_rtti
#include <cxxabi.h>
#endif

#include <xac/allocator.hpp>
#include <xac/heap.h>
#include <xac/transaction.hpp>

namespace xac
{

/* A name stands for an object of another type, or of one that has another size by now. */
class wrong_type : public error
{
public:
        explicit wrong_type(const std::string &what) : error(XAC_FORMAT, what)
        {
        }
};

namespace detail
{

/* As the C++ ABI names the type. Without run-time type information an exception knows it, as what is thrown has one. */
template <typename T> const char *type_name() noexcept
{
#ifdef __cpp_rtti
        return typeid(T).name();
#else
        static const char *const name = [] {
                try {
                        throw static_cast<std::remove_cv_t<T> *>(nullptr);
                } catch (...) {
                        return abi::__cxa_current_exception_type()->name() + 1; /* behind the P of a pointer */
                }
        }();
        return name;
#endif
}

/* FNV-1a (G. Fowler, L. Noll, P. Vo) of the type's name. */
template <typename T> std::uint64_t tag_of() noexcept
{
        std::uint64_t hash = 0xcbf29ce484222325;
        for (const char *at = type_name<T>(); *at; at++)
                hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3;
        return hash;
}

/* Of an array: its root says the size of all, so the tag holds that of one. */
template <typename T> std::uint64_t tag_of_array() noexcept
{
        return (~tag_of<T>() ^ sizeof(T)) * 0x100000001b3;
}

/* How many objects of that type the root stands for. */
template <typename T> std::size_t count_of(const xac_heap_root &root) noexcept
{
        return root.tag == tag_of_array<T>() ? root.size / sizeof(T) : 1;
}

inline void must_have_room(int err, const char *what)
{
        if (err == -ENOMEM || err == -ENOSPC)
                throw bad_alloc(err);
        must(err, what);
}

/* Meanwhile allocators that are made from nothing belong to that heap. */
class chosen_heap
{
public:
        explicit chosen_heap(open_heap *open) noexcept : before(std::exchange(heaps.chosen, open))
        {
        }
        chosen_heap(const chosen_heap &) = delete;
        chosen_heap &operator=(const chosen_heap &) = delete;
        ~chosen_heap()
        {
                heaps.chosen = before;
        }

private:
        open_heap *before;
};

/* In the chosen heap. */
template <typename T, typename... Args> void fill(T *at, Args &&...args)
{
        if constexpr (std::uses_allocator_v<T, offset_allocator<char>>)
                detail::construct(offset_allocator<char>(), at, std::forward<Args>(args)...);
        else if constexpr (std::uses_allocator_v<T, allocator<char>>)
                detail::construct(allocator<char>(), at, std::forward<Args>(args)...);
        else
                ::new (static_cast<void *>(at)) T(std::forward<Args>(args)...);
}

template <typename T> void destroy(open_heap *open, T *object)
{
        atomically(open->env, 0, [&] {
                xac_heap_root root;
                const int err = xac_heap_root_of(open->handle, object, &root);
                if (err != -ENOENT)
                        must_have_room(err, "destroy_ptr");
                std::destroy_n(object, err ? 1 : count_of<T>(root));
                if (!err)
                        must_have_room(xac_heap_root_remove(open->handle, root.name), root.name);
                else
                        xac_heap_free(open->handle, const_cast<std::remove_cv_t<T> *>(object));
        });
}

} // namespace detail

/* For construct(): an object without a name. */
struct anonymous_t {
};
inline constexpr anonymous_t anonymous{};

/* ---- heaps ---- */

/* Of the thread that made it, which also closes it; before its environment, and while no transaction is open. */
class heap
{
public:
        heap() = default;
        /* Flags: xac_heap_open(3). */
        heap(const environment &env, const std::string &file, int flags = XAC_CREATE)
        {
                auto made = std::make_unique<detail::open_heap>();
                detail::must(xac_heap_open(env.get(), file.c_str(), flags, &made->handle), file.c_str());
                made->env = env.get();
                made->base = static_cast<char *>(xac_heap_address(made->handle, 16)) - 16;
                made->flags = flags;
                made->older = detail::heaps.newest;
                detail::heaps.newest = open = made.release();
        }
        heap(heap &&other) noexcept : open(std::exchange(other.open, nullptr))
        {
        }
        heap &operator=(heap &&other) noexcept
        {
                std::swap(open, other.open);
                return *this;
        }
        ~heap()
        {
                forget();
        }

        /* What the destructor does, and throws what it says. */
        void close()
        {
                detail::must(forget(), "xac_heap_close");
        }
        /* For the functions of <xac/heap.h>. */
        xac_heap *get() const noexcept
        {
                return open ? open->handle : nullptr;
        }
        explicit operator bool() const noexcept
        {
                return open != nullptr;
        }
        template <typename T> allocator<T> get_allocator() const
        {
                return *this;
        }
        template <typename T> offset_allocator<T> get_offset_allocator() const
        {
                return *this;
        }

        /*
         * Objects with names, of up to 47 bytes. Each call is a transaction, or a level of the one that is open: a
         * constructor that throws leaves nothing. Arguments are passed as const, as a constructor may run again. Who
         * takes an allocator last, or behind std::allocator_arg, gets one of this heap. wrong_type: the name stands for
         * something else. find() and destroy() of what is not there return nullptr and false.
         */
        template <typename T, typename... Args> T *find_or_construct(const char *name, const Args &...args)
        {
                return atomically(open->env, 0, [&] {
                        T *found = find<T>(name);
                        return found ? found : create<T>(name, args...);
                });
        }
        /* xac::error with -EEXIST: there is one. */
        template <typename T, typename... Args> T *construct(const char *name, const Args &...args)
        {
                return atomically(open->env, 0, [&] { return create<T>(name, args...); });
        }
        template <typename T> T *find(const char *name) const
        {
                xac_heap_root root;
                int err = xac_heap_root_find(open->handle, name, &root);
                if (err == -ENOENT)
                        return nullptr;
                check(err, name);
                compare<T>(root);
                return static_cast<T *>(root.object);
        }
        template <typename T> bool destroy(const char *name)
        {
                return atomically(open->env, 0, [&] {
                        T *found = find<T>(name);
                        if (!found)
                                return false;
                        found->~T();
                        check(xac_heap_root_remove(open->handle, name), name);
                        return true;
                });
        }

        /* Objects without; destroy_ptr() of one with a name removes the name, too. */
        template <typename T, typename... Args> T *construct(anonymous_t, const Args &...args)
        {
                return atomically(open->env, 0, [&] {
                        T *made = static_cast<T *>(detail::allocate(open->base, sizeof(T), alignof(T)));
                        const detail::chosen_heap here(open);
                        detail::fill(made, args...);
                        return made;
                });
        }
        template <typename T> void destroy_ptr(T *object)
        {
                detail::destroy(open, object);
        }

        /* Looks at all of it: xac_heap_check(3). Throws XAC_CORRUPT. */
        xac_heap_stats check() const
        {
                xac_heap_stats stats;
                detail::must(xac_heap_check(open->handle, &stats, nullptr, nullptr), "xac_heap_check");
                return stats;
        }

private:
        friend class current_heap;
        friend class managed_file;
        friend class heap_resource;
        template <typename T> friend class deleter;
        template <typename T, typename Way> friend class basic_allocator;

        static void check(int err, const char *name)
        {
                detail::must_have_room(err, name);
        }
        template <typename T> static void compare(const xac_heap_root &root)
        {
                if (root.tag != detail::tag_of<T>())
                        throw wrong_type("'" + std::string(root.name) + "' is not of type " + detail::type_name<T>());
                if (root.size != sizeof(T))
                        throw wrong_type("'" + std::string(root.name) + "' was made when its type had " +
                                         std::to_string(root.size) + " bytes, not " + std::to_string(sizeof(T)));
        }
        template <typename T, typename... Args> T *create(const char *name, const Args &...args)
        {
                static_assert(alignof(T) <= 16, "objects with names are aligned to 16 bytes");
                xac_heap_root root;
                check(xac_heap_root_create(open->handle, name, sizeof(T), detail::tag_of<T>(), &root), name);
                const detail::chosen_heap here(open);
                detail::fill(static_cast<T *>(root.object), args...);
                return static_cast<T *>(root.object);
        }
        int forget() noexcept;

        detail::open_heap *open = nullptr;
};

/* While it lives, allocators that are made from nothing in this thread belong to that heap. */
class current_heap
{
public:
        explicit current_heap(const heap &heap) noexcept : here(heap.open)
        {
        }

private:
        detail::chosen_heap here;
};

template <typename T, typename Way>
basic_allocator<T, Way>::basic_allocator(const heap &heap) : base(base_of(heap.open))
{
}

inline int heap::forget() noexcept
{
        if (!open)
                return 0;
        detail::open_heap **at = &detail::heaps.newest;
        while (*at && *at != open)
                at = &(*at)->older;
        if (!*at) /* another thread's, whose list goes on to hold it */
                return XAC_NOVIEW;
        int err = xac_heap_close(open->handle);
        if (err)
                return err;
        *at = open->older;
        if (detail::heaps.chosen == open)
                detail::heaps.chosen = nullptr;
        delete std::exchange(open, nullptr);
        return 0;
}

} // namespace xac

#endif
