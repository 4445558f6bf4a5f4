/* SPDX-License-Identifier: MIT */

/*
 * Loads, stores, atomic operations.
 *
 *      in front:  is it in the window? ──no──────────────────────┐
 *                      │ yes                                     │
 *                 is its unit kept, and does it end there?       │
 *                      │ yes: add      │ no: call                │
 *                      └───────────────┴────────> the access <───┘
 *
 * An access that may cross units goes through a copy if it does.
 */

#include "pass.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <xac/translate.h>

using namespace llvm;

namespace xac
{

namespace
{

struct Access {
        unsigned operand; /* its address */
        Type *type;       /* what is read or written */
        Align align;
        bool is_write;
        bool is_atomic;
};

constexpr uint64_t UNIT = uint64_t(1) << XAC_TRANSLATE_SHIFT;

} // namespace

static bool describe(Instruction &instruction, Access &access)
{
        if (auto *load = dyn_cast<LoadInst>(&instruction))
                access = { LoadInst::getPointerOperandIndex(), load->getType(), load->getAlign(), false,
                           load->isAtomic() };
        else if (auto *store = dyn_cast<StoreInst>(&instruction))
                access = { StoreInst::getPointerOperandIndex(), store->getValueOperand()->getType(), store->getAlign(),
                           true, store->isAtomic() };
        else if (auto *change = dyn_cast<AtomicRMWInst>(&instruction))
                access = { AtomicRMWInst::getPointerOperandIndex(), change->getType(), change->getAlign(), true, true };
        else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
                access = { AtomicCmpXchgInst::getPointerOperandIndex(), exchange->getNewValOperand()->getType(),
                           exchange->getAlign(), true, true };
        else
                return false;
        return true;
}

bool is_access(Instruction &instruction)
{
        Access access;
        return describe(instruction, access) && !is_elsewhere(instruction.getOperand(access.operand)) &&
               !is_left_out(instruction.getOpcodeName()) && !(access.is_atomic && is_left_out("atomic"));
}

namespace
{

/* One access, and the blocks that are put in front of it. */
class Translation
{
      public:
        Translation(Runtime &runtime, Instruction &instruction, const Access &access, uint64_t len)
            : runtime(runtime), at(&instruction), access(access), len(len),
              address(instruction.getOperand(access.operand)),
              may_cross(access.align.value() < len && !is_left_out("crossing"))
        {
        }

        void translate(Value *is_in_window);

      private:
        Value *is_kept(IRBuilder<> &build, Value *number, Value *entry);
        Value *add_delta(IRBuilder<> &build, Value *number, Value *entry);
        Value *fetch(IRBuilder<> &build);
        void store(Instruction *miss);

        Runtime &runtime;
        Instruction *at;
        const Access &access;
        const uint64_t len;
        Value *address;
        const bool may_cross;
};

} // namespace

/* The entry's unit is ours, and the access ends in it. */
Value *Translation::is_kept(IRBuilder<> &build, Value *number, Value *entry)
{
        Value *unit = build.CreateLShr(number, XAC_TRANSLATE_SHIFT);
        Value *is_same = build.CreateICmpEQ(build.CreateLoad(runtime.word(), entry), unit);
        if (!may_cross)
                return is_same;
        Value *within = build.CreateAnd(number, UNIT - 1);
        return build.CreateAnd(is_same, build.CreateICmpULE(within, runtime.size(UNIT - len)));
}

Value *Translation::add_delta(IRBuilder<> &build, Value *number, Value *entry)
{
        Value *delta = build.CreateLoad(runtime.word(), build.CreateConstInBoundsGEP1_64(runtime.word(), entry, 1));
        return build.CreateIntToPtr(build.CreateAdd(number, delta), address->getType());
}

/* Where to read what is not kept. */
Value *Translation::fetch(IRBuilder<> &build)
{
        if (!may_cross)
                return runtime.call_read(build, address);
        AllocaInst *copy = make_room(*at->getFunction(), access.type);
        runtime.call_fetch(build, copy, address, len);
        return copy;
}

/* Stores on a way of its own, around the store that was there. */
void Translation::store(Instruction *miss)
{
        BasicBlock *behind = at->getParent();
        BasicBlock *rest = SplitBlock(behind, at->getNextNode());
        IRBuilder<> build(miss);
        build.SetCurrentDebugLocation(at->getDebugLoc());
        AllocaInst *copy = make_room(*at->getFunction(), access.type);
        build.CreateStore(cast<StoreInst>(at)->getValueOperand(), copy);
        runtime.call_store(build, address, copy, len);
        miss->replaceUsesOfWith(behind, rest);
}

void Translation::translate(Value *is_in_window)
{
        MDBuilder metadata(at->getContext());
        BasicBlock *front = at->getParent();
        Instruction *in_window = SplitBlockAndInsertIfThen(is_in_window, at, false);
        BasicBlock *behind = at->getParent();

        IRBuilder<> build(in_window);
        build.SetCurrentDebugLocation(at->getDebugLoc());
        Value *number = runtime.as_word(build, address);
        Value *index = build.CreateAnd(build.CreateLShr(number, XAC_TRANSLATE_SHIFT), XAC_TRANSLATE_ENTRIES - 1);
        Value *offset = build.CreateMul(index, runtime.size(sizeof(xac_translation)));
        Value *entry = build.CreateInBoundsGEP(build.getInt8Ty(), runtime.kept(build, access.is_write), offset);
        entry = build.CreateBitOrPointerCast(entry, PointerType::get(runtime.word(), 0));
        Value *is_hit = is_kept(build, number, entry);

        Instruction *hit, *miss;
        SplitBlockAndInsertIfThenElse(is_hit, in_window, &hit, &miss, metadata.createBranchWeights(1000, 1));
        BasicBlock *joined = in_window->getParent(); /* of two ways, of three that lead to the access */
        hit->replaceUsesOfWith(joined, behind);
        miss->replaceUsesOfWith(joined, behind);
        DeleteDeadBlock(joined);

        PHINode *place = PHINode::Create(address->getType(), 3, "", &behind->front());
        place->addIncoming(address, front);
        build.SetInsertPoint(hit);
        place->addIncoming(add_delta(build, number, entry), hit->getParent());
        at->setOperand(access.operand, place);
        if (may_cross && access.is_write) {
                store(miss);
                return;
        }
        build.SetInsertPoint(miss);
        Value *called = access.is_write ? runtime.call_write(build, address) : fetch(build);
        place->addIncoming(build.CreateBitOrPointerCast(called, address->getType()), miss->getParent());
}

void translate_access(Runtime &runtime, Questions &questions, Instruction &instruction)
{
        Access access;
        describe(instruction, access);
        const TypeSize size = instruction.getModule()->getDataLayout().getTypeStoreSize(access.type);
        if (size.isScalable()) {
                complain(instruction, "vectors whose length is not known are not translated", true);
                return;
        }
        if (access.is_atomic && access.align.value() < size) {
                complain(instruction, "an atomic access that may cross pages is not translated", true);
                return;
        }
        Value *address = instruction.getOperand(access.operand);
        Translation translation(runtime, instruction, access, size);
        translation.translate(questions.ask(address, &instruction));
}

} // namespace xac
