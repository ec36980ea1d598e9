// Checks that a picture drawn by another gnuplot shows what ours shows. Words and links must be
// equal. Marks and lines must agree to within the width of a line.
#pragma once
#include <string>
#include <string_view>

namespace ropewalk::report {

/// The first difference between `picture`, an <svg> element of a page, and `ours`, in one line.
/// Empty if both show the same. Anything that gnuplot does not write is a difference.
std::string picture_difference(std::string_view picture, std::string_view ours);

}  // namespace ropewalk::report
