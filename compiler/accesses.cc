/* SPDX-License-Identifier: MIT */

/*
 * Loads, stores, atomic operations.
 *
 *      is it in the window? ──no──> the access, as it was ───────────────────┐
 *              │ yes                                                         │
 *      is the unit kept in which it ends, where that of its beginning would be?
 *              │ yes: add      │ no: call                                    │
 *              └───────────────┴────────> a copy of the access, there ───────┴──> what follows
 *
 * Numbers are loaded and stored by the call (lookups.cc). Outside of small loops, that is all there is of a look-up.
 *
 * An access may cross units, also one of a type whose alignment forbids it: processors do not mind, so programs do it.
 * No translation is kept for one that does, as that of the second unit has another entry. It goes through memory on the
 * stack; an atomic one ends the program.
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

/* Where an access is to go, and the end of the block that knows it. */
struct Place {
        Instruction *end = nullptr;
        Value *address = nullptr;
};

/* One access, and the blocks that are put in front of it. */
class Translation
{
public:
        Translation(Runtime &runtime, Instruction &instruction, const Access &access, uint64_t len)
            : runtime(runtime), at(&instruction), access(access), len(len),
              address(instruction.getOperand(access.operand)), may_cross(len > 1 && !is_left_out("crossing")),
              is_copied(may_cross && !access.is_atomic), is_called(is_number(instruction) && !is_left_out("crossing"))
        {
        }

        /* NULL: it is in the window. */
        void translate(Value *is_in_window, bool is_frequent);

private:
        Instruction *ask(Value *is_in_window, BasicBlock *&rest);
        void go_by_call(Instruction *end, BasicBlock *rest);
        void go_by_look_up(Instruction *in_window, BasicBlock *rest);
        Instruction *access_at(Value *place, Instruction *before);
        Value *is_kept(IRBuilder<> &build, Value *number, Value *entry);
        Value *add_delta(IRBuilder<> &build, Value *number, Value *entry);
        Value *fetch(IRBuilder<> &build);
        void store(Instruction *miss, BasicBlock *rest);
        void look_up(Instruction *in_window, Place &hit, Place &miss);

        Runtime &runtime;
        Instruction *at;
        const Access &access;
        const uint64_t len;
        Value *address;
        const bool may_cross;
        const bool is_copied; /* what is not kept */
        const bool is_called; /* for what is not kept, at least */
        /* What it gives, and the blocks that come to what follows. */
        SmallVector<std::pair<Value *, BasicBlock *>, 3> results;
};

} // namespace

/* The entry is that of the unit in which the access ends. Where that is the next one, it is not: there its number is
 * another, modulo the number of entries. */
Value *Translation::is_kept(IRBuilder<> &build, Value *number, Value *entry)
{
        Value *last = may_cross ? build.CreateAdd(number, runtime.size(len - 1)) : number;
        Value *unit = build.CreateLShr(last, XAC_TRANSLATE_SHIFT);
        return build.CreateICmpEQ(build.CreateLoad(runtime.word(), entry), unit);
}

Value *Translation::add_delta(IRBuilder<> &build, Value *number, Value *entry)
{
        Value *delta = build.CreateLoad(runtime.word(), build.CreateConstInBoundsGEP1_64(runtime.word(), entry, 1));
        return build.CreateIntToPtr(build.CreateAdd(number, delta), address->getType());
}

/* Where to read what is not kept. */
Value *Translation::fetch(IRBuilder<> &build)
{
        if (!is_copied)
                return runtime.call_read(build, address, len);
        AllocaInst *copy = runtime.room(*at->getFunction(), access.type);
        runtime.call_fetch(build, copy, address, len);
        return copy;
}

/* Stores what may cross units, and goes on behind the access. */
void Translation::store(Instruction *miss, BasicBlock *rest)
{
        IRBuilder<> build(miss);
        build.SetCurrentDebugLocation(at->getDebugLoc());
        AllocaInst *copy = runtime.room(*at->getFunction(), access.type);
        build.CreateStore(cast<StoreInst>(at)->getValueOperand(), copy);
        runtime.call_store(build, address, copy, len);
        miss->setSuccessor(0, rest);
}

