/* SPDX-License-Identifier: MIT */

/*
 * What std::pmr has in libstdc++.so, where no translation takes place: the resources that may lie in a view with what
 * they give, monotonic_buffer_resource and unsynchronized_pool_resource. Written anew, compiled by xac-c++ itself, and
 * linked into each program, where it is found first. That the destructors are here makes the tables of virtual
 * functions come from here, too. synchronized_pool_resource has a mutex, and belongs in no file.
 */

#include <algorithm>
#include <cstddef>
#include <memory_resource>

namespace std::pmr
{

memory_resource::~memory_resource() = default;

/* ---- what is given back as a whole ---- */

/* Stands behind the buffer that it is about. */
class monotonic_buffer_resource::_Chunk
{
public:
        _Chunk *next;
        size_t bytes; /* with this */
        size_t alignment;
};

void monotonic_buffer_resource::_M_new_buffer(size_t bytes, size_t alignment)
{
        constexpr size_t UNIT = alignof(_Chunk);
        const size_t room = (max(bytes, _M_next_bufsiz) + UNIT - 1) / UNIT * UNIT;
        const size_t all = room + sizeof(_Chunk);
        if (room < bytes || all < room)
                throw bad_alloc();
        alignment = max(alignment, alignof(max_align_t));
        void *buffer = _M_upstream->allocate(all, alignment);
        _M_head = new (static_cast<char *>(buffer) + room) _Chunk{ _M_head, all, alignment };
        _M_current_buf = buffer;
        _M_avail = room;
        _M_next_bufsiz = room + room / 2;
}

void monotonic_buffer_resource::_M_release_buffers() noexcept
{
        while (_M_head) {
                const _Chunk last = *_M_head;
                _M_upstream->deallocate(reinterpret_cast<char *>(_M_head) + sizeof(_Chunk) - last.bytes, last.bytes,
                                        last.alignment);
                _M_head = last.next;
        }
}

monotonic_buffer_resource::~monotonic_buffer_resource()
{
        release();
}

/* ---- pools of blocks of one size ---- */

/* Begins what a pool has got from upstream. */
struct chunk {
        chunk *next;
        size_t bytes;
};

struct block {
        block *next;
};

/* Blocks of a power of two. */
struct __pool_resource::_Pool {
        block *unused;
        chunk *chunks;
        size_t count; /* of blocks in the next chunk */
};

/* One for which no pool has blocks. */
struct __pool_resource::_BigBlock {
        void *at;
        size_t bytes;
        size_t alignment;
};

constexpr size_t LEAST_BLOCK = 16, LARGEST_BLOCK = size_t(1) << 16, LARGEST_DEFAULT = 4096, CHUNK_BLOCKS = 1024;

static size_t block_bytes(size_t pool)
{
        return LEAST_BLOCK << pool;
}

/* The pool whose blocks are large enough, of all that there could be. */
static size_t pool_of(size_t bytes)
{
        size_t pool = 0;
        while (block_bytes(pool) < bytes)
                pool++;
        return pool;
}

static pool_options sane(pool_options options)
{
        if (!options.largest_required_pool_block)
                options.largest_required_pool_block = LARGEST_DEFAULT;
        options.largest_required_pool_block =
                block_bytes(pool_of(min(options.largest_required_pool_block, LARGEST_BLOCK)));
        if (!options.max_blocks_per_chunk || options.max_blocks_per_chunk > CHUNK_BLOCKS)
                options.max_blocks_per_chunk = CHUNK_BLOCKS;
        return options;
}

__pool_resource::__pool_resource(const pool_options &options, memory_resource *upstream)
    : _M_opts(sane(options)), _M_unpooled(upstream),
      _M_npools(static_cast<int>(pool_of(_M_opts.largest_required_pool_block)) + 1)
{
}

__pool_resource::~__pool_resource()
{
        release();
}

__pool_resource::_Pool *__pool_resource::_M_alloc_pools()
{
        auto pools = static_cast<_Pool *>(resource()->allocate(sizeof(_Pool) * static_cast<size_t>(_M_npools)));
        for (int i = 0; i < _M_npools; i++)
                new (&pools[i]) _Pool{ nullptr, nullptr, 8 };
        return pools;
}

void *__pool_resource::allocate(size_t bytes, size_t alignment)
{
        _M_unpooled.push_back({ nullptr, bytes, alignment });
        try {
                return _M_unpooled.back().at = resource()->allocate(bytes, alignment);
        } catch (...) {
                _M_unpooled.pop_back();
                throw;
        }
}

void __pool_resource::deallocate(void *at, size_t bytes, size_t alignment)
{
        auto found =
                find_if(_M_unpooled.begin(), _M_unpooled.end(), [at](const _BigBlock &big) { return big.at == at; });
        if (found == _M_unpooled.end())
                return;
        *found = _M_unpooled.back();
        _M_unpooled.pop_back();
        resource()->deallocate(at, bytes, alignment);
}

void __pool_resource::release() noexcept
{
        for (const _BigBlock &big : _M_unpooled)
                resource()->deallocate(big.at, big.bytes, big.alignment);
        pmr::vector<_BigBlock>(_M_unpooled.get_allocator()).swap(_M_unpooled);
}

unsynchronized_pool_resource::unsynchronized_pool_resource(const pool_options &options, memory_resource *upstream)
    : _M_impl(options, upstream), _M_pools(_M_impl._M_alloc_pools())
{
}

unsynchronized_pool_resource::~unsynchronized_pool_resource()
{
        release();
}

void unsynchronized_pool_resource::release()
{
        _M_impl.release();
        if (!_M_pools)
                return;
        for (int i = 0; i < _M_impl._M_npools; i++) {
                while (chunk *first = _M_pools[i].chunks) {
                        _M_pools[i].chunks = first->next;
                        upstream_resource()->deallocate(first, first->bytes,
                                                        max(block_bytes(size_t(i)), alignof(max_align_t)));
                }
        }
        upstream_resource()->deallocate(_M_pools, sizeof(_Pool) * static_cast<size_t>(_M_impl._M_npools));
        _M_pools = nullptr;
}

void *unsynchronized_pool_resource::do_allocate(size_t bytes, size_t alignment)
{
        const size_t room = max(bytes, alignment);
        if (room > _M_impl._M_opts.largest_required_pool_block)
                return _M_impl.allocate(bytes, alignment);
        if (!_M_pools)
                _M_pools = _M_impl._M_alloc_pools();
        const size_t size = block_bytes(pool_of(room));
        _Pool &pool = _M_pools[pool_of(room)];
        if (!pool.unused) { /* the first block of a chunk has its head */
                const size_t all = size * (pool.count + 1);
                chunk *added = new (upstream_resource()->allocate(all, max(size, alignof(max_align_t))))
                        chunk{ pool.chunks, all };
                pool.chunks = added;
                for (size_t i = pool.count; i > 0; i--)
                        pool.unused = new (reinterpret_cast<char *>(added) + i * size) block{ pool.unused };
                pool.count = min(pool.count * 2, _M_impl._M_opts.max_blocks_per_chunk);
        }
        block *taken = pool.unused;
        pool.unused = taken->next;
        return taken;
}

void unsynchronized_pool_resource::do_deallocate(void *at, size_t bytes, size_t alignment)
{
        const size_t room = max(bytes, alignment);
        if (room > _M_impl._M_opts.largest_required_pool_block) {
                _M_impl.deallocate(at, bytes, alignment);
                return;
        }
        _Pool &pool = _M_pools[pool_of(room)];
        pool.unused = new (at) block{ pool.unused };
}

} // namespace std::pmr
