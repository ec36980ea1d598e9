// A text is taken for frames only if to_frames() makes it.
#include "tools/fuzz/frames.h"

#include <gtest/gtest.h>

#include "base/bad_file.h"

namespace ropewalk::fuzz {
namespace {

Inputs inputs_of_each_kind() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return {"", "\n", "a", "a\n", "\r\n", "3\nbug\n", std::string(2, '\0'), bytes};
}

bool accepted(const std::string& text) {
  try {
    EXPECT_EQ(to_frames(from_frames(text, "FILE")), text);
    return true;
  } catch (const BadFile&) {
    return false;
  }
}

TEST(Frames, InputsOfAnyBytesReadAsTheyWereWritten) {
  const Inputs inputs = inputs_of_each_kind();
  EXPECT_EQ(from_frames(to_frames(inputs), "FILE"), inputs);
  EXPECT_EQ(to_frames({"hello", "", "hello"}), "0\n\n5\nhello\n");
}

TEST(Frames, APartIsRefusedUnlessItEndsBehindAFrame) {
  const Inputs inputs = inputs_of_each_kind();
  const std::string text = to_frames(inputs);
  std::size_t whole = 0;
  for (std::size_t end = 0; end <= text.size(); ++end) whole += accepted(text.substr(0, end));
  EXPECT_EQ(whole, inputs.size() + 1);
}

TEST(Frames, AnyChangedByteIsRefusedOrGivesOtherFrames) {
  const std::string text = to_frames({"", "a", "a\n1\nb", "bug", "fine"});
  std::size_t others = 0, refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      ++(accepted(changed) ? others : refused);
    }
  EXPECT_GT(others, text.size());  // a byte that stays as it was counts here
  EXPECT_GT(refused, others);
}

}  // namespace
}  // namespace ropewalk::fuzz
