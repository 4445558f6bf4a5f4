/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BOOST_NAMES_HPP
#define TESTS_BOOST_NAMES_HPP

/*
 * The names of Boost.Interprocess for what libxac has, so that Boost's own tests are built with it: check-boost has put
 * xac_interprocess for their namespace interprocess. What is not under test (containers, exceptions, smart pointers
 * over any allocator) is Boost's own.
 *
 * The tests know no transactions. A segment is one, from when it is opened to when it is closed.
 */

#include <cstdlib>
#include <filesystem>
#include <string>

#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/set.hpp>
#include <boost/container/slist.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <boost/interprocess/containers/version_type.hpp>
#include <boost/interprocess/detail/mpl.hpp>
#include <boost/interprocess/detail/os_file_functions.hpp>
#include <boost/interprocess/detail/os_thread_functions.hpp>
#include <boost/interprocess/detail/type_traits.hpp>
#include <boost/interprocess/detail/utilities.hpp>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/smart_ptr/enable_shared_from_this.hpp>
#include <boost/interprocess/smart_ptr/intrusive_ptr.hpp>
#include <boost/interprocess/smart_ptr/scoped_ptr.hpp>
#include <boost/interprocess/smart_ptr/shared_ptr.hpp>
#include <boost/interprocess/smart_ptr/unique_ptr.hpp>
#include <boost/interprocess/smart_ptr/weak_ptr.hpp>
#include <boost/interprocess/streams/bufferstream.hpp>
#include <boost/interprocess/sync/interprocess_upgradable_mutex.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <boost/interprocess/sync/upgradable_lock.hpp>

#include <xac/xac.hpp>

#define BOOST_INTERPROCESS_MAPPED_FILES

namespace boost::xac_interprocess
{

/* ---- what is Boost's own ---- */

namespace ipcdetail
{
using namespace ::boost::interprocess::ipcdetail;
using anonymous_instance_t = xac::anonymous_t;
using unique_instance_t = xac::unique_t;
} // namespace ipcdetail

using ::boost::container::basic_string;
using ::boost::container::deque;
using ::boost::container::flat_map;
using ::boost::container::flat_multimap;
using ::boost::container::flat_multiset;
using ::boost::container::flat_set;
using ::boost::container::list;
using ::boost::container::map;
using ::boost::container::multimap;
using ::boost::container::multiset;
using ::boost::container::ordered_range;
using ::boost::container::ordered_range_t;
using ::boost::container::ordered_unique_range;
using ::boost::container::ordered_unique_range_t;
using ::boost::container::set;
using ::boost::container::slist;
using ::boost::container::stable_vector;
using ::boost::container::string;
using ::boost::container::vector;
using ::boost::container::wstring;
using ::boost::container::dtl::pair;
using ::boost::interprocess::allocate_new;
using ::boost::interprocess::allocation_type;
using ::boost::interprocess::bad_alloc;
using ::boost::interprocess::bad_weak_ptr;
using ::boost::interprocess::basic_bufferstream;
using ::boost::interprocess::enable_shared_from_this;
using ::boost::interprocess::expand_bwd;
using ::boost::interprocess::expand_fwd;
using ::boost::interprocess::interprocess_exception;
using ::boost::interprocess::interprocess_upgradable_mutex;
using ::boost::interprocess::intrusive_ptr;
using ::boost::interprocess::make_managed_shared_ptr;
using ::boost::interprocess::managed_shared_ptr;
using ::boost::interprocess::managed_weak_ptr;
using ::boost::interprocess::mutex_family;
using ::boost::interprocess::nothrow_allocation;
using ::boost::interprocess::scoped_ptr;
using ::boost::interprocess::shared_ptr;
using ::boost::interprocess::shrink_in_place;
using ::boost::interprocess::try_shrink_in_place;
using ::boost::interprocess::unique_ptr;
using ::boost::interprocess::upgradable_lock;
using ::boost::interprocess::version_type;
using ::boost::interprocess::weak_ptr;

/* ---- what is libxac's ---- */

using xac::anonymous_instance;
using xac::create_only;
using xac::make_managed_unique_ptr;
using xac::managed_unique_ptr;
using xac::named_type;
using xac::offset_ptr;
using xac::open_only;
using xac::open_or_create;
using xac::open_read_only;
using xac::unique_instance;
using xac::unique_type;

template <typename T, typename Segments> using allocator = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using node_allocator = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using private_node_allocator = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using cached_node_allocator = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using adaptive_pool = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using private_adaptive_pool = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using cached_adaptive_pool = xac::allocator<T>;
template <typename T, typename Segments> using deleter = xac::deleter<T>;

namespace ipcdetail
{
template <typename T, typename Segments, std::size_t = 0> using node_allocator_v1 = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using private_node_allocator_v1 = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using cached_node_allocator_v1 = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using adaptive_pool_v1 = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using private_adaptive_pool_v1 = xac::allocator<T>;
template <typename T, typename Segments, std::size_t = 0> using cached_adaptive_pool_v1 = xac::allocator<T>;
} // namespace ipcdetail

namespace test
{
/* Those that the tests have for containers that know the allocators of the standard alone. */
template <typename T, typename Segments> using allocator_v1 = xac::allocator<T>;
template <typename T, typename Segments> using heap_allocator_v1 = xac::allocator<T>;
} // namespace test

/* Of segments: there is one of each. */
template <typename...> struct simple_seq_fit;
template <typename...> struct rbtree_best_fit;
template <typename> struct flat_map_index;
template <typename> struct map_index;
template <typename> struct iset_index;
template <typename> struct null_index;

/* The folder of a segment or file of that name. */
inline std::string folder_of(const char *name)
{
        return *name == '/' ? name : std::string(std::getenv("TMPDIR")) + "/" + name;
}

class segment : public xac::managed_file
{
public:
        segment() = default;
        template <typename... Args>
        segment(xac::create_only_t how, const char *name, std::size_t size, Args...)
            : managed_file(how, folder_of(name), size, XAC_NOSYNC)
        {
                begin(0);
        }
        template <typename... Args>
        segment(xac::open_or_create_t how, const char *name, std::size_t size, Args...)
            : managed_file(how, folder_of(name), size, XAC_NOSYNC)
        {
                begin(0);
        }
        segment(xac::open_only_t how, const char *name) : managed_file(how, folder_of(name), XAC_NOSYNC)
        {
                begin(0);
        }
        segment(xac::open_read_only_t how, const char *name) : managed_file(how, folder_of(name))
        {
                begin(XAC_RDONLY);
        }
        segment(segment &&) = default;
        segment &operator=(segment &&) = default;
        ~segment()
        {
                if (env())
                        xac::detail::must(xend(env().get()), "xend");
        }
        /* Not in its transaction. */
        void flush()
        {
                xac::detail::must(xend(env().get()), "xend");
                managed_file::flush();
                begin(0);
        }

private:
        void begin(int flags)
        {
                xac::detail::must(xbegin(env().get(), flags), "xbegin");
        }
};

template <typename Char, typename Algorithm, template <typename> class Index>
using basic_managed_shared_memory = segment;
using managed_shared_memory = segment;
using managed_mapped_file = segment;

struct shared_memory_object {
        static bool remove(const char *name)
        {
                return std::filesystem::remove_all(folder_of(name)) > 0;
        }
};
using file_mapping = shared_memory_object;

struct remove_shared_memory_on_destroy {
        explicit remove_shared_memory_on_destroy(const char *name_) : name(name_)
        {
        }
        ~remove_shared_memory_on_destroy()
        {
                shared_memory_object::remove(name);
        }
        const char *name;
};

} // namespace boost::xac_interprocess

#endif
