// A plugin for tests. Its kernel `hostile` harms the process it runs in. HOSTILE_DO in the
// environment names the harm, and HOSTILE_IN the place: load, supports, prepare or apply
// (the default). `hostile_neighbour` is correct.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>

#include "harness/protocol.h"
#include "harness/testing/right_rotation.h"

namespace ropewalk {
namespace {

using harness::protocol::memory_descriptor;
using harness::protocol::socket_descriptor;

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// Leaves a process in a session of its own. The parent of this process ends at once.
void leave_process() {
  if (fork() != 0) return;
  setsid();
  if (fork() == 0)
    for (int s = 0; s < 60; ++s) sleep(1);
  _exit(0);
}

// Returns false in the first process that asks.
bool was_loaded_before() {
  const std::string mark = variable("HOSTILE_MARK", "");
  if (access(mark.c_str(), F_OK) == 0) return true;
  close(open(mark.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  return false;
}

void act(const std::string& what) {
  if (what == "grow") (void)!ftruncate(memory_descriptor, off_t{1} << 40);
  if (what == "close_socket") close(socket_descriptor);
  if (what == "close_memory") close(memory_descriptor);
  if (what == "write_to_socket") (void)!write(socket_descriptor, "noise", 5);
  if (what == "leave_process") leave_process();
  if (what == "leave_and_crash") leave_process(), std::raise(SIGSEGV);
  if (what == "load_once" && was_loaded_before()) std::_Exit(5);
  if (what == "change_directory") (void)!chdir("/");
  if (what == "handle_interrupts") std::signal(SIGINT, [](int) {});
  if (what == "set_variable") setenv("HOSTILE_VARIABLE", "1", 1);
#if defined(__x86_64__)
  if (what == "flush_subnormals") __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
  if (what == "round_up") __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x4000);
#endif
}

void act_in(const std::string& place) {
  if (variable("HOSTILE_IN", "apply") == place) act(variable("HOSTILE_DO", ""));
}

const KernelInfo right = f32_table_kernel<right_head>("hostile_neighbour");

std::int32_t hostile_supports(const rope_problem* p, const char** reason) {
  act_in("supports");
  return right.supports(p, reason);
}
std::int32_t hostile_prepare(const rope_problem*, void**) {
  act_in("prepare");
  return ROPE_OK;
}
std::int32_t hostile_apply(const rope_problem* p, const rope_operands* o, void* state) {
  act_in("apply");
  return right.apply(p, o, state);
}

KernelInfo hostile() {
  act_in("load");
  KernelInfo k = right;
  k.name = "hostile";
  k.supports = hostile_supports;
  k.prepare = hostile_prepare;
  k.apply = hostile_apply;
  return k;
}

const RegisteredKernel neighbour{right};
const std::unique_ptr<RegisteredKernel> not_always(variable("HOSTILE_DO", "") == "vanish" &&
                                                           was_loaded_before()
                                                       ? nullptr
                                                       : new RegisteredKernel(hostile()));

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
