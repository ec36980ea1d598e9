// Kernels for tests of what bench believes, each f32 with tables. They are right for as many calls
// as verification makes. Then they send messages in the worker's place, print, or throw.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/api/kernel.h"
#include "tools/tests/right_rotation.h"

namespace ropewalk {
namespace {

constexpr std::int64_t long_enough = 150'000;
constexpr int wire = 3, memory = 4;  // docs/worker-protocol.md

void say(const void* data, std::size_t bytes) {
  (void)::send(wire, data, bytes, MSG_NOSIGNAL);
}

/// A message with a row, as version 3 of the protocol has it.
void say_row(const std::string& json) {
  std::vector<char> message(32'848);
  const std::uint32_t head[2] = {3, static_cast<std::uint32_t>(json.size())};
  std::memcpy(message.data(), head, sizeof head);
  std::memcpy(message.data() + 80, json.data(), json.size());
  say(message.data(), message.size());
}

void forge_garbage() {
  say_row(std::string(40, '['));
}
void forge_row() {
  say_row(R"({"schema":1,"row":"timing","kernel":"plain","summary":"","workload":"invented",)"
          R"("source":"","phase":"decode","board":"half_split / f32 / in place / table",)"
          R"("outcome":"MEASURED","reason":"","known":"","tokens":1,"bytes":1,)"
          R"("working_set_bytes":1,)"
          R"("ns_per_token":[0.001],"iterations":[1],"ns_per_token_median":0.001,)"
          R"("gb_per_s_median":1,"role":"kernel","engine":"paired","launch":0,"threads":1,)"
          R"("processors":"","variant":"","table_bytes":0,"workspace_bytes":0,)"
          R"("spin_ns_before":0,"spin_ns_after":0,"involuntary_switches":0,"page_faults":0,)"
          R"("steal_ms":0,"off_cpu_share":0,"reverified":0})");
}
void forge_reply() {
  std::vector<char> reply(512);
  const std::uint32_t head[2] = {3, 0};
  std::memcpy(reply.data(), head, sizeof head);
  say(reply.data(), reply.size());
}
void forge_short() {
  say("?", 1);
}
void forge_empty() {
  say("", 0);
}
/// Writes into the shared memory that another kernel runs, and dies.
void blame_plain() {
  auto* control =
      static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
  constexpr char other[] = "plain|shape-1";
  std::memcpy(control + 8, other, sizeof other);
  std::abort();
}
void print_to_stderr() {
  (void)!::write(STDERR_FILENO, "noise\x1b[2J", 9);
}
void print_to_stdout() {
  (void)!::write(STDOUT_FILENO, "noise", 5);
}
void throw_lines() {
  throw std::runtime_error("first\nsecond\x1b[2J");
}

template <void (*misbehave)()>
std::int32_t late(const rope_problem* p, const rope_operands* o, void* state) {
  static std::int64_t calls = 0;
  right(p, o, state);
  if (++calls == long_enough) misbehave();
  return ROPE_OK;
}
std::int32_t chatty_prepare(const rope_problem*, void**) {
  (void)!::write(STDOUT_FILENO, "prepared\n", 9);
  return ROPE_OK;
}

std::int32_t supports(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason);
}

struct HostileKernels {
  std::deque<RegisteredKernel> kernels;
  HostileKernels() {
    using Apply = std::int32_t (*)(const rope_problem*, const rope_operands*, void*);
    for (const auto& [name, apply] : {std::pair<const char*, Apply>{"innocent", right},
                                      {"forge_garbage", late<forge_garbage>},
                                      {"forge_row", late<forge_row>},
                                      {"forge_reply", late<forge_reply>},
                                      {"forge_short", late<forge_short>},
                                      {"forge_empty", late<forge_empty>},
                                      {"blame_plain", late<blame_plain>},
                                      {"print_to_stderr", late<print_to_stderr>},
                                      {"print_to_stdout", late<print_to_stdout>},
                                      {"throw_lines", late<throw_lines>},
                                      {"chatty_prepare", right}}) {
      KernelInfo info;
      info.name = name;
      info.summary = "with \x1b[31m colour\nand a line";
      info.supports = supports;
      info.apply = apply;
      if (std::string(name) == "chatty_prepare") info.prepare = chatty_prepare;
      kernels.emplace_back(info);
    }
  }
};
const HostileKernels registry;

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
