// SPDX-License-Identifier: MIT

/*
 * A map from strings to numbers, of Boost.Interprocess, with its allocator: all of it in the memory it was given. An
 * operation inserts a string of 31 letters, which has a block of its own.
 */

#include <cstdio>
#include <functional>
#include <new>
#include <utility>

#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/containers/map.hpp>
#include <boost/interprocess/containers/string.hpp>
#include <boost/interprocess/indexes/iset_index.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>

#include "bench/programs/program.h"

namespace
{

namespace ipc = boost::interprocess;

using memory_algorithm = ipc::rbtree_best_fit<ipc::null_mutex_family>;
using buffer = ipc::basic_managed_external_buffer<char, memory_algorithm, ipc::iset_index>;
using segment = buffer::segment_manager;
template <typename T> using allocator = ipc::allocator<T, segment>;
using text = ipc::basic_string<char, std::char_traits<char>, allocator<char>>;
using map = ipc::map<text, uint64_t, std::less<text>, allocator<std::pair<const text, uint64_t>>>;

constexpr size_t KEY_BYTES = 32;

/* Of this process. */
buffer *opened;
map *strings;

void make_key(char key[KEY_BYTES], uint64_t number)
{
        std::snprintf(key, KEY_BYTES, "a string that is %014llx",
                      static_cast<unsigned long long>(program_random(number) >> 8));
}

int make(void *memory, size_t byte_len)
{
        try {
                opened = new buffer(ipc::create_only, memory, byte_len);
                strings = opened->find_or_construct<map>("strings")(opened->get_segment_manager());
        } catch (const std::exception &) {
                return -1;
        }
        return 0;
}

int operate(void *, uint64_t number, uint64_t *sum)
{
        char key[KEY_BYTES];

        make_key(key, number);
        try {
                const auto inserted =
                        strings->emplace(text(key, allocator<char>(opened->get_segment_manager())), number);
                *sum += inserted.second;
        } catch (const std::exception &) {
                return -1;
        }
        return 0;
}

int check(void *, uint64_t operations, uint64_t *sum)
{
        char key[KEY_BYTES];
        uint64_t there = 0;
        const text *before = nullptr;

        for (const auto &[string, number] : *strings) {
                make_key(key, number);
                if (string != key || (before && !(*before < string)))
                        return -1;
                before = &string;
                *sum += number;
                there++;
        }
        return there == operations && opened->get_segment_manager()->check_sanity() ? 0 : -1;
}

} // namespace

extern "C" const struct program program = { size_t(64) << 20, make, operate, check };
