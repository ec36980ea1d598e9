// Shows a report in a real browser, for tests of what it requests, what it says and how it looks.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/system/program.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {

namespace fs = std::filesystem;

inline std::string chromium() {
  for (const char* path :
       {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (::access(path, X_OK) == 0) return path;
  return "";
}

inline std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::logic_error("nothing to replace: " + what);
  return text.replace(at, what.size(), with);
}

inline constexpr const char* policy_tag = "http-equiv=\"Content-Security-Policy\"";

/// The page without its policy and with `planted` at its end, as a careless page could be.
inline std::string careless(const std::string& page, const std::string& planted) {
  return replaced(replaced(page, policy_tag, "name=\"no-policy\""), "</body>", planted + "</body>");
}

/// Writes to the console how wide the page is, which elements are too wide outside of scrolling
/// boxes, and whether the page shows a text.
inline std::string measuring(const std::string& shown) {
  return "<script>const most = document.documentElement.clientWidth;"
         "console.log('measured', most, document.documentElement.scrollWidth);"
         "for (const e of document.body.querySelectorAll('*'))"
         "  if (e.getBoundingClientRect().right > most + 1 && !e.closest('.scroll, .hidden'))"
         "    console.log('sticks out:', e.tagName, e.className);"
         "console.log('shown:', document.body.innerText.includes(" +
         shown + "));</script>";
}

inline std::string with_helpers(const std::string& script) {
  return "<script>{ const say = (...a) => console.log('said', ...a);" + script + "}</script>";
}

struct Look {
  int width = 360, height = 800;
  bool dark = false, scripts = true;
  std::string picture = "--screenshot";  ///< "--screenshot" or "--print-to-pdf"
};

struct PageSeen {
  std::vector<std::string> console, requests;
  std::string picture;  ///< the bytes of the picture file
  std::string error;
};

inline std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos) out.push_back(line);
  return out;
}

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    program = chromium();
    if (program.empty()) GTEST_SKIP() << "no Chromium is installed";
    std::string pattern = (fs::temp_directory_path() / "ropewalk-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    std::error_code ignored;  // the browser's children may still write
    if (!folder.empty()) fs::remove_all(folder, ignored);
  }

  /// The page as seen in a frame of that width, because a window is never narrower than 500 pixels.
  PageSeen look(const std::string& page, const Look& how) {
    write_file(folder / "page.html", page);
    const std::string size =
        "width:" + std::to_string(how.width) + "px;height:" + std::to_string(how.height) + "px";
    const bool print = how.picture == "--print-to-pdf";
    write_file(folder / "frame.html",
               "<!DOCTYPE html><meta name=\"color-scheme\" content=\"light dark\">"
               "<body style=\"margin:0\"><iframe src=\"page.html\" style=\"border:0;" +
                   size + "\"" + (how.scripts ? "" : " sandbox") + "></iframe>");
    const fs::path log = folder / "console.log", net = folder / "net.json",
                   picture = folder / (print ? "picture.pdf" : "picture.png");
    for (const fs::path& old : {log, net, picture}) fs::remove(old);
    const ProgramOutput output =
        run_program({program,
                     "--headless",
                     "--no-sandbox",
                     "--disable-dev-shm-usage",
                     "--disable-gpu",
                     "--hide-scrollbars",
                     "--disable-background-networking",
                     "--disable-component-update",
                     "--disable-sync",
                     "--no-first-run",
                     "--host-resolver-rules=MAP * ~NOTFOUND",
                     "--user-data-dir=" + (folder / "profile").string(),
                     "--enable-logging",
                     "--log-file=" + log.string(),
                     "--log-net-log=" + net.string(),
                     how.dark ? "--blink-settings=preferredColorScheme=0"
                              : "--blink-settings=preferredColorScheme=1",
                     "--window-size=" + std::to_string(std::max(how.width, 500)) + "," +
                         std::to_string(how.height),
                     "--no-pdf-header-footer",
                     how.picture + "=" + picture.string(),
                     "file://" + (folder / (print ? "page.html" : "frame.html")).string()},
                    "", std::chrono::minutes(4));
    PageSeen seen;
    seen.error = output.error;
    seen.console = lines_with(read_file(log), ":CONSOLE:");
    // Requests of a page are filed under the origin of its frame. The others are the browser's own.
    for (const std::string& line : lines_with(read_file(net), "\"url\":\""))
      if (line.find("_key\":\"file:") != std::string::npos) seen.requests.push_back(line);
    seen.picture = read_file(picture);
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

  /// What a planted script says on the console, one line each.
  std::string said(const std::string& page, const std::string& script, const Look& how = {}) {
    std::string lines;
    for (const std::string& line : look(careless(page, script), how).console) {
      const std::size_t at = line.find("\"said ");
      lines +=
          at == std::string::npos ? line : line.substr(at + 6, line.rfind("\", source") - at - 6);
      lines += '\n';
    }
    return lines;
  }

  std::string program;
  fs::path folder;
};

/// Results with names that a hostile plugin could have.
inline Results hostile_results() {
  const std::string script = "<script>console.error(1)</script><img src=http://127.0.0.1:9/x>";
  const std::string hostile = script + "\"'&amp;|`" + std::string(300, 'w') +
                              "\xe2\x80\xae rtl \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \x1b[31m\x01\xff";
  Results results = sample_results();
  results.run.command = results.run.environment[hostile] = hostile;
  for (VerdictRow& row : results.verdicts) {
    row.kernel += hostile;
    row.summary = row.plugin = row.claim = row.reason = row.where = row.replay = hostile;
    row.property += hostile;
    row.pairing += hostile;
  }
  for (TimingRow& row : results.timings) {
    if (!row.is_ceiling()) row.kernel += hostile;
    row.source = row.reason = hostile;
    row.workload += hostile;
    row.board += hostile;
  }
  for (CurveRow& row : results.curves) row.series += hostile;
  return results;
}

inline std::string sample_page() {
  static const std::string page = render_html(sample_results());
  return page;
}

inline std::string hostile_page() {
  static const std::string page = render_html(hostile_results());
  return page;
}

}  // namespace ropewalk::report
