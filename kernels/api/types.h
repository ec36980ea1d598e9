// types.h: the contract's enumerations as C++ types, and the table of its data types.
//
// A new data type needs an enumerator in rope_kernel.h and in Dtype, a C++ type (half.h), and one
// row of `data_types`. Code reads from that row what differs between types. `tensor_dtypes` lists
// the floating-point types once more, in the order of reports.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/api/half.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk {

enum class Operation : std::int32_t { forward = ROPE_FORWARD, transpose = ROPE_TRANSPOSE };
enum class Pairing : std::int32_t { interleaved = ROPE_INTERLEAVED, half_split = ROPE_HALF_SPLIT };
enum class Dtype : std::int32_t {
  f64 = ROPE_F64,
  f32 = ROPE_F32,
  f16 = ROPE_F16,
  bf16 = ROPE_BF16,
  i32 = ROPE_I32,
  i64 = ROPE_I64
};

/// The integer by which a field of rope_problem names an enumerator.
template <class Enum>
constexpr std::int32_t in_contract(Enum value) {
  return static_cast<std::int32_t>(value);
}

/// The operation that undoes the given one.
constexpr Operation reversed(Operation operation) {
  return operation == Operation::forward ? Operation::transpose : Operation::forward;
}
/// The pairing that is not the given one.
constexpr Pairing other_than(Pairing pairing) {
  return pairing == Pairing::interleaved ? Pairing::half_split : Pairing::interleaved;
}

/// The numbers of a floating-point type. All fields of an integer type are 0.
struct Format {
  double u = 0;        ///< unit roundoff
  double eta = 0;      ///< the smallest positive subnormal number
  double normal = 0;   ///< the smallest positive normal number
  double largest = 0;  ///< the largest finite number
  int mantissa = 0;    ///< bits of a mantissa, including the leading bit
};

/// Bit patterns that mark memory. The suite fills what a kernel has not written yet with `a` and
/// `b` in turn. It surrounds a kernel's inputs with `read_only`. The three differ, so the suite
/// finds a kernel that copies its surroundings.
struct PoisonBits {
  std::uint64_t a, b, read_only;
};

/// One row of the table of data types.
struct DataType {
  Dtype dtype;
  std::string_view word;  ///< the name of the type in replay lines, rows and reports
  std::int64_t bytes;     ///< bytes of one element
  Dtype computed_in;      ///< the type of cos and sin tables and of a kernel's arithmetic
  PoisonBits poison;      ///< fills the low `bytes` bytes; NaNs in a floating-point type
  Format format{};
  /// Exponents of test data. Wide values have magnitudes 2^-wide .. 2^wide. Huge values have
  /// magnitudes 2^(huge - 1) .. 2^huge. Both leave room for a scale of 64, and in f64 for squares.
  int wide = 0, huge = 0;
};

/// A row with the C++ type of its elements.
template <class Element>
struct DataTypeOf : DataType {
  using Stored = Element;
};

namespace detail {

inline constexpr PoisonBits poison_16{0x7fde, 0xffe5, 0x7ff1};
inline constexpr PoisonBits poison_32{0x7fdeadb1, 0xffe5ca1b, 0x7ff1eab1};
inline constexpr PoisonBits poison_64{0x7ffdeadbeefc0de1, 0xfffacade5ca1ab1e, 0x7ff9f00dfacef00d};

}  // namespace detail

/// The table, in the order of the enumerators.
inline constexpr std::tuple data_types{
    DataTypeOf<double>{{.dtype = Dtype::f64,
                        .word = "f64",
                        .bytes = 8,
                        .computed_in = Dtype::f64,
                        .poison = detail::poison_64,
                        .format = {.u = 0x1p-53,
                                   .eta = 0x1p-1074,
                                   .normal = 0x1p-1022,
                                   .largest = 0x1.fffffffffffffp1023,
                                   .mantissa = 53},
                        .wide = 20,
                        .huge = 440}},
    DataTypeOf<float>{{.dtype = Dtype::f32,
                       .word = "f32",
                       .bytes = 4,
                       .computed_in = Dtype::f32,
                       .poison = detail::poison_32,
                       .format = {.u = 0x1p-24,
                                  .eta = 0x1p-149,
                                  .normal = 0x1p-126,
                                  .largest = 0x1.fffffep127,
                                  .mantissa = 24},
                       .wide = 20,
                       .huge = 118}},
    DataTypeOf<F16>{
        {.dtype = Dtype::f16,
         .word = "f16",
         .bytes = 2,
         .computed_in = Dtype::f32,
         .poison = detail::poison_16,
         .format =
             {.u = 0x1p-11, .eta = 0x1p-24, .normal = 0x1p-14, .largest = 65504, .mantissa = 11},
         .wide = 6,
         .huge = 9}},
    DataTypeOf<Bf16>{{.dtype = Dtype::bf16,
                      .word = "bf16",
                      .bytes = 2,
                      .computed_in = Dtype::f32,
                      .poison = detail::poison_16,
                      .format = {.u = 0x1p-8,
                                 .eta = 0x1p-133,
                                 .normal = 0x1p-126,
                                 .largest = 0x1.fep127,
                                 .mantissa = 8},
                      .wide = 20,
                      .huge = 118}},
    DataTypeOf<std::int32_t>{{.dtype = Dtype::i32,
                              .word = "i32",
                              .bytes = 4,
                              .computed_in = Dtype::i32,
                              .poison = detail::poison_32}},
    DataTypeOf<std::int64_t>{{.dtype = Dtype::i64,
                              .word = "i64",
                              .bytes = 8,
                              .computed_in = Dtype::i64,
                              .poison = detail::poison_64}}};

