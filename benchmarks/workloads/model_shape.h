// A shape given on the command line: q=32,k=8,d=128,...
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// The words of a shape, each with what it means, for --help and the docs.
extern const char* const shape_help;

/// With tokens or batch one workload, in every profile; without them the shape goes through the
/// phases of workloads.toml. The name is made of what was said. Throws BadFile ("--shape: ...") for
/// a word that is unknown, doubled, without a value or out of range, and for a shape no kernel
/// could be asked for.
std::vector<Workload> parse_shape(std::string_view text);

}  // namespace ropewalk::bench
