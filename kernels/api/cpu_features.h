// What this processor can run, as the words that rope_kernel.cpu_features uses.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

/// The known words this machine has, e.g. "avx2", "fma", "avx512f", after the mask below.
std::vector<std::string> cpu_features();

/// Acts like an older machine: from now on only the words in `list` ("avx2,fma") count as present.
/// "all" lifts the mask, "" masks everything. Throws std::invalid_argument for an unknown word.
void mask_cpu_features(std::string_view list);

/// The first word of `required` that is missing here; empty when the kernel can run. NULL requires
/// nothing, a word nobody knows is missing.
std::string missing_cpu_feature(const char* required);

}  // namespace ropewalk
