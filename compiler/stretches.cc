/* SPDX-License-Identifier: MIT */

/*
 * Stretches of code without a branch that turn out to meet no view run as they were: what loops.cc does for loops.
 * Several accesses by pointers that are known before the first of them cost one question for each pointer. A loop that
 * is there twice meets a view, if it is the translated one: its stretches are there once.
 */

#include "pass.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

using namespace llvm;

namespace xac
{

namespace
{

/* From the first access to the last. */
struct Stretch {
        Instruction *first = nullptr, *last = nullptr;
        unsigned accesses = 0;
        SmallSetVector<Value *, 4> roots;
        SmallPtrSet<Value *, 16> made; /* in it */
};

} // namespace

static bool is_worth_it(const Stretch &stretch)
{
        return stretch.accesses > stretch.roots.size();
}

/* What can be there twice: neither calls nor atomic operations, nor what must stand alone. */
static bool can_be_inside(Instruction &instruction)
{
        auto *call = dyn_cast<CallBase>(&instruction);
        if (call)
                return isa<IntrinsicInst>(call) && !call->mayReadOrWriteMemory() && !call->getType()->isTokenTy();
        return !isa<AtomicRMWInst>(instruction) && !isa<AtomicCmpXchgInst>(instruction) &&
               !instruction.isTerminator() && !isa<PHINode>(instruction) && !instruction.isEHPad() &&
               !isa<AllocaInst>(instruction);
}

static void find_in_block(BasicBlock &block, SmallVectorImpl<Stretch> &found)
{
        Stretch now;
        auto finish = [&] {
                if (is_worth_it(now))
                        found.push_back(now);
                now = Stretch();
        };
        for (Instruction &instruction : block) {
                if (!can_be_inside(instruction)) {
                        finish();
                        continue;
                }
                if (is_access(instruction)) {
                        Value *root = root_of(getLoadStorePointerOperand(&instruction));
                        if (now.made.count(root))
                                finish();
                        if (!now.first)
                                now.first = &instruction;
                        now.last = &instruction;
                        now.accesses++;
                        now.roots.insert(root);
                }
                if (now.first)
                        now.made.insert(&instruction);
        }
        finish();
}

/* What the stretch makes and others use comes from either. */
static void join_values(BasicBlock *translated, BasicBlock *as_it_was, BasicBlock *rest, ValueToValueMapTy &copies)
{
        for (Instruction &made : *translated) {
                if (!made.isUsedOutsideOfBlock(translated))
                        continue;
                PHINode *value = PHINode::Create(made.getType(), 2, "", &rest->front());
                made.replaceUsesOutsideBlock(value, translated);
                value->addIncoming(&made, translated);
                value->addIncoming(copies[&made], as_it_was);
        }
}

static void spare(const Stretch &stretch, Doubled &doubled)
{
        BasicBlock *question = stretch.first->getParent();
        BasicBlock *translated = SplitBlock(question, stretch.first);
        BasicBlock *rest = SplitBlock(translated, stretch.last->getNextNode());
        ValueToValueMapTy copies;
        BasicBlock *as_it_was = CloneBasicBlock(translated, copies, ".spared", question->getParent());
        SmallVector<BasicBlock *, 1> blocks{ as_it_was };
        remapInstructionsInBlocks(blocks, copies);
        join_values(translated, as_it_was, rest, copies);
        ask_for_any(question, stretch.roots.getArrayRef(), translated, as_it_was);
        doubled.add(as_it_was, translated, stretch.roots.size());
}

void spare_stretches(Function &function, Doubled &doubled)
{
        SmallVector<Stretch, 16> found;
        for (BasicBlock &block : function)
                if (!doubled.spared.count(&block.front()) && !doubled.translated.count(&block.front()))
                        find_in_block(block, found);
        /* From behind: a stretch further back in a block stays where it is when one before it is cut out. */
        for (Stretch &stretch : reverse(found))
                spare(stretch, doubled);
}

} // namespace xac
