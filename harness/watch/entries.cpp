#include "harness/watch/entries.h"

#if defined(__x86_64__)

// Saves the six registers, fills them with marks, makes the call, and stores what they then hold.
// The frame is described for unwinders, because an exception that leaves a kernel passes through
// it. The direction flag is cleared again, since compiled code relies on that.
asm(R"(
    .text
    .p2align 4
    .globl ropewalk_call_watched
    .hidden ropewalk_call_watched
    .type ropewalk_call_watched, @function
ropewalk_call_watched:
    .cfi_startproc
    .irp kept, rbp, rbx, r12, r13, r14, r15
    pushq %\kept
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %\kept, 0
    .endr
    pushq %r8
    .cfi_adjust_cfa_offset 8
    movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movabsq $0x5a5a000000000001, %rbx
    movabsq $0x5a5a000000000002, %rbp
    movabsq $0x5a5a000000000003, %r12
    movabsq $0x5a5a000000000004, %r13
    movabsq $0x5a5a000000000005, %r14
    movabsq $0x5a5a000000000006, %r15
    call *%rax
    pushfq
    .cfi_adjust_cfa_offset 8
    popq %rdx
    .cfi_adjust_cfa_offset -8
    cld
    popq %rcx
    .cfi_adjust_cfa_offset -8
    movq %rbx, 0(%rcx)
    movq %rbp, 8(%rcx)
    movq %r12, 16(%rcx)
    movq %r13, 24(%rcx)
    movq %r14, 32(%rcx)
    movq %r15, 40(%rcx)
    movq %rdx, 48(%rcx)
    .irp kept, r15, r14, r13, r12, rbx, rbp
    popq %\kept
    .cfi_adjust_cfa_offset -8
    .cfi_restore %\kept
    .endr
    ret
    .cfi_endproc
    .size ropewalk_call_watched, . - ropewalk_call_watched
)");

namespace ropewalk::harness {

std::string changed_registers(const CalleeSaved& after) {
  constexpr const char* names[] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
  constexpr std::uint64_t mark = 0x5a5a000000000001, direction_flag = 0x400;
  std::string out;
  for (std::uint64_t i = 0; i < 6; ++i)
    if (after.registers[i] != mark + i) out += std::string(out.empty() ? "" : ", ") + names[i];
  if (!out.empty()) out = "left " + out + " changed, which belongs to the caller";
  if ((after.flags & direction_flag) != 0)
    out += std::string(out.empty() ? "" : "; ") + "left the direction flag set";
  return out;
}

}  // namespace ropewalk::harness

#endif
