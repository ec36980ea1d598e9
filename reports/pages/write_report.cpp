#include "reports/pages/write_report.h"

#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/whole_file.h"
#include "reports/pages/render.h"

namespace ropewalk::report {

void write_report(const Results& results, const std::filesystem::path& out_dir) {
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  if (error) throw std::runtime_error(out_dir.string() + ": cannot be made: " + error.message());
  const Summary summary = summarize(results);
  // The page takes as long as the other three formats together, so they run beside it.
  struct Others {
    std::string markdown, csv, junit;
  };
  auto others = std::async(std::launch::async, [&] {
    return Others{render_markdown(results, summary), render_csv(results, summary),
                  render_junit(results, summary)};
  });
  const std::string html = render_html(results, summary);
  const auto [markdown, csv, junit] = others.get();
  write_whole_file(out_dir / "report.md", markdown);
  write_whole_file(out_dir / "report.html", html);
  write_whole_file(out_dir / "results.csv", csv);
  write_whole_file(out_dir / "junit.xml", junit);
}

}  // namespace ropewalk::report
