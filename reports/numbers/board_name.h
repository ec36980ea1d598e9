// Takes the name of a leaderboard apart, e.g. "half_split / f32 / in place / table".
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk::report {

/// The parts of a board's name. A ceiling's board names fewer parts than a kernel's board. A board
/// in a foreign file may have any name.
class BoardName {
 public:
  explicit BoardName(std::string_view name);

  bool has(std::string_view part) const;
  /// Whether this name has every part of the other name.
  bool has_all_of(const BoardName& other) const;
  /// The first of these words that is a part of the name; empty if no word is.
  std::string_view one_of(std::initializer_list<std::string_view> words) const;
  std::string_view dtype() const;
  std::string_view pairing() const { return one_of({"half_split", "interleaved"}); }
  std::string_view angles() const { return one_of({"table", "computed"}); }
  bool is_of_device() const { return has("cuda"); }
  /// "half_split / f32 / in place", i.e. the name without its angle source.
  std::string without_angles() const;

 private:
  std::vector<std::string> parts_;
};

}  // namespace ropewalk::report
