// Why a step of a call ended early.
#pragma once
#include <string>

#include "harness/protocol.h"

namespace ropewalk::harness {

struct StepFailed {
  protocol::Status status;
  std::string text;
  /// the next kernel would suffer from it, so the worker is replaced
  bool worker_is_spoiled = false;
  std::string raised = {};  ///< the identifier of the exception that an entry raised
};

}  // namespace ropewalk::harness
