#include "reports/check/picture_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/text.h"
#include "reports/check/picture_parts.h"

namespace ropewalk::report {
namespace {

/// Lines are 1.5 pixels wide, so a line within this distance covers the expected one. Both gnuplots
/// round to a hundredth of a pixel, and margins are mapped onto one another first.
constexpr double line_px = 2;
constexpr double step_px = 4;  ///< pixels between the places of a line that are checked

double distance(Point p, const Segment& s) {
  const double dx = s.to.x - s.from.x, dy = s.to.y - s.from.y, length = dx * dx + dy * dy;
  double t = length > 0 ? ((p.x - s.from.x) * dx + (p.y - s.from.y) * dy) / length : 0;
  t = std::clamp(t, 0.0, 1.0);
  return std::hypot(s.from.x + t * dx - p.x, s.from.y + t * dy - p.y);
}

/// Whether each place of `these` lines lies on one of `those`.
bool lie_on(const std::vector<Segment>& these, const std::vector<Segment>& those) {
  const auto on_one = [&those](Point p) {
    return std::any_of(those.begin(), those.end(),
                       [p](const Segment& s) { return distance(p, s) <= line_px; });
  };
  for (const Segment& s : these) {
    const double length = std::hypot(s.to.x - s.from.x, s.to.y - s.from.y);
    const int steps = 1 + static_cast<int>(std::min(length / step_px, 1e4));
    for (int i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / steps;
      if (!on_one({s.from.x + t * (s.to.x - s.from.x), s.from.y + t * (s.to.y - s.from.y)}))
        return false;
    }
  }
  return true;
}

struct Frame {
  Point low{1e9, 1e9}, high{-1e9, -1e9};
};

/// The box of the axes. Margins depend on how a gnuplot estimates the width of letters.
Frame frame_of(const Picture& picture) {
  Frame frame;
  const auto axes = picture.lines.find("none|var(--muted)");
  if (axes == picture.lines.end()) return {{0, 0}, {1, 1}};
  for (const Segment& s : axes->second)
    for (const Point p : {s.from, s.to}) {
      frame.low = {std::min(frame.low.x, p.x), std::min(frame.low.y, p.y)};
      frame.high = {std::max(frame.high.x, p.x), std::max(frame.high.y, p.y)};
    }
  return frame;
}

void map_onto(const Frame& to, const Frame& from, Picture& picture) {
  const auto scale = [](double a, double b) { return b > 0 ? a / b : 1; };
  const double sx = scale(to.high.x - to.low.x, from.high.x - from.low.x);
  const double sy = scale(to.high.y - to.low.y, from.high.y - from.low.y);
  const auto map = [&](Point& p) {
    p = {to.low.x + sx * (p.x - from.low.x), to.low.y + sy * (p.y - from.low.y)};
  };
  for (PictureText& text : picture.texts) map(text.at);
  for (PictureMark& mark : picture.marks) map(mark.at);
  for (auto& [paint, lines] : picture.lines)
    for (Segment& s : lines) {
      map(s.from);
      map(s.to);
    }
}

/// Versions of gnuplot name the axes in different orders. The title comes first.
void sort_texts(Picture& picture) {
  std::vector<PictureText>& texts = picture.texts;
  std::stable_sort(texts.begin() + (texts.empty() ? 0 : 1), texts.end(),
                   [](const auto& one, const auto& two) { return one.words < two.words; });
}

bool are_near(Point a, Point b, double most) {
  return std::abs(a.x - b.x) <= most && std::abs(a.y - b.y) <= most;
}

std::string words_difference(const Picture& a, const Picture& b) {
  for (std::size_t i = 0; i < std::max(a.texts.size(), b.texts.size()); ++i) {
    const std::string one = i < a.texts.size() ? a.texts[i].words : "nothing";
    const std::string two = i < b.texts.size() ? b.texts[i].words : "nothing";
    if (one != two)
      return fmt::format("the picture says {}, the results give {}", clean_line(one),
                         clean_line(two));
    if (a.texts[i].style != b.texts[i].style || std::abs(a.texts[i].size - b.texts[i].size) > 0.5)
      return fmt::format("{} has another size or colour", clean_line(one));
  }
  return {};
}

std::string marks_difference(const Picture& a, const Picture& b) {
  if (a.marks.size() != b.marks.size())
    return fmt::format("{} marks, the results give {}", a.marks.size(), b.marks.size());
  for (std::size_t i = 0; i < a.marks.size(); ++i) {
    const PictureMark &one = a.marks[i], &two = b.marks[i];
    const bool same = one.what == two.what && std::abs(one.scale / two.scale - 1) < 0.05;
    if (!same || !are_near(one.at, two.at, line_px))
      return fmt::format("mark {} is another mark or is in another place", i + 1);
    const auto shape = a.symbols.find(one.symbol), ours = b.symbols.find(two.symbol);
    if (shape == a.symbols.end() || ours == b.symbols.end() || shape->second != ours->second)
      return fmt::format("mark {} has another shape", i + 1);
  }
  return {};
}

std::string lines_difference(const Picture& a, const Picture& b) {
  static const std::vector<Segment> none;
  std::set<std::string> paints;
  for (const Picture* picture : {&a, &b})
    for (const auto& each : picture->lines) paints.insert(each.first);
  for (const std::string& paint : paints) {
    const auto one = a.lines.find(paint), two = b.lines.find(paint);
    const auto &these = one == a.lines.end() ? none : one->second,
               &those = two == b.lines.end() ? none : two->second;
    if (!lie_on(these, those) || !lie_on(those, these))
      return fmt::format("a line or area in {} is not where it belongs", clean_line(paint));
  }
  if (a.widest_line > 1.1 * b.widest_line) return "a line is wider than any of ours";
  return {};
}

}  // namespace

std::string picture_difference(std::string_view picture, std::string_view ours) {
  Picture a = parts_of_picture(picture), b = parts_of_picture(ours);
  for (const std::string* error : {&a.error, &b.error})
    if (!error->empty()) return *error;
  if (a.head != b.head) return "the picture has another head";
  for (const auto& name : a.names)
    if (!b.names.contains(name) && !name.starts_with(b.prefix))
      return clean_line(name) + " is no name of this picture's";
  sort_texts(a);
  sort_texts(b);
  std::string words = words_difference(a, b);
  if (!words.empty()) return words;
  const Frame from = frame_of(a), to = frame_of(b);
  // A margin moves by about the width of a letter.
  if (!are_near(from.low, to.low, b.letter_px) || !are_near(from.high, to.high, b.letter_px))
    return "the axes are not where they belong";
  map_onto(to, from, a);
  for (std::size_t i = 0; i < a.texts.size(); ++i)
    if (b.texts[i].size > 0 && !are_near(a.texts[i].at, b.texts[i].at, b.texts[i].size))
      return clean_line(a.texts[i].words) + " stands further than a letter from its place";
  std::string marks = marks_difference(a, b);
  return marks.empty() ? lines_difference(a, b) : marks;
}

}  // namespace ropewalk::report
