#include "harness/judge/placed_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/cases/data.h"
#include "harness/cases/stored.h"
#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {
namespace {

// Finds the elements of a buffer that still have the bits from before the call. `Bits` has the
// width of an element.
template <class Bits>
class Elements {
 public:
  Elements(const std::byte* from, std::uint64_t before)
      : from_(from), before_(static_cast<Bits>(before)) {}

  bool is_left(std::size_t i) const {
    Bits bits;
    std::memcpy(&bits, from_ + i * sizeof bits, sizeof bits);
    return bits == before_;
  }
  /// The first of `count` elements that is not left and not owned; `count` if there is none.
  std::size_t first_changed(std::size_t count, const std::uint8_t* owned) const {
    if (owned == nullptr) return first_other(0, count);
    std::size_t gap = 0;
    while ((gap = next(owned, gap, count, 0)) < count) {
      const std::size_t end = next(owned, gap, count, 1);
      const std::size_t changed = first_other(gap, end);
      if (changed < end) return changed;
      gap = end;
    }
    return count;
  }
  std::int64_t unwritten(const std::vector<std::uint8_t>& owned) const {
    // Such elements are rare among written ones, so whole blocks are passed by.
    constexpr std::size_t block = 4096;
    std::int64_t count = 0;
    for (std::size_t begin = 0; begin < owned.size(); begin += block) {
      const std::size_t end = std::min(begin + block, owned.size());
      if (!has_left(begin, end)) continue;
      for (std::size_t i = begin; i < end; ++i)
        count += static_cast<std::int64_t>(owned[i] != 0 && is_left(i));
    }
    return count;
  }

 private:
  // The next element from `begin` that is owned (mark = 1) or not (mark = 0); `end` if there is
  // none.
  static std::size_t next(const std::uint8_t* owned, std::size_t begin, std::size_t end, int mark) {
    const void* const found = std::memchr(owned + begin, mark, end - begin);
    return found == nullptr
               ? end
               : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - owned);
  }
  // The first element that is not left. Compares each element with the one before it, so the
  // surroundings of a case are read at memcmp's speed.
  std::size_t first_other(std::size_t begin, std::size_t end) const {
    const std::byte* const at = from_ + begin * sizeof(Bits);
    if (begin == end || (is_left(begin) &&
                         std::memcmp(at, at + sizeof(Bits), (end - begin - 1) * sizeof(Bits)) == 0))
      return end;
    std::size_t i = begin;
    while (i < end && is_left(i)) ++i;
    return i;
  }
  bool has_left(std::size_t begin, std::size_t end) const {
    Bits any = 0;
    for (std::size_t i = begin; i < end; ++i) any |= static_cast<Bits>(is_left(i) ? 1 : 0);
    return any != 0;
  }

  const std::byte* from_;
  Bits before_;
};

// Calls use(Elements) with the width of the buffer's elements. These loops read every element.
template <class Use>
auto with_elements(const Buffer& b, const std::byte* from, std::uint64_t before, Use&& use) {
  return with_any_type(b.dtype, [&]<class Element>(std::type_identity<Element>) {
    return use(Elements<BitsOf<Element>>(from, before));
  });
}

}  // namespace

std::vector<Placed> place_buffers(const Problem& problem, const Call& call,
                                  const KernelFacts& facts, std::uint64_t next) {
  const bool align_64 = (facts.flags & ROPE_NEEDS_ALIGN_64) != 0;
  std::vector<Placed> places;
  for (const Buffer& b : problem.buffers) {
    Placed p;
    p.offset = next;
    if (call.lead) p.lead = call.lead(places.size());
    const std::size_t room = places.size() < call.room.size() ? call.room[places.size()] : 0;
    const bool is_output = b.writable && !b.holds_input && b.kept.empty();
    p.past = is_output ? 0 : facts.reads_past;
    p.pages_bytes = whole_pages(p.lead + std::max(b.content.size(), room) + p.past);
    const std::uint64_t alignment = align_64 ? 64 : static_cast<std::uint64_t>(b.element_bytes());
    const bool begins = places.size() < 64 && (call.begins >> places.size() & 1) != 0;
    if (call.at_end && !begins && !call.lead)
      p.lead = (p.pages_bytes - b.content.size() - p.past) / alignment * alignment;
    next += p.pages_bytes;
    places.push_back(p);
  }
  return places;
}

std::uint64_t gap_bits(const Problem& p, const Buffer& b, int placement) {
  const std::uint64_t around =
      poison_bits(b.writable ? poison_of(placement) : Poison::read_only, b.dtype);
  const std::uint64_t random =
      hash(p.source.seed, 0x6a9, placement, p.positions.front(), p.positions.back());
  const bool lone = p.other_positions.empty();
  if (p.poison_alone || (lone ? random % 2 == 0 : placement == 0)) return around;
  if (!is_floating(in_contract(b.dtype))) {  // a position of the call's range
    const std::int64_t low = p.asked.min_position, high = p.asked.max_position;
    // Where poison may be a position, write_buffer() would take that position for a gap.
    if (high >= static_cast<std::int64_t>(around)) return around;
    return static_cast<std::uint64_t>(low) + random % static_cast<std::uint64_t>(high - low + 1);
  }
  std::vector<std::byte> number(sizeof random);
  store(number, b.dtype, 0, 4 * unit_value(random, data_type(b.dtype).format.mantissa));
  return load_as<std::uint64_t>(number, 0);
}