/// The types that a call's tensors may have, in the order of reports.
inline constexpr std::array tensor_dtypes{Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16};

/// The rows of the table without their C++ types.
inline constexpr std::array data_type_rows = std::apply(
    [](const auto&... row) { return std::array{static_cast<DataType>(row)...}; }, data_types);

namespace detail {

static_assert([] {
  for (std::size_t i = 0; i < data_type_rows.size(); ++i)
    if (static_cast<std::size_t>(data_type_rows[i].dtype) != i) return false;
  return true;
}());

template <std::size_t i>
using Element = typename std::tuple_element_t<i, decltype(data_types)>::Stored;

static_assert([]<std::size_t... i>(std::index_sequence<i...>) {
  return ((sizeof(Element<i>) == data_type_rows[i].bytes) && ...);
}(std::make_index_sequence<data_type_rows.size()>()));

// tensor_dtypes has every floating-point type once.
static_assert([] {
  std::size_t floating = 0;
  for (const DataType& row : data_type_rows) {
    std::size_t found = 0;
    for (const Dtype dtype : tensor_dtypes) found += dtype == row.dtype ? 1 : 0;
    if (found != (row.format.mantissa > 0 ? 1u : 0u)) return false;
    floating += found;
  }
  return floating == tensor_dtypes.size();
}());

template <class Result, bool integers_too, std::size_t i = 0, class Use>
Result with_row(Dtype dtype, Use& use) {
  if constexpr (i < data_type_rows.size()) {
    if constexpr (integers_too || data_type_rows[i].format.mantissa > 0)
      if (dtype == data_type_rows[i].dtype) return use(std::type_identity<Element<i>>{});
    return with_row<Result, integers_too, i + 1>(dtype, use);
  } else {
    std::abort();  // no row has this type, or the caller asked for floating-point types only
  }
}

template <class Data, std::size_t i = 0>
constexpr Dtype dtype_of() {
  static_assert(i < data_type_rows.size(),
                "no data type of the contract is stored as this C++ type");
  if constexpr (std::is_same_v<Data, Element<i>>)
    return data_type_rows[i].dtype;
  else
    return dtype_of<Data, i + 1>();
}

}  // namespace detail

/// The row of a data type. It must be an enumerator: test an integer with is_floating() first.
constexpr const DataType& data_type(Dtype dtype) {
  return data_type_rows[static_cast<std::size_t>(dtype)];
}

/// Whether a field of rope_problem names a floating-point type.
constexpr bool is_floating(std::int32_t dtype) {
  return dtype >= 0 && dtype < static_cast<std::int32_t>(data_type_rows.size()) &&
         data_type(Dtype{dtype}).format.mantissa > 0;
}

/// Whether results are computed in a wider type and rounded once more on store.
constexpr bool is_narrow(Dtype dtype) {
  return data_type(dtype).computed_in != dtype;
}

/// Whether the type holds 2^40 and 2^-40. For other types, tests of powers and scales use smaller
/// values.
constexpr bool has_wide_range(Dtype dtype) {
  return data_type(dtype).format.largest > 0x1p40;
}

/// The C++ type that stores an element: ElementOf<Dtype::f32> is float.
template <Dtype dtype>
using ElementOf = detail::Element<static_cast<std::size_t>(dtype)>;

/// An unsigned integer as wide as an element.
template <class Element>
using BitsOf = std::conditional_t<
    sizeof(Element) == 8, std::uint64_t,
    std::conditional_t<sizeof(Element) == 4, std::uint32_t,
                       std::conditional_t<sizeof(Element) == 2, std::uint16_t, std::uint8_t>>>;

/// Calls use(std::type_identity<Element>{}), where Element is the C++ type of a floating-point
/// type. Aborts for other types.
template <class Use>
decltype(auto) with_floating_type(Dtype dtype, Use&& use) {
  using Result = std::invoke_result_t<Use&, std::type_identity<double>>;
  return detail::with_row<Result, false>(dtype, use);
}
/// The same for every data type, integers too.
template <class Use>
decltype(auto) with_any_type(Dtype dtype, Use&& use) {
  using Result = std::invoke_result_t<Use&, std::type_identity<double>>;
  return detail::with_row<Result, true>(dtype, use);
}

}  // namespace ropewalk
