/* SPDX-License-Identifier: MIT */

/* Where in the compilation the pass runs, and what it does to a function. */

#include "pass.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <cstdlib>

using namespace llvm;

namespace xac
{

void complain(Instruction &at, const Twine &message, bool is_error)
{
        report(at, message);
        at.getContext().diagnose(DiagnosticInfoUnsupported(*at.getFunction(), "xac-cc: " + message, at.getDebugLoc(),
                                                           is_error ? DS_Error : DS_Warning));
}

bool is_left_out(StringRef part)
{
        static const char *const named = secure_getenv("XAC_PASS_LEAVES_OUT");
        return named && part == named;
}

/* ---- what the optimiser must not believe ---- */

/* Early: a load that the source does not do is not to be done ahead, be the memory there or not. Between transactions
 * it would be an access to a view. */
static void forbid_speculation(Function &function)
{
        for (Argument &argument : function.args()) {
                argument.removeAttr(Attribute::Dereferenceable);
                argument.removeAttr(Attribute::DereferenceableOrNull);
        }
        function.removeRetAttr(Attribute::Dereferenceable);
        function.removeRetAttr(Attribute::DereferenceableOrNull);
        for (Instruction &instruction : instructions(function)) {
                if (auto *call = dyn_cast<CallBase>(&instruction)) {
                        call->removeRetAttr(Attribute::Dereferenceable);
                        call->removeRetAttr(Attribute::DereferenceableOrNull);
                        for (unsigned i = 0; i < call->arg_size(); i++) {
                                call->removeParamAttr(i, Attribute::Dereferenceable);
                                call->removeParamAttr(i, Attribute::DereferenceableOrNull);
                        }
                }
                instruction.setMetadata(LLVMContext::MD_dereferenceable, nullptr);
                instruction.setMetadata(LLVMContext::MD_dereferenceable_or_null, nullptr);
        }
}

/* Late: whoever translates accesses what is kept, and the transaction, besides the memory that it is told to. */
static constexpr Attribute::AttrKind CLAIMS[] = {
#if LLVM_VERSION_MAJOR >= 16
        Attribute::Memory,
#else
        Attribute::ArgMemOnly,
        Attribute::InaccessibleMemOnly,
        Attribute::InaccessibleMemOrArgMemOnly,
        Attribute::ReadNone,
        Attribute::ReadOnly,
        Attribute::WriteOnly,
#endif
        Attribute::Speculatable,
        Attribute::NoSync,
        Attribute::NoFree,
};

static void withdraw_claims(Function &function)
{
        if (function.isIntrinsic())
                return;
        for (Attribute::AttrKind claim : CLAIMS)
                function.removeFnAttr(claim);
        for (User *user : function.users()) {
                auto *call = dyn_cast<CallBase>(user);
                if (!call || call->getCalledFunction() != &function)
                        continue;
                for (Attribute::AttrKind claim : CLAIMS)
                        call->removeFnAttr(claim);
        }
}

/* ---- a function ---- */

/* The pass comes by twice where an object holds bitcode as well as code, and where bitcode is compiled once more. */
static constexpr char TRANSLATED[] = "xac-translated";

static bool is_ours(const Function &function)
{
        return function.getName().substr(0, 6) == "xacrt_";
}

/* Look-ups that stand inline in one function. Each is six blocks, and the compiler's time grows with more than their
 * number. Beyond that, code that is there twice has calls where it is translated, which are no block more. */
constexpr unsigned INLINE_MAX = 400;

/* The accesses of one function. */
struct Accesses {
        SmallVector<Instruction *, 64> all;
        SmallVector<CallBase *, 16> calls;
        SmallPtrSet<Instruction *, 32> frequent;
        Doubled doubled;