void write_buffer(const Buffer& b, const std::vector<std::byte>& content, const Placed& at,
                  std::byte* memory, Poison poison, std::uint64_t gaps) {
  std::byte* pages = memory + at.offset;
  fill_bits(pages, at.lead, b.dtype, gaps);
  std::byte* data = pages + at.lead;
  std::memcpy(data, content.data(), content.size());
  const std::size_t after = at.lead + content.size();
  fill_bits(pages + after, at.pages_bytes - after, b.dtype, gaps);
  if (!b.writable) fill_poison(pages + after, at.past, b.dtype, poison);
  // The content was made with poison: a where it is writable.
  const std::uint64_t made = poison_bits(b.writable ? Poison::a : Poison::read_only, b.dtype);
  const std::uint64_t unwritten = poison_bits(poison, b.dtype);
  if (gaps == made) return;
  with_any_type(b.dtype, [&]<class Element>(std::type_identity<Element>) {
    using Bits = BitsOf<Element>;
    const auto from = static_cast<Bits>(made), in_gap = static_cast<Bits>(gaps);
    const std::size_t count = content.size() / sizeof(Bits);
    const auto replace = [&](auto&& filler_of) {  // branch-free: it reads every element
      for (std::size_t i = 0; i < count; ++i) {
        const auto given = load_as<Bits>(data, static_cast<std::int64_t>(i));
        const Bits bits = given == from ? filler_of(i) : given;
        std::memcpy(data + i * sizeof bits, &bits, sizeof bits);
      }
    };
    const auto in_row = static_cast<Bits>(unwritten);
    const std::uint8_t* const owned = b.owned.data();
    if (b.writable)
      replace([=](std::size_t i) { return owned[i] == 0 ? in_gap : in_row; });
    else
      replace([=](std::size_t) { return in_gap; });
  });
}

std::string find_stray_write(const Buffer& b, const std::vector<std::byte>& content,
                             const Placed& at, const std::byte* memory, std::uint64_t gaps) {
  const auto size = static_cast<std::size_t>(b.element_bytes());
  const std::size_t before = at.lead / size, inside = b.content.size() / size;
  const std::size_t after = (at.pages_bytes - at.lead - b.content.size()) / size;
  const std::byte* pages = memory + at.offset + at.lead - before * size;
  const auto first_changed = [&](std::size_t from, std::size_t count, const std::uint8_t* owned) {
    return with_elements(b, pages + from * size, gaps, [&](const auto& elements) {
      return from + elements.first_changed(count, owned);
    });
  };
  const auto text = [&](const char* what, std::size_t changed) {
    const auto element = static_cast<std::int64_t>(changed) - static_cast<std::int64_t>(before);
    return fmt::format("{}: {}, element {} (of {}), byte offset {}", what, b.name, element, inside,
                       element * b.element_bytes());
  };
  std::vector<std::uint8_t> kept_or_owned;
  if (!b.kept.empty()) kept_or_owned = b.owned;
  for (std::size_t i = 0; i < b.kept.size(); ++i) {
    if (b.kept[i] == 0) continue;
    kept_or_owned[i] = 1;
    if (std::memcmp(pages + (before + i) * size, content.data() + i * size, size) != 0)
      return text(b.name.find("cache") == std::string::npos ? "changed its input"
                                                            : "changed a row of an earlier call",
                  before + i);
  }
  const auto& not_gaps = b.kept.empty() ? b.owned : kept_or_owned;
  std::size_t changed = first_changed(0, before, nullptr);
  if (changed == before) changed = first_changed(before, inside, not_gaps.data());
  if (changed == before + inside) changed = first_changed(changed, after, nullptr);
  if (changed == before + inside + after) return {};
  return text("wrote outside its rows", changed);
}

void find_unwritten(const Buffer& b, const std::vector<std::byte>& bytes, Poison poison,
                    Execution& out) {
  if (b.holds_input || !b.writable) return;
  with_elements(b, bytes.data(), poison_bits(poison, b.dtype), [&](const auto& elements) {
    const std::int64_t count = elements.unwritten(b.owned);
    if (count == 0) return;
    out.unwritten_elements += count;
    if (!out.unwritten.empty()) return;
    std::size_t i = 0;
    while (b.owned[i] == 0 || !elements.is_left(i)) ++i;
    out.unwritten = fmt::format("{}, element {}", b.name, i);
  });
}

}  // namespace ropewalk::harness
