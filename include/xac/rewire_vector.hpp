/* SPDX-License-Identifier: MIT */
#ifndef XAC_REWIRE_VECTOR_HPP
#define XAC_REWIRE_VECTOR_HPP

/*
 * xac::rewired_vector<T>: the interface of std::vector over an array that grows without copying (rewire_vector.h).
 *
 *         xac::rewire_memory memory(XAC_REWIRE_HUGE_BYTES);        // a pool of pages
 *         xac::rewired_vector<uint64_t> numbers(memory);
 *         numbers.push_back(7);
 *
 * T is trivially copyable, as it is shown at other addresses when the vector grows. References and iterators end then,
 * as those of std::vector. C++17. Vectors of one memory may be used by several threads, each by one at a time.
 */

#include <xac/standard.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

#include <xac/rewire_vector.h>

namespace xac
{

/* A pool of pages, which outlives the vectors in it. */
class rewire_memory
{
public:
        explicit rewire_memory(std::size_t page_bytes = 0, std::uint64_t max_bytes = 0)
        {
                xac_rewire_pool_options options{};
                options.page_bytes = page_bytes;
                options.max_bytes = max_bytes;
                if (int err = xac_rewire_pool_create(&options, &pool_))
                        throw std::system_error(-err, std::generic_category(), "xac_rewire_pool_create");
        }
        rewire_memory(const rewire_memory &) = delete;
        rewire_memory &operator=(const rewire_memory &) = delete;
        ~rewire_memory()
        {
                xac_rewire_pool_destroy(pool_);
        }

