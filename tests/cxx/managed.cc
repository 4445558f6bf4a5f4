// SPDX-License-Identifier: MIT

/* The calls of Boost.Interprocess, owners in the file, and a heap as a resource of memory. */

#include <memory_resource>
#include <stdexcept>

#include "tests/cxx/cxx_test.h"

namespace
{

#ifdef COMPILED
constexpr int FLAGS = XAC_VOLATILE | XAC_SHARED;
#else
constexpr int FLAGS = XAC_VOLATILE;
#endif

const char *const LONG_TEXT = "which is longer than what fits into a string itself";

xac::managed_file make_file()
{
        return xac::managed_file(xac::create_only, place, 65536, FLAGS);
}

struct account {
        explicit account(long id_ = 7, const char *owner_ = LONG_TEXT) : id(id_), owner(owner_)
        {
                if (id < 0)
                        throw std::out_of_range("no such account");
        }
        long id;
        xac::string owner;
};

void a_managed_file_has_the_calls_of_boost()
{
        using words_type = std::vector<int, xac::managed_file::allocator<int>>;
        CHECK(code_of([] { xac::managed_file none(xac::open_only, place); }) == -ENOENT);
        {
                xac::managed_file file = make_file();
                xac::managed_file::allocator<int> allocator(file.get_segment_manager());
                words_type *words = file.construct<words_type>("words")(3, 7, allocator);
                file.atomic_func([&] { words->push_back(8); });
                CHECK(file.find<words_type>("words").first == words && file.find<words_type>("words").second == 1);
                CHECK(file.find<words_type>("other").second == 0);
                long *one = file.construct<long>(xac::anonymous)(5L);
                file.destroy_ptr(one);
                file.destroy_ptr(file.construct<long>("number")(5L));
                CHECK(file.find<long>("number").second == 0);
                file.deallocate(file.allocate(100));
        }
        CHECK(code_of([&] { xac::managed_file again(xac::create_only, place, 65536, FLAGS); }) == -EEXIST);
        xac::managed_file file(xac::open_or_create, place, 65536, FLAGS);
        words_type *words = file.find_or_construct<words_type>("words")(file.get_allocator<int>());
        CHECK(file.atomic_func([&] { return words->size() == 4 && words->back() == 8; }));
        CHECK(file.destroy<words_type>("words") && file.check_sanity());
        file.flush();
        check_faults(file.env());
}

/* As the containers of Boost: what takes two iterators takes two of anything. */
struct greedy {
        using allocator_type = xac::allocator<int>;
        explicit greedy(const allocator_type &given) : heap(given.address())
        {
        }
        template <typename Iterator> greedy(Iterator, Iterator) : heap(nullptr)
        {
        }
        const char *heap;
};

void an_allocator_that_is_given_is_the_only_one()
{
        xac::managed_file file = make_file();
        greedy *one = file.construct<greedy>("one")(file.get_allocator<char>());
        file.atomic_func([&] { CHECK(one->heap == file.get_address()); });
        check_faults(file.env());
}

/* By the names that Boost.Interprocess has inside of its file, and pointers of both kinds compared. */
void types_of_boost()
{
        xac::managed_file file = make_file();
        static_assert(std::is_same_v<xac::managed_file::allocator<int>::type, xac::allocator<int>>);
        static_assert(std::is_same_v<xac::managed_file::deleter<int>::type, xac::deleter<int>>);
        static_assert(std::is_reference_v<xac::offset_ptr<void>::reference>);
        long numbers[2];
        const xac::offset_ptr<long> first(numbers), second(numbers + 1);
        CHECK(first == numbers && numbers == first && first != numbers + 1 && numbers + 1 != first);
        CHECK(first < numbers + 1 && numbers < second && second > numbers && second >= numbers && first <= numbers);
        CHECK(first != nullptr && nullptr != first && first == xac::offset_ptr<const long>(numbers));
}

/* ---- arrays ---- */

template <typename Name> void try_arrays(xac::managed_file &file, const Name &name, bool is_found)
{
        account *all = file.construct<account>(name)[20](3L, LONG_TEXT);
        CHECK(file.atomic_func([&] { return all[0].id == 3 && all[19].id == 3 && all[19].owner == LONG_TEXT; }));
        CHECK(file.get_instance_length(all) == 20);
        if (is_found) {
                CHECK(file.find<account>(name) == std::make_pair(all, size_t(20)));
                CHECK(file.find_or_construct<account>(name)[5](4L) == all);
        }
        file.destroy_ptr(all);
        CHECK(file.all_memory_deallocated() && file.check_sanity());
}

void arrays_are_made_found_and_destroyed()
{
        xac::managed_file file = make_file();
        try_arrays(file, "accounts", true);
        try_arrays(file, xac::unique_instance, true);
        try_arrays(file, xac::anonymous_instance, false);
        account *all = file.construct<account>("accounts")[3]();
        CHECK(file.get_instance_length(all) == 3 && file.find_no_lock<account>("accounts").second == 3);
        CHECK(throws<xac::wrong_type>([&] { file.find<long>("accounts"); }));
        CHECK(code_of([&] { file.construct<account>("accounts")[3](); }) == -EEXIST);
        CHECK(file.destroy<account>("accounts") && !file.destroy<account>("accounts"));
        CHECK(code_of([&] { file.construct<account>("none")[0](); }) == -EINVAL);
        CHECK(throws<std::bad_alloc>([&] { file.construct<account>("all")[SIZE_MAX / 8](); }));
        CHECK(file.all_memory_deallocated());
        check_faults(file.env());
}

struct before {
        long one;
};
struct after {
        long one, two;
};

/* An array has the size of all: its tag tells that its type was another size when it was made. */
void arrays_know_the_size_of_one()
{
        xac::managed_file file = make_file();
        file.construct<before>("it")[4]();
        xac_heap *heap = file.get_segment_manager()->get();
        xac_heap_root root, other;
        CHECK(xac_heap_root_find(heap, "it", &root) == 0 && root.size == 4 * sizeof(before));
        CHECK(xac::detail::tag_of_array<before>() == root.tag && xac::detail::tag_of<before>() != root.tag);
        const uint64_t grown = (~xac::detail::tag_of<after>() ^ sizeof(before)) * 0x100000001b3;
        CHECK(xac_heap_root_create(heap, "grown", 4 * sizeof(before), grown, &other) == 0);
        CHECK(throws<xac::wrong_type>([&] { file.find<after>("grown"); }));
}

void elements_are_made_of_iterators()
{
        xac::managed_file file = make_file();
        const long ids[] = { 5, 6, 7 };
        const char *const owners[] = { "Ada", LONG_TEXT, "Grace" };
        account *all = file.construct_it<account>("all")[3](&ids[0], &owners[0]);
        file.atomic_func([&] {
                for (size_t i = 0; i < 3; i++)
                        CHECK(all[i].id == ids[i] && all[i].owner == owners[i]);
        });
        CHECK(file.find_or_construct_it<account>("all")[3](&ids[0], &owners[0]) == all);
        const long bad[] = { 1, -1 };
        CHECK(throws<std::out_of_range>([&] { file.construct_it<account>("bad")[2](&bad[0]); }));
        CHECK(file.find<account>("bad").second == 0 && file.find<account>("all").second == 3);
        file.destroy_ptr(all);
        CHECK(file.all_memory_deallocated());
        check_faults(file.env());
}

struct failing {
        explicit failing(int code)
        {
                if (code)
                        throw xac::error(code, "a constructor");
                throw std::bad_alloc();
        }
};

/* There is no room, or the name is taken; what a constructor throws comes through. */
void nothrow_says_nullptr()
{
        xac::managed_file file = make_file();
        account *one = file.construct<account>("one", std::nothrow)(1L);
        CHECK(one && !file.construct<account>("one", std::nothrow)(1L));
        CHECK(file.find_or_construct<account>("one", std::nothrow)(2L) == one);
        const size_t too_many = size_t(1) << 50;
        CHECK(!file.construct<account>("two", std::nothrow)[too_many](1L));
        CHECK(!file.construct<account>(xac::anonymous_instance, std::nothrow)[too_many](1L));
        CHECK(!file.allocate(size_t(1) << 60, std::nothrow));
        CHECK(throws<std::out_of_range>([&] { file.construct<account>("two", std::nothrow)(-1L); }));
        CHECK(throws<xac::wrong_type>([&] { file.find_or_construct<long>("one", std::nothrow)(1L); }));
        CHECK(throws<std::bad_alloc>([&] { file.construct<failing>("two", std::nothrow)(0); }));
        CHECK(code_of([&] { file.construct<failing>("two", std::nothrow)(-EEXIST); }) == -EEXIST);
        CHECK(throws<std::bad_alloc>([&] { file.find_or_construct<failing>("two", std::nothrow)[2](0); }));
        CHECK(file.find<failing>("two").second == 0);
        file.destroy_ptr(one);
        const long id = 4;
        one = file.construct_it<account>("one", std::nothrow)[1](&id);
        CHECK(one && file.find_or_construct_it<account>("one", std::nothrow)[1](&id) == one);
}

/* ---- what there is ---- */

void a_type_has_one_unique_instance()
{
        xac::managed_file file = make_file();
        account *one = file.construct<account>(xac::unique_instance)(1L);
        long *number = file.find_or_construct<long>(xac::unique_instance)(2L);
        CHECK(file.find<account>(xac::unique_instance).first == one && file.get_num_unique_objects() == 2);
        CHECK(file.find_or_construct<account>(xac::unique_instance)(3L) == one);
        CHECK(file.get_instance_type(one) == xac::unique_type && !file.get_instance_name(one));
        CHECK(std::distance(file.unique_begin(), file.unique_end()) == 2);
        CHECK(file.destroy<account>(xac::unique_instance) && !file.destroy<account>(xac::unique_instance));
        file.destroy_ptr(number);
        CHECK(file.all_memory_deallocated());
}

void names_are_listed()
{
        xac::managed_file file = make_file();
        CHECK(file.named_begin() == file.named_end());
        account *one = file.construct<account>("one")(1L);
        file.construct<long>("and two")(2L);
        file.construct<long>(xac::unique_instance)(3L);
        account *array = file.construct<account>(xac::anonymous_instance)[2](1L);
        std::string names;
        for (auto at = file.named_begin(); at != file.named_end(); ++at)
                names += std::string(at->name(), at->name_length()) + ";";
        CHECK(names == "and two;one;" && file.get_num_named_objects() == 2);
        CHECK((++file.named_begin())->value() == one && std::string(file.get_instance_name(one)) == "one");
        CHECK(file.get_instance_type(one) == xac::named_type && file.get_instance_length(one) == 1);
        CHECK(file.get_instance_type(array) == xac::anonymous_type && !file.get_instance_name(array));
        file.reserve_named_objects(100);
        file.shrink_to_fit_indexes();
}

void sizes_handles_and_alignment()
{
        xac::managed_file file = make_file(), other;
        void *line = file.allocate_aligned(100, 256);
        CHECK(reinterpret_cast<uintptr_t>(line) % 256 == 0);
        CHECK(throws<std::bad_alloc>([&] { file.allocate_aligned(100, 24); }));
        CHECK(!file.allocate_aligned(100, 24, std::nothrow));
        const auto handle = file.get_handle_from_address(line);
        CHECK(file.get_address_from_handle(handle) == line && file.get_handle_from_address(nullptr) == 0);
        CHECK(file.belongs_to_segment(line) && !file.belongs_to_segment(&file));
        CHECK(static_cast<char *>(file.get_address()) + handle == line);
        const size_t before = file.get_free_memory();
        CHECK(before < file.get_size());
        file.deallocate(line);
        CHECK(file.get_free_memory() > before);
        other.swap(file);
        CHECK(other.check_sanity() && other.all_memory_deallocated() && !file.env());
        CHECK(other.try_atomic_func([&] { other.allocate(10); }) && !other.all_memory_deallocated());
}

/* ---- opened for reading ---- */

void a_file_is_opened_for_reading()
{
        long *number;
        {
                xac::managed_file file(xac::create_only, place, 65536, FLAGS & ~XAC_VOLATILE);
                number = file.construct<long>("number")(5L);
        }
        process reader([number] {
                xac::managed_file file(xac::open_read_only, place, FLAGS & ~XAC_VOLATILE);
                long *seen = file.find<long>("number").first;
                CHECK(seen == number && file.atomic_func([&] { return *seen; }) == 5);
                CHECK(code_of([&] { file.atomic_func([&] { *seen = 6; }); }) == XAC_WROTE);
                CHECK(code_of([&] { file.construct<long>("other")(1L); }) != 0);
                CHECK(file.named_begin()->name() == std::string("number") && file.check_sanity());
        });
        reader.must_succeed();
        CHECK(code_of([] { xac::managed_file none(xac::open_read_only, place + "none"); }) == -ENOENT);
}

/* ---- owners ---- */

void owners_in_the_file()
{
        xac::managed_file file = make_file();
        using shared = xac::managed_shared_ptr<account, xac::managed_file>::type;
        struct pair {
                shared first, second;
                xac::weak_ptr<account> seen;
                xac::managed_unique_ptr<account, xac::managed_file>::type alone;
        };
        auto *both = file.construct<pair>("both")();
        account *one = file.construct<account>("one")(1L), *two = file.construct<account>(xac::anonymous_instance)(2L);
        file.atomic_func([&] {
                both->first = xac::make_managed_shared_ptr(one, file);
                both->seen = both->first;
                both->alone = xac::make_managed_unique_ptr(two, file);
        });
        CHECK(throws<int>(
                [&] { file.atomic_func([&] { both->second = both->first, both->first.reset(), throw 1; }); }));
        file.atomic_func([&] {
                CHECK(both->first.use_count() == 1 && both->first.unique() && !both->second && both->first->id == 1);
                both->second = both->first;
                CHECK(both->first.use_count() == 2 && both->seen.lock() == both->second);
                both->first = nullptr;
        });
        CHECK(file.find<account>("one").first == one);
        file.atomic_func([&] { both->second.reset(), both->alone.reset(); });
        CHECK(file.find<account>("one").second == 0);
        file.atomic_func([&] { CHECK(both->seen.expired() && !both->seen.lock() && !both->alone); });
        CHECK(file.destroy<pair>("both") && file.all_memory_deallocated());
        long *number = file.construct<long>("number")[5](1L);
        file.get_deleter<long>()(number);
        CHECK(file.all_memory_deallocated());
        check_faults(file.env());
}

void a_heap_is_a_memory_resource()
{
        xac::managed_file file = make_file();
        xac::heap_resource resource(*file.get_segment_manager()), same(*file.get_segment_manager());
        CHECK(!resource.is_equal(*std::pmr::new_delete_resource()) && resource == resource);
#ifdef __cpp_rtti
        CHECK(resource == same);
#endif
        file.atomic_func([&] {
                std::pmr::vector<std::pmr::string> words(&resource);
                words.emplace_back(LONG_TEXT);
                CHECK(file.belongs_to_segment(words.data()) && file.belongs_to_segment(words[0].data()));
                void *line = resource.allocate(100, 128);
                CHECK(reinterpret_cast<uintptr_t>(line) % 128 == 0);
                resource.deallocate(line, 100, 128);
        });
        CHECK(file.all_memory_deallocated());
        check_faults(file.env());
}

} // namespace

int main(int count, char **arguments)
{
        const test tests[] = {
                TEST(a_managed_file_has_the_calls_of_boost),
                TEST(an_allocator_that_is_given_is_the_only_one),
                TEST(types_of_boost),
                TEST(arrays_are_made_found_and_destroyed),
                TEST(arrays_know_the_size_of_one),
                TEST(elements_are_made_of_iterators),
                TEST(nothrow_says_nullptr),
                TEST(a_type_has_one_unique_instance),
                TEST(names_are_listed),
                TEST(sizes_handles_and_alignment),
                TEST(a_file_is_opened_for_reading),
                TEST(owners_in_the_file),
                TEST(a_heap_is_a_memory_resource),
        };
        return count == 2 ? run_tests(arguments[1], tests) : 2;
}
