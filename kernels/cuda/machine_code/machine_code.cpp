#include "kernels/cuda/machine_code/machine_code.h"

#include <regex>
#include <sstream>

namespace ropewalk::cuda {
namespace {

std::int64_t number(const std::ssub_match& text) {
  return std::stoll(text.str());
}

std::string behind_blanks(const std::string& line, std::size_t from = 0) {
  const std::size_t at = line.find_first_not_of(" \t", from);
  return at == std::string::npos ? "" : line.substr(at);
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find_first_of(" \t;"));
}

// One line of a listing.
struct Line {
  std::string instruction, operands;
};

// Reads "/*0010*/  @!P2 LDG.E.64 R3, [R4.64] ;  /* 0x... */". Lines of the code's bytes begin with
// a blank in the comment, and are no instruction.
bool read(const std::string& text, Line& line) {
  const std::size_t end = text.find("*/");
  if (!text.starts_with("/*") || end == std::string::npos) return false;
  if (text.find_first_not_of("0123456789abcdef", 2) != end) return false;
  std::string rest = behind_blanks(text, end + 2);
  if (rest.starts_with("@")) rest = behind_blanks(rest, rest.find_first_of(" \t"));
  line.instruction = first_word(rest);
  line.operands = behind_blanks(rest, line.instruction.size());
  return !line.instruction.empty();
}

// Whether this shows a call. A call within the listing shows by the RET at its end. On sm_80 ptxas
// also leaves loops by CALL.REL to an address of the same function, from where nothing returns.
bool shows_call(const Line& line) {
  const bool is_jump = line.instruction.starts_with("CALL.REL") && line.operands.starts_with("0x");
  return line.instruction.starts_with("RET") || (line.instruction.starts_with("CALL") && !is_jump);
}

void count(const Line& line, Instructions& in) {
  const std::string& instruction = line.instruction;  // e.g. LDG.E.128.CONSTANT
  const std::string name = instruction.substr(0, instruction.find('.'));
  const bool is_wide = instruction.find(".128") != std::string::npos;
  const bool is_constant = instruction.find(".CONSTANT") != std::string::npos;
  ++in.count;
  if (name == "LDG")
    ++(is_constant ? in.constant_loads : is_wide ? in.wide_loads : in.narrow_loads);
  else if (name == "STG")
    ++(is_wide ? in.wide_stores : in.narrow_stores);
  else if (name == "LDL" || name == "STL")
    ++in.local;
  else if (name == "LD" || name == "ST")
    ++in.generic;
  else if (shows_call(line))
    ++in.calls;
}

}  // namespace

std::vector<Resources> resources_in(const std::string& ptxas) {
  static const std::regex begin("Compiling entry function '([^']+)' for '([^']+)'");
  static const std::regex memory(
      "(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  static const std::regex registers("Used (\\d+) registers");
  std::vector<Resources> found;
  std::istringstream lines(ptxas);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, begin)) {
      found.push_back({match[2], match[1]});
    } else if (!found.empty() && std::regex_search(line, match, memory)) {
      // Also told of device functions that were not inlined; they belong to the one being compiled.
      found.back().stack_bytes += number(match[1]);
      found.back().spill_bytes += number(match[2]) + number(match[3]);
    } else if (!found.empty() && std::regex_search(line, match, registers)) {
      found.back().registers = number(match[1]);
    }
  }
  return found;
}

std::vector<Instructions> instructions_in(const std::string& sass) {
  const std::string architecture = "code for ", function = "Function : ";
  std::vector<Instructions> found;
  std::string now;
  std::istringstream lines(sass);
  for (std::string text; std::getline(lines, text);) {
    text = behind_blanks(text);
    Line line;
    if (text.starts_with(architecture)) {
      now = first_word(text.substr(architecture.size()));
    } else if (text.starts_with(function)) {
      found.push_back({now, first_word(text.substr(function.size()))});
    } else if (!found.empty() && read(text, line)) {
      count(line, found.back());
    }
  }
  return found;
}

std::string fault_of(const Resources& function) {
  if (function.spill_bytes > 0) return "spills " + std::to_string(function.spill_bytes) + " bytes";
  if (function.stack_bytes > 0)
    return "has a stack of " + std::to_string(function.stack_bytes) + " bytes";
  if (function.registers == 0) return "uses no register: the text was not understood";
  return {};
}

std::string fault_of(const Instructions& function) {
  if (function.count == 0) return "has no instruction: the text was not understood";
  if (function.local > 0) return "accesses local memory";
  if (function.generic > 0) return "accesses memory by a generic address";
  if (function.calls > 0) return "calls a function";
  if (function.name.find("_wide_") == std::string::npos) return {};
  if (function.narrow_loads > 0) return "loads x by less than 16 bytes";
  if (function.narrow_stores > 0) return "stores x by less than 16 bytes";
  if (function.wide_loads == 0 || function.wide_stores == 0) return "does not load and store x";
  return {};
}

}  // namespace ropewalk::cuda
