/* SPDX-License-Identifier: MIT */

/* Functions and intrinsics that access memory. */

#include "pass.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

using namespace llvm;

namespace xac
{

/* ---- functions of the C library ---- */

/* The runtime's instead; empty: there is none. */
static std::string replacement_of(StringRef name)
{
        static const StringSet<> known = {
                "bcmp",          "bcopy",
                "bzero",         "explicit_bzero",
                "index",         "memccpy",
                "memchr",        "memcmp",
                "memcpy",        "memmem",
                "memmove",       "mempcpy",
                "memrchr",       "memset",
                "rawmemchr",     "rindex",
                "stpcpy",        "stpncpy",
                "strcasecmp",    "strcasestr",
                "strcat",        "strchr",
                "strchrnul",     "strcmp",
                "strcpy",        "strcspn",
                "strdup",        "strlen",
                "strncasecmp",   "strncat",
                "strncmp",       "strncpy",
                "strndup",       "strnlen",
                "strpbrk",       "strrchr",
                "strsep",        "strspn",
                "strstr",        "strtok",
                "strtok_r",      "__memcpy_chk",
                "__memmove_chk", "__mempcpy_chk",
                "__memset_chk",  "__explicit_bzero_chk",
                "__strcpy_chk",  "__stpcpy_chk",
                "__strncpy_chk", "__stpncpy_chk",
                "__strcat_chk",  "__strncat_chk",
        };
        if (!known.contains(name))
                return "";
        return ("xacrt_" + (name.substr(0, 2) == "__" ? name.drop_front(2) : name)).str();
}

/* "index" is a name that a program may give to anything: is it like strchr()? */
static bool is_other_than_library(const Function &callee)
{
        const FunctionType *type = callee.getFunctionType();
        return (callee.getName() == "index" || callee.getName() == "rindex") &&
               !(type->getReturnType()->isPointerTy() && type->getNumParams() == 2 &&
                 type->getParamType(0)->isPointerTy() && type->getParamType(1)->isIntegerTy(32));
}

static bool is_library_call(const CallBase &call)
{
        const Function *callee = call.getCalledFunction();
        return callee && callee->isDeclaration() && !replacement_of(callee->getName()).empty() &&
               !is_other_than_library(*callee);
}

bool is_translated_call(const CallBase &call)
{
        return is_library_call(call);
}

/* Whatever it is called with: what goes on where an earlier call has ended, which may be in a view; and what gives
 * memory, which is to come from the program's malloc(), as it does for other arguments. The C library would ask its
 * own. */
static bool is_always_ours(const CallBase &call)
{
        const StringRef name = call.getCalledFunction()->getName();
        return name == "strtok" || name == "strtok_r" || name == "strsep" || name == "strdup" || name == "strndup";
}

static bool is_all_elsewhere(const CallBase &call)
{
        for (const Use &argument : call.args())
                if (argument->getType()->isPtrOrPtrVectorTy() &&
                    (argument->getType()->isVectorTy() || !is_elsewhere(argument)))
                        return false;
        return true;
}

bool is_given_address(const CallBase &call)
{
        return !is_all_elsewhere(call);
}

/* Gathers may have their addresses in vectors of numbers, all or but for a base that is none. */
static bool has_hidden_address(const IntrinsicInst &call)
{
        bool has_address = false;
        for (const Use &argument : call.args()) {
                if (isa<ConstantPointerNull>(argument))
                        return true;
                has_address |= argument->getType()->isPtrOrPtrVectorTy();
        }
        return !has_address;
}

static void replace_library_call(CallBase &call)
{
        Function *callee = call.getCalledFunction();
        FunctionCallee own =
                call.getModule()->getOrInsertFunction(replacement_of(callee->getName()), call.getFunctionType());
        call.setCalledFunction(own);
        call.setAttributes(
                AttributeList()); /* what holds for the library's holds not for ours: it writes what it keeps */
}

/* A program's own strdup() counts for all of the program: it gets the name of the runtime's, which is weak. */
static void offer_definition(Function &own)
{
        const std::string name = replacement_of(own.getName());
        if (name.empty() || is_other_than_library(own) || own.hasComdat() ||
            !(own.hasExternalLinkage() || own.hasWeakLinkage()))
                return;
        GlobalValue *declared = own.getParent()->getNamedValue(name);
        if (declared && !declared->isDeclaration())
                return;
        GlobalAlias *alias = GlobalAlias::create(own.getValueType(), 0, own.getLinkage(), "", &own, own.getParent());
        alias->setVisibility(GlobalValue::HiddenVisibility);
        if (declared) {
                declared->replaceAllUsesWith(ConstantExpr::getBitCast(alias, declared->getType()));
                alias->takeName(declared);
                declared->eraseFromParent();
        }
        alias->setName(name);
}

void offer_definitions(Module &module)
{
        for (Function &function : module)
                if (!function.isDeclaration())
                        offer_definition(function);
}

/* ---- copying and filling ---- */

/* Leaves the intrinsic for the case that none of the addresses leads into the window. Returns where the other case is
 * to be dealt with. */
static Instruction *spare(Questions &questions, MemIntrinsic &call, ArrayRef<Value *> addresses)
{
        Value *is_any = nullptr;
        for (Value *address : addresses) {
                if (is_elsewhere(address))
                        continue;
                Value *is_in_window = questions.ask(address, &call);
                is_any = is_any ? IRBuilder<>(&call).CreateOr(is_any, is_in_window) : is_in_window;
        }
        Instruction *in_window, *elsewhere;
        SplitBlockAndInsertIfThenElse(is_any, &call, &in_window, &elsewhere,
                                      MDBuilder(call.getContext()).createBranchWeights(1, 16));
        call.moveBefore(elsewhere);
        return in_window;
}

static void translate_copy(Runtime &runtime, Questions &questions, MemTransferInst &copy)
{
        IRBuilder<> build(spare(questions, copy, { copy.getRawDest(), copy.getRawSource() }));
        build.SetCurrentDebugLocation(copy.getDebugLoc());
        FunctionCallee own = runtime.function(isa<MemMoveInst>(copy) ? "xacrt_memmove" : "xacrt_memcpy",
                                              runtime.bytes(), { runtime.bytes(), runtime.bytes(), runtime.word() });
        build.CreateCall(own,
                         { runtime.as_bytes(build, copy.getRawDest()), runtime.as_bytes(build, copy.getRawSource()),
                           build.CreateZExtOrTrunc(copy.getLength(), runtime.word()) });
}

static void translate_fill(Runtime &runtime, Questions &questions, MemSetInst &fill)
{
        IRBuilder<> build(spare(questions, fill, { fill.getRawDest() }));
        build.SetCurrentDebugLocation(fill.getDebugLoc());
        FunctionCallee own = runtime.function("xacrt_memset", runtime.bytes(),
                                              { runtime.bytes(), build.getInt32Ty(), runtime.word() });
        build.CreateCall(own, { runtime.as_bytes(build, fill.getRawDest()),
                                build.CreateZExt(fill.getValue(), build.getInt32Ty()),
                                build.CreateZExtOrTrunc(fill.getLength(), runtime.word()) });
}

/* ---- vectors of which some elements take part ---- */

namespace
{

/* An intrinsic on vectors, done in memory of the function's own, between which and the view the runtime copies. */
class MaskedCall
{
public:
        MaskedCall(Runtime &runtime, IntrinsicInst &call, FixedVectorType *type, Value *mask)
            : runtime(runtime), call(call), build(&call), type(type), mask(mask),
              copy(runtime.shared_room(call, 0, type)),
              size(call.getModule()->getDataLayout().getTypeStoreSize(type->getElementType()))
        {
        }