        xac_rewire_pool *get() const noexcept
        {
                return pool_;
        }

private:
        xac_rewire_pool *pool_ = nullptr;
};

template <class T> class rewired_vector
{
        static_assert(std::is_trivially_copyable_v<T>, "items change their addresses without being asked");

public:
        using value_type = T;
        using size_type = std::size_t;
        using difference_type = std::ptrdiff_t;
        using reference = T &;
        using const_reference = const T &;
        using pointer = T *;
        using const_pointer = const T *;
        using iterator = T *;
        using const_iterator = const T *;
        using reverse_iterator = std::reverse_iterator<iterator>;
        using const_reverse_iterator = std::reverse_iterator<const_iterator>;

        explicit rewired_vector(rewire_memory &memory) : rewired_vector(memory.get())
        {
        }
        rewired_vector(rewire_memory &memory, size_type count, const T &value = T()) : rewired_vector(memory)
        {
                resize(count, value);
        }
        template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
        rewired_vector(rewire_memory &memory, Iterator first, Iterator last) : rewired_vector(memory)
        {
                assign(first, last);
        }
        rewired_vector(const rewired_vector &other) : rewired_vector(other.pool_)
        {
                assign(other.begin(), other.end());
        }
        rewired_vector(rewired_vector &&other) noexcept
            : pool_(other.pool_), vector_(std::exchange(other.vector_, nullptr))
        {
        }
        rewired_vector &operator=(rewired_vector other) noexcept
        {
                swap(other);
                return *this;
        }
        ~rewired_vector()
        {
                xac_rewire_vector_destroy(vector_);
        }

        template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
        void assign(Iterator first, Iterator last)
        {
                clear();
                insert(end(), first, last);
        }
        void assign(size_type count, const T &value)
        {
                const T kept = value; /* it may be one of ours */
                clear();
                resize(count, kept);
        }

        reference operator[](size_type i) noexcept
        {
                return data()[i];
        }
        const_reference operator[](size_type i) const noexcept
        {
                return data()[i];
        }
        reference at(size_type i)
        {
                return data()[checked(i)];
        }
        const_reference at(size_type i) const
        {
                return data()[checked(i)];
        }
        reference front() noexcept
        {
                return data()[0];
        }
        const_reference front() const noexcept
        {
                return data()[0];
        }
        reference back() noexcept
        {
                return data()[size() - 1];
        }
        const_reference back() const noexcept
        {
                return data()[size() - 1];
        }
        T *data() noexcept
        {
                return vector_ ? static_cast<T *>(vector_->items) : nullptr;
        }
        const T *data() const noexcept
        {
                return vector_ ? static_cast<const T *>(vector_->items) : nullptr;
        }

        iterator begin() noexcept
        {
                return data();
        }
        const_iterator begin() const noexcept
        {
                return data();
        }
        const_iterator cbegin() const noexcept
        {
                return data();
        }
        iterator end() noexcept
        {
                return data() + size();
        }
        const_iterator end() const noexcept
        {
                return data() + size();
        }
        const_iterator cend() const noexcept
        {
                return data() + size();
        }
        reverse_iterator rbegin() noexcept
        {
                return reverse_iterator(end());
        }
        const_reverse_iterator rbegin() const noexcept
        {
                return const_reverse_iterator(end());
        }
        reverse_iterator rend() noexcept
        {
                return reverse_iterator(begin());
        }
        const_reverse_iterator rend() const noexcept
        {
                return const_reverse_iterator(begin());
        }

        bool empty() const noexcept
        {
                return size() == 0;
        }
        size_type size() const noexcept
        {
                return vector_ ? vector_->count : 0;
        }
        size_type capacity() const noexcept
        {
                return vector_ ? vector_->capacity : 0;
        }

        /* std::bad_alloc: the pool is full, or the machine has no more memory; nothing has changed. */
        void reserve(size_type count)
        {
                if (count > capacity())
                        grow(count);
        }
        void shrink_to_fit() noexcept
        {
                if (vector_)
                        xac_rewire_vector_shrink(vector_);
        }

        void clear() noexcept
        {
                if (vector_)
                        vector_->count = 0;
        }
        void push_back(const T &value)
        {
                if (__builtin_expect(!vector_ || vector_->count == vector_->capacity, 0)) {
                        const T kept = value;
                        grow(size() + 1);
                        add(kept);
                } else {
                        add(value);
                }
        }
        template <class... Arguments> reference emplace_back(Arguments &&...arguments)
        {
                push_back(T(std::forward<Arguments>(arguments)...));
                return back();
        }
        void pop_back() noexcept
        {
                vector_->count--;
        }
        void resize(size_type count, const T &value = T())
        {
                const T kept = value;
                const size_type before = size();
                reserve(count);
                if (count > before)
                        std::uninitialized_fill(data() + before, data() + count, kept);
                if (vector_)
                        vector_->count = count;
        }
        iterator insert(const_iterator position, const T &value)
        {
                const T kept = value;
                return insert(position, &kept, &kept + 1);
        }
        /* The range is none of this vector. */
        template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
        iterator insert(const_iterator position, Iterator first, Iterator last)
        {
                const size_type at = static_cast<size_type>(position - begin());
                using category = typename std::iterator_traits<Iterator>::iterator_category;
                if constexpr (!std::is_base_of_v<std::forward_iterator_tag, category>)
                        return insert_once(at, first, last);
                const size_type count = static_cast<size_type>(std::distance(first, last));
                if (!count)
                        return begin() + at;
                reserve(size() + count); /* at least doubles */
                std::move_backward(begin() + at, end(), end() + count);
                std::uninitialized_copy(first, last, begin() + at);
                vector_->count += count;
                return begin() + at;
        }
        iterator erase(const_iterator position)
        {
                return erase(position, position + 1);
        }
        iterator erase(const_iterator first, const_iterator last)
        {
                iterator to = begin() + (first - begin());
                if (first != last) {
                        std::move(begin() + (last - begin()), end(), to);
                        vector_->count -= static_cast<size_type>(last - first);
                }
                return to;
        }
        void swap(rewired_vector &other) noexcept
        {
                std::swap(pool_, other.pool_);
                std::swap(vector_, other.vector_);
        }
        friend void swap(rewired_vector &one, rewired_vector &other) noexcept
        {
                one.swap(other);
        }
        friend bool operator==(const rewired_vector &one, const rewired_vector &other)
        {
                return std::equal(one.begin(), one.end(), other.begin(), other.end());
        }
        friend bool operator!=(const rewired_vector &one, const rewired_vector &other)
        {
                return !(one == other);
        }
        friend bool operator<(const rewired_vector &one, const rewired_vector &other)
        {
                return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end());
        }

private:
        explicit rewired_vector(xac_rewire_pool *pool) : pool_(pool)
        {
                create();
        }

        void create()
        {
                if (xac_rewire_vector_create(pool_, sizeof(T), &vector_))
                        throw std::bad_alloc();
        }
        void grow(size_type count)
        {
                if (!vector_) /* it was moved from */
                        create();
                if (xac_rewire_vector_reserve(vector_, count))
                        throw std::bad_alloc();
        }
        /* Of what can be read once only it is not known how many there are: they come behind the others first. */
        template <class Iterator> iterator insert_once(size_type at, Iterator first, Iterator last)
        {
                const size_type before = size();
                try {
                        for (; first != last; ++first)
                                push_back(*first);
                } catch (...) {
                        if (vector_)
                                vector_->count = before;
                        throw;
                }
                std::rotate(begin() + at, begin() + before, end());
                return begin() + at;
        }
        void add(const T &value)
        {
                new (static_cast<T *>(vector_->items) + vector_->count++) T(value);
        }
        size_type checked(size_type i) const
        {
                if (i >= size())
                        throw std::out_of_range("xac::rewired_vector");
                return i;
        }

        xac_rewire_pool *pool_;
        xac_rewire_vector *vector_ = nullptr;
};

} // namespace xac

#endif
