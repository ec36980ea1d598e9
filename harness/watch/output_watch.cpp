#include "harness/watch/output_watch.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include "base/printable.h"

namespace ropewalk::harness {
namespace {

std::string content(int descriptor, off_t from, off_t to) {
  to = std::min(to, static_cast<off_t>(watched_output_bytes));  // a kernel may have moved the end
  std::string text(static_cast<std::size_t>(std::max<off_t>(to - from, 0)), '\0');
  const ssize_t got = pread(descriptor, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string quoted(const std::string& text) {
  constexpr std::size_t length_max = 60;
  return "'" + printable(text.substr(0, length_max)) + "'" +
         (text.size() > length_max ? "..." : "");
}

}  // namespace

int make_watched_output() {
  const int descriptor = memfd_create("ropewalk output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // The size is fixed, so a kernel that prints without end fills no memory.
  if (descriptor < 0 || ftruncate(descriptor, watched_output_bytes) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, watched_output_seals) != 0)
    throw std::runtime_error(std::string("memory for a worker's output: ") + strerror(errno));
  return descriptor;
}

void show_watched_output(int descriptor) {
  // Enough bytes for the report of a sanitizer.
  constexpr std::size_t shown_most = std::size_t{1} << 16;
  const off_t end = lseek(descriptor, 0, SEEK_CUR);
  std::string text = content(descriptor, 0, end);
  lseek(descriptor, 0, SEEK_SET);
  const std::size_t left_out = text.size() > shown_most ? text.size() - shown_most : 0;
  text.resize(text.size() - left_out);
  text = printable_lines(text);
  if (left_out > 0) text += fmt::format("\n(a kernel or plugin printed {} bytes more)\n", left_out);
  std::size_t shown = 0;
  while (shown < text.size()) {
    const ssize_t done = write(STDERR_FILENO, text.data() + shown, text.size() - shown);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    shown += static_cast<std::size_t>(done);
  }
}

OutputWatch::OutputWatch() {
  for (Stream& s : streams_) {
    s.watched = fcntl(s.descriptor, F_GET_SEALS) == watched_output_seals;
    if (s.watched) s.at = lseek(s.descriptor, 0, SEEK_CUR);
  }
}

std::string OutputWatch::written() {
  std::string out;
  std::fflush(stdout);
  std::cout.flush();
  for (Stream& s : streams_) {
    if (!s.watched) continue;
    const off_t now = lseek(s.descriptor, 0, SEEK_CUR);
    if (now >= 0 && now < s.at) s.at = now;  // the parent has shown and emptied it
    if (now == s.at || now < 0) continue;
    out += fmt::format("{}wrote to {}: {}", out.empty() ? "" : "; ", s.name,
                       quoted(content(s.descriptor, s.at, now)));
#if defined(ROPEWALK_SANITIZED)
    s.at = now;  // it may be a report, which the user sees in full
#else
    lseek(s.descriptor, s.at, SEEK_SET);
#endif
  }
  return out;
}

void OutputWatch::accept() {
  std::fflush(stdout);
  std::cout.flush();
  for (Stream& s : streams_) {
    if (!s.watched) continue;
    if (s.descriptor == STDOUT_FILENO) {
      lseek(s.descriptor, s.at, SEEK_SET);
    } else {
      s.at = lseek(s.descriptor, 0, SEEK_CUR);
    }
  }
}

}  // namespace ropewalk::harness
