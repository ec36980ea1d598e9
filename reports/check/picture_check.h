// Does a picture that another gnuplot drew show what ours shows? Its words and links are held
// exactly, its marks and lines to within the width of a line.
#pragma once
#include <string>
#include <string_view>

namespace ropewalk::report {

/// What `picture`, an <svg> element of a page, has otherwise than `ours`, in one line; empty where
/// both show the same. Anything that gnuplot does not write there is a difference.
std::string picture_difference(std::string_view picture, std::string_view ours);

}  // namespace ropewalk::report
