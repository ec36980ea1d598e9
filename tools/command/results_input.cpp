#include "tools/command/results_input.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "reports/check/check.h"

namespace ropewalk::tools {
using namespace report;

std::string whole_file(const std::string& file) {
  constexpr std::uintmax_t bytes_max = std::uintmax_t{1} << 30;
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(file, error);
  if (!regular) throw BadFile(file + ": cannot be read: no such file");
  if (std::filesystem::file_size(file, error) > bytes_max)
    throw BadFile(file + ": is larger than 1 GiB");
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || text.bad()) throw BadFile(file + ": cannot be read");
  return std::move(text).str();
}

Results read_results_or_page(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (in.peek() == '<') return results_of_page(whole_file(file), file);
  return read_results(file);
}

}  // namespace ropewalk::tools
