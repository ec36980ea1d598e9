#include "reports/check/picture_parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace ropewalk::report {
namespace {

using Attributes = std::map<std::string, std::string>;

/// Whether `name` is in `words`, a list of words with a blank before and after each.
bool is_among(std::string_view words, const std::string& name) {
  return !name.empty() && name.find(' ') == name.npos && words.find(" " + name + " ") != words.npos;
}

/// Elements that may occur. A script, style, image, link or foreign object may not.
constexpr std::string_view known_elements =
    " circle defs g line path polygon rect polyline svg text tspan title use ";
constexpr std::string_view known_attributes =
    " aria-label class color cx cy d dx dy fill fill-opacity font-family font-size height id "
    "points "
    "r role shape-rendering stroke stroke-dasharray stroke-linecap stroke-linejoin stroke-opacity "
    "stroke-width text-anchor transform viewBox width x x1 x2 xlink:href xmlns xmlns:xlink y y1 "
    "y2 ";

/// Allows numbers, names, colours of this page and places in this picture. The head is compared as
/// a whole.
bool is_known_value(const std::string& name, const std::string& value) {
  if (name == "xlink:href") return value.size() > 1 && value[0] == '#';
  if (name == "class") return value == "gridline";
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view(" \t\n.,+-_()#").find(c) != std::string_view::npos;
  });
  return plain && value.find("url") == value.npos;
}

std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> out;
  while (!text.empty()) {
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec == std::errc()) {
      out.push_back(value);
      text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    } else {
      text.remove_prefix(1);
    }
  }
  return out;
}

double number_in(const Attributes& of, const char* name, double otherwise) {
  const auto found = of.find(name);
  if (found == of.end()) return otherwise;
  const std::vector<double> numbers = numbers_in(found->second);
  return numbers.empty() ? otherwise : numbers[0];
}

std::string text_in(const Attributes& of, const char* name, const std::string& otherwise = {}) {
  const auto found = of.find(name);
  return found == of.end() ? otherwise : found->second;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank) out += c;
    if (blank && !out.empty() && out.back() != ' ') out += ' ';
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// Whether a thing with this fill and this stroke is invisible.
bool is_unseen(const std::string& fill, const std::string& stroke) {
  const auto paints = [](const std::string& paint) {
    return paint != "none" && paint != "transparent";
  };
  return !paints(fill) && !paints(stroke);
}

/// What an element passes on to the elements inside it.
struct State {
  std::string name;
  std::string fill = "black", stroke = "none", color = "black", anchor, turned;
  double font = 0, scale = 1;
  Point at;
};

class PictureReader {
 public:
  explicit PictureReader(std::string_view svg) : rest_(svg) {}
  Picture read() {
    stack_.emplace_back();
    while (picture_.error.empty() && !rest_.empty()) step();
    if (picture_.error.empty() && stack_.size() != 1) fail("an element without an end");
    return std::move(picture_);
  }

 private:
  void fail(const std::string& what) {
    if (picture_.error.empty()) picture_.error = "the picture holds " + what;
  }

  void step() {
    const std::size_t open = std::min(rest_.find('<'), rest_.size());
    take_text(rest_.substr(0, open));
    rest_.remove_prefix(open);
    if (rest_.empty()) return;
    const std::size_t end = rest_.find('>');
    if (end == rest_.npos) return fail("an element without an end");
    std::string_view tag = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (tag.starts_with('/')) return close(std::string(one_line(tag.substr(1))));
    const bool empty = tag.ends_with('/');
    if (empty) tag.remove_suffix(1);
    enter(tag);
    if (empty && picture_.error.empty()) close(stack_.back().name);
  }

  void take_text(std::string_view text) {
    const std::string& name = stack_.back().name;
    if (name == "text" || name == "tspan" || name == "title")
      words_ += text;
    else if (!one_line(text).empty())
      fail("words outside its texts");
  }

  void enter(std::string_view tag) {
    const std::size_t space = std::min(tag.find_first_of(" \t\n"), tag.size());
    const std::string name(tag.substr(0, space));
    if (!is_among(known_elements, name)) return fail("an element that gnuplot does not draw with");
    if (name == "svg") {
      if (stack_.size() != 1 || !picture_.head.empty()) return fail("a picture inside it");
      picture_.head = one_line(tag);
      stack_.emplace_back().name = name;
      return;
    }
    if (stack_.size() == 1) return fail("something outside it");
    const std::optional<Attributes> attributes = attributes_of(tag.substr(space));
    if (!attributes) return;
    State state = stack_.back();
    state.name = name;
    hand_down(*attributes, state);
    if (const std::string id = text_in(*attributes, "id"); !id.empty()) take_name(id);
    stack_.push_back(state);
    const auto here = stack_.end() - 1;
    if ((here - 1)->name == "defs")
      define(name, *attributes);
    else if (std::any_of(stack_.begin(), here, [](const State& s) { return s.name == "defs"; }))
      fail("a symbol of several parts");
    else
      draw(name, *attributes, state);
  }

