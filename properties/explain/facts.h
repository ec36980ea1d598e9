// What hypotheses read from a scene: the outputs of other rotations, inputs and places.
#pragma once
#include <complex>
#include <cstdint>
#include <optional>

#include "properties/explain/scene.h"

namespace ropewalk::properties {

/// e^(i m f). The product is split into two parts, so that all of it is reduced.
std::complex<double> turn(double m, double f);

/// Keeps a reference to the scene.
class Facts {
 public:
  using C = std::complex<double>;
  explicit Facts(const Scene& scene) : scene_(scene), p_(scene.problem) {}

  const harness::Case& source() const { return p_.source; }
  double scale() const { return harness::scale_of(p_.source); }
  bool backward() const { return p_.source.operation == Operation::transpose; }
  double frequency(std::int64_t pair) const { return p_.inv_freq[static_cast<std::size_t>(pair)]; }
  std::int64_t position(int placement, std::int64_t b, std::int64_t t, std::int64_t pair) const {
    return position_of(p_, placement, b, t, pair);
  }
  std::size_t axes() const { return static_cast<std::size_t>(p_.source.axes); }
  /// The position of a pair's token on another axis.
  std::int64_t position_on(const Seen& s, std::size_t axis) const {
    const auto& positions = s.placement == 1 ? p_.other_positions : p_.positions;
    const std::int64_t token = s.at.b * p_.asked.tokens + s.at.t;
    return positions[axis * positions.size() / static_cast<std::size_t>(p_.source.axes) +
                     static_cast<std::size_t>(token)];
  }
  const rope_tensor& tensor(const Seen& s) const { return p_.asked.tensor[s.at.tensor]; }
  const rope_problem& asked() const { return p_.asked; }

  /// a x r, or a x conj(r) in the backward pass.
  C turned(const C& x, const C& r) const { return scale() * x * (backward() ? std::conj(r) : r); }
  std::optional<C> turned(const C& x, const std::optional<C>& r) const {
    return r ? std::optional(turned(x, *r)) : std::nullopt;
  }
  /// The rotation of a pair at another position; empty: the table has no such row.
  std::optional<C> rotation(const Seen& s, std::int64_t position) const;
  /// The rotation of pair i of the same token.
  std::optional<C> rotation_of_pair(Seen s, std::int64_t i) const;
  /// Element e of the input row of a head.
  double element(const Seen& s, const harness::HeadPlace& at, std::int64_t e) const;
  C pair_of(const Seen& s, const harness::HeadPlace& at) const;
  /// The output of a pair if the row is read in one pairing and written in another, from another
  /// first element.
  C rearranged(const Seen& s, Pairing read, Pairing written, std::int64_t offset) const;
  /// The length of the longer of the two input pairs in that output.
  double longest(const Seen& s, Pairing read, Pairing written, std::int64_t offset) const;
  /// The output of a pair if element i of the window is turned with element i + head_dim / 2.
  std::optional<C> with_far_partner(const Seen& s) const;
  /// The same of one element of the row, which may lie outside the window.
  std::optional<double> far_element(const Seen& s, std::int64_t at) const;

 private:
  /// The pair that element `at` of a row is written from, and which of its two elements that is.
  struct From {
    std::int64_t pair = -1;  ///< -1: the element lies outside the window
    bool first = false;
    C x;
  };
  From source(const Seen& s, Pairing read, Pairing written, std::int64_t offset,
              std::int64_t at) const;
  const Scene& scene_;
  const harness::Problem& p_;
};

}  // namespace ropewalk::properties
