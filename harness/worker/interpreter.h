// The worker of kernels in Python.
#pragma once
#include <string>

#include "harness/worker/worker_main.h"

namespace ropewalk::harness {

/// Makes this process the interpreter, which loads the worker as a library (decision 48). Process,
/// descriptors, group and death signal stay. Returns only if that fails, with the reason.
std::string become_interpreter(const WorkerArguments& arguments);

}  // namespace ropewalk::harness
