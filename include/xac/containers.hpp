/* SPDX-License-Identifier: MIT */
#ifndef XAC_CONTAINERS_HPP
#define XAC_CONTAINERS_HPP

/*
 * Containers of the standard library in a heap: names for them with xac::allocator, and a hash of strings. std::less<>
 * finds a string by a std::string_view or a literal, without making one in the heap.
 *
 * For heaps that lie anywhere (XAC_ANYWHERE) containers must lead to what they hold by the pointers of their allocator,
 * xac::offset_allocator. Which do:
 *
 *                                                libstdc++ of GCC 12       libc++ 14        Boost.Container 1.74
 *      vector, deque                             yes                       yes              yes
 *      stack, queue, priority_queue of these     yes                       yes              yes
 *      vector<bool>                              refused: plain pointers   yes              yes
 *      forward_list (Boost: slist)               refused: plain pointers   yes              yes
 *      unordered_map, _set, _multimap, _multiset refused: plain pointers   yes              it has none
 *      list                                      does not compile          yes              yes
 *      map, set, multimap, multiset              does not compile          yes              yes
 *      basic_string                              does not compile          does not compile yes
 *      shared_ptr by allocate_shared(), arrays   refused: plain pointers   refused          it has none
 *      small_vector                              it has none               it has none      no: plain pointers
 *
 * "Refused" is a static_assert. xac::offset_vector and xac::offset_deque are names for what works everywhere. A string
 * is an xac::offset_vector<char>, or a boost::container::basic_string<char, std::char_traits<char>,
 * xac::offset_allocator<char>>.
 */

#include <xac/standard.hpp>

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

} // namespace xac

namespace xac::detail
{

template <typename Char, typename Way> struct string_hash {
        using argument_type = std::basic_string<Char, std::char_traits<Char>, basic_allocator<Char, Way>>;
        std::size_t operator()(const argument_type &text) const noexcept
        {
                return std::hash<std::basic_string_view<Char>>()(text);
        }
};

} // namespace xac::detail

/* That of the same characters in any other string. One for each type of them, since a library that has one of them for
 * every allocator (libstdc++ of GCC 13) would have as good a one as a single one for all types here. */
template <typename Way>
struct std::hash<std::basic_string<char, std::char_traits<char>, xac::basic_allocator<char, Way>>>
    : xac::detail::string_hash<char, Way> {
};
template <typename Way>
struct std::hash<std::basic_string<wchar_t, std::char_traits<wchar_t>, xac::basic_allocator<wchar_t, Way>>>
    : xac::detail::string_hash<wchar_t, Way> {
};
template <typename Way>
struct std::hash<std::basic_string<char16_t, std::char_traits<char16_t>, xac::basic_allocator<char16_t, Way>>>
    : xac::detail::string_hash<char16_t, Way> {
};
template <typename Way>
struct std::hash<std::basic_string<char32_t, std::char_traits<char32_t>, xac::basic_allocator<char32_t, Way>>>
    : xac::detail::string_hash<char32_t, Way> {
};
#ifdef __cpp_lib_char8_t
template <typename Way>
struct std::hash<std::basic_string<char8_t, std::char_traits<char8_t>, xac::basic_allocator<char8_t, Way>>>
    : xac::detail::string_hash<char8_t, Way> {
};
#endif

#endif
