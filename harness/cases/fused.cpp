#include "harness/cases/fused.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "harness/cases/fields.h"
#include "harness/cases/names.h"
#include "harness/cases/stored.h"

namespace ropewalk::harness {
namespace {

using Slots = std::vector<std::int64_t>;

std::int64_t pages_for(std::int64_t slots, std::int64_t page_size) {
  return (slots + page_size - 1) / page_size;
}

// 0 .. count - 1 in an order of the seed.
Slots shuffled(std::int64_t count, std::uint64_t seed) {
  Slots all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[hash(seed, 0x510, i) % i]);
  return all;
}

// Each batch row begins in the middle of a page of its own.
std::int64_t row_pages(const Case& c) {
  return pages_for(c.page_size / 2 + c.tokens, c.page_size);
}

std::int64_t padded_count(const Case& c) {
  const std::int64_t count = c.batch * c.tokens;
  return count - count / 3;
}

// Those that the rule fills, and one more for those that leave some slots.
std::int64_t needed_pages(const Case& c) {
  if (!c.slots.empty()) return 0;
  if (c.slot_rule == SlotRule::paged) return c.batch * row_pages(c);
  if (c.slot_rule == SlotRule::padded) return pages_for(padded_count(c), c.page_size);
  return pages_for(c.batch * c.tokens, c.page_size) + 1;
}

// Slots anywhere in the cache, the first and the last slot among them.
Slots anywhere(const Case& c, std::int64_t count) {
  Slots all = shuffled(pages_of(c) * c.page_size, c.seed);
  const auto bring = [&](std::int64_t slot, std::uint64_t token) {
    std::swap(*std::ranges::find(all, slot), all[token % static_cast<std::uint64_t>(count)]);
  };
  const std::uint64_t first = hash(c.seed, 0x512);
  bring(0, first);
  if (count > 1) bring(std::ssize(all) - 1, first + 1);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

Slots by_rule(const Case& c) {
  const std::int64_t count = c.batch * c.tokens, size = c.page_size;
  Slots out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  switch (c.slot_rule) {
    case SlotRule::in_order:
      return out;
    case SlotRule::paged: {
      const std::int64_t rows = row_pages(c), begin = size / 2;
      const Slots pages = shuffled(pages_of(c), c.seed);
      for (std::int64_t& slot : out) {
        const std::int64_t at = begin + slot % c.tokens, page = slot / c.tokens * rows + at / size;
        slot = pages[static_cast<std::size_t>(page)] * size + at % size;
      }
      return out;
    }
    case SlotRule::scattered:
      return anywhere(c, count);
    case SlotRule::skipping: {
      out = anywhere(c, count);
      const bool none = hash(c.seed, 0x516) % 8 == 0;
      const auto kept =
          static_cast<std::int64_t>(hash(c.seed, 0x513) % static_cast<std::uint64_t>(count));
      for (std::int64_t t = 0; t < count; ++t)
        if (none || (t != kept && (hash(c.seed, 0x514, t) % 4 == 0 || t == (kept + 1) % count)))
          out[static_cast<std::size_t>(t)] = -1;
      return out;
    }
    case SlotRule::padded: {
      const Slots pages = shuffled(pages_of(c), c.seed);
      for (std::int64_t& slot : out)
        slot = slot < padded_count(c)
                   ? pages[static_cast<std::size_t>(slot / size)] * size + slot % size
                   : -1;
      return out;
    }
  }
  __builtin_unreachable();
}

void check_slots(const Case& c) {
  constexpr std::int64_t most = std::int64_t{1} << 24;  // lists of slots are made of them
  for (const std::int64_t slot : c.slots)
    require(slot < most, "slot {} is outside the cache, which has at most 2^24 slots", slot);
  require(c.pages == 0 || c.pages >= needed_pages(c), "pages={} are too few for slot_rule={}",
          c.pages, word_of(slot_rule_words, static_cast<std::int64_t>(c.slot_rule)));
  const std::int64_t end = times(pages_of(c), c.page_size);
  require(end <= most, "a cache has at most 2^24 slots");
  const Slots slots = slots_of(c);
  require(std::ssize(slots) == c.batch * c.tokens, "slots needs batch * tokens = {} slots, got {}",
          c.batch * c.tokens, slots.size());
  Slots sorted = slots;
  std::erase(sorted, -1);
  std::ranges::sort(sorted);
  for (const std::int64_t slot : sorted)
    require(slot >= 0 && slot < end, "slot {} is outside the cache, which has {} slots (-1: none)",
            slot, end);
  const auto twice = std::ranges::adjacent_find(sorted);
  require(twice == sorted.end(), "slot {} is given to two tokens",
          twice == sorted.end() ? 0 : *twice);
}

}  // namespace

bool has_norm(const Case& c) {
  return std::ranges::any_of(c.tensors, [](const TensorCase& t) { return t.norm; });
}
bool has_append(const Case& c) {
  return std::ranges::any_of(c.tensors, [](const TensorCase& t) { return t.append; });
}
void drop_norm(Case& c) {
  for (TensorCase& t : c.tensors) t.norm = false;
}
void drop_append(Case& c) {
  c.slots.clear();
  for (TensorCase& t : c.tensors) t.append = false;
}

std::vector<std::int64_t> slots_of(const Case& c) {
  return !has_append(c) ? Slots{} : c.slots.empty() ? by_rule(c) : c.slots;
}

std::vector<std::int64_t> slots_of_part(const Case& c, CaseRange rows, CaseRange tokens) {
  const Slots all = slots_of(c);
  Slots out;
  for (std::int64_t b = rows.first; b < rows.end && !all.empty(); ++b)
    out.insert(out.end(), all.begin() + b * c.tokens + tokens.first,
               all.begin() + b * c.tokens + tokens.end);
  return out;
}
Case listed_slots(const Case& c) {
  Case out = c;
  if (!has_append(c)) return out;
  out.slots = slots_of(c);
  out.pages = pages_of(c);
  return out;
}

std::int64_t pages_of(const Case& c) {
  if (c.pages > 0) return c.pages;
  if (c.slots.empty()) return needed_pages(c);
  return std::max<std::int64_t>(std::ranges::max(c.slots), 0) / c.page_size + 1;
}

void check_fused(const Case& c) {
  const bool forward = c.operation == Operation::forward;
  if (has_norm(c)) {
    require(forward, "a norm needs op=forward");
    const Dtype weight = c.weight_dtype.value_or(c.dtype);
    for (const TensorCase& t : c.tensors)
      require(!t.norm || data_type(weight).format.u >=
                             data_type(data_type(tensor_dtype(c, t)).computed_in).format.u,
              "weight_dtype must not be wider than the arithmetic of the data");
    for (const TensorCase& t : c.tensors)
      require(t.weights.empty() || std::ssize(t.weights) == t.head_dim,
              "weights needs head_dim = {} numbers, got {}", t.head_dim, t.weights.size());
  }
  if (!has_append(c)) return;  // slots are then of no account
  require(forward, "append needs op=forward");
  require(!c.one_buffer, "append and one_buffer exclude each other");
  const TensorCase* first = nullptr;
  for (const TensorCase& t : c.tensors) {
    if (!t.append) continue;
    if (first == nullptr) first = &t;
    require(!c.one_cache || tensor_dtype(c, t) == tensor_dtype(c, *first),
            "caches in one buffer must have one dtype");
  }
  check_slots(c);
}

bool ask_alike(const Case& a, const Case& b) {
  const auto same = [](const auto& one, const auto& other) {
    return std::memcmp(&one, &other, sizeof one) == 0;
  };
  const rope_problem p = without_positions(a);
  bool weights = true;
  for (std::size_t i = 0; i < a.tensors.size(); ++i)
    weights = weights && (!a.tensors[i].norm || a.tensors[i].weight == b.tensors[i].weight);
  return weights && same(norm_asked(a), norm_asked(b)) &&
         same(append_asked(a, p), append_asked(b, p));
}

rope_norm norm_asked(const Case& c) {
  if (!has_norm(c)) return {};
  rope_norm norm{{ROPE_EXT_NORM, sizeof(rope_norm), nullptr}, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < c.tensors.size(); ++i)
    norm.tensors |= c.tensors[i].norm ? 1u << i : 0;
  norm.epsilon = c.epsilon;
  norm.weight_dtype = in_contract(c.weight_dtype.value_or(c.dtype));
  norm.weight_plus_one = c.weight_plus_one ? 1 : 0;
  return norm;
}

rope_append append_asked(const Case& c, const rope_problem& p) {
  if (!has_append(c)) return {};
  rope_append append{{ROPE_EXT_APPEND, sizeof(rope_append), nullptr}, 0, 0, 0, 0, {}, {}, {}};
  append.slot_dtype = in_contract(c.slot_dtype);
  append.page_size = c.page_size;
  append.pages = pages_of(c);
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    const TensorCase& t = c.tensors[i];
    if (!t.append) continue;
    append.tensors |= 1u << i;
    append.head_stride[i] = given_or(t.cache.head, t.head_dim);
    append.slot_stride[i] = given_or(t.cache.token, times(p.tensor[i].heads, t.head_dim));
    append.page_stride[i] = given_or(t.cache.batch, times(c.page_size, append.slot_stride[i]));
  }
  return append;
}

