#include "base/fingerprint.h"

#include <fstream>
#include <vector>

namespace ropewalk {

std::optional<std::string> fingerprint_of_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  Fingerprint f;
  std::vector<char> block(std::size_t{1} << 16);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0)
    f.add(block.data(), static_cast<std::size_t>(in.gcount()));
  return f.text();
}

}  // namespace ropewalk
