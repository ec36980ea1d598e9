#include "reports/pages/splice.h"

#include <gtest/gtest.h>

#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

std::string with(const std::string& name) {
  return "# Ours\n\n<!-- ropewalk " + name + " -->\nold\n<!-- ropewalk end -->\n\nafter";
}

TEST(Splice, PutsTablesBetweenTheMarkersAndKeepsTheRest) {
  const Results results = sample_results();
  const std::string once = spliced(with("leaderboards"), "README.md", results);
  EXPECT_EQ(once.rfind("# Ours\n\n<!-- ropewalk leaderboards -->\n", 0), 0u);
  EXPECT_EQ(once.find("old"), std::string::npos);
  EXPECT_NE(once.find("| kernel | ns/token |"), std::string::npos);
  EXPECT_NE(once.find("Made by ropewalk `0.1.0`"), std::string::npos) << "and the command";
  const std::string end = "<!-- ropewalk end -->\n\nafter";
  EXPECT_EQ(once.substr(once.size() - end.size()), end);
}

TEST(Splice, TwiceIsOnce) {
  const Results results = sample_results();
  for (const char* name : {"leaderboards", "kernels", "shapes", "ratios", "noise", "environment"}) {
    const std::string once = spliced(with(name), "README.md", results);
    EXPECT_EQ(spliced(once, "README.md", results), once) << name;
    EXPECT_NE(once, with(name));
  }
}

TEST(Splice, RefusesADocumentThatItCannotFill) {
  const Results results = sample_results();
  for (const std::string& text :
       {std::string("nothing"), with("no-such-part"), std::string("<!-- ropewalk end -->\n"),
        std::string("<!-- ropewalk kernels -->\nopen"),
        "<!-- ropewalk kernels -->\n" + with("kernels")})
    EXPECT_THROW(spliced(text, "README.md", results), BadFile) << text;
}

}  // namespace
}  // namespace ropewalk::report