void fill_weight(const Case& c, std::uint32_t tensor, Dtype dtype, std::vector<std::byte>& bytes) {
  const int mantissa = data_type(dtype).format.mantissa;
  const std::vector<double>& given = c.tensors[tensor].weights;
  for (std::int64_t d = 0; d < c.tensors[tensor].head_dim; ++d) {
    const std::uint64_t bits = hash(c.seed, 0x3e1, tensor, d);
    constexpr double times[] = {1, 2, 1, 2, 1, 2, 0, 8};  // of either sign
    store(bytes, dtype, d,
          given.empty() ? unit_value(bits, mantissa) * times[bits % 8]
                        : given[static_cast<std::size_t>(d)]);
  }
}

void fill_slots(const std::vector<std::int64_t>& slots, Dtype dtype,
                std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto narrow = static_cast<std::int32_t>(slots[i]);
    if (dtype == Dtype::i64)
      std::memcpy(bytes.data() + i * sizeof slots[i], &slots[i], sizeof slots[i]);
    else
      std::memcpy(bytes.data() + i * sizeof narrow, &narrow, sizeof narrow);
  }
}

void check_caches(const Problem& p, int buffer) {
  std::vector<std::uint8_t> taken(p.buffers[static_cast<std::size_t>(buffer)].owned.size());
  for (std::uint32_t i = 0; i < p.asked.tensor_count; ++i) {
    if (!marks(&p.append, i) || p.buffer(Operand::cache, i) != buffer) continue;
    const auto dims = static_cast<std::size_t>(p.asked.tensor[i].head_dim);
    for (std::int64_t slot = 0; slot < p.append.pages * p.append.page_size; ++slot)
      for (std::int64_t h = 0; h < p.asked.tensor[i].heads; ++h) {
        std::uint8_t* const row = taken.data() + p.place(Operand::cache, i).at +
                                  cache_index(p.append, i, slot) + h * p.append.head_stride[i];
        require(std::memchr(row, 1, dims) == nullptr, "{}: elements of the caches overlap",
                tensor_words[i]);
        std::memset(row, 1, dims);
      }
  }
}

}  // namespace ropewalk::harness
