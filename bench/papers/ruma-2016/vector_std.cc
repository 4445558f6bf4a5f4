// SPDX-License-Identifier: MIT
//
// std::vector, with the allocator that it has, and with one that gives it aligned memory in huge pages. `run` makes a shared
// library of this file, which bench/papers/ruma-2016/rewire --std loads.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include <sys/mman.h>

#include "bench/papers/ruma-2016/vector_systems.h"

namespace
{

constexpr std::size_t huge_page = std::size_t(2) << 20;

// All it is asked for are multiples of 2 MiB.
template <class T> struct huge_allocator {
        using value_type = T;

        huge_allocator() = default;
        template <class U> huge_allocator(const huge_allocator<U> &) {}

        T *allocate(std::size_t count)
        {
                const std::size_t bytes = (count * sizeof(T) + huge_page - 1) & ~(huge_page - 1);
                void *memory = std::aligned_alloc(huge_page, bytes);
                if (!memory)
                        throw std::bad_alloc();
                madvise(memory, bytes, MADV_HUGEPAGE);
                return static_cast<T *>(memory);
        }

        void deallocate(T *memory, std::size_t) { std::free(memory); }

        bool operator==(const huge_allocator &) const { return true; }
        bool operator!=(const huge_allocator &) const { return false; }
};

template <class Vector> void *open_vector(const vector_system *, std::uint64_t)
{
        auto vector = std::make_unique<Vector>();
        vector->reserve(VECTOR_FIRST_BYTES / sizeof(std::uint64_t));
        return vector.release();
}

template <class Vector> void append(void *arg, std::uint64_t first, std::uint64_t count)
{
        auto &vector = *static_cast<Vector *>(arg);
        for (std::uint64_t i = 0; i < count; i++)
                vector.push_back(vector_entry(first + i));
}

template <class Vector>
std::uint64_t read_random(const void *arg, std::uint64_t entries, std::uint64_t reads, std::uint64_t seed)
{
        return vector_read_flat(static_cast<const Vector *>(arg)->data(), entries, reads, seed);
}

template <class Vector> std::uint64_t check(const void *arg, std::uint64_t entries)
{
        const auto &vector = *static_cast<const Vector *>(arg);
        return vector.size() == entries ? vector_check_flat(vector.data(), entries) : vector.size();
}

template <class Vector> constexpr vector_system system_of(std::size_t page_bytes, const char *paper)
{
        return { "std::vector", page_bytes,     0, paper, open_vector<Vector>, append<Vector>, read_random<Vector>,
                 check<Vector> };
}

using plain_vector = std::vector<std::uint64_t>;
using huge_vector = std::vector<std::uint64_t, huge_allocator<std::uint64_t>>;

} // namespace

const vector_system vector_std[] = {
        system_of<plain_vector>(4096, nullptr),
        system_of<huge_vector>(huge_page, "2.5"),
        {},
};
