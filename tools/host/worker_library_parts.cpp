// Libraries that Debian has only as shared ones, compiled into libropewalk_worker.so. Shared ones
// would bring the system's libstdc++ into a Python environment that has another.
#define TOML_IMPLEMENTATION
#include <fmt/format-inl.h>
#include <toml++/toml.h>

namespace fmt::detail {
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
namespace dragonbox {
template decimal_fp<float> to_decimal(float) noexcept;
template decimal_fp<double> to_decimal(double) noexcept;
}  // namespace dragonbox
}  // namespace fmt::detail
