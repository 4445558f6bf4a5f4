/* SPDX-License-Identifier: MIT */
#ifndef XAC_MANAGED_OBJECTS_HPP
#define XAC_MANAGED_OBJECTS_HPP

/*
 * Objects and arrays of an xac::managed_file: what their names are, how they are made, and how one goes through them.
 *
 * Each of them but a single one without a name is a root of the heap (<xac/heap.h>). An array's root has the size of
 * all, and a tag that holds the size of one. That which is the only one of its type (unique_instance), and arrays
 * without a name, get a name that says so.
 */

#include <xac/standard.hpp>

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include <xac/heap.hpp>

namespace xac
{

/* For construct() and find(): the one object of its type. */
struct unique_t {
};
inline constexpr unique_t unique_instance{};
inline constexpr anonymous_t anonymous_instance{};

enum instance_type { anonymous_type, named_type, unique_type };

namespace detail
{

inline constexpr char UNIQUE_NAME[] = "<the only ";
inline constexpr char ARRAY_NAME[] = "<an array ";

inline bool begins_with(const char *name, const char *beginning) noexcept
{
        return !std::strncmp(name, beginning, std::strlen(beginning));
}

inline instance_type type_of(const char *name) noexcept
{
        return begins_with(name, UNIQUE_NAME)  ? unique_type
               : begins_with(name, ARRAY_NAME) ? anonymous_type
                                               : named_type;
}

/* ---- names ---- */

/* What construct() and find() take. A name stays where it is. */
class object_name
{
public:
        object_name(const char *name) noexcept : text(name), type(named_type)
        {
        }
        object_name(anonymous_t) noexcept : type(anonymous_type)
        {
        }
        object_name(unique_t) noexcept : type(unique_type)
        {
        }
        object_name(const anonymous_t *) noexcept : type(anonymous_type)
        {
        }
        object_name(const unique_t *) noexcept : type(unique_type)
        {
        }

