/* SPDX-License-Identifier: MIT */
#ifndef XAC_ALLOCATOR_HPP
#define XAC_ALLOCATOR_HPP

/*
 * Allocators by which containers of the standard library live in a heap: included by <xac/heap.hpp>, which says more.
 *
 * Where an allocator finds its heap. It lies in the file, inside its container, and is used by many processes and
 * threads: so it cannot hold a xac_heap, which belongs to one thread. It holds the address where the heap begins, which
 * is the same for all of them. Each thread keeps a list of the heaps it has open, by that address. An allocator that is
 * made from nothing, as that of xac::string("x"), belongs to the thread's current heap: the one it opened last, or that
 * of the innermost xac::current_heap. What is constructed inside a container gets the container's heap, whichever is
 * current (uses-allocator construction, as by std::scoped_allocator_adaptor).
 */

#include <xac/standard.hpp>

#include <cstddef>
#include <forward_list>
#include <limits>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <xac/heap.h>
#include <xac/offset_ptr.hpp>
#include <xac/transaction.hpp>

namespace xac
{

/* What std::bad_alloc is, with the reason. */
class bad_alloc : public std::bad_alloc
{
public:
        explicit bad_alloc(int code_) noexcept : number(code_)
        {
        }
        const char *what() const noexcept override
        {
                return xac_strerror(number);
        }
        /* -ENOMEM, -ENOSPC (the disk), -EIO (the heap is damaged). */
        std::error_code code() const noexcept
        {
                return { number, error_category() };
        }

private:
        int number;
};

class heap;
template <typename T, typename Way> class basic_allocator;

/* ---- the heaps that this thread has open ---- */

namespace detail
{

struct open_heap {
        xac_heap *handle;
        xac_env *env;
        char *base;
        int flags;
        open_heap *older;
};

struct open_heaps {
        open_heap *newest, *chosen;
};

inline thread_local open_heaps heaps{};

inline open_heap *current() noexcept
{
        return heaps.chosen ? heaps.chosen : heaps.newest;
}

inline open_heap *open_at(const char *base)
{
        for (open_heap *open = heaps.newest; open; open = open->older)
                if (open->base == base)
                        return open;
        throw error(XAC_NOVIEW, base ? "this thread has not opened the heap of an allocator"
                                     : "an allocator was made while this thread had no heap open");
}

inline xac_heap *handle_of(const char *base)
{
        return open_at(base)->handle;
}

inline void *allocate(const char *base, std::size_t bytes, std::size_t alignment)
{
        xac_heap *handle = handle_of(base);
        void *object =
                alignment > 16 ? xac_heap_aligned_alloc(handle, alignment, bytes) : xac_heap_malloc(handle, bytes);
        if (!object)
                throw bad_alloc(-errno);
        return object;
}

/* ---- arguments of a constructor, with an allocator for who uses one ---- */

/* What has the members of a std::pair, as a class derived from one. */
template <typename T, typename = void> inline constexpr bool has_two = false;
template <typename T>
inline constexpr bool
        has_two<T, std::void_t<typename T::first_type, typename T::second_type, decltype(std::declval<T &>().first),
                               decltype(std::declval<T &>().second)>> = true;

/* Whether it has these members, and may have others. */
template <typename T, typename First, typename Second>
inline constexpr bool is_more_than_pair =
        !std::is_same_v<T, std::pair<First, Second>> && std::is_base_of_v<std::pair<First, Second>, T>;

/* std::pair, and what Boost.Container has instead inside its maps. Only those are taken apart. */
template <typename T> inline constexpr bool is_pair = false;
template <template <typename, typename> class Pair, typename First, typename Second>
inline constexpr bool is_pair<Pair<First, Second>> = [] {
        using T = Pair<First, Second>;
        if constexpr (has_two<T>)
                return std::is_same_v<typename T::first_type, First> &&
                       std::is_same_v<typename T::second_type, Second> && !is_more_than_pair<T, First, Second> &&
                       std::is_constructible_v<T, std::piecewise_construct_t, std::tuple<>, std::tuple<>>;
        else
                return false;
}();

/* How Boost.Container says try_emplace() to its pairs: an empty class, a key, and the arguments of what the key is for.
 */
template <typename T, typename Tag>
inline constexpr bool is_tag_for =
        std::is_empty_v<std::decay_t<Tag>> && !std::is_same_v<std::decay_t<Tag>, std::piecewise_construct_t> &&
        !std::is_constructible_v<typename T::first_type, Tag>;

/* Who is given an allocator needs no other. */
template <typename T> inline constexpr bool is_given = false;
template <typename T, typename Way> inline constexpr bool is_given<basic_allocator<T, Way>> = true;
template <typename... Args> struct ends_with_allocator : std::false_type {
};
template <typename Last> struct ends_with_allocator<Last> : std::bool_constant<is_given<std::decay_t<Last>>> {
};
template <typename First, typename Second, typename... Rest>
struct ends_with_allocator<First, Second, Rest...> : ends_with_allocator<Second, Rest...> {
};

template <typename T> inline constexpr bool is_tuple = false;
template <typename... T> inline constexpr bool is_tuple<std::tuple<T...>> = true;

/* All but the first `N`. What a tuple holds by itself it hands on so: no argument leads into one that has gone. */
template <std::size_t N, typename... Args, std::size_t... I>
auto rest_of(std::tuple<Args...> &&args, std::index_sequence<I...>)
{
        return std::tuple<std::tuple_element_t<N + I, std::tuple<Args...>>...>(std::get<N + I>(std::move(args))...);
}

template <typename T, typename Allocator, typename... Args>
auto with_allocator(const Allocator &allocator, std::tuple<Args...> &&args);

template <typename T, typename Allocator, typename... A, typename... B>
auto both_with_allocator(const Allocator &allocator, std::tuple<A...> &&first, std::tuple<B...> &&second)
{
        return std::make_tuple(std::piecewise_construct,
                               with_allocator<typename T::first_type>(allocator, std::move(first)),
                               with_allocator<typename T::second_type>(allocator, std::move(second)));
}

/* A pair T: of nothing, of another, of two, of two tuples, or as Boost.Container says try_emplace(). */
template <typename T, typename Allocator> auto pair_with_allocator(const Allocator &allocator, std::tuple<> &&)
{
        return both_with_allocator<T>(allocator, std::tuple<>(), std::tuple<>());
}

template <typename T, typename Allocator, typename Pair>
auto pair_with_allocator(const Allocator &allocator, std::tuple<Pair> &&args)
{
        if constexpr (!has_two<std::decay_t<Pair>>) {
                return std::move(args);
        } else {
                using Plain = std::decay_t<Pair>;
                constexpr bool is_reference = std::is_reference_v<Pair>;
                using First = std::conditional_t<is_reference, decltype((std::declval<Pair>().first)),
                                                 typename Plain::first_type>;
                using Second = std::conditional_t<is_reference, decltype((std::declval<Pair>().second)),
                                                  typename Plain::second_type>;
                Pair &&pair = std::get<0>(std::move(args));
                return both_with_allocator<T>(allocator, std::tuple<First>(std::forward<Pair>(pair).first),
                                              std::tuple<Second>(std::forward<Pair>(pair).second));
        }
}

template <typename T, typename Allocator, typename First, typename Second, typename... Rest>
auto pair_with_allocator(const Allocator &allocator, std::tuple<First, Second, Rest...> &&args)
{
        [[maybe_unused]] const std::index_sequence_for<Rest...> rest;
        [[maybe_unused]] const std::index_sequence<0> one;
        if constexpr (is_tag_for<T, First>)
                return both_with_allocator<T>(allocator, rest_of<1>(std::move(args), one),
                                              rest_of<2>(std::move(args), rest));
        else if constexpr (sizeof...(Rest) == 0)
                return both_with_allocator<T>(allocator, rest_of<0>(std::move(args), one),
                                              rest_of<1>(std::move(args), one));
        else if constexpr (std::is_same_v<std::decay_t<First>, std::piecewise_construct_t> && sizeof...(Rest) == 1 &&
                           is_tuple<std::decay_t<Second>> && (is_tuple<std::decay_t<Rest>> && ...))
                return both_with_allocator<T>(allocator, std::decay_t<Second>(std::get<1>(std::move(args))),
                                              std::decay_t<Rest>(std::get<2>(std::move(args)))...);
        else
                return std::move(args);
}

/* What a T is made of: `args`, with the allocator for it and, if it is a pair, for what it holds. */
template <typename T, typename Allocator, typename... Args>
auto with_allocator(const Allocator &allocator, std::tuple<Args...> &&args)
{
        if constexpr (is_pair<std::remove_cv_t<T>>)
                return pair_with_allocator<std::remove_cv_t<T>>(allocator, std::move(args));
        else if constexpr (!std::uses_allocator_v<T, Allocator>)
                return std::move(args);
        else if constexpr (ends_with_allocator<Args...>::value && std::is_constructible_v<T, Args...>)
                return std::move(args);
        else if constexpr (std::is_constructible_v<T, std::allocator_arg_t, const Allocator &, Args...>)
                return std::tuple_cat(
                        std::tuple<std::allocator_arg_t, const Allocator &>(std::allocator_arg, allocator),
                        std::move(args));
        else if constexpr (std::is_constructible_v<T, Args..., const Allocator &>)
                return std::tuple_cat(std::move(args), std::tuple<const Allocator &>(allocator));
        else
                return std::move(args);
}

template <typename T, typename Allocator, typename... Args>
void construct(const Allocator &allocator, T *at, Args &&...args)
{
        auto make = [at](auto &&...all) {
                ::new (const_cast<void *>(static_cast<const volatile void *>(at)))
                        T(std::forward<decltype(all)>(all)...);
        };
        std::apply(make, with_allocator<T>(allocator, std::forward_as_tuple(std::forward<Args>(args)...)));
}

/* What the standard library leads to by plain pointers though the allocator has others (the table in
 * <xac/containers.hpp>): nodes of containers, and the counters of std::shared_ptr. */
template <typename T> inline constexpr bool is_linked_by_address = false;
#ifdef __GLIBCXX__
namespace library
{
using namespace std;
template <typename T> using forward_node = _GLIBCXX_STD_C::_Fwd_list_node<T>; /* with _GLIBCXX_DEBUG not in std */
} // namespace library
template <typename T> inline constexpr bool is_linked_by_address<library::forward_node<T>> = true;
template <typename T, bool B> inline constexpr bool is_linked_by_address<std::__detail::_Hash_node<T, B>> = true;
template <typename T, typename A, std::_Lock_policy L>
inline constexpr bool is_linked_by_address<std::_Sp_counted_ptr_inplace<T, A, L>> = true;
template <typename T, typename D, typename A, std::_Lock_policy L>
inline constexpr bool is_linked_by_address<std::_Sp_counted_deleter<T, D, A, L>> = true;
#endif
#ifdef _LIBCPP_VERSION
template <typename T, typename A> inline constexpr bool is_linked_by_address<std::__shared_ptr_emplace<T, A>> = true;
template <typename T, typename D, typename A>
inline constexpr bool is_linked_by_address<std::__shared_ptr_pointer<T, D, A>> = true;
#endif

/* ---- how an allocator points ---- */

struct by_address {
        template <typename T> using pointer = T *;
        static constexpr bool is_anywhere = false;
};

struct by_offset {
        template <typename T> using pointer = offset_ptr<T>;
        static constexpr bool is_anywhere = true;
};

} // namespace detail

/* ---- allocators ---- */

/* xac::allocator<T> for heaps of pointers, xac::offset_allocator<T> for heaps that lie anywhere (XAC_ANYWHERE). It
 * never moves on to another container: what is assigned, moved or swapped stays in its heap. */
template <typename T, typename Way> class basic_allocator
{
public:
        using value_type = T;
        using pointer = typename Way::template pointer<T>;
        using const_pointer = typename Way::template pointer<const T>;
        using void_pointer = typename Way::template pointer<void>;
        using const_void_pointer = typename Way::template pointer<const void>;
        using size_type = std::size_t;
        using difference_type = std::ptrdiff_t;
        using is_always_equal = std::false_type;
        using type = basic_allocator; /* as Boost.Interprocess says managed_mapped_file::allocator<T>::type */
        template <typename U> struct rebind {
                using other = basic_allocator<U, Way>;
        };

        /* Of the thread's current heap. */
        basic_allocator() : base(base_of(detail::current()))
        {
        }
        /* So that a heap can stand where an allocator is asked for. */
        basic_allocator(const heap &heap);
        basic_allocator(const heap *heap) : basic_allocator(*heap)
        {
        }
        basic_allocator(const basic_allocator &other) noexcept = default;
        template <typename U> basic_allocator(const basic_allocator<U, Way> &other) noexcept : base(other.base)
        {
        }
        basic_allocator &operator=(const basic_allocator &other) noexcept = default;

        /* Throws xac::bad_alloc; xac::error (XAC_NOVIEW) in a thread that has not opened the heap. */
        pointer allocate(std::size_t count)
        {
                static_assert(!Way::is_anywhere || !detail::is_linked_by_address<T>,
                              "this links what it holds by plain pointers: see <xac/containers.hpp>");
                if (count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T))
                        throw std::bad_array_new_length();
                return static_cast<T *>(detail::allocate(address(), count * sizeof(T), alignof(T)));
        }
        void deallocate(pointer object, std::size_t)
        {
                xac_heap_free(detail::handle_of(address()), const_cast<std::remove_cv_t<T> *>(std::addressof(*object)));
        }
        template <typename U, typename... Args> void construct(U *at, Args &&...args)
        {
                detail::construct(*this, at, std::forward<Args>(args)...);
        }

