// What a report says, without how it looks: headings, tables, facts, charts, checks and notes.
// Writers make HTML, Markdown, the text of a terminal and JUnit XML of it.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/record/record_words.h"

namespace ropewalk::report {

/// A text of one line that may be foreign. No writer can have it but escaped for its format.
class Text {
 public:
  Text() = default;
  Text(const char* text) : text_(text) {}
  Text(std::string_view text) : text_(text) {}
  Text(std::string text) : text_(std::move(text)) {}
  bool empty() const { return text_.empty(); }
  std::string html() const;           ///< for content and for attributes in double quotes; also XML
  std::string markdown() const;       ///< readable as it stands: only what has a meaning is escaped
  std::string markdown_cell() const;  ///< the same, for a cell of a table
  std::string plain() const;          ///< for a terminal: without control characters

 private:
  std::string text_;
};

enum class Tone : std::uint8_t { plain, good, bad, slow, none };

enum class Style : std::uint8_t {
  plain,
  strong,
  name,   ///< may break after an underscore
  code,   ///< a command
  small,  ///< on a line of its own below the rest, where there is room for lines; a terminal leaves
          ///< it out of numbers in a table, but for those of the last column
  tag,    ///< in a box, or in brackets
  pill    ///< a word with the colour of its tone
};

struct Span {
  Text text;
  Style style = Style::plain;
  Tone tone = Tone::plain;
  std::string link = {};  ///< the id of a part or check of this document, of letters, digits and -
};

/// What stands on one line. Spans follow each other with a space between them.
struct Line {
  std::vector<Span> spans;
  Line() = default;
  Line(Span span) : spans{std::move(span)} {}
  Line(std::vector<Span> all) : spans(std::move(all)) {}
  Line(const char* text) : Line(Text(text)) {}
  Line(std::string text) : Line(Text(std::move(text))) {}
  Line(Text text) {
    if (!text.empty()) spans.push_back({std::move(text)});
  }
  Line& add(Span span) {
    if (!span.text.empty()) spans.push_back(std::move(span));
    return *this;
  }
  bool empty() const { return spans.empty(); }
};

struct Paragraph {
  Line line;
  const char* look = "";   ///< a class of report.css, as all looks below
  std::size_t indent = 6;  ///< on a terminal, of all lines but the first
  bool is_detail = false;  ///< a terminal leaves it out
};

struct Fact {
  Line name, value;
  bool is_detail = false;  ///< a terminal leaves it out
};
struct Facts {
  std::vector<Fact> facts;
  const char* look = "facts";
  void add(Text name, Line value, bool is_detail = false) {
    if (!value.empty()) facts.push_back({std::move(name), std::move(value), is_detail});
  }
};

/// A bar below a number, in percent of the widest.
struct Bar {
  double length = 0, low = 0, high = 0;  ///< low = high: without a bracket
};

struct Cell {
  Line line;
  std::string look = {};
  Bar bar = {};
  Text title = {};          ///< a page shows it on demand
  std::size_t columns = 1;  ///< how many it spans
  Cell() = default;
  Cell(Line own, std::string its_look = {}) : line(std::move(own)), look(std::move(its_look)) {}
  Cell(Span own) : line(std::move(own)) {}
  Cell(Text own) : line(std::move(own)) {}
  Cell(std::string own) : line(std::move(own)) {}
  Cell(const char* own) : line(own) {}
};

struct Column {
  Text head = {};
  bool is_number = false;
  Text long_head = {};    ///< empty: the head
  std::size_t width = 0;  ///< on a terminal at least, as where each row is a table of its own
};

struct TableRow {
  std::vector<Cell> cells;
  const char* look = "";
  bool is_folded = false;  ///< a page shows it on demand; Markdown counts it
};

struct Table {
  Text use = {};  ///< what a reader does with it
  std::vector<Column> columns = {};
  std::vector<TableRow> rows = {};
  const char* look = "";  ///< "stack": the cells of a row stand below each other on a narrow screen
  std::size_t indent = 0;  ///< on a terminal
};

/// One claim that was checked: a failure with all that is known of it, or that it holds, or that
/// it was not run.
struct Check {
  Standing standing = Standing::not_run;
  Text verdict, kernel, name, where;  ///< "FAIL", "mine", "agreement", "half_split / f32 / table"
  Text beside = {};                   ///< what the verdict rests on, if not the host's own code
  Text message = {};                  ///< why, in one line
  Facts facts = {};
  Text output = {};       ///< of a claim that holds: what was covered
  std::string id = {};    ///< letters, digits and -
  bool is_known = false;  ///< a failure that is expected
  bool is_open = false;   ///< a page shows its facts at once
  double seconds = 0;
  std::vector<Check> more = {};  ///< further failures of the same cause
};

struct Block;
/// A heading with what stands below it.
struct Part {
  Text title;
  std::string id = {};  ///< letters, digits and -; the page's list of sections has those of level 2
  const char* look = "";
  bool is_folded = false;
  bool is_for_page = false;  ///< Markdown names it only
  std::vector<Block> blocks = {};
  Part& add(Block block);
};

struct Block {
  std::variant<Paragraph, Facts, Table, Chart, Check, Part> content;
  template <class Content>
  requires(!std::same_as<std::remove_cvref_t<Content>, Block>) Block(Content&& own)
      : content(std::forward<Content>(own)) {}
};

struct Document {
  Text title;
  Standing standing = Standing::not_run;
  std::vector<Block> lead = {};  ///< below the title
  std::vector<Part> parts = {};
  std::vector<Line> foot = {};
};

/// All numbers of a chart.
Table numbers_of(const Chart& chart);

/// "norm, decay (half_split f32, interleaved f32); ...": what further failures are of.
Text same_cause_text(const std::vector<Check>& more);

/// The symbol that goes with the colour of a standing, so that neither is the only sign.
const char* symbol_of(Standing standing);
Tone tone_of(Standing standing);

/// The document as one page that requests nothing over the network. `nonce` is that of its own
/// style and script: no other has any effect. `gnuplot` draws the charts; empty: that of PATH.
struct PageCode {
  std::string nonce, style, script;
};
std::string html_of(const Document& document, const PageCode& code, const std::string& gnuplot);

/// The same as Markdown that is read as it stands. Nothing in it but our own marks has a meaning.
std::string markdown_of(const Document& document);
std::string markdown_of(const std::vector<Block>& blocks);

/// The same for a terminal: lines of at most 100 columns. Beyond `lines_max` a paragraph, or the
/// longest texts of a check, end in "..."; 0: all is shown, the details of a check too.
std::string terminal_text(const Block& block, std::size_t lines_max = 0);
/// Breaks a text into lines of at most 100 columns, and begins all but the first with `indent`
/// spaces. A line ends before `least` only if the text does. A word that is longer than a line is
/// broken after commas alone.
std::vector<std::string> wrapped(std::string_view text, std::size_t indent = 6,
                                 std::size_t least = 0);

/// JUnit XML: a suite for each part, a case for each check in it. A failure is a <failure>. One
/// that is known, and what was not run, is <skipped>.
std::string junit_of(const Document& document);

}  // namespace ropewalk::report
