/* SPDX-License-Identifier: MIT */
#ifndef XAC_PASS_H
#define XAC_PASS_H

/*
 * The LLVM pass of xac-cc: puts a translation (<xac/translate.h>) in front of each access that may lead into a view.
 *
 *      pass.cc        where in the compilation it runs, and what it does to a function
 *      references.cc  what code refers to in the runtime
 *      roots.cc       which pointers may lead into a view, and where that is asked
 *      accesses.cc    loads, stores, atomic operations
 *      lookups.cc     numbers that the runtime loads and stores: look-ups out of line
 *      calls.cc       functions and intrinsics that access memory
 *      intrinsics.cc  which of LLVM's intrinsics access memory that may be in a view
 *      buffers.cc     intrinsics that access a buffer of a size that is known
 *      loops.cc, stretches.cc  code that turns out to meet no view runs as it was
 *      reports.cc     what is not translated, for those who ask
 *
 * What it does not know how to translate is an error, never left out in silence.
 */

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

namespace xac
{

/* The pointer that an address is computed from, inside one object: an object lies in the window whole, or not at all.
 */
llvm::Value *root_of(llvm::Value *address);

/* Can it never lead into a view? Stack, variables with a name, other address spaces, constants. */
bool is_elsewhere(llvm::Value *address);

/* An i1, in front of `at`: does the pointer lead into the window? */
llvm::Value *ask_at(llvm::Value *root, llvm::Instruction *at);

/* The questions "does it lead into the window?" of one function, each asked once, where the root is made. */
class Questions
{
public:
        /* An i1 that may be used in front of `at`. */
        llvm::Value *ask(llvm::Value *address, llvm::Instruction *at);

private:
        llvm::DenseMap<llvm::Value *, llvm::Value *> answers;
};

/* What a function refers to in the runtime, and how. */
class Runtime
{
public:
        explicit Runtime(llvm::Module &module) : module(module), context(module.getContext())
        {
        }

        llvm::Type *bytes(); /* char * */
        llvm::Type *word();  /* uintptr_t */
        llvm::Value *as_bytes(llvm::IRBuilder<> &build, llvm::Value *address);
        llvm::Value *as_word(llvm::IRBuilder<> &build, llvm::Value *address);
        llvm::Value *size(uint64_t bytes);

        /* Where so many bytes are, which do not cross a unit. */
        llvm::Value *call_read(llvm::IRBuilder<> &build, llvm::Value *address, uint64_t len);
        llvm::Value *call_write(llvm::IRBuilder<> &build, llvm::Value *address, uint64_t len);
        void call_fetch(llvm::IRBuilder<> &build, llvm::Value *to, llvm::Value *address, uint64_t len);
        void call_store(llvm::IRBuilder<> &build, llvm::Value *address, llvm::Value *from, uint64_t len);
        /* A number (is_number()), loaded or stored by the runtime: what a load gives; NULL of a store. */
        llvm::Value *call_for_number(llvm::IRBuilder<> &build, llvm::Instruction &access, bool is_in_window);
        llvm::FunctionCallee function(llvm::StringRef name, llvm::Type *result,
                                      llvm::ArrayRef<llvm::Type *> parameters);
        /* Memory on the stack for a value that is there for a moment: one for each type. */
        llvm::AllocaInst *room(llvm::Function &function, llvm::Type *type);
        /* The same for the values of one call, which have numbers: all calls share them, as each is done with them
         * before the next begins. */
        llvm::Value *shared_room(llvm::IRBuilder<> &build, unsigned number, uint64_t len, llvm::Align align);
        llvm::Value *shared_room(llvm::Instruction &at, unsigned number, llvm::Type *type,
                                 llvm::MaybeAlign align = llvm::MaybeAlign());
        /* The thread's kept translations: those of reads, or of writes. */
        llvm::Value *kept(llvm::IRBuilder<> &build, bool is_write);

private:
        void call_cold(llvm::IRBuilder<> &build, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> arguments);
        llvm::Value *call_get(llvm::IRBuilder<> &build, llvm::Type *type, llvm::Value *address, bool is_in_window);
        void call_put(llvm::IRBuilder<> &build, llvm::Value *address, llvm::Value *value, bool is_in_window);
        llvm::Value *call_for_place(llvm::IRBuilder<> &build, llvm::StringRef name, llvm::Value *address, uint64_t len);

