// A rounding is named if all of these hold, in the larger case and in a case with other data:
// - Many outputs differ from those of a kernel that rounds on store alone, and nine of ten of them
// have the bits that the rounding gives. Each would be one of several values by chance, so 30 of
// them are no chance.
// - Of all outputs, 95 % have these bits. A sum in another order differs from it at few ties.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/cases/stored.h"
#include "properties/explain/hypotheses.h"
#include "reference/bounds.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

struct StoredRounding {
  bool table, products;
  const char* words;
};
constexpr StoredRounding roundings[] = {
    {false, true, "products_rounded"},
    {true, true, "table_and_products"},
    {true, false, "table_rounded"},
};

double rounded(Dtype dtype, double value) {
  std::vector<std::byte> bytes(sizeof(double));
  store(bytes, dtype, 0, value);
  return load(bytes, dtype, 0);
}

std::complex<double> predicted(const StoredRounding& r, const Seen& s, const Problem& p) {
  const Dtype dtype = tensor_dtype(p.source, s.at.tensor);
  const auto round_if = [&](bool yes, double v) { return yes ? rounded(dtype, v) : v; };
  const double c = round_if(r.table, s.r.real());
  const double sin = round_if(r.table, s.r.imag());
  const double z = p.source.operation == Operation::transpose ? -sin : sin;
  const auto times = [&](double a, double b) { return round_if(r.products, a * b); };
  const double scale = scale_of(p.source);
  return {rounded(dtype, scale * (times(s.x.real(), c) - times(s.x.imag(), z))),
          rounded(dtype, scale * (times(s.x.real(), z) + times(s.x.imag(), c)))};
}

bool fits(const StoredRounding& r, const Scene& scene) {
  std::int64_t all = 0, same = 0, telling = 0, told = 0;
  for (const Seen& s : scene.pairs) {
    const auto y = predicted(r, s, scene.problem);
    const auto usual = predicted({false, false, ""}, s, scene.problem);
    const auto add = [&](double got, double rounding, double none) {
      ++all;
      same += static_cast<std::int64_t>(got == rounding);
      if (rounding == none) return;
      ++telling;
      told += static_cast<std::int64_t>(got == rounding);
    };
    add(s.y.real(), y.real(), usual.real());
    add(s.y.imag(), y.imag(), usual.imag());
  }
  return told >= 30 && 10 * told >= 9 * telling && 100 * same >= 95 * all;
}

// True if a kernel that computes everything in the data type may err so much.
bool keeps(double error_bound, const Scene& scene) {
  const Case& c = scene.problem.source;
  return std::ranges::all_of(scene.pairs, [&](const Seen& s) {
    const auto p = bounds::computed_in(data_type(tensor_dtype(c, s.at.tensor)).format);
    const double scale = scale_of(c);
    return std::abs(s.y - s.truth) <=
           error_bound * p.u * std::abs(scale) * std::abs(s.x) + bounds::underflow(p, scale);
  });
}

}  // namespace

Diagnosis rounding_of(const Look& look, const Case& c, const Case& larger) {
  const DataType& type = data_type(tensor_dtype(larger, 0));
  if (type.bytes != 2) return {};
  Case other = larger;  // numbers of full mantissas, in as many pairs as it takes
  other.data = DataPattern::unit;
  for (TensorCase& t : other.tensors) t.values.clear();
  other.seed = larger.seed + 1;
  const auto small = look(c, Calls::as_judged), first = look(larger, Calls::as_judged),
             second = look(other, Calls::as_judged);
  if (!small || !first || !second) return {};
  for (const StoredRounding& r : roundings) {
    const bool here = std::ranges::all_of(small->pairs, [&](const Seen& s) {
      return !s.wrong || s.y == predicted(r, s, small->problem);
    });
    if (!here || !fits(r, *first) || !fits(r, *second)) continue;
    const double declared =
        std::ceil(bounds::needed_in_type(type, larger.contract != ROPE_CONTRACT_TABLE));
    Diagnosis out{cause(r.words, type.word), {}};
    if (keeps(declared, *small) && keeps(declared, *first) && keeps(declared, *second))
      out.where = fmt::format("error_bound = {:g} would declare it", declared);
    return out;
  }
  return {};
}

}  // namespace ropewalk::properties
