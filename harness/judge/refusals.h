// Of many refusals, finds the one that tells most. A supports checks one thing after the other and
// answers with the first that it dislikes. A reason late in its list is therefore a rare one.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk::harness {

/// What a kernel answered for one pairing and data type that it refuses.
struct CellRefusal {
  std::string reason;
  std::size_t different = 0;  ///< the number of different reasons that were heard
};

/// The reasons that were heard in one cell.
class Refusals {
 public:
  void add(const std::string& reason);
  /// The rarest reason; of several, the one that was heard first.
  CellRefusal furthest() const;

 private:
  std::vector<std::pair<std::string, std::size_t>> counts_;
};

/// The reason of the cell that came furthest. A kernel that refuses a data type or a pairing gives
/// one reason whatever the shape is, and names the type or the pairing. So the cell with most
/// reasons is taken. Among equals, it is one whose reason names no type and no pairing, then one
/// whose reason the fewest cells gave, then the first.
std::string furthest_reason(const std::vector<CellRefusal>& cells);

}  // namespace ropewalk::harness
