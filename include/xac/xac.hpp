/* SPDX-License-Identifier: MIT */
#ifndef XAC_XAC_HPP
#define XAC_XAC_HPP

/*
 * libxac for C++17, all of it, in headers alone (pkg-config libxac++):
 *
 *      <xac/transaction.hpp>      xac::environment, xac::view, xac::atomically(), xac::error
 *      <xac/heap.hpp>             xac::heap, xac::allocator, xac::offset_allocator
 *      <xac/managed_file.hpp>     xac::managed_file: the calls of Boost.Interprocess
 *      <xac/smart_ptr.hpp>        xac::shared_ptr, xac::unique_ptr, xac::deleter
 *      <xac/memory_resource.hpp>  xac::heap_resource: a heap as a std::pmr::memory_resource
 *      <xac/offset_ptr.hpp>       xac::offset_ptr
 *      <xac/containers.hpp>       xac::map, xac::string ...: containers of the standard library in a heap
 */

#include <xac/standard.hpp>

#include <xac/containers.hpp>
#include <xac/heap.hpp>
#include <xac/managed_file.hpp>
#include <xac/memory_resource.hpp>
#include <xac/offset_ptr.hpp>
#include <xac/smart_ptr.hpp>
#include <xac/transaction.hpp>

#endif
