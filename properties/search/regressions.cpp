#include "properties/search/regressions.h"

#include <algorithm>
#include <sstream>
#include <string>

namespace ropewalk::properties {
using namespace harness;
namespace {

// properties/search/regressions.txt as one string, because an installed command has no such file.
constexpr const char* corpus_text =
#include "regressions.inc"
    ;

std::vector<Case> parsed() {
  std::vector<Case> cases;
  std::istringstream lines(corpus_text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#') cases.push_back(case_from_text(line));
  return cases;
}

bool is_valid(const Case& c) {
  try {
    validate(c);
    return true;
  } catch (const BadCase&) {
    return false;
  }
}

}  // namespace

std::vector<Case> regression_corpus() {
  static const std::vector<Case> cases = parsed();
  return cases;
}

std::vector<Case> regressions_of(const Property& property, const Offer& offer) {
  std::vector<Case> out;
  for (Case c : regression_corpus()) {
    if (c.property != property.name) continue;
    c.kernel = offer.base.kernel;
    c.plugin = offer.base.plugin;
    c.contract = offer.base.contract;
    c.pairing = offer.base.pairing;
    c.dtype = offer.base.dtype;
    if (!c.table_dtype) c.table_dtype = offer.base.table_dtype;
    const bool declared = std::all_of(c.tensors.begin(), c.tensors.end(), [&](const auto& t) {
      return t.in_place ? offer.in_place : offer.out_of_place;
    });
    if (declared && is_valid(c)) out.push_back(std::move(c));
  }
  return out;
}

}  // namespace ropewalk::properties
