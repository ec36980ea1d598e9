// How a process is scheduled, which a kernel could change by one call. Each trait is one number to
// compare.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ropewalk::harness {

class ProcessTraits {
 public:
  /// Notes the traits of the process.
  ProcessTraits();

  /// Returns a text like "left the nice value changed" for each changed trait.
  std::vector<std::string> changes() const;

 private:
  std::vector<std::int64_t> noted_;
};

}  // namespace ropewalk::harness
