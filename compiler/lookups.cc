/* SPDX-License-Identifier: MIT */

/*
 * Look-ups out of line: numbers that the runtime loads and stores, wherever they are (runtime/numbers.c). A call is a
 * quarter of the instructions of a look-up, and no block more. What compiled code keeps in registers it keeps there.
 *
 *      -Os, -Oz     each number: there is no question, and the access as it was is gone
 *      else         numbers that lead into a view outside of small loops, and what is not kept
 *      crowded      where a function has very many look-ups in loops that are there twice, all of them (pass.cc)
 */

#include "pass.h"

#include <llvm/Analysis/LoopInfo.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

using namespace llvm;

namespace xac
{

/* A loop of more instructions takes so long for each round that a call is nothing beside it. */
constexpr unsigned SMALL_LOOP = 400;

bool is_number(const Instruction &access)
{
        const Module &module = *access.getModule();
        if (Triple(module.getTargetTriple()).getArch() != Triple::x86_64 || access.isAtomic())
                return false;
        Type *type = getLoadStoreType(const_cast<Instruction *>(&access));
        if (!type->isIntegerTy() && !type->isPointerTy() && !type->isFloatTy() && !type->isDoubleTy())
                return false;
        const uint64_t bits = module.getDataLayout().getTypeSizeInBits(type);
        return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* Of the runtime's functions: "xacrt_get_8" serves any address, "xacrt_get_8_in_view" such as are in the window. */
static std::string name_for(const char *verb, unsigned bits, bool is_in_window)
{
        return (Twine("xacrt_") + verb + "_" + Twine(bits / 8) + (is_in_window ? "_in_view" : "")).str();
}

Value *Runtime::call_get(IRBuilder<> &build, Type *type, Value *address, bool is_in_window)
{
        const unsigned bits = module.getDataLayout().getTypeSizeInBits(type);
        Type *number = build.getIntNTy(bits);
        FunctionCallee callee = function(name_for("get", bits, is_in_window), number, { bytes() });
        /* It preserves all registers of integers but those of the argument and the result. */
        if (auto *made = dyn_cast<Function>(callee.getCallee()))
                made->setCallingConv(CallingConv::CXX_FAST_TLS);
        CallInst *call = build.CreateCall(callee, { as_bytes(build, address) });
        call->setCallingConv(CallingConv::CXX_FAST_TLS);
        return build.CreateBitOrPointerCast(call, type);
}

void Runtime::call_put(IRBuilder<> &build, Value *address, Value *value, bool is_in_window)
{
        const unsigned bits = module.getDataLayout().getTypeSizeInBits(value->getType());
        Value *number = build.CreateBitOrPointerCast(value, build.getIntNTy(bits));
        FunctionCallee callee =
                function(name_for("put", bits, is_in_window), build.getVoidTy(), { bytes(), number->getType() });
        if (auto *made = dyn_cast<Function>(callee.getCallee()))
                made->setCallingConv(CallingConv::PreserveMost);
        build.CreateCall(callee, { as_bytes(build, address), number })->setCallingConv(CallingConv::PreserveMost);
}

/* Done by the runtime: what a load gives; NULL of a store. */
Value *Runtime::call_for_number(IRBuilder<> &build, Instruction &access, bool is_in_window)
{
        Value *address = getLoadStorePointerOperand(&access);
        build.SetCurrentDebugLocation(access.getDebugLoc());
        if (isa<LoadInst>(access))
                return call_get(build, access.getType(), address, is_in_window);
        call_put(build, address, cast<StoreInst>(access).getValueOperand(), is_in_window);
        return nullptr;
}

bool is_replaceable(Instruction &access)
{
        if (is_number(access))
                return true;
        if ((!isa<LoadInst>(access) && !isa<StoreInst>(access)) || access.isAtomic())
                return false;
        return !access.getModule()->getDataLayout().getTypeStoreSize(getLoadStoreType(&access)).isScalable();
}

/* What is no number goes through memory on the stack. */
static void replace_by_copy(Runtime &runtime, Instruction &access)
{
        Type *type = getLoadStoreType(&access);
        Value *address = getLoadStorePointerOperand(&access);
        const uint64_t len = access.getModule()->getDataLayout().getTypeStoreSize(type);
        AllocaInst *room = runtime.room(*access.getFunction(), type);
        const bool is_load = isa<LoadInst>(access);
        IRBuilder<> build(is_load ? &access : access.getNextNode());
        build.SetCurrentDebugLocation(access.getDebugLoc());
        access.setOperand(is_load ? LoadInst::getPointerOperandIndex() : StoreInst::getPointerOperandIndex(), room);
        if (is_load)
                runtime.call_fetch(build, room, address, len);
        else
                runtime.call_store(build, address, room, len);
}

bool replace_by_call(Runtime &runtime, Instruction &access, bool is_in_view)
{
        if (!is_number(access)) {
                replace_by_copy(runtime, access);
                return false;
        }
        IRBuilder<> build(&access);
        if (Value *value = runtime.call_for_number(build, access, is_in_view))
                access.replaceAllUsesWith(value);
        return true;
}

void find_frequent(Function &function, FunctionAnalysisManager &analyses, SmallPtrSetImpl<Instruction *> &frequent)
{
        for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder()) {
                size_t count = 0;
                for (BasicBlock *block : loop->blocks())
                        count += block->size();
                if (!loop->isInnermost() || count > SMALL_LOOP)
                        continue;
                for (BasicBlock *block : loop->blocks())
                        for (Instruction &instruction : *block)
                                frequent.insert(&instruction);
        }
}

} // namespace xac
