#include "harness/process/loaded_kernels.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "harness/process/exceptions.h"
#include "harness/process/given_plugin.h"
#include "harness/process/script_host.h"
#include "kernels/api/cpu_features.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {
namespace {

constexpr std::size_t most_kernels = 4096;
constexpr std::size_t longest_name = 63;
constexpr std::uint32_t known_flags =
    ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT |
    ROPE_MIXES_PAIRS | ROPE_FLUSHES_SUBNORMALS | ROPE_NEEDS_ALIGN_64 | ROPE_HOST_LAUNCHER |
    ROPE_INTERPRETED | ROPE_OWN_THREADS | ROPE_ROUNDS_NORM | ROPE_ROUNDS_WEIGHTED;
constexpr std::uint32_t known_exceptions =
    ROPE_ALLOCATES | ROPE_USES_THREADS | ROPE_KEEPS_THREADS | ROPE_PRINTS;
constexpr std::size_t first_size = offsetof(rope_kernel, exceptions);  // of the first header

bool well_formed_name(const char* name) {
  if (name == nullptr) return false;
  const std::size_t length = strnlen(name, longest_name + 1);
  if (length == 0 || length > longest_name) return false;
  return std::all_of(name, name + length, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// A name for a message. It shows the readable part of a text that is no name.
std::string shown_name(const char* name) {
  return name == nullptr ? "NULL" : "'" + std::string(name, strnlen(name, 64)) + "'";
}

std::string size_fault(const char* what, std::size_t has, std::size_t needed) {
  return std::string(what) + ".struct_size is " + std::to_string(has) +
         ", but it must be at least " + std::to_string(needed) + ": set it to sizeof(" + what + ")";
}

std::string abi_fault(std::uint32_t abi) {
  return "was built for ABI " + std::to_string(abi) + ", this is ABI " +
         std::to_string(ROPE_ABI_VERSION) + ": build it against this ropewalk's rope_kernel.h";
}

// Fields that an older header lacks are 0.
rope_kernel in_this_size(const rope_kernel& k) {
  rope_kernel whole{};
  std::memcpy(&whole, &k, std::min<std::size_t>(k.struct_size, sizeof whole));
  return whole;
}

// What is wrong with a kernel as registered, in words; empty: nothing.
std::string fault_of(const rope_kernel* k) {
  if (k == nullptr) return "a kernel pointer is NULL";
  if (k->struct_size < first_size) return size_fault("rope_kernel", k->struct_size, first_size);
  if (k->abi_version != ROPE_ABI_VERSION) return abi_fault(k->abi_version);
  if (!well_formed_name(k->name))
    return "the kernel name " + shown_name(k->name) + " is not 1 to 63 of [a-z0-9_]";
  const std::string name(k->name);
  if (name.starts_with("ceiling_") || name == "floor" || name == "floor_copy")
    return "the kernel name " + shown_name(k->name) + " is reserved for rows of bench";
  if (k->supports == nullptr) return name + ": supports is NULL, but it is required";
  if (k->apply == nullptr) return name + ": apply is NULL, but it is required";
  if ((k->flags & ~known_flags) != 0)
    return name +
           ": flags has bits that ABI 1 does not know: " + std::to_string(k->flags & ~known_flags);
  if ((k->flags & (ROPE_IN_PLACE | ROPE_OUT_OF_PLACE)) == 0)
    return name + ": flags has neither ROPE_IN_PLACE nor ROPE_OUT_OF_PLACE";
  if (k->memory != ROPE_HOST && k->memory != ROPE_CUDA)
    return name + ": memory " + std::to_string(k->memory) + " is unknown";
  if (k->angle_contract < 0 || k->angle_contract > ROPE_CONTRACT_F32_ANGLE)
    return name + ": angle_contract " + std::to_string(k->angle_contract) + " is unknown";
  if (!(k->error_bound >= 0 && k->error_bound <= 16))
    return name + ": error_bound " + std::to_string(k->error_bound) + " is not in [0, 16]";
  const rope_kernel whole = in_this_size(*k);
  if ((whole.exceptions & ~known_exceptions) != 0)
    return name + ": exceptions has bits that ABI 1 does not know: " +
           std::to_string(whole.exceptions & ~known_exceptions);
  if (whole.reads_past > most_read_past)
    return name + ": reads_past is " + std::to_string(whole.reads_past) + ", but 64 is the most";
  return {};
}

// Copies of a plugin's kernel and its name stay where they are.
LoadedKernel from_plugin(const rope_kernel* k, const std::string& name, const std::string& plugin,
                         const std::string& cannot_run, std::uint32_t tolerated) {
  static std::deque<rope_kernel> copies;
  static std::deque<std::string> names;
  rope_kernel& copy = copies.emplace_back(in_this_size(*k));
  copy.name = names.emplace_back(name).c_str();
  if ((k->flags & ROPE_INTERPRETED) != 0) copy.exceptions |= ROPE_ALLOCATES;
  if ((k->flags & ROPE_OWN_THREADS) != 0) copy.exceptions |= ROPE_KEEPS_THREADS;
  tolerated &= ~copy.exceptions;
  copy.exceptions |= tolerated;
  return {&copy, k, plugin, cannot_run, tolerated};
}

void add_kernels(std::vector<LoadedKernel>& kernels, const rope_kernel* const* list,
                 std::size_t count, const std::string& plugin, std::uint32_t tolerated) {
  const std::string prefix = given_plugin(plugin).prefix;
  for (std::size_t i = 0; i < count; ++i) {
    if (const std::string fault = fault_of(list[i]); !fault.empty())
      throw std::runtime_error(fault);
    const std::string name = prefix + list[i]->name;
    if (name.size() > longest_name)
      throw std::runtime_error("the kernel name " + shown_name(list[i]->name) +
                               " is too long to have " + prefix +
                               " before it: at most 63 together");
    for (const LoadedKernel& other : kernels)
      if (other.kernel->name == name) throw std::runtime_error(name_is_taken(name, other.plugin));
    std::string cannot_run;
    if (const std::string missing = missing_cpu_feature(list[i]->cpu_features); !missing.empty())
      cannot_run = "this machine has no " + missing;
    if (list[i]->memory == ROPE_CUDA) cannot_run = "needs a CUDA device";
    kernels.push_back(plugin.empty() ? LoadedKernel{list[i], list[i], plugin, cannot_run}
                                     : from_plugin(list[i], name, plugin, cannot_run, tolerated));
  }
}

// What is wrong with a shared library that the loader does not say, in words; empty: nothing. It
// does not find code for another processor than this program's. It maps a file that ends before a
// segment of it does, and the first touch of a missing page is SIGBUS.
std::string fault_of_library(const std::string& path) {
  const auto header_of = [](std::ifstream& in, ElfW(Ehdr) & header) {
    in.read(reinterpret_cast<char*>(&header), sizeof header);
    return in && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  };
  std::ifstream in(path, std::ios::binary), self("/proc/self/exe", std::ios::binary);
  ElfW(Ehdr) header{}, own{};
  if (!header_of(in, header)) return {};
  if (header_of(self, own) &&
      (header.e_machine != own.e_machine || header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS]))
    return "cannot be loaded, as it is for another processor: build it for this one";
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum && !error; ++i) {
    ElfW(Phdr) segment{};
    in.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (!in || (segment.p_type == PT_LOAD &&
                (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset)))
      return "is cut off: the file is shorter than its header says";
  }
  return {};
}

// An absolute path, for two reasons. A name without a slash would be searched for in the library
// path. Constructors of an earlier plugin may have changed the working directory.
std::string path_of(const std::string& file) {
  static const std::string start = [] {
    std::error_code error;
    const std::string now = std::filesystem::current_path(error).string();
    return error ? "." : now;
  }();
  return file.starts_with('/') ? file : start + "/" + file;
}

// The list of kernels that a file in an interpreter's language offers.
const rope_kernel_list* run_script(const std::string& path) {
  if (script_host == nullptr) throw std::runtime_error("needs a worker that Python hosts");
  char error[1024] = "";
  const rope_kernel_list* list = script_host->load(path.c_str(), error, sizeof error);
  if (list == nullptr) throw std::runtime_error(error);
  return list;
}

const rope_kernel_list* run_library(const std::string& path) {
  if (const std::string fault = fault_of_library(path); !fault.empty())
    throw std::runtime_error(fault);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::string text = dlerror();
    if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
    throw std::runtime_error("cannot be loaded as a shared library: " + text);
  }
  using Entry = const rope_kernel_list* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "rope_kernels_v1"));
  if (entry == nullptr)
    throw std::runtime_error(
        "exports no rope_kernels_v1: a plugin has that function (kernel.h: ROPEWALK_PLUGIN();)");
  return entry();
}

