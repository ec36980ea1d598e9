#include "harness/judge/placed_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/cases/data.h"
#include "harness/cases/stored.h"
#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {
namespace {

// The elements of a buffer, some of which still have the bits from before the call. `Bits` has the
// width of an element.
template <class Bits>
struct Elements {
  const std::byte* from;
  Bits before;

  bool is_left(std::size_t i) const {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    return bits == before;
  }
  /// The first element from `begin` on that is wrong; `end` if there is none. Such elements are
  /// rare, so whole blocks are passed by.
  template <class Wrong>
  static std::size_t first(std::size_t begin, std::size_t end, Wrong&& is_wrong) {
    constexpr std::size_t block = 4096;
    for (; begin < end; begin += block) {
      const std::size_t next = std::min(begin + block, end);
      Bits any = 0;
      for (std::size_t i = begin; i < next; ++i) any |= static_cast<Bits>(is_wrong(i) ? 1 : 0);
      for (std::size_t i = begin; any != 0 && i < next; ++i)
        if (is_wrong(i)) return i;
    }
    return end;
  }
};

// Calls use(Elements) with the width of the buffer's elements. These loops read every element.
template <class Use>
auto with_elements(const Buffer& b, const std::byte* from, std::uint64_t before, Use&& use) {
  return with_any_type(b.dtype, [&]<class Element>(std::type_identity<Element>) {
    return use(Elements<BitsOf<Element>>{from, static_cast<BitsOf<Element>>(before)});
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
  const std::size_t end = before + inside, all = end + after;
  const std::size_t changed = with_elements(b, pages, gaps, [&](const auto& elements) {
    const auto is_changed = [&](std::size_t i) { return !elements.is_left(i); };
    const std::uint8_t* const rows = not_gaps.data();
    std::size_t place = elements.first(0, before, is_changed);
    if (place == before)
      place = elements.first(
          before, end, [&](std::size_t i) { return is_changed(i) & int{rows[i - before] == 0}; });
    return place == end ? elements.first(end, all, is_changed) : place;
  });
  if (changed == all) return {};
  return text("wrote outside its rows", changed);
}

void find_unwritten(const Buffer& b, const std::vector<std::byte>& bytes, Poison poison,
                    Execution& out) {
  if (b.holds_input || !b.writable) return;
  with_elements(b, bytes.data(), poison_bits(poison, b.dtype), [&](const auto& elements) {
    const auto is_unwritten = [&](std::size_t i) {
      return elements.is_left(i) & int{b.owned[i] != 0};
    };
    const std::size_t first = elements.first(0, b.owned.size(), is_unwritten);
    if (first == b.owned.size()) return;
    for (std::size_t i = first; i < b.owned.size(); ++i)
      out.unwritten_elements += is_unwritten(i) ? 1 : 0;
    if (out.unwritten.empty()) out.unwritten = fmt::format("{}, element {}", b.name, first);
  });
}

}  // namespace ropewalk::harness
