/* SPDX-License-Identifier: MIT */
#ifndef XAC_MANAGED_FILE_HPP
#define XAC_MANAGED_FILE_HPP

/*
 * The calls of boost::interprocess::managed_mapped_file, for programs that come from there: an environment and a heap
 * in one. What they did under a lock goes into atomic_func(), or xac::atomically(file.env(), ...). The allocator of
 * Boost.Interprocess becomes xac::allocator, which has the type of its elements as its only argument.
 *
 * What it does not have, and why:
 *      open_copy_on_write             what is written and never committed is an aborted transaction
 *      an address, permissions        the file lies where it lay when it was made; umask(2)
 *      grow()                         a file grows by itself
 *      shrink_to_fit()                a file keeps its pages: what is freed is taken again
 *      zero_free_memory()             it would write all of the file in one transaction
 *      allocation_command(), allocate_many(), allocate_one(), allocate_individual()
 *                                     an object stays as large as it was made
 *      construct<T>(name)(arguments) of a segment manager, get_segment_manager() of an allocator
 *                                     the segment manager is the heap, whose construct() takes all at once
 *      names of wchar_t, and of more than 47 bytes; arrays of no elements
 *      the other types of index, of memory algorithm, of mutex: there is one of each, or none
 */

#include <xac/standard.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <xac/heap.hpp>
#include <xac/managed_objects.hpp>
#include <xac/smart_ptr.hpp>

namespace xac
{

struct create_only_t {
};
struct open_only_t {
};
struct open_or_create_t {
};
struct open_read_only_t {
};
inline constexpr create_only_t create_only{};
inline constexpr open_only_t open_only{};
inline constexpr open_or_create_t open_or_create{};
inline constexpr open_read_only_t open_read_only{};

class managed_file
{
        template <typename T, detail::making How> using maker = detail::maker<T, How>;
        using making = detail::making;

public:
        /* What allocators and deleters are made of. */
        using segment_manager = const heap;
        template <typename T> using allocator = xac::allocator<T>;
        template <typename T> using deleter = xac::deleter<T>;
        using size_type = std::size_t;
        using difference_type = std::ptrdiff_t;
        using handle_t = std::uint64_t;
        using char_type = char;
        using const_named_iterator = named_iterator;
        using const_unique_iterator = named_iterator;