        bool is_anonymous() const noexcept
        {
                return type == anonymous_type;
        }
        /* Of an object of that type, into the root; -EINVAL: it has none. */
        template <typename T> void write(xac_heap_root &root) const
        {
                if (type == unique_type)
                        write(root, UNIQUE_NAME, tag_of<T>());
                else if (!text || std::strlen(text) > XAC_HEAP_NAME_MAX)
                        throw error(-EINVAL, "a name of an object has 1 to 47 bytes");
                else
                        std::strcpy(root.name, text);
        }
        static void write(xac_heap_root &root, const char *beginning, std::uint64_t number)
        {
                std::snprintf(root.name, sizeof(root.name), "%s%016llx>", beginning,
                              static_cast<unsigned long long>(number));
        }

private:
        const char *text = nullptr;
        instance_type type;
};

/* ---- finding ---- */

/* Throws wrong_type. */
template <typename T> std::size_t must_be(const xac_heap_root &root)
{
        const bool is_array = root.tag == tag_of_array<T>();
        if (!is_array && root.tag != tag_of<T>())
                throw wrong_type("'" + std::string(root.name) + "' is not of type " + type_name<T>() +
                                 ", or an array of it as large as it was then");
        if (!is_array && root.size != sizeof(T))
                throw wrong_type("'" + std::string(root.name) + "' was made when its type had " +
                                 std::to_string(root.size) + " bytes, not " + std::to_string(sizeof(T)));
        return count_of<T>(root);
}

template <typename T> std::pair<T *, std::size_t> find(open_heap *open, const object_name &name)
{
        xac_heap_root root;
        if (name.is_anonymous())
                throw error(-EINVAL, "what has no name is not found");
        name.write<T>(root);
        const int err = xac_heap_root_find(open->handle, root.name, &root);
        if (err == -ENOENT)
                return { nullptr, 0 };
        must_have_room(err, root.name);
        const std::size_t count = must_be<T>(root);
        return { static_cast<T *>(root.object), count };
}

/* ---- making ---- */

/* As many numbers as there are arrays without a name: no two processes come to the same, and one that does goes on. */
inline std::uint64_t draw()
{
        static thread_local std::mt19937_64 numbers(std::random_device{}());
        return numbers();
}

inline void make_root(open_heap *open, xac_heap_root &root, std::size_t size, std::uint64_t tag, bool is_anonymous)
{
        int err;
        do {
                if (is_anonymous)
                        object_name::write(root, ARRAY_NAME, draw());
                const xac_heap_root wanted = root;
                err = xac_heap_root_create(open->handle, wanted.name, size, tag, &root);
        } while (is_anonymous && err == -EEXIST);
        must_have_room(err, root.name);
}

inline constexpr std::size_t SINGLE = static_cast<std::size_t>(-1);

/* Room for `count` objects, or for one that is no array. */
template <typename T> T *make_room(open_heap *open, const object_name &name, std::size_t count)
{
        static_assert(alignof(T) <= 16, "objects with names are aligned to 16 bytes");
        xac_heap_root root;
        const bool is_array = count != SINGLE;
        if (!is_array && name.is_anonymous())
                return static_cast<T *>(detail::allocate(open->base, sizeof(T), alignof(T)));
        if (is_array && count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T))
                throw std::bad_array_new_length();
        if (!name.is_anonymous())
                name.write<T>(root);
        make_root(open, root, is_array ? count * sizeof(T) : sizeof(T), is_array ? tag_of_array<T>() : tag_of<T>(),
                  name.is_anonymous());
        return static_cast<T *>(root.object);
}

enum class making { NEW = 0, OR_FOUND = 1, BY_ITERATORS = 2, NO_THROW = 4 };
constexpr making operator|(making a, making b) noexcept
{
        return static_cast<making>(static_cast<int>(a) | static_cast<int>(b));
}
constexpr bool has(making all, making one) noexcept
{
        return static_cast<int>(all) & static_cast<int>(one);
}

/*
 * What file.construct<T>(name) returns, for `[count]` and `(arguments)`. Each is a transaction, or a level of the one
 * that is open: a constructor that throws leaves nothing. Arguments, and iterators, are passed as const, as a
 * constructor may run again.
 */
template <typename T, making How> class maker
{
public:
        maker(open_heap *open_, const object_name &name_, std::size_t count_ = SINGLE) noexcept
            : open(open_), name(name_), count(count_)
        {
        }
        maker operator[](std::size_t length) const noexcept
        {
                return { open, name, length };
        }
        /* NO_THROW is about room and the name: what a constructor throws is the caller's. */
        template <typename... Args> T *operator()(const Args &...args) const
        {
                bool is_constructing = false;
                if constexpr (has(How, making::NO_THROW)) {
                        try {
                                return run(is_constructing, args...);
                        } catch (const std::bad_alloc &) {
                                if (is_constructing)
                                        throw;
                                return nullptr;
                        } catch (const error &what) {
                                if (is_constructing || what.code().value() != -EEXIST)
                                        throw;
                                return nullptr;
                        }
                } else {
                        return run(is_constructing, args...);
                }
        }

private:
        template <typename... Args> T *run(bool &is_constructing, const Args &...args) const
        {
                return atomically(open->env, 0, [&] {
                        is_constructing = false;
                        if constexpr (has(How, making::OR_FOUND))
                                if (T *found = detail::find<T>(open, name).first)
                                        return found;
                        T *made = make_room<T>(open, name, count);
                        const chosen_heap here(open);
                        is_constructing = true;
                        if constexpr (has(How, making::BY_ITERATORS))
                                fill_each(made, Args(args)...);
                        else
                                for (std::size_t i = 0; i < length(); i++)
                                        detail::fill(made + i, args...);
                        is_constructing = false;
                        return made;
                });
        }
        template <typename... Iterators> void fill_each(T *made, Iterators... at) const
        {
                for (std::size_t i = 0; i < length(); i++) {
                        detail::fill(made + i, *at...);
                        (++at, ...);
                }
        }
        std::size_t length() const noexcept
        {
                return count == SINGLE ? 1 : count;
        }

        open_heap *open;
        object_name name;
        std::size_t count;
};

} // namespace detail

/* ---- all of them ---- */

/* An object with a name, as it was when named_begin() was called. */
class named_object
{
public:
        explicit named_object(const xac_heap_root &root_) noexcept : root(root_)
        {
        }
        const char *name() const noexcept
        {
                return root.name;
        }
        std::size_t name_length() const noexcept
        {
                return std::strlen(root.name);
        }
        const void *value() const noexcept
        {
                return root.object;
        }

private:
        xac_heap_root root;
};

/* From named_begin() to named_end(), by name. What is made or destroyed meanwhile does not change the list. */
class named_iterator
{
public:
        using value_type = named_object;
        using reference = const named_object &;
        using pointer = const named_object *;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::forward_iterator_tag;

        named_iterator() = default;
        explicit named_iterator(std::vector<named_object> &&all)
            : list(std::make_shared<const std::vector<named_object>>(std::move(all)))
        {
        }
        reference operator*() const noexcept
        {
                return (*list)[at];
        }
        pointer operator->() const noexcept
        {
                return &(*list)[at];
        }
        named_iterator &operator++() noexcept
        {
                at++;
                return *this;
        }
        named_iterator operator++(int) noexcept
        {
                named_iterator before(*this);
                ++*this;
                return before;
        }
        friend bool operator==(const named_iterator &a, const named_iterator &b) noexcept
        {
                return a.left() == b.left();
        }
        friend bool operator!=(const named_iterator &a, const named_iterator &b) noexcept
        {
                return !(a == b);
        }

private:
        std::size_t left() const noexcept
        {
                return list ? list->size() - at : 0;
        }

        std::shared_ptr<const std::vector<named_object>> list;
        std::size_t at = 0;
};

} // namespace xac

#endif
