// A page is held to its results, digit by digit.
#include "reports/check.h"

#include <gtest/gtest.h>

#include "reports/digest.h"
#include "reports/page_data.h"
#include "reports/render.h"
#include "reports/sample_results.h"

namespace ropewalk {
namespace {

const std::string& sample_page() {
  static const std::string page = render_html(sample_results());
  return page;
}

PageCheck check(const std::string& page) {
  return check_page(page, "report.html", std::nullopt);
}

TEST(Check, APageHoldsByWhatItCarries) {
  const PageCheck alone = check(sample_page());
  EXPECT_TRUE(alone.holds) << alone.text;
  EXPECT_NE(alone.text.find(sha256_hex(text_of(sample_results()))), std::string::npos);
  const PageCheck with_file = check_page(sample_page(), "report.html", sample_results());
  EXPECT_TRUE(with_file.holds) << with_file.text;
}

TEST(Check, FindsOtherResults) {
  Results other = sample_results();
  other.run.seed ^= 1;
  const PageCheck found = check_page(sample_page(), "report.html", other);
  EXPECT_FALSE(found.holds);
  EXPECT_NE(found.text.find("carries other results than the file"), std::string::npos);
}

/// The page with another digit in the place of that one.
std::string edited(std::string page, std::size_t at) {
  page[at] = page[at] == '9' ? '0' : static_cast<char>(page[at] + 1);
  return page;
}

bool is_refused(const std::string& page, const std::string& gnuplot) {
  try {
    return !check_page(page, "report.html", std::nullopt, gnuplot).holds;
  } catch (const BadResults&) {
    return true;
  }
}

/// Every digit is too many to render again: one of each stretch, in tables, pictures, script,
/// policy and carried results alike.
void edit_digits(const std::string& page, const std::string& gnuplot, std::size_t stretches) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t at = page.find_first_of("0123456789", i * (page.size() / stretches));
    if (at == std::string::npos) continue;
    EXPECT_TRUE(is_refused(edited(page, at), gnuplot)) << page.substr(at - 40, 80);
    ++tried;
  }
  EXPECT_GT(tried, stretches / 2);
  EXPECT_FALSE(is_refused(page, gnuplot)) << "what was not edited is not refused";
}

TEST(Check, OneEditedDigitAnywhereIsFound) {
  edit_digits(render_html(sample_results(), "/"), "/", 100);
  edit_digits(sample_page(), "", 6);
}

TEST(Check, NamesTheFirstThatDiffers) {
  std::string page = sample_page();
  const std::string cell = "<td class=\"num\" data-label=\"claims that hold\">";
  const std::size_t at = page.find(cell) + cell.size();
  ASSERT_EQ(page.substr(at, 8), "36 of 36");
  page[at] = '9';
  const std::string text = check(page).text;
  EXPECT_EQ(text.substr(text.find(": K") + 2),
            "Kernels, row dense: the page has 96, the results give 36");
}

TEST(Check, RefusesWhatIsNoPageOfThisRopewalk) {
  for (const std::string& text : {std::string(), std::string("<html>"), sample_page().substr(9999)})
    EXPECT_THROW(check(text.substr(0, 2000)), BadResults);
  std::string other = sample_page();
  const std::size_t at = other.find(maker_begin) + maker_begin.size();
  other.replace(at, 8, "ropewalj");
  EXPECT_THROW(check(other), BadResults);
}

// Whoever names another gnuplot cannot put something else in the place of a picture.
TEST(Check, AForgedPictureIsFound) {
  const auto drawn_by_another = [](std::string page) {
    const std::size_t at = page.find("gnuplot ", page.find(maker_begin));
    return page.replace(at, 9, "gnuplot 9");
  };
  std::string page = drawn_by_another(sample_page());
  const PageCheck honest = check(page);
  EXPECT_TRUE(honest.holds) << honest.text;
  EXPECT_FALSE(honest.in_full);
  page.insert(page.find('>', page.find("<svg class=\"chart ")) + 1,
              "<section class=\"banner good\"><h1>All kernels verified</h1></section>");
  EXPECT_FALSE(check(page).holds);
}

TEST(Check, APageOfAnotherGnuplotIsHeldByItsTables) {
  const std::string bare = render_html(sample_results(), "/");
  const PageCheck found = check(bare);
  EXPECT_FALSE(found.holds) << "a page without pictures says so in words, which differ";
}

}  // namespace
}  // namespace ropewalk
