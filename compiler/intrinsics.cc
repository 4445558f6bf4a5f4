/* SPDX-License-Identifier: MIT */

/*
 * Which of LLVM's intrinsics access memory that may be in a view. Each that LLVM says accesses memory is in one of
 * three lists (docs/COMPILER.md has them, too). A new one, which is in none, is refused, never left out in silence.
 *
 * A name that ends with a star is a beginning of names.
 */

#include "pass.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#if LLVM_VERSION_MAJOR >= 16
#include <llvm/Support/ModRef.h>
#endif
#include <llvm/Support/raw_ostream.h>

using namespace llvm;

namespace xac
{

/* Accesses of these are done in views, too (calls.cc). */
static constexpr const char *TRANSLATED[] = {
        "eh.sjlj.longjmp",
        "eh.sjlj.setjmp",
        "masked.gather",
        "masked.load",
        "masked.scatter",
        "masked.store",
        "memcpy",
        "memcpy.inline",
        "memmove",
        "memset",
        "memset.inline",
        "va_copy",
        "va_start",
        "x86.avx512.mask.pmov.*",
        "x86.avx512.mask.pmovs.*",
        "x86.avx512.mask.pmovus.*",
};

/* These access nothing that could be in a view: registers, the stack, what the compiler alone knows. */
static constexpr const char *HARMLESS[] = {
        "aarch64.break",
        "aarch64.clrex",
        "aarch64.dmb",
        "aarch64.dsb",
        "aarch64.get.fpcr",
        "aarch64.hint",
        "aarch64.irg*",
        "aarch64.isb",
        "aarch64.prefetch",
        "aarch64.rndr*",
        "aarch64.set.fpcr",
        "aarch64.sme.add*",
        "aarch64.sme.f*",
        "aarch64.sme.get*",
        "aarch64.sme.mop*",
        "aarch64.sme.read*",
        "aarch64.sme.set*",
        "aarch64.sme.sm*",
        "aarch64.sme.sub*",
        "aarch64.sme.sum*",
        "aarch64.sme.suv*",
        "aarch64.sme.sv*",
        "aarch64.sme.u*",
        "aarch64.sme.write*",
        "aarch64.sme.z*",
        "aarch64.space",
        "aarch64.sve.prf*",
        "aarch64.sve.psel",
        "aarch64.sve.rdffr*",
        "aarch64.sve.setffr",
        "aarch64.sve.tuple.*",
        "aarch64.sve.while*",
        "aarch64.sve.wrffr",
        "aarch64.tcancel",
        "aarch64.tcommit",
        "aarch64.tstart",
        "aarch64.ttest",
        "adjust.trampoline",
        "allow.*",
        "annotation",
        "assume",
        "call.preallocated.*",
        "clear_cache",
        "codeview.annotation",
        "coro.*",
        "dbg.*",
        "debugtrap",
        "eh.dwarf.cfa",
        "eh.return.*",
        "eh.sjlj.functioncontext",
        "eh.sjlj.setup.dispatch",
        "eh.typeid.for",
        "eh.unwind.init",
        "experimental.constrained.*",
        "experimental.deoptimize",
        "experimental.guard",
        "experimental.noalias.scope.decl",
        "experimental.stackmap",
        "experimental.widenable.condition",
        "flt.rounds",
        "get.*",
        "icall.branch.funnel",
        "instrprof.*",
        "invariant.*",
        "launder.invariant.group",
        "lifetime.*",
        "localescape",
        "loop.decrement*",
        "objectsize",
        "pcmarker",
        "prefetch",
        "pseudoprobe",
        "ptr.annotation",
        "read_register",
        "read_volatile_register",
        "readcyclecounter",
        "readsteadycounter",
        "reset.fp*",
        "seh.*",
        "set.*",
        "sideeffect",
        "stackguard",
        "stackprotector",
        "stackrestore",
        "stacksave",
        "start.loop.iterations",
        "strip.invariant.group",
        "swift.async.context.addr",
        "test.*",
        "trap",
        "ubsantrap",
        "va_end",
        "var.annotation",
        "vp.merge",
        "vp.select",
        "write_register",
        "x86.avx.vzero*",
        "x86.clui",
        "x86.encodekey*",
        "x86.flags.*",
        "x86.incssp*",
        "x86.int",
        "x86.loadiwkey",
        "x86.lwp*",
        "x86.mmx.emms",
        "x86.mmx.femms",
        "x86.mwaitx",
        "x86.ptwrite*",
        "x86.rd*",
        "x86.saveprevssp",
        "x86.senduipi",
        "x86.serialize",
        "x86.setssbsy",
        "x86.slwpcb",
        "x86.sse.sfence",
        "x86.sse2.lfence",
        "x86.sse2.mfence",
        "x86.sse2.pause",
        "x86.sse3.mwait",
        "x86.stui",
        "x86.tdp*",
        "x86.testui",
        "x86.tilerelease",
        "x86.tilezero*",
        "x86.tpause",
        "x86.umwait",
        "x86.wbinvd",
        "x86.wbnoinvd",
        "x86.wrfsbase.*",
        "x86.wrgsbase.*",
        "x86.wrpkru",
        "x86.xabort",
        "x86.xbegin",
        "x86.xend",
        "x86.xgetbv",
        "x86.xresldtrk",
        "x86.xsetbv",
        "x86.xsusldtrk",
        "x86.xtest",
};

/* An error when compiling, if an address may lead into a view. */
static constexpr const char *REFUSED[] = {
        "aarch64.gcs*",
        "aarch64.ld*",
        "aarch64.mops.*",
        "aarch64.neon.ld*",
        "aarch64.neon.st*",
        "aarch64.settag*",
        "aarch64.sme.ld*",
        "aarch64.sme.st*",
        "aarch64.st*",
        "aarch64.sve.ld*",
        "aarch64.sve.st*",
        "amdgcn.*",
        "arm.*",
        "asan.check.memaccess",
        "bpf.*",
        "dx.*",
        "experimental.gc.*",
        "experimental.patchpoint.*",
        "experimental.vector.histogram.*",
        "experimental.vp.strided.*",
        "gcread",
        "gcroot",
        "gcwrite",
        "hexagon.*",
        "hwasan.check.memaccess*",
        "init.trampoline",
        "load.relative",
        "loongarch.*",
        "masked.compressstore",
        "masked.expandload",
        "matrix.column.major.*",
        "memcpy.element.unordered.atomic",
        "memmove.element.unordered.atomic",
        "memset.element.unordered.atomic",
        "mips.*",
        "nvvm.*",
        "objc.*",
        "ppc.*",
        "r600.*",
        "riscv.*",
        "s390.*",
        "spv.*",
        "ve.*",
        "vp.gather",
        "vp.load",
        "vp.scatter",
        "vp.store",
        "wasm.*",
        "x86.aadd*",
        "x86.aand*",
        "x86.aesdec128kl",
        "x86.aesdec256kl",
        "x86.aesdecwide*",
        "x86.aesenc128kl",
        "x86.aesenc256kl",
        "x86.aesencwide*",
        "x86.aor*",
        "x86.atomic.*",
        "x86.avx.ldu.dq.256",
        "x86.avx.maskload.*",
        "x86.avx.maskstore.*",
        "x86.avx2.gather.*",
        "x86.avx2.maskload.*",
        "x86.avx2.maskstore.*",
        "x86.avx512.gather*",
        "x86.avx512.mask.gather*",
        "x86.avx512.mask.scatter*",
        "x86.avx512.scatter*",
        "x86.axor*",
        "x86.cldemote",
        "x86.clflushopt",
        "x86.clrssbsy",
        "x86.clwb",
        "x86.clzero",
        "x86.cmpccxadd*",
        "x86.directstore*",
        "x86.enqcmd*",
        "x86.fxrstor*",
        "x86.fxsave*",
        "x86.invpcid",
        "x86.ldtilecfg*",
        "x86.llwpcb",
        "x86.mmx.maskmovq",
        "x86.mmx.movnt.dq",
        "x86.monitorx",
        "x86.movdir64b",
        "x86.rstorssp",
        "x86.seh.*",
        "x86.sse.ldmxcsr",
        "x86.sse.stmxcsr",
        "x86.sse2.clflush",
        "x86.sse2.maskmov.dqu",
        "x86.sse3.ldu.dq",
        "x86.sse3.monitor",
        "x86.sttilecfg*",
        "x86.tileload*",
        "x86.tilestore*",
        "x86.umonitor",
        "x86.vbcst*",
        "x86.vcvtne*",
        "x86.wrss*",
        "x86.wruss*",
        "x86.xrstor*",
        "x86.xsave*",
        "xcore.*",
        "xray.*",
};

static bool is_in(ArrayRef<const char *> list, StringRef name)
{
        for (StringRef known : list)
                if (known.back() == '*' ? name.substr(0, known.size() - 1) == known.drop_back() : name == known)
                        return true;
        return false;
}

/* Without "llvm." and the types that it is made for. */
static StringRef name_of(Intrinsic::ID id)
{
        return Intrinsic::getBaseName(id).drop_front(5);
}

bool is_harmless(const IntrinsicInst &call)
{
        return !call.mayReadOrWriteMemory() || is_in(HARMLESS, name_of(call.getIntrinsicID()));
}

/* ---- for tests ---- */

static bool may_access(LLVMContext &context, Intrinsic::ID id)
{
        AttributeList attributes = Intrinsic::getAttributes(context, id);
#if LLVM_VERSION_MAJOR >= 16
        return !attributes.getMemoryEffects().doesNotAccessMemory();
#else
        return !attributes.hasFnAttr(Attribute::ReadNone);
#endif
}

static const char *list_of(StringRef name)
{
        const bool lists[] = { is_in(TRANSLATED, name), is_in(HARMLESS, name), is_in(REFUSED, name) };
        if (lists[0] + lists[1] + lists[2] > 1)
                return "several";
        return lists[0] ? "translated" : lists[1] ? "harmless" : lists[2] ? "refused" : "none";
}

/* A function that calls the intrinsic with its own arguments. */
static void use(Module &module, Intrinsic::ID id)
{
        Function *intrinsic = Intrinsic::getDeclaration(&module, id);
        FunctionType *type = intrinsic->getFunctionType();
        for (Type *parameter : type->params())
                if (parameter->isX86_AMXTy() || parameter->isMetadataTy() || parameter->isTokenTy())
                        return;
        Function *user = Function::Create(FunctionType::get(Type::getVoidTy(module.getContext()), type->params(), true),
                                          GlobalValue::ExternalLinkage, "use_" + name_of(id), module);
        IRBuilder<> build(BasicBlock::Create(module.getContext(), "", user));
        SmallVector<Value *, 8> arguments;
        for (unsigned i = 0; i < type->getNumParams(); i++)
                arguments.push_back(intrinsic->hasParamAttribute(i, Attribute::ImmArg)
                                            ? static_cast<Value *>(Constant::getNullValue(type->getParamType(i)))
                                            : user->getArg(i));
        build.CreateCall(intrinsic, arguments);
        build.CreateRetVoid();
}

void print_intrinsics(LLVMContext &context)
{
        Module module("intrinsics", context);
        for (unsigned i = 1; i < Intrinsic::num_intrinsics; i++) {
                const auto id = static_cast<Intrinsic::ID>(i);
                const StringRef name = name_of(id);
                if (!may_access(context, id))
                        continue;
                outs() << "; " << list_of(name) << " " << name << "\n";
                if (!Intrinsic::isOverloaded(id) && (name.substr(0, 4) == "x86." || is_in(TRANSLATED, name)))
                        use(module, id);
        }
        outs() << module;
}

} // namespace xac
