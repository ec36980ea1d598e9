// A list of processor features is either refused as a whole and changes nothing, or leaves at most
// the features that it names.
#include <algorithm>
#include <stdexcept>

#include "kernels/api/cpu_features.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {

void run(std::string_view text) {
  mask_cpu_features("all");
  const auto all = cpu_features();
  try {
    mask_cpu_features(text);
  } catch (const std::invalid_argument& refusal) {
    claim(cpu_features() == all, "a list that is refused changes nothing");
    claim(std::string_view(refusal.what()).starts_with("unknown CPU feature '"), "it says why");
    return;
  }
  const auto left = cpu_features();
  claim(text == "all" ? left == all : left.size() <= all.size(), "a mask takes away");
  for (const std::string& word : left)
    claim(text == "all" || text.find(word) != std::string_view::npos, "what is left was named");
  const std::string list(text);
  const std::string missing = missing_cpu_feature(list.c_str());
  const bool here = std::find(left.begin(), left.end(), missing) != left.end();
  claim(missing.empty() || !here, "what is missing is not there");
}

}  // namespace ropewalk::fuzz
