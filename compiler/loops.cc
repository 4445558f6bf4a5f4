/* SPDX-License-Identifier: MIT */

/*
 * Loops that turn out to meet no view run as they were.
 *
 * An innermost loop that gets at memory only by addresses whose roots (roots.cc) are known before it begins is there
 * twice: translated, and as it was, for the case that no root leads into the window. So it costs those who never touch
 * a view one question for each root and loop.
 */

#include "pass.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

using namespace llvm;

namespace xac
{

namespace
{

using Roots = SmallSetVector<Value *, 8>;

constexpr unsigned ROOTS_MAX = 8, INSTRUCTIONS_MAX = 400;

} // namespace

void Doubled::add(ArrayRef<BasicBlock *> as_it_was, ArrayRef<BasicBlock *> translated_blocks, size_t roots)
{
        for (BasicBlock *block : as_it_was)
                for (Instruction &instruction : *block)
                        spared.insert(&instruction);
        for (BasicBlock *block : translated_blocks)
                for (Instruction &instruction : *block) {
                        translated.insert(&instruction);
                        if (roots == 1)
                                in_view.insert(&instruction);
                }
}

/* The roots of all that it accesses. False: some are not known before it begins, or it is too large, or accesses
 * nothing. */
static bool find_roots(const Loop &loop, Roots &roots)
{
        unsigned count = 0;
        for (BasicBlock *block : loop.blocks())
                for (Instruction &instruction : *block) {
                        auto *call = dyn_cast<CallBase>(&instruction);
                        if (++count > INSTRUCTIONS_MAX || (call && may_access_memory(*call)))
                                return false;
                        if (!is_access(instruction))
                                continue;
                        Value *address = getLoadStorePointerOperand(&instruction);
                        if (!address || !loop.isLoopInvariant(root_of(address)))
                                return false;
                        roots.insert(root_of(address));
                }
        return !roots.empty() && roots.size() <= ROOTS_MAX;
}

/* What comes out of the loop comes out of either. */
static void join_exits(const Loop &loop, ValueToValueMapTy &copies)
{
        SmallVector<BasicBlock *, 8> exits;
        loop.getUniqueExitBlocks(exits);
        for (BasicBlock *exit : exits)
                for (PHINode &phi : exit->phis())
                        for (unsigned i = 0, before = phi.getNumIncomingValues(); i < before; i++) {
                                Value *value = phi.getIncomingValue(i);
                                auto copy = copies.find(value);
                                phi.addIncoming(copy == copies.end() ? value : static_cast<Value *>(copy->second),
                                                cast<BasicBlock>(copies[phi.getIncomingBlock(i)]));
                        }
}

/* What came behind blocks of the loop comes behind either loop now, so behind the question. */
static void move_behind(BasicBlock &question, const Loop &loop, DominatorTree &dominators)
{
        SmallVector<BasicBlock *, 8> behind;
        for (BasicBlock *block : loop.blocks())
                for (DomTreeNode *child : *dominators.getNode(block))
                        if (!loop.contains(child->getBlock()))
                                behind.push_back(child->getBlock());
        for (BasicBlock *block : behind)
                dominators.changeImmediateDominator(block, &question);
}

static void spare(Loop &loop, const Roots &roots, LoopInfo &loops, DominatorTree &dominators, Doubled &doubled)
{
        formLCSSA(loop, dominators, &loops, nullptr);
        BasicBlock *question = loop.getLoopPreheader();
        BasicBlock *translated = SplitBlock(question, question->getTerminator(), &dominators, &loops);
        ValueToValueMapTy copies;
        SmallVector<BasicBlock *, 8> blocks;
        cloneLoopWithPreheader(translated, question, &loop, copies, ".spared", &loops, &dominators, blocks);
        remapInstructionsInBlocks(blocks, copies);
        join_exits(loop, copies);
        ask_for_any(question, roots.getArrayRef(), translated, cast<BasicBlock>(copies[translated]));
        move_behind(*question, loop, dominators);
        doubled.add(blocks, loop.getBlocks(), roots.size());
}

void spare_loops(Function &function, FunctionAnalysisManager &analyses, Doubled &doubled)
{
        auto &loops = analyses.getResult<LoopAnalysis>(function);
        auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
        auto &assumptions = analyses.getResult<AssumptionAnalysis>(function);
        for (Loop *loop : loops.getLoopsInPreorder()) {
                Roots roots;
                if (!loop->isInnermost() || !loop->isSafeToClone() || !find_roots(*loop, roots))
                        continue;
                simplifyLoop(loop, &dominators, &loops, nullptr, &assumptions, nullptr, false);
                if (loop->isLoopSimplifyForm())
                        spare(*loop, roots, loops, dominators, doubled);
        }
}

} // namespace xac