  std::optional<Attributes> attributes_of(std::string_view text) {
    Attributes out;
    while (true) {
      const std::size_t begin = text.find_first_not_of(" \t\n");
      if (begin == text.npos) return out;
      const std::size_t equal = text.find('=', begin);
      const std::size_t quote =
          equal == text.npos ? equal : text.find_first_not_of(" \n", equal + 1);
      if (quote == text.npos || (text[quote] != '"' && text[quote] != '\'')) break;
      const std::size_t end = text.find(text[quote], quote + 1);
      if (end == text.npos) break;
      const std::string name = one_line(text.substr(begin, equal - begin));
      const std::string value(text.substr(quote + 1, end - quote - 1));
      if (!is_among(known_attributes, name) || !is_known_value(name, value)) break;
      if (!out.try_emplace(name, value).second) break;
      text.remove_prefix(end + 1);
    }
    fail("an attribute that gnuplot does not draw with");
    return std::nullopt;
  }

  void hand_down(const Attributes& of, State& state) {
    // "none" is a paint and no colour, so a browser keeps the colour that was handed down.
    const std::string color = text_in(of, "color", state.color);
    if (color != "none") state.color = color;
    const auto paint = [&state](const std::string& value) {
      return value == "currentColor" ? state.color : value;
    };
    state.fill = paint(text_in(of, "fill", state.fill));
    state.stroke = paint(text_in(of, "stroke", state.stroke));
    state.anchor = text_in(of, "text-anchor", state.anchor);
    state.font = number_in(of, "font-size", state.font);
    picture_.letter_px = std::max(picture_.letter_px, state.font);
    const bool marks_only = state.name != "path" && state.name != "use" && state.name != "g";
    if (!marks_only)
      picture_.widest_line = std::max(picture_.widest_line, number_in(of, "stroke-width", 0));
    std::string_view moves = of.contains("transform") ? std::string_view(of.at("transform")) : "";
    while (!moves.empty()) {
      const std::size_t close = moves.find(')');
      if (close == moves.npos) break;
      const std::string move = one_line(moves.substr(0, close));
      const std::vector<double> by = numbers_in(move);
      moves.remove_prefix(close + 1);
      if (move.starts_with("translate(") && by.size() == 2 && state.scale == 1)
        state.at = {state.at.x + by[0], state.at.y + by[1]};
      else if (move.starts_with("scale(") && by.size() == 1 && state.name == "use")
        state.scale *= by[0];
      else if (move.starts_with("rotate(") && by.size() == 1)
        state.turned += std::to_string(std::lround(by[0])) + " ";  // 270, and 270.00 in gnuplot 6
      else
        fail("a transformation that gnuplot does not draw with");
    }
    if (!one_line(moves).empty()) fail("a transformation that gnuplot does not draw with");
  }

  void take_name(const std::string& id) {
    if (!picture_.names.insert(id).second) fail("a name twice");
    if (id.ends_with("_canvas") && picture_.prefix.empty())
      picture_.prefix = id.substr(0, id.size() - std::string_view("_canvas").size());
  }

  void define(const std::string& name, const Attributes& of) {
    if (!of.contains("id")) return;
    std::string& text = picture_.symbols[of.at("id")];
    text = name;
    for (const auto& [key, value] : of)
      if (key != "stroke-width" && key != "id") text += " " + key + "=" + one_line(value);
    // A symbol may contain another one, whose own paints stay.
    const std::string other = text_in(of, "xlink:href", "#").substr(1);
    const auto found = picture_.symbols.find(other);
    if (found != picture_.symbols.end() && &found->second != &text) text += found->second;
    // A symbol with a colour of its own may be visible even if its mark has no colour.
    if (of.contains("color") || (!other.empty() && !paints_.contains(other))) return;
    const auto [fill, stroke] = other.empty() ? Paints() : paints_.at(other);
    paints_[of.at("id")] = {fill.empty() ? text_in(of, "fill") : fill,
                            stroke.empty() ? text_in(of, "stroke") : stroke};
  }