        llvm::Module &module;
        llvm::LLVMContext &context;
        llvm::DenseMap<std::pair<llvm::Function *, llvm::Type *>, llvm::AllocaInst *> rooms;
        llvm::DenseMap<std::pair<llvm::Function *, unsigned>, llvm::AllocaInst *> shared_rooms;
};

/* Loads, stores, atomic operations. */
bool is_access(llvm::Instruction &instruction);
/* Frequent: the look-up is put inline. In view: the access needs none. True: the caller removes the old access. */
bool translate_access(Runtime &runtime, Questions &questions, llvm::Instruction &access, bool is_frequent,
                      bool is_in_view);

/* Can the runtime do the load or store? */
bool is_number(const llvm::Instruction &access);
/* By a call, and nothing else: the code has no more blocks then. True: the access as it was is unused, and to go. */
bool replace_by_call(Runtime &runtime, llvm::Instruction &access, bool is_in_view);
/* Can it be done so? */
bool is_replaceable(llvm::Instruction &access);
/* Adds what is in small loops without others in them. */
void find_frequent(llvm::Function &function, llvm::FunctionAnalysisManager &analyses,
                   llvm::SmallPtrSetImpl<llvm::Instruction *> &frequent);

/* Calls. */
bool may_access_memory(llvm::CallBase &call);
/* Is the runtime's function called instead? */
bool is_translated_call(const llvm::CallBase &call);
/* May an argument lead into a view? */
bool is_given_address(const llvm::CallBase &call);
void translate_call(Runtime &runtime, Questions &questions, llvm::CallBase &call);

/* Functions of the program with names of the C library's, which the runtime has, are called instead of the runtime's.
 */
void offer_definitions(llvm::Module &module);

/* Intrinsics: does it access nothing that could be in a view? */
bool is_harmless(const llvm::IntrinsicInst &call);
/* False: none of those that access a buffer of a size that is known. */
bool translate_buffer(Runtime &runtime, llvm::IntrinsicInst &call);
/* For tests: which list each intrinsic is in, and a program that uses them. */
void print_intrinsics(llvm::LLVMContext &context);

/* Instead of going on from `question` to `translated`: goes there if any root leads into the window, else to the other.
 */
void ask_for_any(llvm::BasicBlock *question, llvm::ArrayRef<llvm::Value *> roots, llvm::BasicBlock *translated,
                 llvm::BasicBlock *as_it_was);

/* Code that is there twice: as it was, and translated. */
struct Doubled {
        llvm::SmallPtrSet<llvm::Instruction *, 32> spared, translated;
        /* Of the latter, what is in a view whenever it runs: all of it has one root. */
        llvm::SmallPtrSet<llvm::Instruction *, 32> in_view;

        void add(llvm::ArrayRef<llvm::BasicBlock *> as_it_was, llvm::ArrayRef<llvm::BasicBlock *> translated_blocks,
                 size_t roots);
};

/* Clone innermost loops, and stretches without branches, so that one of the two is left as it is. */
void spare_loops(llvm::Function &function, llvm::FunctionAnalysisManager &analyses, Doubled &doubled);
void spare_stretches(llvm::Function &function, Doubled &doubled);

/* For tests: does the environment variable XAC_PASS_LEAVES_OUT name this part of the pass? What it skips has to be
 * found missing. */
bool is_left_out(llvm::StringRef part);

/* Ends the compilation of this function with an error, or warns, at the place of the instruction. */
void complain(llvm::Instruction &at, const llvm::Twine &message, bool is_error);

/* For xac-cc --xac-report: what is left at the place of the instruction; what a function calls and is, before it is
 * translated; the end of a module. */
void report(const llvm::Instruction &at, const llvm::Twine &text);
void report_function(llvm::Function &function);
void finish_report(llvm::Module &module);

} // namespace xac

#endif
