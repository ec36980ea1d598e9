#include "properties/explain/crash.h"

#include <fmt/format.h>

#include "harness/cases/names.h"
#include "properties/explain/check_case.h"

namespace ropewalk::properties {
using namespace harness;

std::string cause_of_crash(Subject& subject, const Property& property, const Case& c,
                           const Finding& crash) {
  for (std::size_t i = 0; i < c.tensors.size() && c.calls.empty(); ++i) {
    const TensorCase& t = c.tensors[i];
    const struct {
      const char* words;
      std::int64_t Strides::*stride;
      std::int64_t count, packed;
    } axes[] = {{"batch rows", &Strides::batch, c.batch, c.tokens * t.heads * t.head_dim},
                {"tokens", &Strides::token, c.tokens, t.heads * t.head_dim},
                {"heads", &Strides::head, t.heads, t.head_dim}};
    const std::string name = c.fused ? "in" : fmt::format("{}.in", tensor_words[i]);
    if (crash.reason.find(fmt::format("read past the end of {},", name)) == std::string::npos)
      continue;
    for (const auto& axis : axes) {
      if (axis.count < 2 || t.in.*axis.stride != 0) continue;
      const auto holds_with = [&](std::int64_t stride) {
        Case other = c;
        other.tensors[i].in.*axis.stride = stride;
        try {
          return check_case(property, subject, other).holds();
        } catch (const BadCase&) {
          return false;
        }
      };
      if (holds_with(axis.packed) && holds_with(axis.packed + 1))
        return fmt::format("walks the {} of {}, whose stride is 0, as if packed", axis.words, name);
    }
  }
  return {};
}

}  // namespace ropewalk::properties