        bool is_inline(Instruction *access) const
        {
                return doubled.translated.count(access) && (frequent.count(access) || !is_number(*access));
        }
};

static void find_accesses(Function &function, Accesses &found)
{
        for (Instruction &instruction : instructions(function)) {
                auto *call = dyn_cast<CallBase>(&instruction);
                if (found.doubled.spared.count(&instruction))
                        continue;
                if (call && may_access_memory(*call))
                        found.calls.push_back(call);
                else if (is_access(instruction))
                        found.all.push_back(&instruction);
                else if (isa<VAArgInst>(instruction))
                        complain(instruction, "va_arg as an instruction of LLVM is not translated", true);
        }
}

static void translate_accesses(Runtime &runtime, Questions &questions, Accesses &accesses, bool is_small)
{
        const bool is_crowded =
                count_if(accesses.all, [&](Instruction *access) { return accesses.is_inline(access); }) > INLINE_MAX;
        SmallVector<Instruction *, 64> unused;
        for (Instruction *access : accesses.all) {
                const bool is_in_view = accesses.doubled.in_view.count(access);
                const bool is_simple =
                        (is_small && is_number(*access)) ||
                        (is_crowded && accesses.doubled.translated.count(access) && is_replaceable(*access));
                if (is_simple ? replace_by_call(runtime, *access, is_in_view)
                              : translate_access(runtime, questions, *access, accesses.frequent.count(access),
                                                 is_in_view))
                        unused.push_back(access);
        }
        for (Instruction *access : unused)
                access->eraseFromParent();
}

static bool translate_function(Function &function, FunctionAnalysisManager &analyses)
{
        Accesses accesses;
        const bool is_small = function.hasOptSize();
        if (!function.hasOptNone() && !is_small) {
                spare_loops(function, analyses, accesses.doubled);
                find_frequent(function, analyses, accesses.frequent);
                spare_stretches(function, accesses.doubled);
        }
        find_accesses(function, accesses);
        Runtime runtime(*function.getParent());
        Questions questions;
        translate_accesses(runtime, questions, accesses, is_small);
        for (CallBase *call : accesses.calls)
                translate_call(runtime, questions, *call);
        return !accesses.all.empty() || !accesses.calls.empty() || !accesses.doubled.spared.empty();
}

/* What the C library says of itself stays: sqrt() is an instruction because it accesses no memory. */
static bool is_of_library(Function &function, FunctionAnalysisManager &analyses)
{
        LibFunc known;
        return function.isDeclaration() &&
               analyses.getResult<TargetLibraryAnalysis>(function).getLibFunc(function, known);
}

/* Of what this thread compiles: the linker may put functions in an order by how often they call each other. Without a
 * profile there is nothing to tell it, but LLVM counts all blocks to find that out. */
static thread_local bool has_profile = true;

namespace
{

struct Early : PassInfoMixin<Early> {
        static bool isRequired()
        {
                return true;
        }

        PreservedAnalyses run(Module &module, ModuleAnalysisManager &)
        {
                if (secure_getenv("XAC_PASS_PRINTS_INTRINSICS"))
                        print_intrinsics(module.getContext());
                for (Function &function : module)
                        if (!is_left_out("speculation"))
                                forbid_speculation(function);
                return PreservedAnalyses::none();
        }
};

struct Late : PassInfoMixin<Late> {
        static bool isRequired()
        {
                return true;
        }

        PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses)
        {
                auto &of_functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
                SmallVector<Function *, 32> functions;
                if (!is_left_out("definitions"))
                        offer_definitions(module);
                for (Function &function : module)
                        if (!function.isDeclaration() && !is_ours(function) && !function.hasFnAttribute(TRANSLATED) &&
                            !function.hasFnAttribute(Attribute::Naked))
                                functions.push_back(&function);
                for (Function *function : functions) {
                        report_function(*function);
                        if (translate_function(*function, of_functions))
                                of_functions.invalidate(*function, PreservedAnalyses::none());
                        function->addFnAttr(TRANSLATED);
                }
                finish_report(module);
                has_profile = module.getProfileSummary(false) != nullptr;
                for (Function &function : module)
                        if (!is_of_library(function, of_functions))
                                withdraw_claims(function);
                return PreservedAnalyses::none();
        }
};

} // namespace

static void add_passes(PassBuilder &builder)
{
        if (PassInstrumentationCallbacks *callbacks = builder.getPassInstrumentationCallbacks())
                callbacks->registerShouldRunOptionalPassCallback(
                        [](StringRef pass, auto &&) { return pass != "CGProfilePass" || has_profile; });
        builder.registerPipelineStartEPCallback([](ModulePassManager &passes, auto) { passes.addPass(Early()); });
        builder.registerOptimizerLastEPCallback([](ModulePassManager &passes, auto &&...) { passes.addPass(Late()); });
}

} // namespace xac

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo()
{
        return { LLVM_PLUGIN_API_VERSION, "xac", LLVM_VERSION_STRING, xac::add_passes };
}
