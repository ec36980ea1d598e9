#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tools/command/options.h"

namespace ropewalk::tools {
namespace {

constexpr std::int64_t most_shards = 65536;
constexpr const char* array_task = "SLURM_ARRAY_TASK_ID";
constexpr const char* engines[] = {array_task, "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                   "JOB_COMPLETION_INDEX"};

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::nullopt : number(text);
}

// An array may begin anywhere and leave numbers out.
std::string read_array_task(std::int64_t& i) {
  const auto task = variable(array_task), first = variable("SLURM_ARRAY_TASK_MIN"),
             step = variable("SLURM_ARRAY_TASK_STEP");
  if (!task || !first || !step || *step < 1 || *task < *first || (*task - *first) % *step != 0)
    return "SLURM_ARRAY_TASK_ID, _MIN and _STEP together name no task of an array";
  i = (*task - *first) / *step + 1;
  return {};
}

std::string read_environment(Shard& shard) {
  const char* found = nullptr;
  for (const char* name : engines) {
    if (std::getenv(name) == nullptr) continue;
    if (found != nullptr)
      return fmt::format("{} and {} are both set, so give i as a number", found, name);
    found = name;
  }
  if (found == nullptr)
    return fmt::format("none of {} is set, so give i as a number", fmt::join(engines, ", "));
  shard.taken_from = fmt::format("{}={}", found, std::getenv(found));
  if (found == array_task) return read_array_task(shard.i);
  const auto rank = variable(found);
  if (!rank || *rank < 0 || *rank >= most_shards) return shard.taken_from + " is not a rank";
  shard.i = *rank + 1;
  return {};
}

}  // namespace

std::string read_shard(const std::string& text, Shard& shard) {
  const std::size_t slash = text.find('/');
  const std::string i = text.substr(0, slash);
  const auto n = number(slash == std::string::npos ? "" : text.substr(slash + 1));
  if (n && i == "auto") {
    if (std::string wrong = read_environment(shard); !wrong.empty()) return wrong;
  } else {
    shard.i = number(i).value_or(0);
  }
  shard.n = n.value_or(0);
  if (1 <= shard.i && shard.i <= shard.n && shard.n <= most_shards) return {};
  return fmt::format("{}{}must be i/n with 1 <= i <= n <= {}", shard.taken_from,
                     shard.taken_from.empty() ? "" : ": ", most_shards);
}

}  // namespace ropewalk::tools
