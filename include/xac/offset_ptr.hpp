/* SPDX-License-Identifier: MIT */
#ifndef XAC_OFFSET_PTR_HPP
#define XAC_OFFSET_PTR_HPP

/*
 * A pointer that holds how far away its object is, from itself: right wherever the file lies, if both are in it. An
 * idea of Boost.Interprocess. 1 is null: no object begins one byte behind a pointer to it.
 */

#include <xac/standard.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>

namespace xac
{

template <typename T> class offset_ptr
{
        template <typename U> using if_converts = std::enable_if_t<std::is_convertible_v<U *, T *>, int>;
        template <typename U> using if_casts = std::enable_if_t<!std::is_convertible_v<U *, T *>, int>;

public:
        using element_type = T;
        using value_type = std::remove_cv_t<T>;
        using pointer = offset_ptr;
        /* Of void: of nothing that there is, as those who ask make a parameter of it (Boost.Intrusive). */
        using reference = std::add_lvalue_reference_t<std::conditional_t<std::is_void_v<T>, offset_ptr, T>>;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::random_access_iterator_tag;
        template <typename U> using rebind = offset_ptr<U>;

        offset_ptr() noexcept = default;
        offset_ptr(T *object) noexcept
        {
                set(object);
        }
        offset_ptr(const offset_ptr &other) noexcept
        {
                set(other.get());
        }
        template <typename U, if_converts<U> = 0> offset_ptr(const offset_ptr<U> &other) noexcept
        {
                set(other.get());
        }
        template <typename U, if_casts<U> = 0> explicit offset_ptr(const offset_ptr<U> &other) noexcept
        {
                set(static_cast<T *>(other.get()));
        }
        offset_ptr &operator=(const offset_ptr &other) noexcept
        {
                set(other.get());
                return *this;
        }
        offset_ptr &operator=(T *object) noexcept
        {
                set(object);
                return *this;
        }

        template <typename U = T> static offset_ptr pointer_to(U &object) noexcept
        {
                return offset_ptr(std::addressof(object));
        }
        T *get() const noexcept
        {
                return distance == 1 ? nullptr
                                     : reinterpret_cast<T *>(reinterpret_cast<std::uintptr_t>(this) +
                                                             static_cast<std::uintptr_t>(distance));
        }

        reference operator*() const noexcept
        {
                return *get();
        }
        T *operator->() const noexcept
        {
                return get();
        }
        reference operator[](difference_type i) const noexcept
        {
                return get()[i];
        }
        explicit operator bool() const noexcept
        {
                return distance != 1;
        }

        offset_ptr &operator+=(difference_type count) noexcept
        {
                set(get() + count);
                return *this;
        }
        offset_ptr &operator-=(difference_type count) noexcept
        {
                return *this += -count;
        }
        offset_ptr &operator++() noexcept
        {
                return *this += 1;
        }
        offset_ptr &operator--() noexcept
        {
                return *this += -1;
        }
        offset_ptr operator++(int) noexcept
        {
                offset_ptr before(*this);
                ++*this;
                return before;
        }
        offset_ptr operator--(int) noexcept
        {
                offset_ptr before(*this);
                --*this;
                return before;
        }
        friend offset_ptr operator+(const offset_ptr &at, difference_type count) noexcept
        {
                return offset_ptr(at.get() + count);
        }
        friend offset_ptr operator+(difference_type count, const offset_ptr &at) noexcept
        {
                return offset_ptr(at.get() + count);
        }
        friend offset_ptr operator-(const offset_ptr &at, difference_type count) noexcept
        {
                return offset_ptr(at.get() - count);
        }
        friend difference_type operator-(const offset_ptr &a, const offset_ptr &b) noexcept
        {
                return a.get() - b.get();
        }
        /* Also with a plain pointer on either side. */
        friend bool operator==(const offset_ptr &a, const offset_ptr &b) noexcept
        {
                return a.get() == b.get();
        }
        friend bool operator!=(const offset_ptr &a, const offset_ptr &b) noexcept
        {
                return a.get() != b.get();
        }
        friend bool operator<(const offset_ptr &a, const offset_ptr &b) noexcept
        {
                return a.get() < b.get();
        }
        friend bool operator>(const offset_ptr &a, const offset_ptr &b) noexcept
        {
                return b.get() < a.get();
        }
        friend bool operator<=(const offset_ptr &a, const offset_ptr &b) noexcept
        {
                return !(b.get() < a.get());
        }
        friend bool operator>=(const offset_ptr &a, const offset_ptr &b) noexcept
        {
                return !(a.get() < b.get());
        }

private:
        void set(const volatile void *object) noexcept
        {
                distance = object ? static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(object) -
                                                                reinterpret_cast<std::uintptr_t>(this))
                                  : 1;
        }

        std::ptrdiff_t distance = 1;
};

template <typename T, typename U> bool operator==(const offset_ptr<T> &a, const offset_ptr<U> &b) noexcept
{
        return a.get() == b.get();
}
template <typename T, typename U> bool operator!=(const offset_ptr<T> &a, const offset_ptr<U> &b) noexcept
{
        return a.get() != b.get();
}
template <typename T, typename U> bool operator<(const offset_ptr<T> &a, const offset_ptr<U> &b) noexcept
{
        return a.get() < b.get();
}
template <typename T, typename U> bool operator>(const offset_ptr<T> &a, const offset_ptr<U> &b) noexcept
{
        return b < a;
}
template <typename T, typename U> bool operator<=(const offset_ptr<T> &a, const offset_ptr<U> &b) noexcept
{
        return !(b < a);
}
template <typename T, typename U> bool operator>=(const offset_ptr<T> &a, const offset_ptr<U> &b) noexcept
{
        return !(a < b);
}
template <typename T> bool operator==(const offset_ptr<T> &a, std::nullptr_t) noexcept
{
        return !a;
}
template <typename T> bool operator==(std::nullptr_t, const offset_ptr<T> &a) noexcept
{
        return !a;
}
template <typename T> bool operator!=(const offset_ptr<T> &a, std::nullptr_t) noexcept
{
        return bool(a);
}
template <typename T> bool operator!=(std::nullptr_t, const offset_ptr<T> &a) noexcept
{
        return bool(a);
}

} // namespace xac

#endif
