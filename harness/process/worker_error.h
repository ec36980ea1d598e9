#pragma once
#include <stdexcept>

namespace ropewalk::harness {

/// The worker could not start, or it refuses its plugins. The text is one clear line. The command
/// exits with 2.
class WorkerError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ropewalk::harness
