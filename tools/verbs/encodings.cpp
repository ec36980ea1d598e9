// The page docs/encodings.md: which laws hold for which encoding of positions, with
// counterexamples. The prose around them is printed from the page, which is compiled in.
#include <fmt/format.h>

#include "reference/encodings/laws.h"
#include "tools/command/session.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
namespace {

// From one of the page's lines up to another.
std::string_view prose(std::string_view from, std::string_view to) {
  const std::string_view page = encodings_page();
  const std::size_t begin = page.find(from);
  return page.substr(begin, page.find(to, begin) - begin);
}

const char* word_of(LawCell::Answer answer) {
  switch (answer) {
    case LawCell::holds:
      return "yes";
    case LawCell::fails:
      return "no";
    case LawCell::not_of_vectors:
    case LawCell::causal:
      break;
  }
  return "-";
}

void print_encoding(const Encoding& e, const std::vector<LawCell>& cells) {
  fmt::print("\n### {}\n\n{}. Source: {}.\n\n", e.name, e.title, e.source);
  for (const auto& [name, text] : {std::pair{"f_q", e.f_q}, std::pair{"f_k", e.f_k},
                                   std::pair{"f_v", e.f_v}, std::pair{"s(m, n)", e.formula}})
    fmt::print("- {} = `{}`\n", name, text);
  if (!e.note.empty()) fmt::print("\n{}\n", e.note);
  std::string reasons;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].answer != LawCell::holds)
      reasons += fmt::format("- {} **{}**{}: {}.\n", i + 1, all_laws()[i].name,
                             cells[i].answer == LawCell::fails ? ", no" : "", cells[i].text);
  if (!reasons.empty()) fmt::print("\nLaws that fail or do not apply:\n\n{}", reasons);
}

}  // namespace

int run(const EncodingsOptions& options) {
  if (!options.curves.empty()) {
    write_curves(options.curves);
    return 0;
  }
  std::vector<const Encoding*> chosen;
  for (const std::string& name : options.names) {
    chosen.push_back(find_encoding(name));
    if (chosen.back() != nullptr) continue;
    std::string known;
    for (const Encoding* e : all_encodings())
      known += (known.empty() ? "" : ", ") + std::string(e->name);
    throw UsageError("no encoding is named '" + name + "' (there are " + known + ")");
  }
  const bool all = chosen.empty();
  if (all) chosen = all_encodings();
  if (all) fmt::print("{}", prose("# ", "1. **"));
  std::string columns, line = "|---|";
  for (std::size_t i = 0; i < all_laws().size(); ++i) {
    const EncodingLaw& law = all_laws()[i];
    fmt::print("{}. **{}**: {}.\n", i + 1, law.name, law.meaning);
    columns += fmt::format(" {} |", i + 1);
    line += "---|";
  }
  fmt::print("\n{}| |{}\n{}\n", all ? prose("W_q, W_k, W_v and everything", "| |") : "", columns,
             line);
  std::vector<std::vector<LawCell>> table;
  for (const Encoding* e : chosen) {
    std::string row = fmt::format("| [{0}](#{0}) |", e->name);
    auto& cells = table.emplace_back();
    for (const EncodingLaw& law : all_laws()) {
      cells.push_back(law.judge(*e));
      row += fmt::format(" {} |", word_of(cells.back().answer));
    }
    fmt::print("{}\n", row);
  }
  if (all) fmt::print("\n\"-\" means that the law does not apply.\n\n## The encodings\n");
  for (std::size_t i = 0; i < chosen.size(); ++i) print_encoding(*chosen[i], table[i]);
  if (!all) return 0;
  fmt::print("\n{}", prose("## Curves", "no such line"));
  return 0;
}

}  // namespace ropewalk::tools
