/* SPDX-License-Identifier: MIT */

/* What a function refers to in the runtime, and how. */

#include "pass.h"

#include <xac/translate.h>

using namespace llvm;

namespace xac
{

Type *Runtime::bytes()
{
        return PointerType::get(Type::getInt8Ty(context), 0);
}

Type *Runtime::word()
{
        return module.getDataLayout().getIntPtrType(context);
}

Value *Runtime::as_bytes(IRBuilder<> &build, Value *address)
{
        return build.CreateBitOrPointerCast(address, bytes());
}

Value *Runtime::as_word(IRBuilder<> &build, Value *address)
{
        return build.CreatePtrToInt(address, word());
}

Value *Runtime::size(uint64_t bytes)
{
        return ConstantInt::get(word(), bytes);
}

FunctionCallee Runtime::function(StringRef name, Type *result, ArrayRef<Type *> parameters)
{
        FunctionCallee callee = module.getOrInsertFunction(name, FunctionType::get(result, parameters, false));
        if (auto *made = dyn_cast<Function>(callee.getCallee())) {
                made->addFnAttr(Attribute::NoUnwind);
                made->setVisibility(GlobalValue::HiddenVisibility);
        }
        return callee;
}

/* See XACRT_COLD. */
void Runtime::call_cold(IRBuilder<> &build, StringRef name, ArrayRef<Value *> arguments)
{
        SmallVector<Type *, 4> parameters;
        for (Value *argument : arguments)
                parameters.push_back(argument->getType());
        FunctionCallee callee = function(name, build.getVoidTy(), parameters);
        if (auto *made = dyn_cast<Function>(callee.getCallee())) {
                made->setCallingConv(CallingConv::PreserveMost);
                made->addFnAttr(Attribute::Cold);
        }
        build.CreateCall(callee, arguments)->setCallingConv(CallingConv::PreserveMost);
}

AllocaInst *Runtime::room(Function &function, Type *type)
{
        AllocaInst *&room = rooms[{ &function, type }];
        if (!room)
                room = IRBuilder<>(&*function.getEntryBlock().getFirstInsertionPt()).CreateAlloca(type);
        return room;
}

/* As large as the largest value that comes there. */
Value *Runtime::shared_room(IRBuilder<> &build, unsigned number, uint64_t len, Align align)
{
        Function *function = build.GetInsertBlock()->getParent();
        AllocaInst *&room = shared_rooms[{ function, number }];
        if (!room)
                room = IRBuilder<>(&*function->getEntryBlock().getFirstInsertionPt())
                               .CreateAlloca(build.getInt8Ty(), size(len));
        room->setOperand(0, size(std::max(len, cast<ConstantInt>(room->getArraySize())->getZExtValue())));
        room->setAlignment(std::max(room->getAlign(), align));
        return room;
}

Value *Runtime::shared_room(Instruction &at, unsigned number, Type *type, MaybeAlign align)
{
        const DataLayout &layout = module.getDataLayout();
        IRBuilder<> build(&at);
        Value *room = shared_room(build, number, layout.getTypeAllocSize(type),
                                  std::max(layout.getPrefTypeAlign(type), align.valueOrOne()));
        return build.CreateBitCast(room, PointerType::get(type, 0));
}

/* What they return they put into memory. */
Value *Runtime::call_for_place(IRBuilder<> &build, StringRef name, Value *address, uint64_t len)
{
        AllocaInst *place = room(*build.GetInsertBlock()->getParent(), bytes());
        call_cold(build, name, { as_bytes(build, address), size(len), place });
        return build.CreateLoad(bytes(), place);
}

Value *Runtime::call_read(IRBuilder<> &build, Value *address, uint64_t len)
{
        return call_for_place(build, "xacrt_read", address, len);
}

Value *Runtime::call_write(IRBuilder<> &build, Value *address, uint64_t len)
{
        return call_for_place(build, "xacrt_write", address, len);
}

void Runtime::call_fetch(IRBuilder<> &build, Value *to, Value *address, uint64_t len)
{
        call_cold(build, "xacrt_fetch", { as_bytes(build, to), as_bytes(build, address), size(len) });
}

void Runtime::call_store(IRBuilder<> &build, Value *address, Value *from, uint64_t len)
{
        call_cold(build, "xacrt_store", { as_bytes(build, address), as_bytes(build, from), size(len) });
}

/* extern __thread xac_translations *xac_kept, of the initial-exec model. It does not change once the thread has a view;
 * what was loaded before leads to a table in which nothing is. */
Value *Runtime::kept(IRBuilder<> &build, bool is_write)
{
        Constant *found = module.getOrInsertGlobal("xac_kept", bytes());
        if (auto *variable = dyn_cast<GlobalVariable>(found->stripPointerCasts()))
                variable->setThreadLocalMode(GlobalValue::InitialExecTLSModel);
        LoadInst *translations = build.CreateLoad(bytes(), found);
        translations->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context, {}));
        if (!is_write)
                return translations;
        return build.CreateConstInBoundsGEP1_64(build.getInt8Ty(), translations, offsetof(xac_translations, of_writes));
}

} // namespace xac
