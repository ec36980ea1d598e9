// Takes an SVG picture of gnuplot's apart into words, marks and lines with their places.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk::report {

struct Point {
  double x = 0, y = 0;
};
struct Segment {
  Point from, to;
};
struct PictureText {
  std::string words, style;  ///< style holds colour, anchor and rotation
  double size = 0;
  Point at;
};
struct PictureMark {
  /// `symbol` is its name among the definitions; `what` is the name with its colour.
  std::string what, symbol;
  double scale = 1;
  Point at;
};

struct Picture {
  std::string error;   ///< not empty if the picture holds what gnuplot does not write
  std::string head;    ///< the <svg ...> tag itself
  std::string prefix;  ///< the prefix of its names
  std::set<std::string> names;
  std::vector<PictureText> texts;  ///< in order; its title is the first
  std::vector<PictureMark> marks;
  std::map<std::string, std::vector<Segment>> lines;  ///< by "fill|stroke"
  std::map<std::string, std::string> symbols;         ///< definitions by name
  double widest_line = 0, letter_px = 0;
};

Picture parts_of_picture(std::string_view svg);

}  // namespace ropewalk::report
