/* SPDX-License-Identifier: MIT */

/* Which pointers may lead into a view, and where that is asked. */

#include "pass.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Operator.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

using namespace llvm;

namespace xac
{

/* XAC_WINDOW_SHIFT, of the machine that is compiled for. */
constexpr unsigned X86_64_SHIFT = 45, OTHER_SHIFT = 37;

/* Arithmetic that stays within an object, and casts. What leaves it otherwise, as offset pointers do, is asked anew. */
static Value *step_towards_root(Value *address)
{
        if (auto *gep = dyn_cast<GEPOperator>(address))
                return gep->isInBounds() || gep->hasAllZeroIndices() ? gep->getPointerOperand() : nullptr;
        if (auto *cast = dyn_cast<BitCastOperator>(address))
                return cast->getOperand(0)->getType()->isPointerTy() ? cast->getOperand(0) : nullptr;
        return nullptr;
}

Value *root_of(Value *address)
{
        while (Value *next = step_towards_root(address))
                address = next;
        return address;
}

/* A call that returns its argument, or the address of a thread's variable. */
static bool is_own_memory(const Value *root)
{
        if (isa<AllocaInst>(root) || isa<GlobalVariable>(root) || isa<Function>(root))
                return true;
        if (auto *argument = dyn_cast<Argument>(root))
                return argument->hasByValAttr();
        if (auto *call = dyn_cast<CallInst>(root))
                if (const Function *callee = call->getCalledFunction())
                        return callee->getName().substr(0, 23) == "llvm.threadlocal.addres";
        return false;
}

static bool is_elsewhere(Value *address, unsigned depth)
{
        Value *root = root_of(address);
        if (is_own_memory(root) || isa<ConstantPointerNull>(root) || isa<UndefValue>(root))
                return true;
        if (auto *select = dyn_cast<SelectInst>(root))
                return depth && is_elsewhere(select->getTrueValue(), depth - 1) &&
                       is_elsewhere(select->getFalseValue(), depth - 1);
        return false;
}

bool is_elsewhere(Value *address)
{
        constexpr unsigned SELECTS = 3;
        return address->getType()->getPointerAddressSpace() != 0 || is_elsewhere(address, SELECTS);
}

/* Behind what makes the value; NULL: there is no such place. */
static Instruction *place_behind(Value *root, Function &function)
{
        if (isa<Argument>(root) || isa<Constant>(root))
                return &*function.getEntryBlock().getFirstInsertionPt();
        auto *made = cast<Instruction>(root);
        if (made->isTerminator())
                return nullptr;
        if (!isa<PHINode>(made) && !made->isEHPad())
                return made->getNextNode();
        auto first = made->getParent()->getFirstInsertionPt();
        return first == made->getParent()->end() ? nullptr : &*first;
}

Value *ask_at(Value *root, Instruction *at)
{
        IRBuilder<> build(at);
        Module *module = at->getModule();
        Type *word = module->getDataLayout().getIntPtrType(module->getContext());
        const unsigned shift =
                Triple(module->getTargetTriple()).getArch() == Triple::x86_64 ? X86_64_SHIFT : OTHER_SHIFT;
        Value *high = build.CreateLShr(build.CreatePtrToInt(root, word), shift);
        return build.CreateICmpEQ(high, ConstantInt::get(word, 1));
}

Value *Questions::ask(Value *address, Instruction *at)
{
        Value *root = root_of(address);
        auto found = answers.find(root);
        if (found != answers.end())
                return found->second;
        Instruction *place = place_behind(root, *at->getFunction());
        if (!place)
                return ask_at(root, at);
        return answers[root] = ask_at(root, place);
}

void ask_for_any(BasicBlock *question, ArrayRef<Value *> roots, BasicBlock *translated, BasicBlock *as_it_was)
{
        Instruction *end = question->getTerminator();
        Value *is_any = nullptr;
        for (Value *root : roots) {
                Value *is_in_window = ask_at(root, end);
                is_any = is_any ? IRBuilder<>(end).CreateOr(is_any, is_in_window) : is_in_window;
        }
        if (is_left_out("sparing"))
                is_any = ConstantInt::getFalse(end->getContext());
        MDBuilder metadata(end->getContext());
        IRBuilder<>(end).CreateCondBr(is_any, translated, as_it_was, metadata.createBranchWeights(1, 16));
        end->eraseFromParent();
}

} // namespace xac
