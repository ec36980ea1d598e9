// Appends whole lines and reads whole lines. A kill between two writes leaves at most half a line.
// A reader drops that half line and the next writer cuts it off.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::report {
namespace {

constexpr std::size_t line_limit_bytes = std::size_t{16} << 20;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what, int error) {
  throw std::runtime_error(file.string() + ": " + what + ": " +
                           std::generic_category().message(error));
}

ssize_t read_some(int descriptor, char* to, std::size_t size) {
  ssize_t got = 0;
  do {
    got = ::read(descriptor, to, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

/// The number of bytes to keep so that the file ends in a whole line.
off_t whole_lines_bytes(int descriptor, off_t size) {
  std::array<char, 4096> block;
  for (off_t end = size; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
    const auto want = static_cast<std::size_t>(end - begin);
    if (::pread(descriptor, block.data(), want, begin) != static_cast<ssize_t>(want)) return size;
    for (off_t i = end - begin; i > 0; --i)
      if (block[static_cast<std::size_t>(i - 1)] == '\n') return begin + i;
    end = begin;
  }
  return 0;
}

/// A killed run leaves half a row. The next row must not be glued to it.
void drop_half_row(int descriptor, const std::filesystem::path& file) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const off_t keep = whole_lines_bytes(descriptor, status.st_size);
  if (keep == status.st_size) return;
  std::array<char, record_line_start.size()> start{};
  const ssize_t got = ::pread(descriptor, start.data(), start.size(), keep);
  if (got < 0 || std::string_view(start.data(), static_cast<std::size_t>(got)) !=
                     record_line_start.substr(0, static_cast<std::size_t>(got)))
    throw std::runtime_error(file.string() +
                             ": is not a results file of ropewalk; nothing was written to it");
  if (::ftruncate(descriptor, keep) != 0) fail(file, "cannot be repaired", errno);
}

[[noreturn]] void cannot_read(const std::filesystem::path& file, int error) {
  throw BadFile(file.string() + ": cannot be read: " + std::generic_category().message(error));
}

void check_length(const std::filesystem::path& file, std::int64_t number, std::size_t size) {
  if (size > line_limit_bytes)
    throw BadFile(file.string() + ":" + std::to_string(number) +
                  ": a line longer than 16 MiB is not a row; give a results.jsonl of ropewalk");
}

}  // namespace

RecordWriter::RecordWriter(const std::filesystem::path& file)
    : file_(file),
      descriptor_(::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
  if (!descriptor_.is_open()) fail(file_, "cannot be opened for writing", errno);
  drop_half_row(descriptor_.number(), file_);
}

void RecordWriter::write_line(const std::string& line) {
  if (!descriptor_.is_open()) throw std::runtime_error(file_.string() + ": closed after an error");
  if (line.size() >= line_limit_bytes)
    throw std::runtime_error(file_.string() + ": a row is longer than 16 MiB");
  if (const int error = write_all(descriptor_.number(), line + '\n'); error != 0) {
    descriptor_.close();
    fail(file_, "cannot be written", error);
  }
}

std::int64_t for_each_whole_line(
    const std::filesystem::path& file,
    const std::function<void(std::string_view line, std::int64_t number)>& visit) {
  const Descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!opened.is_open()) cannot_read(file, errno);
  std::string pending;
  std::vector<char> block(std::size_t{1} << 16);
  std::int64_t number = 0;
  while (true) {
    const ssize_t got = read_some(opened.number(), block.data(), block.size());
    if (got < 0) cannot_read(file, errno);
    if (got == 0) return number;  // pending holds half a row
    std::string_view rest(block.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
      pending += rest.substr(0, end);
      rest.remove_prefix(end + 1);
      check_length(file, ++number, pending.size());
      visit(pending, number);
      pending.clear();
    }
    pending += rest;
    check_length(file, number + 1, pending.size());
  }
}

bool has_whole_line(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::status(file, error).type() == std::filesystem::file_type::not_found)
    return false;
  return for_each_whole_line(file, [](std::string_view, std::int64_t) {}) > 0;
}

}  // namespace ropewalk::report
