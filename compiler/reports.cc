/* SPDX-License-Identifier: MIT */

/*
 * xac-cc --xac-report: what is not translated. A file alone does not say which functions nobody compiles, so each
 * object keeps, in a section that is not loaded, what it calls and what it has. xac-cc reads that section of what it
 * links:
 *
 *      has NAME                a function that is translated
 *      calls NAME PLACE        a function from elsewhere, which is given a pointer
 *      leaves - PLACE: TEXT    assembly, an intrinsic
 */

#include "pass.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <set>

using namespace llvm;

namespace xac
{

static std::set<std::string> &records()
{
        static std::set<std::string> all;
        return all;
}

/* "file" when one is compiled, "program" when it is linked at once; NULL: nobody wants a report. */
static const char *wanted()
{
        static const char *const how = secure_getenv("XAC_PASS_REPORTS");
        return how;
}

static std::string place_of(const Instruction &at)
{
        if (const DILocation *location = at.getDebugLoc().get())
                return (location->getFilename() + ":" + Twine(location->getLine())).str();
        return "in " + demangle(at.getFunction()->getName().str());
}

void report(const Instruction &at, const Twine &text)
{
        if (wanted())
                records().insert(("leaves - " + place_of(at) + ": " + text).str());
}

/* libxac itself, and what it calls, knows views. */
static bool is_of_libxac(StringRef name)
{
        return name.substr(0, 4) == "xac_" || name.substr(0, 6) == "xacrt_";
}

void report_function(Function &function)
{
        if (!wanted())
                return;
        if (!function.hasLocalLinkage())
                records().insert(("has " + function.getName()).str());
        for (Instruction &instruction : instructions(function)) {
                auto *call = dyn_cast<CallBase>(&instruction);
                const Function *callee = call ? call->getCalledFunction() : nullptr;
                if (callee && callee->isDeclaration() && !callee->isIntrinsic() && !is_of_libxac(callee->getName()) &&
                    !call->doesNotAccessMemory() && !is_translated_call(*call) && is_given_address(*call))
                        records().insert(("calls " + callee->getName() + " " + place_of(*call)).str());
        }
}

static void print(StringRef record)
{
        auto [kind, rest] = record.split(' ');
        auto [name, place] = rest.split(' ');
        if (kind == "calls")
                errs() << place << ": " << demangle(name.str())
                       << ": is given a pointer, and is not in this file: compile it by xac-cc, or give it no "
                          "addresses in views\n";
        else if (kind == "leaves")
                errs() << place << "\n";
}

static void keep(Module &module, StringRef record)
{
        std::string text;
        raw_string_ostream(text).write_escaped(record); /* octal: a hexadecimal one takes digits that follow, too */
        module.appendModuleInlineAsm(".pushsection .xac_report,\"\",@progbits\n.asciz \"" + text + "\"\n.popsection\n");
}

void finish_report(Module &module)
{
        for (const std::string &record : records()) {
                if (wanted() && StringRef(wanted()) == "file")
                        print(record);
                keep(module, record);
        }
        records().clear();
}

} // namespace xac
