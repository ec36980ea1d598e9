// Reads the shape of a command line or of a workload file: q=32,k=8,d=128,...
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// The words of a shape with their meanings, for --help and the docs.
extern const char* const shape_help;

/// Reads a shape. With tokens or batch it gives one workload, in every profile. Without them the
/// shape goes through the phases of workloads.toml. The name is made of the words given. Throws
/// BadFile ("--shape: ...") for a word that is unknown, doubled, without a value or out of range.
/// It also throws for a shape that no kernel could have.
std::vector<Workload> parse_shape(std::string_view text);

/// What is wrong with the words of a shape, in one line.
class BadShape : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Everything of a shape but its name, and how positions lie. Throws BadShape for a bad word.
Workload model_of(std::string_view text);

/// Whether a shape that parse_shape() takes has this word, such as "pairing".
bool shape_states(std::string_view text, const std::string& word);

}  // namespace ropewalk::bench
