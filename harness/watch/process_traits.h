// Traits of a process that a kernel could change by one call: its scheduling, the settings of
// prctl, handlers of the C++ library. Each trait is one number to compare.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/system/kept_file.h"

namespace ropewalk::harness {

class ProcessTraits {
 public:
  /// Notes the traits of the process.
  ProcessTraits();

  /// Returns a text like "left the nice value changed" for each changed trait. Without `whole`, the
  /// slowest traits are compared in the first 40 calls, and in each 16th call from then on.
  std::vector<std::string> changes(bool whole) const;

 private:
  /// Locked memory and similar traits. The system writes a page of text for them, which takes about
  /// 15 us.
  std::string status_lines() const;

  std::vector<std::int64_t> noted_;
  std::string status_;
  KeptFile file_{"/proc/self/status"};
  mutable int looks_ = 0;
};

}  // namespace ropewalk::harness
