// The report in a real browser: it requests nothing, writes nothing on the console, fits a phone
// and shows hostile names as they are. Controls show that each check can fail.
#include "reports/testing/browser.h"

namespace ropewalk::report {
namespace {

TEST_F(Browser, AReportAsksForNothingAndSaysNothing) {
  for (const std::string& page : {sample_page(), hostile_page()})
    for (const bool scripts : {true, false}) {
      const PageSeen seen = look(page, {.width = 1280, .scripts = scripts});
      EXPECT_EQ(seen.requests, std::vector<std::string>{});
      // A frame without scripts says once that there was one. The page itself says nothing.
      std::vector<std::string> console = seen.console;
      const auto is_held = [](const std::string& line) {
        return line.find("Blocked script execution in 'file://") != std::string::npos &&
               line.find("the document's frame is sandboxed") != std::string::npos;
      };
      EXPECT_EQ(std::erase_if(console, is_held), scripts ? 0u : 1u);
      EXPECT_EQ(console, std::vector<std::string>{});
    }
}

TEST_F(Browser, FitsAPhone) {
  for (const std::string& page : {sample_page(), hostile_page()}) {
    const std::string said = measured(page);
    EXPECT_NE(said.find("measured 360 360"), std::string::npos) << said;
    EXPECT_EQ(said.find("sticks out"), std::string::npos) << said;
  }
}

TEST_F(Browser, ShowsHostileNamesAsText) {
  // In a page without its policy, only the escaping protects against them.
  const std::string name = "'<scr' + 'ipt>console.error(1)</scr' + 'ipt><img src=http'";
  const PageSeen seen = look(careless(hostile_page(), measuring(name)), {});
  EXPECT_EQ(seen.requests, std::vector<std::string>{});
  std::string said;
  for (const std::string& line : seen.console) said += line + "\n";
  EXPECT_NE(said.find("shown: true"), std::string::npos) << said;
  EXPECT_EQ(lines_with(said, "CONSOLE").size(), 2u) << said;  // measured, shown
}

constexpr const char* blank_page =
    "<!DOCTYPE html><meta name=\"color-scheme\" content=\"light dark\"><body></body>";

TEST_F(Browser, IsSeenInLightInDarkAndInPrint) {
  const PageSeen light = look(sample_page(), {}), dark = look(sample_page(), {.dark = true});
  const PageSeen blank = look(blank_page, {}), dark_blank = look(blank_page, {.dark = true});
  EXPECT_GT(light.picture.size(), 5 * blank.picture.size());
  EXPECT_GT(dark.picture.size(), 5 * dark_blank.picture.size());
  EXPECT_FALSE(light.picture == dark.picture);
  const Look print{.picture = "--print-to-pdf"};
  const std::string pdf = look(sample_page(), print).picture;
  EXPECT_EQ(pdf.substr(0, 5), "%PDF-");
  EXPECT_GT(pdf.size(), 5 * look(blank_page, print).picture.size());
}

/// The page with each failure closed.
std::string failures_closed(std::string page) {
  const std::string begin = "<details class=\"card failure\"", open = " open>";
  int closed = 0;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    const std::size_t end = page.find('>', at);
    if (page.compare(end + 1 - open.size(), open.size(), open) != 0) continue;
    page.replace(end + 1 - open.size(), open.size(), ">");
    ++closed;
  }
  EXPECT_GT(closed, 0);
  return page;
}

TEST_F(Browser, PrintsEveryFailureOpen) {
  const auto pdf_size = [this](const std::string& page) {
    return static_cast<double>(look(page, {.picture = "--print-to-pdf"}).picture.size());
  };
  const std::string closed = failures_closed(sample_page());
  EXPECT_NEAR(pdf_size(closed) / pdf_size(sample_page()), 1, 0.002);
  const std::string rule = "details::details-content";
  const double without_rule = pdf_size(replaced(closed, rule, ".nothing"));
  EXPECT_LT(without_rule / pdf_size(sample_page()), 0.99) << "the rule does nothing";
}

TEST_F(Browser, FindsARequest) {
  const std::string image = "<img src=\"http://127.0.0.1:9/planted.png\">";
  for (const bool scripts : {true, false}) {
    const PageSeen seen = look(careless(sample_page(), image), {.scripts = scripts});
    ASSERT_FALSE(seen.requests.empty());
    EXPECT_NE(seen.requests[0].find("planted.png"), std::string::npos);
  }
  const PageSeen held = look(replaced(sample_page(), "</body>", image + "</body>"), {});
  EXPECT_EQ(held.requests, std::vector<std::string>{}) << "the policy forbids it";
  ASSERT_EQ(held.console.size(), 1u);
  EXPECT_NE(held.console[0].find("Content Security Policy"), std::string::npos);
}

TEST_F(Browser, FindsAMessageOnTheConsole) {
  const std::string script = "<script>console.error('planted')</script>";
  ASSERT_EQ(look(careless(sample_page(), script), {}).console.size(), 1u);
  const PageSeen held = look(replaced(sample_page(), "</body>", script + "</body>"), {});
  ASSERT_EQ(held.console.size(), 1u);
  EXPECT_NE(held.console[0].find("Content Security Policy"), std::string::npos);
}

TEST_F(Browser, FindsWhatSticksOut) {
  const std::string wide = "<div style=\"width:700px\">planted</div>";
  const std::string said = measured(replaced(sample_page(), "</body>", wide + "</body>"));
  EXPECT_NE(said.find("measured 360 700"), std::string::npos) << said;
  EXPECT_NE(said.find("sticks out: DIV"), std::string::npos) << said;
}

}  // namespace
}  // namespace ropewalk::report
