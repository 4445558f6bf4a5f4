/* SPDX-License-Identifier: MIT */

/*
 * Intrinsics that access a buffer of a size that is known, which may be in a view: they get one on the stack, and the
 * runtime copies between the two.
 */

#include "pass.h"

#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

using namespace llvm;

namespace xac
{

/* Of va_list; it has nothing that would have to be aligned to more. */
constexpr unsigned LIST_X86_64 = 24, LIST_OTHER = 32, LIST_ALIGN = 16;

/* __builtin_setjmp() has five words. */
constexpr unsigned JUMP_WORDS = 5;

static uint64_t size_of_list(const CallBase &call)
{
        return Triple(call.getModule()->getTargetTriple()).getArch() == Triple::x86_64 ? LIST_X86_64 : LIST_OTHER;
}

/* va_list is plain memory on these machines. */
static void copy_list(Runtime &runtime, IntrinsicInst &call)
{
        const uint64_t len = size_of_list(call);
        IRBuilder<> build(&call);
        Value *room = runtime.shared_room(build, 0, len, Align(LIST_ALIGN));
        runtime.call_fetch(build, room, call.getArgOperand(1), len);
        runtime.call_store(build, call.getArgOperand(0), room, len);
        call.eraseFromParent();
}

static void start_list(Runtime &runtime, IntrinsicInst &call)
{
        const uint64_t len = size_of_list(call);
        IRBuilder<> build(call.getNextNode());
        build.SetCurrentDebugLocation(call.getDebugLoc());
        Value *list = call.getArgOperand(0);
        Value *room = runtime.shared_room(build, 0, len, Align(LIST_ALIGN));
        call.setArgOperand(0, room);
        runtime.call_store(build, list, room, len);
}

/* Only what returns for the first time writes: later the buffer may be gone. */
static void set_jump(Runtime &runtime, IntrinsicInst &call)
{
        IRBuilder<> build(&call);
        const uint64_t word = call.getModule()->getDataLayout().getPointerSize();
        Value *buffer = call.getArgOperand(0);
        Value *room = runtime.shared_room(build, 0, JUMP_WORDS * word, Align(word));
        runtime.call_fetch(build, room, buffer, JUMP_WORDS * word);
        call.setArgOperand(0, room);
        Instruction *next = call.getNextNode();
        Value *is_first = IRBuilder<>(next).CreateIsNull(&call);
        build.SetInsertPoint(SplitBlockAndInsertIfThen(is_first, next, false));
        build.SetCurrentDebugLocation(call.getDebugLoc());
        runtime.call_store(build, buffer, room, JUMP_WORDS * word);
}

/* The frame goes before the buffer has been read: a room of the function's would be lost with it. */
static void jump(Runtime &runtime, IntrinsicInst &call)
{
        IRBuilder<> build(&call);
        FunctionCallee own = runtime.function("xacrt_jump_buffer", runtime.bytes(), { runtime.bytes() });
        call.setArgOperand(0, build.CreateCall(own, { runtime.as_bytes(build, call.getArgOperand(0)) }));
}

/* "llvm.x86.avx512.mask.pmovus.qb.mem.128" stores bytes. */
static unsigned size_of_truncated(StringRef name)
{
        const char letter = name.substr(0, name.find(".mem.")).back();
        return letter == 'b' ? 1 : letter == 'w' ? 2 : 4;
}

/* Stores vectors of smaller numbers, those that the bits of a mask say. */
static void store_truncated(Runtime &runtime, IntrinsicInst &call)
{
        constexpr unsigned LARGEST = 64;
        const unsigned count = cast<FixedVectorType>(call.getArgOperand(1)->getType())->getNumElements();
        const unsigned size = size_of_truncated(call.getCalledFunction()->getName());
        IRBuilder<> build(call.getNextNode());
        build.SetCurrentDebugLocation(call.getDebugLoc());
        Value *to = call.getArgOperand(0);
        Value *room = runtime.shared_room(build, 0, LARGEST, Align(LARGEST));
        call.setArgOperand(0, build.CreateBitOrPointerCast(room, to->getType()));
        if (auto *made = dyn_cast<Instruction>(call.getArgOperand(0)))
                if (made != room)
                        made->moveBefore(&call);
        Value *mask = build.CreateZExt(call.getArgOperand(2), build.getInt64Ty());
        mask = build.CreateAnd(mask, maskTrailingOnes<uint64_t>(count));
        FunctionCallee own = runtime.function("xacrt_store_masked", build.getVoidTy(),
                                              { runtime.bytes(), runtime.bytes(), build.getInt64Ty(), runtime.word() });
        build.CreateCall(own, { runtime.as_bytes(build, to), room, mask, runtime.size(size) });
}

bool translate_buffer(Runtime &runtime, IntrinsicInst &call)
{
        switch (call.getIntrinsicID()) {
        case Intrinsic::vacopy:
                copy_list(runtime, call);
                return true;
        case Intrinsic::vastart:
                start_list(runtime, call);
                return true;
        case Intrinsic::eh_sjlj_setjmp:
                set_jump(runtime, call);
                return true;
        case Intrinsic::eh_sjlj_longjmp:
                jump(runtime, call);
                return true;
        default:
                if (call.getCalledFunction()->getName().substr(0, 25) != "llvm.x86.avx512.mask.pmov")
                        return false;
                store_truncated(runtime, call);
                return true;
        }
}

} // namespace xac