        managed_file() = default;
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
        /* Nothing changes, and atomic_func() that writes throws XAC_WROTE. */
        managed_file(open_read_only_t, const std::string &name, int flags = 0)
            : managed_file(0, name, flags | XAC_RDONLY)
        {
        }
        void swap(managed_file &other) noexcept
        {
                std::swap(*this, other);
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
        template <typename T> xac::deleter<T> get_deleter() const
        {
                return objects;
        }

        /* ---- transactions ---- */

        template <typename F> auto atomic_func(F &&body)
        {
                return atomically(opened, std::forward<F>(body));
        }
        /* Once: false when it has lost a race. */
        template <typename F> bool try_atomic_func(F &&body)
        {
                try {
                        atomically(opened, once([&] { body(); }));
                        return true;
                } catch (const conflict &) {
                        return false;
                }
        }
        void flush()
        {
                opened.sync();
        }

        /* ---- objects and arrays ---- */

        /*
         * file.construct<T>("name")(arguments ...); file.construct<T>("name")[count](arguments ...), the same for each;
         * file.construct_it<T>("name")[count](iterators ...), for each what they have come to. Instead of a name
         * xac::anonymous_instance or xac::unique_instance, the only one of its type. With std::nothrow nullptr stands
         * for no room, and for one that is there already; what a constructor throws goes on.
         */
        template <typename T> auto construct(const detail::object_name &name)
        {
                return make<T, making::NEW>(name);
        }
        template <typename T> auto construct(const detail::object_name &name, const std::nothrow_t &)
        {
                return make<T, making::NO_THROW>(name);
        }
        template <typename T> auto find_or_construct(const detail::object_name &name)
        {
                return make<T, making::OR_FOUND>(name);
        }
        template <typename T> auto find_or_construct(const detail::object_name &name, const std::nothrow_t &)
        {
                return make<T, making::OR_FOUND | making::NO_THROW>(name);
        }
        template <typename T> auto construct_it(const detail::object_name &name)
        {
                return make<T, making::BY_ITERATORS>(name);
        }
        template <typename T> auto construct_it(const detail::object_name &name, const std::nothrow_t &)
        {
                return make<T, making::BY_ITERATORS | making::NO_THROW>(name);
        }
        template <typename T> auto find_or_construct_it(const detail::object_name &name)
        {
                return make<T, making::BY_ITERATORS | making::OR_FOUND>(name);
        }
        template <typename T> auto find_or_construct_it(const detail::object_name &name, const std::nothrow_t &)
        {
                return make<T, making::BY_ITERATORS | making::OR_FOUND | making::NO_THROW>(name);
        }
        /* And how many there are. */
        template <typename T> std::pair<T *, std::size_t> find(const detail::object_name &name) const
        {
                return detail::find<T>(objects.open, name);
        }
        template <typename T> std::pair<T *, std::size_t> find_no_lock(const detail::object_name &name) const
        {
                return find<T>(name);
        }
        template <typename T> bool destroy(const detail::object_name &name)
        {
                return atomically(opened, [&] {
                        T *found = find<T>(name).first;
                        if (found)
                                detail::destroy(objects.open, found);
                        return found != nullptr;
                });
        }
        template <typename T> void destroy_ptr(T *object)
        {
                detail::destroy(objects.open, object);
        }

        /* ---- what there is ---- */

        template <typename T> std::size_t get_instance_length(const T *object) const
        {
                xac_heap_root root;
                return is_root(object, root) ? detail::count_of<T>(root) : 1;
        }
        instance_type get_instance_type(const void *object) const
        {
                xac_heap_root root;
                return is_root(object, root) ? detail::type_of(root.name) : anonymous_type;
        }
        /* Until this thread's next call; nullptr: it has no name. */
        const char *get_instance_name(const void *object) const
        {
                static thread_local xac_heap_root root;
                return is_root(object, root) && detail::type_of(root.name) == named_type ? root.name : nullptr;
        }
        named_iterator named_begin() const
        {
                return named_iterator(list(named_type));
        }
        named_iterator named_end() const
        {
                return {};
        }
        named_iterator unique_begin() const
        {
                return named_iterator(list(unique_type));
        }
        named_iterator unique_end() const
        {
                return {};
        }
        std::size_t get_num_named_objects() const
        {
                return list(named_type).size();
        }
        std::size_t get_num_unique_objects() const
        {
                return list(unique_type).size();
        }
        /* Names need no room in advance. */
        void reserve_named_objects(std::size_t) noexcept
        {
        }
        void reserve_unique_objects(std::size_t) noexcept
        {
        }
        void shrink_to_fit_indexes() noexcept
        {
        }

        /* ---- memory ---- */

        void *allocate(std::size_t bytes)
        {
                return detail::allocate(objects.open->base, bytes, 1);
        }
        void *allocate(std::size_t bytes, const std::nothrow_t &) noexcept
        {
                return xac_heap_malloc(objects.get(), bytes);
        }
        /* Throws -EINVAL as xac::bad_alloc: a power of two up to the size of a page. */
        void *allocate_aligned(std::size_t bytes, std::size_t alignment)
        {
                void *object = xac_heap_aligned_alloc(objects.get(), alignment, bytes);
                if (!object)
                        throw bad_alloc(-errno);
                return object;
        }
        void *allocate_aligned(std::size_t bytes, std::size_t alignment, const std::nothrow_t &) noexcept
        {
                return xac_heap_aligned_alloc(objects.get(), alignment, bytes);
        }
        void deallocate(void *object)
        {
                xac_heap_free(objects.get(), object);
        }
        /* What the heap spans by now. As those below, it looks at all of the heap (xac_heap_check(3)). */
        std::size_t get_size() const
        {
                return objects.check().file_bytes;
        }
        /* Of what it spans; it grows. */
        std::size_t get_free_memory() const
        {
                const xac_heap_stats stats = objects.check();
                return stats.slab_free + stats.free_bytes;
        }
        bool all_memory_deallocated() const
        {
                return objects.check().live_objects == 0;
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

        /* ---- where things are ---- */

        void *get_address() const noexcept
        {
                return objects.open->base;
        }
        handle_t get_handle_from_address(const void *address) const noexcept
        {
                return xac_heap_offset(objects.get(), address);
        }
        void *get_address_from_handle(handle_t handle) const noexcept
        {
                return xac_heap_address(objects.get(), handle);
        }
        bool belongs_to_segment(const void *address) const
        {
                return address && get_handle_from_address(address) < get_size();
        }

private:
        managed_file(int create, const std::string &name, int flags)
            : opened(name, create | (flags & ~XAC_SHARED)),
              objects(opened, "heap", (create ? XAC_CREATE : 0) | (flags & XAC_SHARED))
        {
        }

        template <typename T, detail::making How> maker<T, How> make(const detail::object_name &name) const noexcept
        {
                return { objects.open, name };
        }
        bool is_root(const void *object, xac_heap_root &root) const
        {
                const int err = xac_heap_root_of(objects.get(), object, &root);
                if (err != -ENOENT)
                        detail::must(err, "xac_heap_root_of");
                return err == 0;
        }
        std::vector<named_object> list(instance_type type) const
        {
                struct listing {
                        instance_type type;
                        std::vector<named_object> all;
                } listing{ type, {} };
                auto add = [](void *to_, const xac_heap_root *root) {
                        auto &to = *static_cast<struct listing *>(to_);
                        if (detail::type_of(root->name) == to.type)
                                to.all.emplace_back(*root);
                        return 0;
                };
                detail::must(atomically(opened, XAC_RDONLY,
                                        [&] {
                                                listing.all.clear();
                                                return xac_heap_root_list(objects.get(), add, &listing);
                                        }),
                             "xac_heap_root_list");
                std::sort(listing.all.begin(), listing.all.end(), [](const named_object &a, const named_object &b) {
                        return std::strcmp(a.name(), b.name()) < 0;
                });
                return std::move(listing.all);
        }

        environment opened;
        heap objects;
};

} // namespace xac

#endif
