// For tests: the words with which a call refuses.
#pragma once
#include <string>

namespace ropewalk {

/// What the call throws as an Error says. Empty: it throws nothing.
template <class Error, class Call>
std::string refusal_by(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ropewalk
