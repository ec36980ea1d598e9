#include "harness/judge/placed_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/process/guarded_mapping.h"

namespace ropewalk::harness {
namespace {

// Finds the elements of a buffer that are still poison. `Bits` has the width of an element.
template <class Bits>
class Elements {
 public:
  Elements(const std::byte* from, Dtype dtype, Poison poison)
      : from_(from), poison_(static_cast<Bits>(poison_bits(poison, dtype))) {}

  bool is_poison(std::size_t i) const {
    Bits bits;
    std::memcpy(&bits, from_ + i * sizeof bits, sizeof bits);
    return bits == poison_;
  }
  /// The first of `count` elements that is not poison and not owned; `count` if there is none.
  std::size_t first_changed(std::size_t count, const std::uint8_t* owned) const {
    // Compares each element with the one before it, so the surroundings of a small case are read at
    // memcmp's speed.
    if (count == 0 ||
        (is_poison(0) && std::memcmp(from_, from_ + sizeof(Bits), (count - 1) * sizeof(Bits)) == 0))
      return count;
    std::size_t i = 0;
    while (i < count && (is_poison(i) || (owned != nullptr && owned[i] != 0))) ++i;
    return i;
  }
  std::int64_t unwritten(const std::vector<std::uint8_t>& owned) const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < owned.size(); ++i)
      count += static_cast<std::int64_t>(owned[i] != 0 && is_poison(i));
    return count;
  }

 private:
  const std::byte* from_;
  Bits poison_;
};

// Calls use(Elements) with the width of the buffer's elements. These loops read every element.
template <class Use>
auto with_elements(const Buffer& b, const std::byte* from, Poison poison, Use&& use) {
  return with_any_type(b.dtype, [&]<class Element>(std::type_identity<Element>) {
    return use(Elements<BitsOf<Element>>(from, b.dtype, poison));
  });
}

}  // namespace

std::vector<Placed> place_buffers(const Problem& problem, const Call& call, bool align_64,
                                  std::uint64_t next) {
  std::vector<Placed> places;
  for (const Buffer& b : problem.buffers) {
    Placed p;
    p.offset = next;
    if (call.lead) p.lead = call.lead(places.size());
    p.pages_bytes = whole_pages(p.lead + b.content.size());
    const std::uint64_t alignment = align_64 ? 64 : static_cast<std::uint64_t>(b.element_bytes());
    if (call.at_end && !call.lead)
      p.lead = (p.pages_bytes - b.content.size()) / alignment * alignment;
    next += p.pages_bytes;
    places.push_back(p);
  }
  return places;
}

void write_buffer(const Buffer& b, const std::vector<std::byte>& content, const Placed& at,
                  std::byte* memory, Poison poison) {
  std::byte* pages = memory + at.offset;
  const Poison around = b.writable ? poison : Poison::read_only;
  fill_poison(pages, at.lead, b.dtype, around);
  std::byte* data = pages + at.lead;
  std::memcpy(data, content.data(), content.size());
  const std::size_t after = at.lead + content.size();
  fill_poison(pages + after, at.pages_bytes - after, b.dtype, around);
  if (!b.writable || poison == Poison::a) return;  // content was made with poison a
  if (!b.holds_input) return fill_poison(data, b.content.size(), b.dtype, poison);
  const auto size = static_cast<std::size_t>(b.element_bytes());
  for (std::size_t i = 0; i < b.owned.size(); ++i)
    if (b.owned[i] == 0) fill_poison(data + i * size, size, b.dtype, poison);
}

std::string find_stray_write(const Buffer& b, const Placed& at, const std::byte* memory,
                             Poison poison) {
  const auto size = static_cast<std::size_t>(b.element_bytes());
  const std::size_t before = at.lead / size, inside = b.content.size() / size;
  const std::size_t after = (at.pages_bytes - at.lead - b.content.size()) / size;
  const std::byte* pages = memory + at.offset + at.lead - before * size;
  const auto first_changed = [&](std::size_t from, std::size_t count, const std::uint8_t* owned) {
    return with_elements(b, pages + from * size, poison, [&](const auto& elements) {
      return from + elements.first_changed(count, owned);
    });
  };
  const bool has_gaps = std::find(b.owned.begin(), b.owned.end(), 0) != b.owned.end();
  std::size_t changed = first_changed(0, before, nullptr);
  if (changed == before)
    changed = has_gaps ? first_changed(before, inside, b.owned.data()) : before + inside;
  if (changed == before + inside) changed = first_changed(changed, after, nullptr);
  if (changed == before + inside + after) return {};
  const auto element = static_cast<std::int64_t>(changed) - static_cast<std::int64_t>(before);
  return fmt::format("wrote outside its rows: {}, element {} (of {}), byte offset {}", b.name,
                     element, inside, element * b.element_bytes());
}

void find_unwritten(const Buffer& b, const std::vector<std::byte>& bytes, Poison poison,
                    Execution& out) {
  if (b.holds_input) return;
  with_elements(b, bytes.data(), poison, [&](const auto& elements) {
    const std::int64_t count = elements.unwritten(b.owned);
    if (count == 0) return;
    out.unwritten_elements += count;
    if (!out.unwritten.empty()) return;
    std::size_t i = 0;
    while (b.owned[i] == 0 || !elements.is_poison(i)) ++i;
    out.unwritten = fmt::format("{}, element {}", b.name, i);
  });
}

}  // namespace ropewalk::harness
