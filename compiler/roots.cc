/* SPDX-License-Identifier: MIT */

/* Which pointers may lead into a view, and where that is asked. */

#include "pass.h"

#include <llvm/ADT/SmallPtrSet.h>
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

/* ---- how far arithmetic leads ---- */

/* Of an index: within 2^32 elements; nobody knows; a distance between two objects, maybe. */
enum class Reach { near, unknown, far };

/* Numbers of so many bits do not lead from the program's own memory into the window, nor out of it. */
constexpr unsigned NEAR_BITS = 32;

/* Operations that are looked through, one behind the other. */
constexpr unsigned OPERATIONS = 12;

using Seen = SmallPtrSet<const Value *, 16>;

static Reach reach_of(const Value *index, Seen &seen, unsigned depth);

static Reach reach_of_any(ArrayRef<const Value *> values, Seen &seen, unsigned depth)
{
        Reach largest = Reach::near;
        for (const Value *value : values)
                largest = std::max(largest, reach_of(value, seen, depth));
        return largest;
}

/* A part of a number: a mask, a remainder, the upper bits. */
static bool is_cut(const Operator &operation)
{
        if (operation.getNumOperands() != 2)
                return false;
        const auto *by = dyn_cast<ConstantInt>(operation.getOperand(1));
        if (!by)
                return false;
        switch (operation.getOpcode()) {
        case Instruction::LShr:
        case Instruction::AShr:
                return by->getValue().uge(NEAR_BITS);
        case Instruction::And:
        case Instruction::URem:
        case Instruction::SRem:
                return by->getValue().isIntN(NEAR_BITS);
        default:
                return false;
        }
}

static Reach reach_of_operation(const Operator &operation, Seen &seen, unsigned depth)
{
        const unsigned code = operation.getOpcode();
        if (code == Instruction::PtrToInt)
                return Reach::far;
        if (is_cut(operation))
                return Reach::near;
        if (code == Instruction::Select)
                return reach_of_any({ operation.getOperand(1), operation.getOperand(2) }, seen, depth);
        if (!Instruction::isBinaryOp(code) && !Instruction::isCast(code) && code != Instruction::PHI &&
            code != Instruction::Freeze)
                return Reach::unknown;
        SmallVector<const Value *, 4> operands(operation.value_op_begin(), operation.value_op_end());
        return reach_of_any(operands, seen, depth);
}

static Reach reach_of(const Value *index, Seen &seen, unsigned depth)
{
        if (index->getType()->getScalarSizeInBits() <= NEAR_BITS || isa<UndefValue>(index))
                return Reach::near;
        if (const auto *number = dyn_cast<ConstantInt>(index))
                return number->getValue().isSignedIntN(NEAR_BITS + 1) ? Reach::near : Reach::far;
        if (!seen.insert(index).second)
                return Reach::near; /* counted before: a loop's own counter */
        const auto *operation = dyn_cast<Operator>(index);
        return operation && depth ? reach_of_operation(*operation, seen, depth - 1) : Reach::unknown;
}

static Reach reach_of_indices(const GEPOperator &gep)
{
        Reach largest = Reach::near;
        Seen seen;
        for (const Use &index : gep.indices())
                if (!isa<ConstantInt>(index) || gep.getNumIndices() == 1)
                        largest = std::max(largest, reach_of(index, seen, OPERATIONS));
        return largest;
}

static bool is_own_memory(const Value *root);

/* Programs compute the address of one object from that of another, or from NULL, as if both were in one array. Where
 * nothing speaks for it, and the base may be in a view, the base is asked: it is known before a loop begins. */
static bool stays_inside(const GEPOperator &gep)
{
        if (gep.hasAllZeroIndices())
                return true;
        if (!gep.isInBounds())
                return false;
        if (is_left_out("far"))
                return true;
        const Reach reach = reach_of_indices(gep);
        if (reach != Reach::unknown)
                return reach == Reach::near;
        const auto *instruction = dyn_cast<Instruction>(&gep);
        const Value *base = root_of(const_cast<Value *>(gep.getPointerOperand()));
        return !isa<ConstantPointerNull>(base) && !is_own_memory(base) &&
               !(instruction && instruction->getFunction()->hasOptNone());
}

/* Arithmetic that stays within an object, and casts. What leaves it otherwise, as offset pointers do, is asked anew. */
static Value *step_towards_root(Value *address)
{
        if (auto *gep = dyn_cast<GEPOperator>(address))
                return stays_inside(*gep) ? gep->getPointerOperand() : nullptr;
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
