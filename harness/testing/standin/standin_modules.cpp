// Modules of the stand-in. The text of a module must name its functions, and else nothing of it is
// read. Each name stands for one function of the host, which runs once for the whole grid; an
// ending is free: `copy_4_streaming` is `copy`. All parameters have 8 bytes, and vectors have 16:
//
//   floor()
//   floor_copy(x, row_vectors, rows, positions, cos, sin, table_vectors)
//     Of each row it reads its int64 position, that row of both tables, and x, which is written
//     back.
//   update(x, vectors, bits)       turns these 64 bits over in both halves of each vector
//   copy(to, from, vectors)
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "harness/testing/standin/standin.h"

using namespace ropewalk::standin;

namespace {

using Words = std::vector<std::uint64_t>;
constexpr std::size_t vector_bytes = 16;

struct HostFunction {
  std::string_view name;
  std::size_t parameters;
  void (*run)(const Words& parameters);
};

// A module keeps its text.
struct Module {
  std::string text;
};

volatile std::byte* bytes_at(std::uint64_t address) {
  return reinterpret_cast<volatile std::byte*>(address);
}

void touch(std::uint64_t address, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<void>(bytes_at(address)[i]);
}

void floor_copy(const Words& p) {
  const std::size_t row_bytes = p[1] * vector_bytes, table_bytes = p[6] * vector_bytes;
  for (std::uint64_t row = 0; row < p[2]; ++row) {
    const auto position = reinterpret_cast<const std::uint64_t*>(p[3])[row];
    for (const std::uint64_t table : {p[4], p[5]})
      touch(table + position * table_bytes, table_bytes);
    volatile std::byte* x = bytes_at(p[0] + row * row_bytes);
    for (std::size_t i = 0; i < row_bytes; ++i) x[i] = x[i];
  }
}

void update(const Words& p) {
  auto* x = reinterpret_cast<std::uint64_t*>(p[0]);
  for (std::uint64_t i = 0; i < 2 * p[1]; ++i) x[i] ^= p[2];
}

void copy(const Words& p) {
  std::memmove(reinterpret_cast<void*>(p[0]), reinterpret_cast<const void*>(p[1]),
               p[2] * vector_bytes);
}

// A name comes before those that it begins with.
constexpr HostFunction host_functions[] = {{"floor_copy", 7, floor_copy},
                                           {"floor", 0, [](const Words&) {}},
                                           {"update", 3, update},
                                           {"copy", 3, copy}};

}  // namespace

extern "C" {

// NOLINTBEGIN
StandInAnswer cuModuleLoadDataEx(Module** module, const char* image, unsigned, const int*, void**) {
  const std::lock_guard held(stand_in().lock);
  if (stand_in().sticky != success) return stand_in().sticky;
  if (spoils_a_capture()) return capture_unsupported;
  if (image == nullptr) return invalid_value;
  *module = new Module{image};
  return success;
}
StandInAnswer cuModuleGetFunction(const HostFunction** function, Module* module, const char* name) {
  const std::string_view wanted = name;
  const auto* const found = std::ranges::find_if(host_functions, [&](const auto& one) {
    return wanted == one.name || wanted.starts_with(std::string(one.name) + "_");
  });
  if (found == std::end(host_functions) || module->text.find(wanted) == std::string::npos)
    return not_found;
  *function = found;
  return success;
}
StandInAnswer cuModuleUnload(Module* module) {
  delete module;
  return success;
}
StandInAnswer cuLaunchKernel(const HostFunction* function, unsigned grid_x, unsigned grid_y,
                             unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned, Stream* stream, void** parameters, void**) {
  const auto threads = std::uint64_t{block_x} * block_y * block_z;
  if (std::uint64_t{grid_x} * grid_y * grid_z == 0 || threads == 0 || threads > 1024)
    return invalid_value;
  Words words(function->parameters);
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], parameters[i], 8);
  return put(stream, {[run = function->run, words] { run(words); }});
}
// NOLINTEND
}
