// An SVG picture of gnuplot's, taken apart: words, marks and lines where they stand.
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
  std::string words, style;  ///< style: colour, anchor, rotation
  double size = 0;
  Point at;
};
struct PictureMark {
  std::string what, symbol;  ///< symbol: its name among the definitions; what: with its colour
  double scale = 1;
  Point at;
};

struct Picture {
  std::string error;   ///< not empty: it holds what gnuplot does not write
  std::string head;    ///< the <svg ...> itself
  std::string prefix;  ///< that its names begin with
  std::set<std::string> names;
  std::vector<PictureText> texts;  ///< in order, its title first
  std::vector<PictureMark> marks;
  std::map<std::string, std::vector<Segment>> lines;  ///< by "fill|stroke"
  std::map<std::string, std::string> symbols;         ///< definitions by name
  double widest_line = 0, letter_px = 0;
};

Picture parts_of_picture(std::string_view svg);

}  // namespace ropewalk::report
