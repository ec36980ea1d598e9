// What the name of a leaderboard says: "half_split / f32 / in place / table".
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk::report {

/// The parts of a board's name. A ceiling's board names fewer of them, and a foreign file may name
/// any.
class BoardName {
 public:
  explicit BoardName(std::string_view name);

  bool has(std::string_view part) const;
  /// Whether it has every part of the other.
  bool has_all_of(const BoardName& other) const;
  /// The first of these words that is a part; empty: none is.
  std::string_view one_of(std::initializer_list<std::string_view> words) const;
  std::string_view dtype() const;
  std::string_view pairing() const { return one_of({"half_split", "interleaved"}); }
  std::string_view angles() const { return one_of({"table", "computed"}); }
  /// "half_split / f32 / in place": the name without its source of angles.
  std::string without_angles() const;

 private:
  std::vector<std::string> parts_;
};

}  // namespace ropewalk::report
