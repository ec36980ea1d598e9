// The report as data for the templates, shared by HTML and Markdown. Every value is ready to print
// and every name is used once, so a template only decides where things stand.
#pragma once
#include <concepts>
#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// Wraps the library's data type. The library copies the whole tree whenever one tree is put into
/// another; this type moves it.
class View : public kainjow::mustache::data {
 public:
  using kainjow::mustache::data::data;
  /// Also sets "has_NAME" for a list: whether anything is in it.
  void set(const std::string& name, View value);
  /// A text, on one line. An empty one is false, so a section of its name is left out.
  template <std::convertible_to<std::string_view> Text>
  void set(const std::string& name, const Text& text) {
    set_text(name, std::string_view(text));
  }
  template <std::same_as<bool> Bool>
  void set(const std::string& name, Bool on) {
    (*this)[name] = View(on ? type::bool_true : type::bool_false);
  }
  View& operator<<(View item);

 private:
  void set_text(const std::string& name, std::string_view text);
};

/// The list of what `make` makes of each element.
template <class Elements, class Make>
View views_of(const Elements& elements, const Make& make) {
  View out{View::type::list};
  for (const auto& element : elements) out << make(element);
  return out;
}

/// One element of a list, with `name` and `value`.
View named(std::string_view name, const std::string& value);

/// Splits a name such as "position_sweep" into pieces between which a narrow column may break.
View pieces(const std::string& name);

/// A colour and a symbol that always go together, so that neither is the only sign.
struct Mark {
  const char* css_class;
  const char* symbol;
};
Mark mark_of(Standing standing);
Mark mark_of(Verdict verdict);

View make_view(const Results& results, const Summary& summary);

/// The verification matrix, with one group a kernel, and the failures to which its cells lead.
View matrix_view(const Summary& summary);
inline constexpr std::size_t shown_failures = 3;  ///< the others are folded
View failures_view(const Summary& summary);

/// What a report says about a failure: names and texts, none of them empty.
std::vector<std::pair<std::string_view, std::string>> failure_facts(const VerdictRow& row);

/// What the cases of the covering array met: one item for each kernel and each text that some of
/// its pairings and types share.
View coverage_view(const Results& results);

/// What the banner says about the speeds: "valid", "noisy" or "INVALID", and "noise floor 0.8 %,
/// ...". The word is empty if nothing was compared. Both are empty if nothing was timed.
struct SpeedsText {
  Mark mark{"none", ""};
  std::string word, rest;
};
SpeedsText speeds_text(const Summary& summary);

/// Adds leaderboards and the disturbances of the rounds.
void add_speeds(const Summary& summary, View& view);

/// Figures as tables, and for HTML also as pictures. The ids of pictures begin with `id`.
View figure_tables(const std::vector<Figure>& figures);
View figure_pictures(const std::vector<Figure>& figures, const std::string& id,
                     const std::string& gnuplot);

/// The text of templates/NAME, which is compiled in.
std::string template_text(const std::string& name);

/// Fills a template; {{x}} goes through `escape`. Throws std::logic_error for an error in a
/// template.
std::string fill_template(const std::string& name, const View& view,
                          const kainjow::mustache::mustache::escape_handler& escape);

}  // namespace ropewalk::report
