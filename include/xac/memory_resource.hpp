/* SPDX-License-Identifier: MIT */
#ifndef XAC_MEMORY_RESOURCE_HPP
#define XAC_MEMORY_RESOURCE_HPP

/*
 * A heap as a std::pmr::memory_resource, for code that takes one: what it allocates lies in the file.
 *
 *         xac::heap_resource resource(heap);
 *         xac::atomically(env, [&] { std::pmr::vector<long> scratch(&resource); ... });
 *
 * It lies in ordinary memory, and so do the containers: a std::pmr container holds the resource's address, which
 * another process cannot follow. What is to stay in the file takes xac::allocator.
 */

#include <xac/standard.hpp>

#include <memory_resource>

#include <xac/heap.hpp>

namespace xac
{

class heap_resource final : public std::pmr::memory_resource
{
public:
        /* Of a heap that this thread has open. */
        explicit heap_resource(const heap &heap) noexcept : base(heap.open->base)
        {
        }

private:
        /* Throws as allocators do. */
        void *do_allocate(std::size_t bytes, std::size_t alignment) override
        {
                return detail::allocate(base, bytes, alignment);
        }
        void do_deallocate(void *object, std::size_t, std::size_t) override
        {
                xac_heap_free(detail::handle_of(base), object);
        }
        /* Without run-time type information only itself: it cannot ask what the other one is. */
        bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
        {
#ifdef __cpp_rtti
                const auto *resource = dynamic_cast<const heap_resource *>(&other);
                return resource && resource->base == base;
#else
                return this == &other;
#endif
        }

        char *base;
};

} // namespace xac

#endif