void open_plugin(std::vector<LoadedKernel>& kernels, const std::string& plugin,
                 std::uint32_t tolerated) {
  const std::string path = path_of(given_plugin(plugin).file);
  if (access(path.c_str(), R_OK) != 0)
    throw std::runtime_error(std::string("cannot be read: ") + strerror(errno));
  const rope_kernel_list* list = is_script(path) ? run_script(path) : run_library(path);
  if (list == nullptr) throw std::runtime_error("rope_kernels_v1 returned NULL, not a list");
  if (list->struct_size < sizeof(rope_kernel_list))
    throw std::runtime_error(
        size_fault("rope_kernel_list", list->struct_size, sizeof(rope_kernel_list)));
  if (list->abi_version != ROPE_ABI_VERSION) throw std::runtime_error(abi_fault(list->abi_version));
  if (list->count == 0 || list->count > most_kernels)
    throw std::runtime_error("its list says " + std::to_string(list->count) + " kernels: 1 to " +
                             std::to_string(most_kernels) + " are taken");
  if (list->kernels == nullptr) throw std::runtime_error("its list of kernels is NULL");
  add_kernels(kernels, list->kernels, list->count, plugin, tolerated);
}

}  // namespace

std::string name_is_taken(const std::string& kernel, const std::string& plugin) {
  return "a kernel named " + kernel + " is there already, from " +
         (plugin.empty() ? "the command itself" : plugin) + ": give yours a name of its own";
}

std::vector<LoadedKernel> in_tree_kernels() {
  std::vector<LoadedKernel> kernels;
  const auto& own = registered_kernels();
  add_kernels(kernels, own.data(), own.size(), "", 0);
  std::sort(kernels.begin(), kernels.end(), [](const LoadedKernel& a, const LoadedKernel& b) {
    return std::string_view(a.kernel->name) < b.kernel->name;
  });
  return kernels;
}

void load_plugin(std::vector<LoadedKernel>& kernels, const std::string& plugin,
                 std::uint32_t tolerated) {
  try {
    open_plugin(kernels, plugin, tolerated);
  } catch (const std::exception& e) {
    throw std::runtime_error("plugin " + plugin + ": " + e.what());
  } catch (...) {
    throw std::runtime_error("plugin " + plugin + ": threw something while it was loaded");
  }
}

}  // namespace ropewalk::harness
