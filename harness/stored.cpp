// Elements of the data types, as they lie in memory.
#include "harness/problem.h"

namespace ropewalk {

const bounds::Format& format_of(std::int32_t dtype) {
  switch (dtype) {
    case ROPE_F64:
      return bounds::f64_format;
    case ROPE_F16:
      return bounds::f16_format;
    case ROPE_BF16:
      return bounds::bf16_format;
    default:
      return bounds::f32_format;
  }
}

void store(std::vector<std::byte>& bytes, std::int32_t dtype, std::int64_t index, double value) {
  const auto put = [&](auto stored) {
    constexpr auto size = static_cast<std::int64_t>(sizeof stored);
    std::memcpy(bytes.data() + index * size, &stored, sizeof stored);
  };
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case ROPE_F64:
      return put(value);
    case ROPE_F16:
      return put(F16(narrow));
    case ROPE_BF16:
      return put(Bf16(narrow));
    default:
      return put(narrow);
  }
}

double load(const std::vector<std::byte>& bytes, std::int32_t dtype, std::int64_t index) {
  switch (dtype) {
    case ROPE_F64:
      return load_as<double>(bytes, index);
    case ROPE_F16:
      return double{load_as<F16>(bytes, index)};
    case ROPE_BF16:
      return double{load_as<Bf16>(bytes, index)};
    default:
      return double{load_as<float>(bytes, index)};
  }
}

}  // namespace ropewalk
