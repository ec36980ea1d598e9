// Makes the kernels of the table. The contract's entries take no pointer to a kernel, so each row
// of the table has entries of its own.
#include <algorithm>
#include <array>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/common/support.h"
#include "properties/mutants/composed/composed.h"
#include "properties/mutants/composed/frame.h"

namespace ropewalk::mutants {
namespace {

constexpr std::size_t most_kernels = 160;

// A row of the table with the meanings of its words, looked up once, since apply may not allocate.
struct Kernel {
  Form form;
  std::string summary;
  const Fault* fault = nullptr;
  std::vector<Holds> regions = {};
  const Refusal* refusal = nullptr;
};

std::array<Kernel, most_kernels>& kernels() {
  static std::array<Kernel, most_kernels> list;
  return list;
}

// What a kernel does, in at most 159 characters.
std::string summary_of(const Composed& row) {
  constexpr std::size_t longest = 159;
  std::string out;
  if (!row.refusal.empty()) out = std::string(refusal_named(row.refusal).story);
  for (const Member& member : row.members) {
    if (!out.empty()) out += "; ";
    out += fault_named(member.fault).story;
    for (const std::string_view region : member.regions)
      out += (&region == &member.regions.front() ? " where " : ", ") + std::string(region);
  }
  if (out.empty()) out = "the frame of the composed mutants, without an error";
  return out.substr(0, longest);
}

Kernel kernel_of(const Composed& row) {
  Kernel kernel{row.form, summary_of(row)};
  if (!row.refusal.empty()) kernel.refusal = &refusal_named(row.refusal);
  for (const Member& member : row.members) {
    kernel.fault = &fault_named(member.fault);
    for (const std::string_view region : member.regions) kernel.regions.push_back(holds_of(region));
  }
  return kernel;
}

std::int32_t apply(const Kernel& kernel, const rope_problem& p, const rope_operands& o) {
  for (std::uint32_t tensor = 0; tensor < p.tensor_count; ++tensor) {
    Plan plan(p, o, tensor);
    if (kernel.fault != nullptr &&
        std::ranges::all_of(kernel.regions, [&](Holds holds) { return holds(p, o, tensor); }))
      kernel.fault->misread(plan);
    execute(plan);
  }
  return ROPE_OK;
}

// Any types, as long as one tensor has this one, so that the kernel is judged once and not for each
// type.
std::int32_t supports_a_tensor(Dtype dtype, const rope_problem* p, const char** reason) {
  for (std::uint32_t i = 0; i < p->tensor_count; ++i)
    if (p->tensor[i].in_dtype == in_contract(dtype)) return supports_any_types(p, reason);
  return refuse(reason, "takes another data type in one of the tensors");
}

template <std::size_t row>
void add_entries(KernelInfo& info) {
  info.supports = [](const rope_problem* p, const char** reason) {
    const Kernel& kernel = kernels()[row];
    const std::int32_t angles =
        kernel.form.contract == ROPE_CONTRACT_TABLE ? ROPE_ANGLES_TABLE : ROPE_ANGLES_INV_FREQ;
    const std::int32_t answer =
        kernel.form.any_types ? supports_a_tensor(kernel.form.dtype, p, reason)
                              : supports_data(*p, angles, in_contract(kernel.form.dtype), reason);
    if (answer != ROPE_OK || kernel.refusal == nullptr || kernel.refusal->accepts(*p))
      return answer;
    return refuse(reason, "outside this kernel's limits");
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) {
    return apply(kernels()[row], *p, *o);
  };
}

template <std::size_t... rows>
std::deque<RegisteredKernel> register_all(std::index_sequence<rows...>) {
  constexpr void (*entries[])(KernelInfo&) = {add_entries<rows>...};
  const std::vector<Composed>& table = composed_kernels();
  if (table.size() > most_kernels) throw std::logic_error("most_kernels is too small");
  std::deque<RegisteredKernel> registered;
  for (std::size_t i = 0; i < table.size(); ++i) {
    Kernel& kernel = kernels()[i] = kernel_of(table[i]);
    KernelInfo info;
    info.name = table[i].name.c_str();
    info.summary = kernel.summary.c_str();
    if (kernel.fault != nullptr && *kernel.fault->source != '\0')
      info.source = kernel.fault->source;
    info.angle_contract = kernel.form.contract;
    if (kernel.refusal != nullptr) info.flags = kernel.refusal->flags;
    for (const Member& member : table[i].members)
      for (const std::string_view word : conditions_of(member))
        if (word == "at_once") info.flags |= ROPE_THREAD_SAFE;
    if (kernel.form.contract != ROPE_CONTRACT_TABLE) info.workspace_bytes = workspace_of;
    entries[i](info);
    registered.emplace_back(info);
  }
  return registered;
}

const std::deque<RegisteredKernel> all = register_all(std::make_index_sequence<most_kernels>());

}  // namespace
}  // namespace ropewalk::mutants
