// Figures as data for the templates.
#include "reports/pages/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <string_view>

namespace ropewalk::report {
namespace {

View list_of(const std::vector<std::string>& texts, const char* name) {
  return views_of(texts, [&](const std::string& text) {
    View item;
    item.set(name, text);
    return item;
  });
}

View legend_view(const LegendItem& each) {
  View item;
  item.set("series_class", each.css_class);
  item.set("series_mark", each.symbol);
  item.set("series", each.name);
  item.set("series_note", each.note);
  return item;
}

/// Whether the whole column holds only letters and numbers that Markdown cannot take for anything
/// else.
bool is_plain(const std::vector<std::vector<std::string>>& lines, std::size_t column) {
  return std::ranges::all_of(lines, [&](const auto& line) {
    return column >= line.size() ||
           (line[column].find("www.") == std::string::npos &&
            std::ranges::all_of(line[column], [](char c) {
              return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     std::string_view(" .,+-%").find(c) != std::string_view::npos;
            }));
  });
}

/// HTML escapes NAME. Markdown shows either NAME_plain as it is or NAME_foreign escaped.
void set_cell(View& view, const std::string& name, const std::string& text, bool plain) {
  view.set(name, text);
  view.set(name + "_plain", plain ? text : "");
  view.set(name + "_foreign", plain ? "" : text);
}

View table_view(const Figure& figure) {
  View item;
  item.set("chart_title", figure.picture.title);
  item.set("chart_folded", figure.is_folded);
  item.set("chart_name", figure.name);
  item.set("chart_how_to_read", figure.how_to_read);
  const auto& columns = figure.table.columns;
  item.set("chart_x_label", columns.front());
  item.set("chart_columns", list_of({columns.begin() + 1, columns.end()}, "chart_column"));
  std::vector<bool> plain;
  for (std::size_t column = 0; column < columns.size(); ++column)
    plain.push_back(is_plain(figure.table.lines, column));
  item.set("chart_lines", views_of(figure.table.lines, [&](const auto& values) {
             View line, cells{View::type::list};
             set_cell(line, "chart_x", values.front(), plain.front());
             for (std::size_t column = 1; column < values.size(); ++column) {
               View cell;
               set_cell(cell, "chart_value", values[column], plain.at(column));
               cells << std::move(cell);
             }
             line.set("chart_values", std::move(cells));
             return line;
           }));
  item.set("absent", list_of(figure.absent, "absent_name"));
  return item;
}

}  // namespace

View figure_tables(const std::vector<Figure>& figures) {
  return views_of(figures, table_view);
}

View figure_pictures(const std::vector<Figure>& figures, const std::string& id,
                     const std::string& gnuplot) {
  int number = 0;
  return views_of(figures, [&](const Figure& figure) {
    ChartRequest request = figure.picture;
    request.id = fmt::format("{}{}", id, number++);
    const auto draw = [&](ChartSize size) {
      return draw_chart(request, sized_for(request, size), gnuplot);
    };
    auto narrow_one = std::async(std::launch::async, draw, narrow_chart);
    const Chart wide = draw(wide_chart);
    const Chart narrow = narrow_one.get();
    const std::string& error = wide.error.empty() ? narrow.error : wide.error;
    View item = table_view(figure);
    item.set("chart_svg", View(wide.svg + "\n" + narrow.svg));
    item.set("chart_drawn", error.empty());
    item.set("chart_error", error);
    item.set("legend", views_of(figure.legend, legend_view));
    return item;
  });
}

}  // namespace ropewalk::report