        /* Where the heap begins. */
        const char *address() const noexcept
        {
                if constexpr (Way::is_anywhere)
                        return base.get();
                else
                        return base;
        }

private:
        template <typename U, typename OtherWay> friend class basic_allocator;

        static char *base_of(const detail::open_heap *open)
        {
                if (open && !Way::is_anywhere && open->flags & XAC_ANYWHERE)
                        throw error(-EINVAL, "a heap that is open XAC_ANYWHERE holds no pointers: use "
                                             "xac::offset_allocator");
                return open ? open->base : nullptr;
        }

        typename Way::template pointer<char> base;
};

template <typename T, typename U, typename Way>
bool operator==(const basic_allocator<T, Way> &a, const basic_allocator<U, Way> &b) noexcept
{
        return a.address() == b.address();
}

template <typename T, typename U, typename Way>
bool operator!=(const basic_allocator<T, Way> &a, const basic_allocator<U, Way> &b) noexcept
{
        return a.address() != b.address();
}

template <typename T> using allocator = basic_allocator<T, detail::by_address>;
template <typename T> using offset_allocator = basic_allocator<T, detail::by_offset>;

namespace detail
{

template <typename T> struct is_ours : std::false_type {
};
template <typename T, typename Way> struct is_ours<basic_allocator<T, Way>> : std::true_type {
};
template <typename T>
struct lies_in_heap<T, std::void_t<typename T::allocator_type>> : is_ours<typename T::allocator_type> {
};

} // namespace detail

} // namespace xac

#ifdef __GLIBCXX__
/* That of libstdc++ keeps iterators of plain pointers, and asks for words, as many others do: so it is refused by name.
 */
template <> class std::vector<bool, xac::offset_allocator<bool>>
{
public:
        template <typename... Args> vector(Args &&...)
        {
                static_assert(sizeof...(Args) > std::numeric_limits<std::size_t>::max() / 2,
                              "std::vector<bool> leads to its bits by plain pointers: see <xac/containers.hpp>");
        }
};

#if __cpp_lib_shared_ptr_arrays >= 201707L
/* What std::allocate_shared() of an array makes, from GCC 12 on, which asks for elements, not for nodes. */
template <typename T> struct std::_Sp_counted_array_base<xac::offset_allocator<T>> {
        template <typename... Args> _Sp_counted_array_base(Args &&...)
        {
                static_assert(sizeof(T) == 0,
                              "std::shared_ptr leads to its counts by plain pointers: see <xac/containers.hpp>");
        }
};
#endif
#endif

#endif
