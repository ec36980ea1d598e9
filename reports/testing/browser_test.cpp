// The report in a real browser: it requests nothing, writes nothing on the console, fits a phone,
// prints every failure and shows hostile names as they are.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/system/program.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"
#include "reports/testing/temp_folder.h"

namespace ropewalk::report {
namespace {

namespace fs = std::filesystem;

std::string chromium() {
  for (const char* path :
       {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (::access(path, X_OK) == 0) return path;
  return "";
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::logic_error("nothing to replace: " + what);
  return text.replace(at, what.size(), with);
}

constexpr const char* policy_tag = "http-equiv=\"Content-Security-Policy\"";

/// The page without its policy and with `planted` at its end, as a careless page could be.
std::string careless(const std::string& page, const std::string& planted) {
  return replaced(replaced(page, policy_tag, "name=\"no-policy\""), "</body>", planted + "</body>");
}

/// Writes to the console how wide the page is, which elements are too wide outside of scrolling
/// boxes, and whether the page shows a text.
std::string measuring(const std::string& shown) {
  return "<script>const most = document.documentElement.clientWidth;"
         "console.log('measured', most, document.documentElement.scrollWidth);"
         "for (const e of document.body.querySelectorAll('*'))"
         "  if (e.getBoundingClientRect().right > most + 1 && !e.closest('.scroll, .hidden'))"
         "    console.log('sticks out:', e.tagName, e.className);"
         "console.log('shown:', document.body.innerText.includes(" +
         shown + "));</script>";
}

struct Look {
  int width = 360, height = 800;
  bool scripts = true;
  std::string picture = "--screenshot";  ///< "--screenshot" or "--print-to-pdf"
};

struct PageSeen {
  std::vector<std::string> console, requests;
  std::string picture;  ///< the bytes of the picture file
  std::string error;
};

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos) out.push_back(line);
  return out;
}

class Browser : public TempFolder {
 protected:
  void SetUp() override {
    program = chromium();
    if (program.empty()) GTEST_SKIP() << "no Chromium is installed";
    TempFolder::SetUp();
  }

  /// The page as seen in a frame of that width, because a window is never narrower than 500 pixels.
  PageSeen look(const std::string& page, const Look& how) {
    put(folder / "page.html", page);
    const std::string size =
        "width:" + std::to_string(how.width) + "px;height:" + std::to_string(how.height) + "px";
    const bool print = how.picture == "--print-to-pdf";
    put(folder / "frame.html",
        "<!DOCTYPE html><meta name=\"color-scheme\" content=\"light dark\">"
        "<body style=\"margin:0\"><iframe src=\"page.html\" style=\"border:0;" +
            size + "\"" + (how.scripts ? "" : " sandbox") + "></iframe>");
    const fs::path log = folder / "console.log", net = folder / "net.json",
                   picture = folder / (print ? "picture.pdf" : "picture.png");
    for (const fs::path& old : {log, net, picture}) fs::remove(old);
    const ProgramOutput output = run_program(
        {program, "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
         "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND",
         "--user-data-dir=" + (folder / "profile").string(), "--enable-logging",
         "--log-file=" + log.string(), "--log-net-log=" + net.string(),
         "--window-size=" + std::to_string(std::max(how.width, 500)) + "," +
             std::to_string(how.height),
         "--no-pdf-header-footer", how.picture + "=" + picture.string(),
         "file://" + (folder / (print ? "page.html" : "frame.html")).string()},
        "", std::chrono::minutes(4));
    PageSeen seen;
    seen.error = output.error;
    seen.console = lines_with(bytes_of(log), ":CONSOLE:");
    // Requests of a page are filed under the origin of its frame. The others are the browser's own.
    for (const std::string& line : lines_with(bytes_of(net), "\"url\":\""))
      if (line.find("_key\":\"file:") != std::string::npos) seen.requests.push_back(line);
    seen.picture = bytes_of(picture);
    EXPECT_EQ(seen.error, "");
    EXPECT_GT(fs::file_size(net), 1000u) << "no log of requests";
    EXPECT_FALSE(seen.picture.empty()) << "no picture";
    return seen;
  }

  /// What the measuring script says in a page that may run it.
  std::string measured(const std::string& page, const std::string& shown = "'Ropewalk'") {
    std::string said;
    for (const std::string& line : look(careless(page, measuring(shown)), {}).console)
      said += line.substr(line.find(":CONSOLE:")) + "\n";
    EXPECT_NE(said.find("measured 360 "), std::string::npos) << said;
    return said;
  }

  std::string program;
};

std::string sample_page() {
  static const std::string page = html_of(sample_device_results());
  return page;
}

std::string hostile_page() {
  static const std::string page = html_of(hostile_results());
  return page;
}

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

// No script runs in a page but ours, and nothing is loaded, even if something slipped through.
TEST_F(Browser, ThePolicyHoldsWhatIsPlanted) {
  const std::string image = "<img src=\"http://127.0.0.1:9/planted.png\">";
  const PageSeen free = look(careless(sample_page(), image), {});
  ASSERT_FALSE(free.requests.empty()) << "a request is seen";
  EXPECT_NE(free.requests[0].find("planted.png"), std::string::npos);
  const std::string script = "<script>console.error('planted')</script>";
  const PageSeen held = look(replaced(sample_page(), "</body>", image + script + "</body>"), {});
  EXPECT_EQ(held.requests, std::vector<std::string>{});
  ASSERT_EQ(held.console.size(), 2u);
  for (const std::string& line : held.console)
    EXPECT_NE(line.find("Content Security Policy"), std::string::npos) << line;
  const std::string first = "\"use strict\";";
  const PageSeen ran = look(replaced(sample_page(), first, first + "console.log(1);"), {});
  EXPECT_EQ(ran.console.size(), 1u) << "our own script runs";
}

TEST_F(Browser, FitsAPhone) {
  for (const std::string& page : {sample_page(), hostile_page()}) {
    const std::string said = measured(page);
    EXPECT_NE(said.find("measured 360 360"), std::string::npos) << said;
    EXPECT_EQ(said.find("sticks out"), std::string::npos) << said;
  }
  const std::string wide = "<div style=\"width:700px\">planted</div></body>";
  const std::string said = measured(replaced(sample_page(), "</body>", wide));
  EXPECT_NE(said.find("sticks out: DIV"), std::string::npos) << said;
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

}  // namespace
}  // namespace ropewalk::report
