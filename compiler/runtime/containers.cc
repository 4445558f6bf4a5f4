/* SPDX-License-Identifier: MIT */

/*
 * What the containers of libstdc++ have outside of its headers, in libstdc++.so, where no translation takes place: balancing
 * and walking of trees, links of lists, sizes and hashes of hash tables. Written anew, compiled by xac-c++ itself, and linked into
 * each program, where it is found first.
 *
 * Trees are red-black trees as T. Cormen et al. describe them ("Introduction to Algorithms", chapter 13), with a header
 * node whose parent is the root and whose children are the least and the greatest node.
 */

#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>

namespace std {

/* ---- trees ---- */

using node = _Rb_tree_node_base;

static node *next_of(node *at)
{
        if (at->_M_right) {
                for (at = at->_M_right; at->_M_left; at = at->_M_left)
                        ;
                return at;
        }
        node *above = at->_M_parent;
        while (at == above->_M_right) {
                at = above;
                above = above->_M_parent;
        }
        return at->_M_right != above ? above : at; /* the root may be the greatest, and the header is above it */
}

static bool is_header(const node *at)
{
        return at->_M_color == _S_red && at->_M_parent && at->_M_parent->_M_parent == at;
}

static node *previous_of(node *at)
{
        if (is_header(at))
                return at->_M_right;
        if (at->_M_left) {
                for (at = at->_M_left; at->_M_right; at = at->_M_right)
                        ;
                return at;
        }
        node *above = at->_M_parent;
        while (at == above->_M_left) {
                at = above;
                above = above->_M_parent;
        }
        return above;
}

node *_Rb_tree_increment(node *at) noexcept
{
        return next_of(at);
}

const node *_Rb_tree_increment(const node *at) noexcept
{
        return next_of(const_cast<node *>(at));
}

node *_Rb_tree_decrement(node *at) noexcept
{
        return previous_of(at);
}

const node *_Rb_tree_decrement(const node *at) noexcept
{
        return previous_of(const_cast<node *>(at));
}

/* What led to `from` leads to `to`. */
static void replace(node *from, node *to, node *&root)
{
        if (from == root)
                root = to;
        else if (from == from->_M_parent->_M_left)
                from->_M_parent->_M_left = to;
        else
                from->_M_parent->_M_right = to;
}

static void rotate_left(node *at, node *&root)
{
        node *up = at->_M_right;
        at->_M_right = up->_M_left;
        if (up->_M_left)
                up->_M_left->_M_parent = at;
        up->_M_parent = at->_M_parent;
        replace(at, up, root);
        up->_M_left = at;
        at->_M_parent = up;
}

static void rotate_right(node *at, node *&root)
{
        node *up = at->_M_left;
        at->_M_left = up->_M_right;
        if (up->_M_right)
                up->_M_right->_M_parent = at;
        up->_M_parent = at->_M_parent;
        replace(at, up, root);
        up->_M_right = at;
        at->_M_parent = up;
}

/* The new node is red, and its parent may be so too. */
static void mend_insert(node *at, node *&root)
{
        while (at != root && at->_M_parent->_M_color == _S_red) {
                node *above = at->_M_parent, *top = above->_M_parent;
                const bool is_left = above == top->_M_left;
                node *uncle = is_left ? top->_M_right : top->_M_left;
                if (uncle && uncle->_M_color == _S_red) {
                        above->_M_color = uncle->_M_color = _S_black;
                        top->_M_color = _S_red;
                        at = top;
                        continue;
                }
                if (at == (is_left ? above->_M_right : above->_M_left)) {
                        is_left ? rotate_left(above, root) : rotate_right(above, root);
                        above = at;
                }
                above->_M_color = _S_black;
                top->_M_color = _S_red;
                is_left ? rotate_right(top, root) : rotate_left(top, root);
                break;
        }
        root->_M_color = _S_black;
}

void _Rb_tree_insert_and_rebalance(const bool is_left, node *at, node *above, node &header) noexcept
{
        at->_M_parent = above;
        at->_M_left = at->_M_right = nullptr;
        at->_M_color = _S_red;
        if (is_left) {
                above->_M_left = at; /* the least, too, if that is the header */
                if (above == &header) {
                        header._M_parent = header._M_right = at;
                } else if (above == header._M_left) {
                        header._M_left = at;
                }
        } else {
                above->_M_right = at;
                if (above == header._M_right)
                        header._M_right = at;
        }
        mend_insert(at, header._M_parent);
}

/* Below `above` the side of `at`, which may be empty, has a black node too few. */
static void mend_erase(node *at, node *above, node *&root)
{
        while (at != root && (!at || at->_M_color == _S_black)) {
                const bool is_left = at == above->_M_left;
                node *brother = is_left ? above->_M_right : above->_M_left;
                if (brother->_M_color == _S_red) {
                        brother->_M_color = _S_black;
                        above->_M_color = _S_red;
                        is_left ? rotate_left(above, root) : rotate_right(above, root);
                        brother = is_left ? above->_M_right : above->_M_left;
                }
                node *near = is_left ? brother->_M_left : brother->_M_right;
                node *far = is_left ? brother->_M_right : brother->_M_left;
                if ((!near || near->_M_color == _S_black) && (!far || far->_M_color == _S_black)) {
                        brother->_M_color = _S_red;
                        at = above;
                        above = above->_M_parent;
                        continue;
                }
                if (!far || far->_M_color == _S_black) {
                        near->_M_color = _S_black;
                        brother->_M_color = _S_red;
                        is_left ? rotate_right(brother, root) : rotate_left(brother, root);
                        far = brother;
                        brother = near;
                }
                brother->_M_color = above->_M_color;
                above->_M_color = far->_M_color = _S_black;
                is_left ? rotate_left(above, root) : rotate_right(above, root);
                break;
        }
        if (at)
                at->_M_color = _S_black;
}

static node *least_of(node *at)
{
        while (at->_M_left)
                at = at->_M_left;
        return at;
}

static node *greatest_of(node *at)
{
        while (at->_M_right)
                at = at->_M_right;
        return at;
}

/* The node that comes after `at`, which has two children, takes its place. Returns what hangs where that was, and below
 * whom. */
static node *put_next_in_place(node *at, node *&above, node *&root)
{
        node *next = least_of(at->_M_right), *moved = next->_M_right;
        at->_M_left->_M_parent = next;
        next->_M_left = at->_M_left;
        if (next != at->_M_right) {
                above = next->_M_parent;
                if (moved)
                        moved->_M_parent = above;
                above->_M_left = moved;
                next->_M_right = at->_M_right;
                at->_M_right->_M_parent = next;
        } else {
                above = next;
        }
        replace(at, next, root);
        next->_M_parent = at->_M_parent;
        std::swap(next->_M_color, at->_M_color);
        return moved;
}

/* The only child, if there is any, takes its place. */
static node *put_child_in_place(node *at, node *&above, node &header)
{
        node *child = at->_M_left ? at->_M_left : at->_M_right;
        above = at->_M_parent;
        if (child)
                child->_M_parent = above;
        replace(at, child, header._M_parent);
        if (header._M_left == at)
                header._M_left = child ? least_of(child) : above;
        if (header._M_right == at)
                header._M_right = child ? greatest_of(child) : above;
        return child;
}

/* Returns the node that is free: always `at`, with the colour that is missing. */
node *_Rb_tree_rebalance_for_erase(node *const at, node &header) noexcept
{
        node *above;
        node *moved = at->_M_left && at->_M_right ? put_next_in_place(at, above, header._M_parent) :
                                                    put_child_in_place(at, above, header);
        if (at->_M_color == _S_black)
                mend_erase(moved, above, header._M_parent);
        return at;
}

/* ---- lists ---- */

namespace __detail {

void _List_node_base::_M_hook(_List_node_base *const before) noexcept
{
        _M_next = before;
        _M_prev = before->_M_prev;
        before->_M_prev->_M_next = this;
        before->_M_prev = this;
}

void _List_node_base::_M_unhook() noexcept
{
        _M_prev->_M_next = _M_next;
        _M_next->_M_prev = _M_prev;
}

void _List_node_base::_M_transfer(_List_node_base *const first, _List_node_base *const end) noexcept
{
        if (this == end)
                return;
        _List_node_base *last = end->_M_prev;
        first->_M_prev->_M_next = end;
        end->_M_prev = first->_M_prev;
        first->_M_prev = _M_prev;
        _M_prev->_M_next = first;
        last->_M_next = this;
        _M_prev = last;
}

void _List_node_base::_M_reverse() noexcept
{
        _List_node_base *at = this;
        do {
                std::swap(at->_M_next, at->_M_prev);
                at = at->_M_prev; /* which was the next */
        } while (at != this);
}

/* A node that stands for a list: its neighbours lead to it, or it leads to itself. */
static void settle(_List_node_base *head, _List_node_base *was)
{
        if (head->_M_next == was)
                head->_M_next = head->_M_prev = head;
        else
                head->_M_next->_M_prev = head->_M_prev->_M_next = head;
}

void _List_node_base::swap(_List_node_base &a, _List_node_base &b) noexcept
{
        std::swap(a._M_next, b._M_next);
        std::swap(a._M_prev, b._M_prev);
        settle(&a, &b);
        settle(&b, &a);
}

/* ---- hash tables ---- */

static bool is_prime(size_t number)
{
        if (number % 2 == 0 || number % 3 == 0)
                return number == 2 || number == 3;
        for (size_t i = 5; i <= number / i; i += 6)
                if (number % i == 0 || number % (i + 2) == 0)
                        return false;
        return number > 1;
}

static size_t times_load(size_t buckets, float load)
{
        return static_cast<size_t>(__builtin_floor(static_cast<double>(buckets) * static_cast<double>(load)));
}

size_t _Prime_rehash_policy::_M_next_bkt(size_t least) const
{
        if (least <= 1) { /* the table may be the one bucket that lies in it */
                _M_next_resize = times_load(1, _M_max_load_factor);
                return 1;
        }
        while (!is_prime(least))
                least++;
        _M_next_resize = times_load(least, _M_max_load_factor);
        return least;
}

pair<bool, size_t> _Prime_rehash_policy::_M_need_rehash(size_t buckets, size_t elements, size_t more) const
{
        constexpr size_t FIRST = 11;
        if (elements + more <= _M_next_resize)
                return { false, 0 };
        const size_t all = _M_next_resize || elements + more > FIRST ? elements + more : FIRST;
        const size_t least = times_load(all, 1 / _M_max_load_factor);
        if (least < buckets) {
                _M_next_resize = times_load(buckets, _M_max_load_factor);
                return { false, 0 };
        }
        const size_t twice = buckets * 2;
        return { true, _M_next_bkt(least + 1 > twice ? least + 1 : twice) };
}

} // namespace __detail

/* The multiplication and shifts are those of MurmurHash64A (A. Appleby, public domain), whose values libstdc++ has: a
 * table that was filled by its code is found by ours. */
static uint64_t mixed(uint64_t word)
{
        return word ^ word >> 47;
}

size_t _Hash_bytes(const void *bytes, size_t len, size_t seed)
{
        constexpr uint64_t FACTOR = 0xc6a4a7935bd1e995;
        const char *at = static_cast<const char *>(bytes);
        uint64_t hash = seed ^ len * FACTOR;
        for (; len >= 8; at += 8, len -= 8) {
                uint64_t word;
                memcpy(&word, at, 8);
                hash = (hash ^ mixed(word * FACTOR) * FACTOR) * FACTOR;
        }
        if (len) {
                uint64_t word = 0;
                memcpy(&word, at, len);
                hash = (hash ^ word) * FACTOR;
        }
        return mixed(mixed(hash) * FACTOR);
}

} // namespace std
