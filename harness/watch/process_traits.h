// What a process can be asked about itself and a kernel could change by one call: how it is
// scheduled, what prctl sets, handlers of the C++ library. Each is one number to compare.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/system/kept_file.h"

namespace ropewalk::harness {

class ProcessTraits {
 public:
  /// Notes how the process is.
  ProcessTraits();

  /// "left the nice value changed"; one text for each trait that is not as it was. Without
  /// `whole` the dearest are compared in the first 40 calls, and in one of 16 from then on.
  std::vector<std::string> changes(bool whole) const;

 private:
  /// Locked memory and the like: the system writes a page of text for it, which takes some 15
  /// microseconds.
  std::string status_lines() const;

  std::vector<std::int64_t> noted_;
  std::string status_;
  KeptFile file_{"/proc/self/status"};
  mutable int looks_ = 0;
};

}  // namespace ropewalk::harness
