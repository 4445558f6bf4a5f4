/* SPDX-License-Identifier: MIT */
#ifndef XAC_SMART_PTR_HPP
#define XAC_SMART_PTR_HPP

/*
 * Owners that lie in the file, beside what they own: std::unique_ptr with xac::deleter, and xac::shared_ptr, as
 * std::shared_ptr has virtual functions. They hold plain pointers: not for heaps that lie anywhere. The counts are as
 * transactional as everything in the file: an abort undoes them, and they are touched in transactions only.
 */

#include <xac/standard.hpp>

#include <functional>
#include <memory>
#include <utility>

#include <xac/heap.hpp>

namespace xac
{

/* Destroys what was made by construct(), with its name if it has one: heap::destroy_ptr(). */
template <typename T> class deleter
{
public:
        using pointer = T *;
        using type = deleter; /* as Boost.Interprocess says managed_mapped_file::deleter<T>::type */

        /* Of the thread's current heap. */
        deleter() noexcept : base(detail::current() ? detail::current()->base : nullptr)
        {
        }
        deleter(const heap &heap) noexcept : base(heap.open->base)
        {
        }
        deleter(const heap *heap) noexcept : deleter(*heap)
        {
        }
        void operator()(T *object) const
        {
                detail::destroy(detail::open_at(base), object);
        }
        /* Where the heap begins. */
        const char *address() const noexcept
        {
                return base;
        }

private:
        char *base;
};

template <typename T> using unique_ptr = std::unique_ptr<T, deleter<T>>;

template <typename T> class weak_ptr;

namespace detail
{

/* In the heap, until the last owner and the last observer have gone. */
struct shares {
        std::size_t owners;
        std::size_t observers; /* and one for all owners */
};

/* In the heap that begins at `base`. */
inline void observe_no_more(shares *count, const char *base)
{
        if (--count->observers == 0)
                xac_heap_free(handle_of(base), count);
}

} // namespace detail

template <typename T> class shared_ptr
{
public:
        using element_type = T;

        shared_ptr() noexcept = default;
        shared_ptr(std::nullptr_t) noexcept
        {
        }
        /* What construct() has made in the heap; the counts lie there, too. If there is no room for them it is
         * destroyed.
         */
        shared_ptr(T *object_, const heap &heap) : object(object_), erase(heap)
        {
                if (!object)
                        return;
                allocator<detail::shares> room(heap);
                try {
                        count = room.allocate(1);
                } catch (const std::bad_alloc &) {
                        erase(object);
                        throw;
                }
                *count = { 1, 1 };
        }
        shared_ptr(T *object_, const heap *heap) : shared_ptr(object_, *heap)
        {
        }
        shared_ptr(const shared_ptr &other) noexcept : object(other.object), count(other.count), erase(other.erase)
        {
                if (count)
                        count->owners++;
        }
        shared_ptr(shared_ptr &&other) noexcept
            : object(std::exchange(other.object, nullptr)), count(std::exchange(other.count, nullptr)),
              erase(other.erase)
        {
        }
        shared_ptr &operator=(shared_ptr other) noexcept
        {
                swap(other);
                return *this;
        }
        ~shared_ptr()
        {
                if (!count || --count->owners)
                        return;
                erase(object);
                detail::observe_no_more(count, erase.address());
        }

        void reset() noexcept
        {
                shared_ptr().swap(*this);
        }
        void swap(shared_ptr &other) noexcept
        {
                std::swap(object, other.object);
                std::swap(count, other.count);
                std::swap(erase, other.erase);
        }
        T *get() const noexcept
        {
                return object;
        }
        T &operator*() const noexcept
        {
                return *object;
        }
        T *operator->() const noexcept
        {
                return object;
        }
        explicit operator bool() const noexcept
        {
                return object != nullptr;
        }
        std::size_t use_count() const noexcept
        {
                return count ? count->owners : 0;
        }
        bool unique() const noexcept
        {
                return use_count() == 1;
        }

private:
        friend class weak_ptr<T>;

        T *object = nullptr;
        detail::shares *count = nullptr;
        deleter<T> erase{};
};

/* Sees what shared_ptrs own, and owns nothing. */
template <typename T> class weak_ptr
{
public:
        using element_type = T;

        weak_ptr() noexcept = default;
        weak_ptr(const shared_ptr<T> &owner) noexcept : shown(owner.object), count(owner.count), erase(owner.erase)
        {
                if (count)
                        count->observers++;
        }
        weak_ptr(const weak_ptr &other) noexcept : shown(other.shown), count(other.count), erase(other.erase)
        {
                if (count)
                        count->observers++;
        }
        weak_ptr &operator=(weak_ptr other) noexcept
        {
                swap(other);
                return *this;
        }
        ~weak_ptr()
        {
                if (count)
                        detail::observe_no_more(count, erase.address());
        }

        /* Empty when the object has gone. */
        shared_ptr<T> lock() const noexcept
        {
                shared_ptr<T> owner;
                if (!expired()) {
                        owner.object = shown;
                        owner.count = count;
                        owner.erase = erase;
                        count->owners++;
                }
                return owner;
        }
        bool expired() const noexcept
        {
                return use_count() == 0;
        }
        std::size_t use_count() const noexcept
        {
                return count ? count->owners : 0;
        }
        void reset() noexcept
        {
                weak_ptr().swap(*this);
        }
        void swap(weak_ptr &other) noexcept
        {
                std::swap(shown, other.shown);
                std::swap(count, other.count);
                std::swap(erase, other.erase);
        }

private:
        T *shown = nullptr;
        detail::shares *count = nullptr;
        deleter<T> erase{};
};

template <typename T> bool operator==(const shared_ptr<T> &a, const shared_ptr<T> &b) noexcept
{
        return a.get() == b.get();
}
template <typename T> bool operator!=(const shared_ptr<T> &a, const shared_ptr<T> &b) noexcept
{
        return a.get() != b.get();
}
template <typename T> bool operator<(const shared_ptr<T> &a, const shared_ptr<T> &b) noexcept
{
        return std::less<T *>()(a.get(), b.get());
}

/* By the names of Boost.Interprocess: managed_shared_ptr<T, managed_file>::type p = make_managed_shared_ptr(object,
 * file).
 */
template <typename T, typename File> struct managed_shared_ptr {
        using type = shared_ptr<T>;
};
template <typename T, typename File> struct managed_weak_ptr {
        using type = weak_ptr<T>;
};
template <typename T, typename File> struct managed_unique_ptr {
        using type = unique_ptr<T>;
};
template <typename T, typename File> shared_ptr<T> make_managed_shared_ptr(T *object, const File &file)
{
        return { object, file.get_segment_manager() };
}
template <typename T, typename File> unique_ptr<T> make_managed_unique_ptr(T *object, const File &file)
{
        return unique_ptr<T>(object, file.template get_deleter<T>());
}

} // namespace xac

#endif
