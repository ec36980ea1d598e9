#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "reports/render.h"

namespace ropewalk {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw std::runtime_error(path.string() +
                           ": cannot be written: " + std::generic_category().message(error));
}

/// 0, or the errno of what failed.
int write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : EIO;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

/// Under another name first: whoever looks sees the old file or the new one, never a part.
void write_whole(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path part = path.string() + ".part-" + std::to_string(::getpid());
  const int descriptor =
      ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) fail(path, errno);
  int error = write_all(descriptor, text);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(part.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(part.c_str());
  fail(path, error);
}

}  // namespace

void write_report(const Results& results, const std::filesystem::path& out_dir) {
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  if (error) throw std::runtime_error(out_dir.string() + ": cannot be made: " + error.message());
  const std::string markdown = render_markdown(results), html = render_html(results);
  const std::string csv = render_csv(results), junit = render_junit(results);
  write_whole(out_dir / "report.md", markdown);
  write_whole(out_dir / "report.html", html);
  write_whole(out_dir / "results.csv", csv);
  write_whole(out_dir / "junit.xml", junit);
}

}  // namespace ropewalk
