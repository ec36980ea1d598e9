// What this processor can run, in the words of rope_kernel.cpu_features.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

/// The known words that this machine has, such as "avx2", "fma", "avx512f", after the mask below.
std::vector<std::string> cpu_features();

/// Acts like an older machine: from now on, only the words in `list` ("avx2,fma") count as present.
/// "all" removes the mask, "" masks every word. Throws std::invalid_argument for an unknown word.
void mask_cpu_features(std::string_view list);

/// The first word of `required` that this machine lacks; empty if the kernel can run. NULL requires
/// nothing. An unknown word counts as lacking.
std::string missing_cpu_feature(const char* required);

}  // namespace ropewalk
