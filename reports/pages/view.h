// The report as data for the templates: every value is ready to print, every name used once, so
// that a template decides only where things stand. HTML and Markdown share it.
#pragma once
#include <kainjow/mustache.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// The library's data, which copies the whole tree below whenever one is put into another: this one
/// moves it.
class View : public kainjow::mustache::data {
 public:
  using kainjow::mustache::data::data;
  void set(const std::string& name, View value) { (*this)[name] = std::move(value); }
  View& operator<<(View item);
};

inline View flag(bool on) {
  return View(on ? View::type::bool_true : View::type::bool_false);
}

/// One named value of a list that a template prints as name and value.
View named(const char* name, const std::string& value);

/// "position_sweep" in pieces, between which a narrow column may break.
View pieces(const std::string& name);

/// Colour and symbol together: neither speaks alone.
struct Mark {
  const char* css_class;
  const char* symbol;
};
Mark mark_of(Standing standing);
Mark mark_of(Verdict verdict);

View make_view(const Results& results, const Summary& summary);

/// The text of templates/NAME, compiled in.
std::string template_text(const std::string& name);

/// {{x}} goes through `escape`; an error in a template throws std::logic_error.
std::string fill_template(const std::string& name, const View& view,
                          const kainjow::mustache::mustache::escape_handler& escape);

}  // namespace ropewalk::report
