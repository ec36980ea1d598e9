// What the recheck reads of timed calls, wherever their buffers lie.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ropewalk::bench {

class JudgedRows {
 public:
  virtual ~JudgedRows() = default;
  /// The positions of the last call. [batch x tokens]
  virtual std::vector<std::int32_t> last_positions() const = 0;
  /// The elements of a head, as the first call was given them and as the last call left them. The
  /// token is one of the whole batch. What an earlier call gave may be gone.
  virtual const std::byte* given(std::size_t tensor, std::int64_t token,
                                 std::int64_t head) const = 0;
  virtual const std::byte* left(std::size_t tensor, std::int64_t token,
                                std::int64_t head) const = 0;
  /// The tables by position, in the memory of the host.
  virtual const std::byte* cos() const = 0;
  virtual const std::byte* sin() const = 0;

  /// The element of the input that changed last.
  struct Changed {
    std::size_t tensor = 0;
    std::int64_t token = 0, head = 0;  ///< the token of the whole batch
    std::int64_t element = 0;          ///< counted from the head's first
  };
  virtual const Changed& last_change() const = 0;
  /// The window of that element, in place: as the call after the change found it, and as it is now.
  /// NULL where no element changes between calls.
  virtual const std::byte* witness() const = 0;
  virtual const std::byte* changed_window() const = 0;
};

}  // namespace ropewalk::bench
