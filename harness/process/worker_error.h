#pragma once
#include <stdexcept>

namespace ropewalk::harness {

/// The worker could not start, or refuses its plugins: one clear line. Exit code 2.
class WorkerError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ropewalk::harness
