#include "properties/explain/causes.h"

#include <map>
#include <sstream>

namespace ropewalk::properties {

const std::string& sentence_of(std::string_view cause) {
  static const std::map<std::string, std::string, std::less<>> all = [] {
    std::map<std::string, std::string, std::less<>> out;
    std::istringstream lines(
#include "causes.inc"
    );
    for (std::string name, sentence; lines >> name && std::getline(lines, sentence);)
      if (sentence.starts_with(" = \"")) out[name] = sentence.substr(4, sentence.size() - 5);
    return out;
  }();
  const auto found = all.find(cause);
  if (found == all.end()) throw std::out_of_range("no cause " + std::string(cause));
  return found->second;
}

}  // namespace ropewalk::properties
