// What code of a kernel did besides its answer, each with the exceptions (rope_kernel.h) of which
// one allows it. 0: none does.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk::harness {

class Deeds {
 public:
  /// An empty text is no deed.
  void add(std::uint32_t any_of, const std::string& text) {
    if (!text.empty()) deeds_.emplace_back(any_of, text);
  }
  void add(const std::string& text) { add(0, text); }
  /// Adds those of another, each behind `prefix`.
  void add_all(const std::string& prefix, const Deeds& others) {
    for (const auto& [any_of, text] : others.deeds_) add(any_of, prefix + text);
  }
  bool empty() const { return deeds_.empty(); }

  /// What these exceptions do not allow: "ran another thread; left a child process".
  std::string beyond(std::uint32_t exceptions) const {
    std::string out;
    for (const auto& [any_of, text] : deeds_)
      if ((any_of & exceptions) == 0) out += (out.empty() ? "" : "; ") + text;
    return out;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::string>> deeds_;
};

}  // namespace ropewalk::harness