  void draw(const std::string& name, const Attributes& of, const State& state) {
    const auto at = [&](const char* x, const char* y) {
      return Point{state.at.x + number_in(of, x, 0), state.at.y + number_in(of, y, 0)};
    };
    if (name == "use") {
      const std::string symbol = text_in(of, "xlink:href", "#").substr(1);
      const auto paint = [&state](const std::string& own) {
        return own == "currentColor" ? state.color : own;
      };
      // gnuplot 6 clears the ground below a mark in this way, even if it is told not to.
      if (is_unseen(paint(paints_[symbol].first), paint(paints_[symbol].second))) return;
      picture_.marks.push_back(
          {symbol + "|" + state.color + "|" + state.turned, symbol, state.scale, at("x", "y")});
    } else if (name == "text" || name == "title") {
      words_.clear();
      picture_.texts.push_back(
          {"", state.fill + "|" + state.anchor + "|" + state.turned, state.font, at("x", "y")});
    } else if (name == "tspan") {
      const double off =
          std::max(std::abs(number_in(of, "dx", 0)), std::abs(number_in(of, "dy", 0)));
      const double size = picture_.texts.empty() ? 0 : picture_.texts.back().size;
      if (of.contains("x") || of.contains("y") || of.contains("fill") || off > size ||
          state.font > size)
        fail("a part of a text that stands elsewhere");
    } else if (name == "path") {
      add_path(text_in(of, "d"), state);
    } else if (name == "polygon" || name == "polyline") {
      add_points(numbers_in(text_in(of, "points")), name == "polygon", state);
    } else if (name == "line") {
      add({at("x1", "y1"), at("x2", "y2")}, state);
    } else if (name == "rect") {
      const Point low = at("x", "y");
      const double w = number_in(of, "width", 0), h = number_in(of, "height", 0);
      add_points({low.x, low.y, low.x + w, low.y, low.x + w, low.y + h, low.x, low.y + h}, true,
                 {state.name, state.fill, state.stroke, state.color, "", state.turned, 0, 1, {}});
    } else if (name == "circle") {
      fail("a circle outside its marks");
    }
  }

  void add(const Segment& segment, const State& state) {
    if (is_unseen(state.fill, state.stroke)) return;
    if (!state.turned.empty()) return fail("a line that is turned");
    picture_.lines[state.fill + "|" + state.stroke].push_back(segment);
  }

  void add_points(const std::vector<double>& numbers, bool closed, const State& state) {
    std::vector<Point> points;
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
      points.push_back({state.at.x + numbers[i], state.at.y + numbers[i + 1]});
    if (closed && !points.empty()) points.push_back(points.front());
    for (std::size_t i = 1; i < points.size(); ++i) add({points[i - 1], points[i]}, state);
  }

  /// gnuplot moves (M), draws (L) and closes (z), with absolute coordinates.
  void add_path(const std::string& d, const State& state) {
    std::string_view rest = d;
    std::vector<double> run;
    const auto flush = [&](bool closed) {
      add_points(run, closed, state);
      run.clear();
    };
    while (!rest.empty()) {
      const std::size_t next = std::min(rest.find_first_of("MLzZ", 1), rest.size());
      const std::string_view part = rest.substr(0, next);
      rest.remove_prefix(next);
      if (one_line(part).empty()) continue;
      const char move = one_line(part)[0];
      const bool numbers_only =
          part.substr(part.find(move) + 1).find_first_not_of("0123456789.,- \t\n") ==
          std::string_view::npos;
      if (std::string_view("MLzZ").find(move) == std::string_view::npos || !numbers_only)
        return fail("a line that gnuplot does not draw so");
      if (move != 'L') flush(move == 'z' || move == 'Z');
      const std::vector<double> numbers = numbers_in(part);
      run.insert(run.end(), numbers.begin(), numbers.end());
    }
    flush(false);
  }

  void close(const std::string& name) {
    if (stack_.size() < 2 || stack_.back().name != name) return fail("an element without an end");
    if (name == "text" || name == "title") picture_.texts.back().words = one_line(words_);
    stack_.pop_back();
  }

  std::string_view rest_;
  std::string words_;
  std::vector<State> stack_;
  using Paints = std::pair<std::string, std::string>;  // fill and stroke
  std::map<std::string, Paints> paints_;               // by symbol
  Picture picture_;
};

}  // namespace

Picture parts_of_picture(std::string_view svg) {
  return PictureReader(svg).read();
}

}  // namespace ropewalk::report
