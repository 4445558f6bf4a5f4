/* SPDX-License-Identifier: MIT */
#ifndef XAC_CONTAINERS_HPP
#define XAC_CONTAINERS_HPP

/*
 * Containers of the standard library in a heap: names for them with xac::allocator, and a hash of strings. std::less<>
 * finds a string by a std::string_view or a literal, without making one in the heap.
 *
 * For heaps that lie anywhere (XAC_ANYWHERE) containers must link what they hold by the pointers of their allocator.
 * Tried with GCC 12 and clang 14 and 19:
 *
 *      std::vector, std::deque                          do: xac::offset_vector, xac::offset_deque
 *      std::list, map, set, basic_string                do not compile
 *      std::forward_list, unordered_map, unordered_set  link by plain pointers all the same, and are refused when
 * compiling Boost.Container (1.74), all but small_vector     do: vector, deque, list, slist, map, set, flat_map,
 * basic_string ...
 *
 * so a string is an xac::offset_vector<char>, or
 * boost::container::basic_string<char, std::char_traits<char>, xac::offset_allocator<char>>.
 */

#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <xac/heap.hpp>

namespace xac
{

using string = std::basic_string<char, std::char_traits<char>, allocator<char>>;
template <typename T> using vector = std::vector<T, allocator<T>>;
template <typename T> using deque = std::deque<T, allocator<T>>;
template <typename T> using list = std::list<T, allocator<T>>;
template <typename T> using forward_list = std::forward_list<T, allocator<T>>;
template <typename K, typename C = std::less<>> using set = std::set<K, C, allocator<K>>;
template <typename K, typename C = std::less<>> using multiset = std::multiset<K, C, allocator<K>>;
template <typename K, typename V, typename C = std::less<>>
using map = std::map<K, V, C, allocator<std::pair<const K, V>>>;
template <typename K, typename V, typename C = std::less<>>
using multimap = std::multimap<K, V, C, allocator<std::pair<const K, V>>>;
template <typename K, typename H = std::hash<K>, typename E = std::equal_to<>>
using unordered_set = std::unordered_set<K, H, E, allocator<K>>;
template <typename K, typename V, typename H = std::hash<K>, typename E = std::equal_to<>>
using unordered_map = std::unordered_map<K, V, H, E, allocator<std::pair<const K, V>>>;

template <typename T> using offset_vector = std::vector<T, offset_allocator<T>>;
template <typename T> using offset_deque = std::deque<T, offset_allocator<T>>;

#ifdef __GLIBCXX__
namespace detail
{

template <typename T> inline constexpr bool is_linked_by_address<std::_Fwd_list_node<T>> = true;
template <typename T, bool B> inline constexpr bool is_linked_by_address<std::__detail::_Hash_node<T, B>> = true;

} // namespace detail
#endif

} // namespace xac

/* That of the same characters in any other string. */
template <typename Char, typename Way>
struct std::hash<std::basic_string<Char, std::char_traits<Char>, xac::basic_allocator<Char, Way>>> {
        std::size_t operator()(const std::basic_string<Char, std::char_traits<Char>, xac::basic_allocator<Char, Way>>
                                       &text) const noexcept
        {
                return std::hash<std::basic_string_view<Char>>()(text);
        }
};

#endif