        /* Without a mask of more than 64 elements, and elements that lie as in an array. */
        bool is_possible() const
        {
                const DataLayout &layout = call.getModule()->getDataLayout();
                return type->getNumElements() <= 64 &&
                       layout.getTypeSizeInBits(type->getElementType()) == 8 * uint64_t(size);
        }

        void fetch(const char *function, Value *from);
        void store(const char *function, Value *to, Value *values);
        Value *addresses(Value *pointers);
        void finish(Value *otherwise);

private:
        Value *mask_bits();

        Runtime &runtime;
        IntrinsicInst &call;
        IRBuilder<> build;
        FixedVectorType *type;
        Value *mask;
        Value *copy;
        TypeSize size;
};

} // namespace

Value *MaskedCall::mask_bits()
{
        Value *bits = build.CreateBitCast(mask, build.getIntNTy(type->getNumElements()));
        return build.CreateZExt(bits, build.getInt64Ty());
}

/* A vector of pointers, as an array of them. */
Value *MaskedCall::addresses(Value *pointers)
{
        Value *array = runtime.shared_room(call, 1, pointers->getType());
        build.CreateStore(pointers, array);
        return array;
}

void MaskedCall::fetch(const char *function, Value *from)
{
        FunctionCallee own = runtime.function(function, build.getVoidTy(),
                                              { runtime.bytes(), runtime.bytes(), build.getInt64Ty(), runtime.word() });
        build.CreateCall(
                own, { runtime.as_bytes(build, copy), runtime.as_bytes(build, from), mask_bits(), runtime.size(size) });
}

void MaskedCall::store(const char *function, Value *to, Value *values)
{
        build.CreateStore(values, copy);
        FunctionCallee own = runtime.function(function, build.getVoidTy(),
                                              { runtime.bytes(), runtime.bytes(), build.getInt64Ty(), runtime.word() });
        build.CreateCall(
                own, { runtime.as_bytes(build, to), runtime.as_bytes(build, copy), mask_bits(), runtime.size(size) });
        call.eraseFromParent();
}

/* The result: elements that take part, and others from elsewhere. */
void MaskedCall::finish(Value *otherwise)
{
        call.replaceAllUsesWith(build.CreateSelect(mask, build.CreateLoad(type, copy), otherwise));
        call.eraseFromParent();
}

/* The intrinsics, by their arguments. False: none of them, or of a form that is not known. */
static bool replace_masked(Runtime &runtime, IntrinsicInst &call)
{
        const Intrinsic::ID id = call.getIntrinsicID();
        const bool is_store = id == Intrinsic::masked_store || id == Intrinsic::masked_scatter;
        if (!is_store && id != Intrinsic::masked_load && id != Intrinsic::masked_gather)
                return false;
        auto *type = dyn_cast<FixedVectorType>(is_store ? call.getArgOperand(0)->getType() : call.getType());
        if (!type)
                return false;
        MaskedCall masked(runtime, call, type, call.getArgOperand(is_store ? 3 : 2));
        if (!masked.is_possible())
                return false;
        Value *address = call.getArgOperand(is_store ? 1 : 0);
        Value *other = call.getArgOperand(is_store ? 0 : 3);
        if (id == Intrinsic::masked_load)
                masked.fetch("xacrt_fetch_masked", address);
        else if (id == Intrinsic::masked_gather)
                masked.fetch("xacrt_gather", masked.addresses(address));
        else if (id == Intrinsic::masked_store)
                masked.store("xacrt_store_masked", address, other);
        else
                masked.store("xacrt_scatter", masked.addresses(address), other);
        if (!is_store)
                masked.finish(other);
        return true;
}

/* ---- what is left ---- */

/* A struct that is passed by value is copied by the call itself: here it is copied before. */
static void pass_copies(Runtime &runtime, CallBase &call)
{
        unsigned copies = 0;
        for (unsigned i = 0; i < call.arg_size(); i++) {
                if (!call.isByValArgument(i) || is_elsewhere(call.getArgOperand(i)))
                        continue;
                if (call.isMustTailCall())
                        complain(call, "a struct by value, in a call that must be a tail call, is not translated",
                                 true);
                Value *argument = call.getArgOperand(i);
                Type *type = call.getParamByValType(i);
                IRBuilder<> build(&call);
                Value *copy = runtime.shared_room(call, copies++, type, call.getParamAlign(i));
                const uint64_t len = call.getModule()->getDataLayout().getTypeAllocSize(type);
                runtime.call_fetch(build, copy, argument, len);
                call.setArgOperand(i, build.CreateBitOrPointerCast(copy, argument->getType()));
        }
}

/* Assembly without text is a barrier for the optimiser. */
static bool may_assembly_access(const CallBase &call)
{
        return !cast<InlineAsm>(call.getCalledOperand())->getAsmString().empty() && !is_all_elsewhere(call);
}

/* It writes, and no function of ours can do it: who calls it must not return before longjmp(). */
static bool is_setjmp(const CallBase &call)
{
        const Function *callee = call.getCalledFunction();
        return callee && callee->isDeclaration() && call.arg_size() &&
               StringSwitch<bool>(callee->getName())
                       .Cases("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", true)
                       .Default(false);
}

bool may_access_memory(CallBase &call)
{
        if (call.isInlineAsm())
                return may_assembly_access(call);
        if (const Function *callee = call.getCalledFunction())
                if (is_left_out(callee->getName()) || (callee->isIntrinsic() && is_left_out("intrinsic")))
                        return false;
        for (unsigned i = 0; i < call.arg_size(); i++)
                if (call.isByValArgument(i) && !is_elsewhere(call.getArgOperand(i)) && !is_left_out("byval"))
                        return true;
        if (auto *intrinsic = dyn_cast<IntrinsicInst>(&call))
                return !is_harmless(*intrinsic) && (has_hidden_address(*intrinsic) || !is_all_elsewhere(call));
        if (is_setjmp(call))
                return !is_elsewhere(call.getArgOperand(0));
        return is_library_call(call) && (is_always_ours(call) || !is_all_elsewhere(call));
}

static void translate_intrinsic(Runtime &runtime, Questions &questions, IntrinsicInst &call)
{
        if (auto *copy = dyn_cast<MemTransferInst>(&call))
                translate_copy(runtime, questions, *copy);
        else if (auto *fill = dyn_cast<MemSetInst>(&call))
                translate_fill(runtime, questions, *fill);
        else if (!replace_masked(runtime, call) && !translate_buffer(runtime, call))
                complain(call,
                         "accesses of " + call.getCalledFunction()->getName() +
                                 " are not translated; what meets no view can be in a file that clang compiles",
                         true);
}

void translate_call(Runtime &runtime, Questions &questions, CallBase &call)
{
        if (call.isInlineAsm()) {
                complain(call, "memory that inline assembly accesses is not translated: give it no addresses in views",
                         false);
                return;
        }
        if (auto *intrinsic = dyn_cast<IntrinsicInst>(&call)) {
                translate_intrinsic(runtime, questions, *intrinsic);
                return;
        }
        if (is_setjmp(call))
                complain(call, "what setjmp() writes is not translated: have the buffer on the stack, not in views",
                         false);
        pass_copies(runtime, call);
        if (is_library_call(call))
                replace_library_call(call);
}

} // namespace xac
