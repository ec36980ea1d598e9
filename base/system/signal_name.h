// The name of a signal, like SIGSEGV.
#pragma once
#include <cstring>
#include <string>

namespace ropewalk {

inline std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace ropewalk
