/* SPDX-License-Identifier: MIT */

/*
 * dynamic_cast of objects that may lie in a view. libstdc++.so has it where no translation takes place, and reads there
 * the object's pointer to its class, and the places of its virtual bases. Written anew, compiled by xac-c++ itself, and
 * linked into each program, where it is found first.
 *
 * What a cast means is in the standard ([expr.dynamic.cast]); how classes are described, in the C++ ABI for
 * Itanium, 2.9.
 */

#include <cstddef>
#include <cxxabi.h>
#include <typeinfo>

namespace
{

using abi::__base_class_type_info;
using abi::__class_type_info;

/* What stands before the functions of a class, where its objects point to. */
struct prefix {
        ptrdiff_t whole; /* from here to the object that this is a part of */
        const __class_type_info *type;
        const void *functions[1];
};

const prefix *prefix_of(const void *object)
{
        const char *functions = *static_cast<const char *const *>(object);
        return reinterpret_cast<const prefix *>(functions - offsetof(prefix, functions));
}

/* All parts of an object are walked through. */
struct walk {
        const void *from; /* the part that is to be cast, and what it is called */
        const __class_type_info *from_type;
        const __class_type_info *to_type;

        const void *below = nullptr; /* the part of to_type that has `from` */
        bool is_below_public = false;
        bool is_below_two = false;

        const void *any = nullptr; /* a part of to_type, wherever */
        bool is_any_public = false;
        bool is_any_two = false;

        bool is_from_public = false; /* in the whole object */
};

/* Where the base lies in an object at `at`. */
const char *place_of(const __base_class_type_info &base, const char *at)
{
        ptrdiff_t offset = base.__offset();
        if (base.__is_virtual_p())
                offset = *reinterpret_cast<const ptrdiff_t *>(*reinterpret_cast<const char *const *>(at) + offset);
        return at + offset;
}

/* A part of to_type, in which the one that is looked at now lies; at == NULL: it lies in none. */
struct inside {
        const char *at;
        bool is_public;
};

void take_target(walk &all, const char *at, bool is_public)
{
        all.is_any_two |= all.any && all.any != at;
        all.is_any_public |= is_public;
        all.any = at;
}

void take_origin(walk &all, inside target, bool is_public)
{
        all.is_from_public |= is_public;
        if (!target.at)
                return;
        all.is_below_two |= all.below && all.below != target.at;
        all.is_below_public |= target.is_public;
        all.below = target.at;
}

void look(walk &all, const __class_type_info *type, const char *at, inside target, bool is_public)
{
        if (*type == *all.to_type) {
                take_target(all, at, is_public);
                target = { at, true };
        }
        if (at == all.from && *type == *all.from_type)
                take_origin(all, target, is_public);
        const std::type_info &kind = typeid(*type);
        if (kind == typeid(abi::__si_class_type_info))
                look(all, static_cast<const abi::__si_class_type_info *>(type)->__base_type, at, target, is_public);
        if (kind != typeid(abi::__vmi_class_type_info))
                return;
        auto several = static_cast<const abi::__vmi_class_type_info *>(type);
        for (unsigned i = 0; i < several->__base_count; i++) {
                const __base_class_type_info &base = several->__base_info[i];
                const bool is_open = base.__is_public_p();
                look(all, base.__base_type, place_of(base, at), { target.at, target.is_public && is_open },
                     is_public && is_open);
        }
}

} // namespace

/* The library has it exported, whose own casts are of its own objects: those stay its own. */
__asm__(".hidden __dynamic_cast");

extern "C" void *__cxxabiv1::__dynamic_cast(const void *from, const __class_type_info *from_type,
                                            const __class_type_info *to_type, ptrdiff_t distance)
{
        const prefix *known = prefix_of(from);
        const char *whole = static_cast<const char *>(from) + known->whole;
        if (distance >= 0 && whole + distance == from && *known->type == *to_type)
                return const_cast<char *>(whole);
        if (prefix_of(whole)->type != known->type)
                return nullptr; /* a virtual base that is made, or ends */
        walk all{ from, from_type, to_type };
        look(all, known->type, whole, { nullptr, false }, true);
        if (all.is_below_public && !all.is_below_two)
                return const_cast<void *>(all.below);
        return all.is_from_public && all.is_any_public && !all.is_any_two ? const_cast<void *>(all.any) : nullptr;
}
