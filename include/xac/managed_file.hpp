/* SPDX-License-Identifier: MIT */
#ifndef XAC_MANAGED_FILE_HPP
#define XAC_MANAGED_FILE_HPP

/*
 * The calls of boost::interprocess::managed_mapped_file, for programs that come from there: an environment and a heap
 * in one. What they did under a lock goes into atomic_func(), or xac::atomically(file.env(), ...). The allocator of
 * Boost.Interprocess becomes xac::allocator, which has the type of its elements as its only argument.
 */

#include <cstddef>
#include <string>
#include <utility>

#include <xac/heap.hpp>

namespace xac
{

struct create_only_t {
};
struct open_only_t {
};
struct open_or_create_t {
};
inline constexpr create_only_t create_only{};
inline constexpr open_only_t open_only{};
inline constexpr open_or_create_t open_or_create{};

class managed_file
{
public:
        /* What allocators are made of. */
        using segment_manager = const heap;
        template <typename T> using allocator = xac::allocator<T>;

        /* `name` is a directory; the size, which Boost.Interprocess asks for, grows by itself. Flags: xac_open(3), and
         * XAC_SHARED of xac_heap_open(3). */
        managed_file(create_only_t, const std::string &name, std::size_t = 0, int flags = 0)
            : managed_file(XAC_CREATE | XAC_EXCL, name, flags)
        {
        }
        managed_file(open_or_create_t, const std::string &name, std::size_t = 0, int flags = 0)
            : managed_file(XAC_CREATE, name, flags)
        {
        }
        managed_file(open_only_t, const std::string &name, int flags = 0) : managed_file(0, name, flags)
        {
        }

        const environment &env() const noexcept
        {
                return opened;
        }
        segment_manager *get_segment_manager() const noexcept
        {
                return &objects;
        }
        template <typename T> xac::allocator<T> get_allocator() const
        {
                return objects;
        }
        template <typename F> auto atomic_func(F &&body)
        {
                return atomically(opened, std::forward<F>(body));
        }

        /* file.construct<T>("name")(arguments ...) */
        template <typename T> auto construct(const char *name)
        {
                return [this, name](const auto &...args) { return objects.construct<T>(name, args...); };
        }
        template <typename T> auto construct(anonymous_t)
        {
                return [this](const auto &...args) { return objects.construct<T>(anonymous, args...); };
        }
        template <typename T> auto find_or_construct(const char *name)
        {
                return [this, name](const auto &...args) { return objects.find_or_construct<T>(name, args...); };
        }
        /* And how many there are: 0 or 1. */
        template <typename T> std::pair<T *, std::size_t> find(const char *name) const
        {
                T *found = objects.find<T>(name);
                return { found, found ? 1 : 0 };
        }
        template <typename T> bool destroy(const char *name)
        {
                return objects.destroy<T>(name);
        }
        template <typename T> void destroy_ptr(T *object)
        {
                objects.destroy_ptr(object);
        }

        void *allocate(std::size_t bytes)
        {
                return objects.get_allocator<char>().allocate(bytes);
        }
        void deallocate(void *object)
        {
                objects.get_allocator<char>().deallocate(static_cast<char *>(object), 0);
        }
        bool check_sanity() const
        {
                try {
                        objects.check();
                        return true;
                } catch (const error &what) {
                        if (what.code().value() != XAC_CORRUPT)
                                throw;
                        return false;
                }
        }
        void flush()
        {
                opened.sync();
        }

private:
        managed_file(int create, const std::string &name, int flags)
            : opened(name, create | (flags & ~XAC_SHARED)),
              objects(opened, "heap", (create ? XAC_CREATE : 0) | (flags & XAC_SHARED))
        {
        }

        environment opened;
        heap objects;
};

} // namespace xac

#endif
