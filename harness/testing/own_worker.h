// A worker that a test starts for itself, and a kernel of it by name.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/executor.h"
#include "harness/worker/worker.h"

namespace ropewalk::harness {

inline WorkerOptions options(std::vector<std::string> plugins = {}) {
  WorkerOptions o;
  o.executable = ROPEWALK_EXECUTABLE;
  o.plugins = std::move(plugins);
  return o;
}

inline Subject subject_of(Worker& worker, Oracle& oracle, const std::string& kernel) {
  for (const KernelFacts& facts : worker.kernels())
    if (facts.name == kernel) return {worker, oracle, facts};
  throw std::runtime_error("no kernel " + kernel);
}

}  // namespace ropewalk::harness