/* The blocks that look up what is kept. Leaves where the access is to go in both. */
void Translation::look_up(Instruction *in_window, Place &hit, Place &miss)
{
        MDBuilder metadata(at->getContext());
        IRBuilder<> build(in_window);
        build.SetCurrentDebugLocation(at->getDebugLoc());
        Value *number = runtime.as_word(build, address);
        Value *index = build.CreateAnd(build.CreateLShr(number, XAC_TRANSLATE_SHIFT), XAC_TRANSLATE_ENTRIES - 1);
        Value *offset = build.CreateMul(index, runtime.size(sizeof(xac_translation)));
        Value *entry = build.CreateInBoundsGEP(build.getInt8Ty(), runtime.kept(build, access.is_write), offset);
        entry = build.CreateBitOrPointerCast(entry, PointerType::get(runtime.word(), 0));
        Value *is_hit = is_kept(build, number, entry);
        SplitBlockAndInsertIfThenElse(is_hit, in_window, &hit.end, &miss.end, metadata.createBranchWeights(1000, 1));
        build.SetInsertPoint(hit.end);
        hit.address = add_delta(build, number, entry);
        if (is_called || (is_copied && access.is_write))
                return;
        build.SetInsertPoint(miss.end);
        Value *called = access.is_write ? runtime.call_write(build, address, len) : fetch(build);
        miss.address = build.CreateBitOrPointerCast(called, address->getType());
}

/* A copy of the access. */
Instruction *Translation::access_at(Value *place, Instruction *before)
{
        Instruction *there = at->clone();
        there->insertBefore(before);
        there->setOperand(access.operand, place);
        results.push_back({ there, before->getParent() });
        return there;
}

void Translation::go_by_call(Instruction *end, BasicBlock *rest)
{
        IRBuilder<> build(end);
        results.push_back({ runtime.call_for_number(build, *at, true), end->getParent() });
        end->setSuccessor(0, rest);
}

void Translation::go_by_look_up(Instruction *in_window, BasicBlock *rest)
{
        Place hit, miss;
        look_up(in_window, hit, miss);
        if (is_called) {
                access_at(hit.address, hit.end);
                hit.end->setSuccessor(0, rest);
                go_by_call(miss.end, rest);
                DeleteDeadBlock(in_window->getParent());
                return;
        }
        /* Where both meet is the copy of the access. */
        in_window->setSuccessor(0, rest);
        PHINode *place = PHINode::Create(address->getType(), 2, "", in_window);
        place->addIncoming(hit.address, hit.end->getParent());
        if (miss.address)
                place->addIncoming(miss.address, miss.end->getParent());
        else
                store(miss.end, rest);
        access_at(place, in_window);
}

/* Where the look-up is to go. */
Instruction *Translation::ask(Value *is_in_window, BasicBlock *&rest)
{
        MDBuilder metadata(at->getContext());
        Instruction *in_window = nullptr;
        if (is_in_window) {
                in_window = SplitBlockAndInsertIfThen(is_in_window, at, false, metadata.createBranchWeights(1, 16));
                results.push_back({ at, at->getParent() });
        }
        rest = SplitBlock(at->getParent(), at->getNextNode());
        return in_window ? in_window : at->getParent()->getTerminator();
}

void Translation::translate(Value *is_in_window, bool is_frequent)
{
        BasicBlock *rest;
        Instruction *in_window = ask(is_in_window, rest);
        if (is_called && !is_frequent)
                go_by_call(in_window, rest);
        else
                go_by_look_up(in_window, rest);
        if (at->getType()->isVoidTy())
                return;
        PHINode *result = PHINode::Create(at->getType(), results.size(), "", &rest->front());
        at->replaceAllUsesWith(result);
        for (auto &[value, block] : results)
                result->addIncoming(value, block);
}

bool translate_access(Runtime &runtime, Questions &questions, Instruction &instruction, bool is_frequent,
                      bool is_in_view)
{
        Access access;
        describe(instruction, access);
        const TypeSize size = instruction.getModule()->getDataLayout().getTypeStoreSize(access.type);
        if (size.isScalable()) {
                complain(instruction,
                         "vectors whose length is not known are not translated: -mllvm -scalable-vectorization=off",
                         true);
                return false;
        }
        if (access.is_atomic && access.align.value() < size) {
                complain(instruction, "an atomic access that may cross pages is not translated", true);
                return false;
        }
        Value *address = instruction.getOperand(access.operand);
        if (is_in_view && !is_frequent && is_number(instruction) && !is_left_out("crossing"))
                return replace_by_call(runtime, instruction, true);
        Translation translation(runtime, instruction, access, size);
        translation.translate(is_in_view ? nullptr : questions.ask(address, &instruction), is_frequent);
        return is_in_view;
}

} // namespace xac
