// Runs the transcripts, which say what a user types and gets: the files of the folder transcripts,
// and the console blocks of documents that begin with a command that is there in tests. The syntax
// is cram's (docs/decisions/transcripts.md):
//
//     $ command        runs in a shell, with `> ` before its further lines; all commands of a file
//                      share a shell, a folder of their own, and the plugins of this build
//     output           of standard output, line by line, then that of standard error
//     2> output        of standard error, without lines of progress
//     [2]              the exit code, if it is not 0
//     ...              any lines of standard output; `2> ...` of standard error
//     <n> <s> <dir>    in a line: a number, a duration, the folder of the transcript
//     a * b (glob)     a line with any text in the place of *
//
// In a .txt file these lines are indented by two spaces, and other lines are comments. A command
// that ends the shell with 80 skips the transcript. `transcripts_test --update` writes what came,
// and keeps the lines with placeholders that still fit.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

const fs::path source = ROPEWALK_SOURCE_DIR;
const std::string folder_of_transcripts = "tools/tests/transcripts/";
bool update = false;

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A command and what follows it in the file: the output, and the exit code if it is not 0.
struct Step {
  std::string command;
  Lines expected;
  int code = 0;
  std::size_t from = 0, to = 0;  ///< the lines of the file with the output and the code
};

struct Transcript {
  Lines lines;
  std::string indent;  ///< of commands and outputs; other lines are comments
  std::vector<Step> steps;
  std::string files;  ///< shell commands that write the files that a document shows
};

/// Takes the exit code off the end of the lines, and empty lines, which only divide the file.
void finish(Step& step) {
  while (step.to > step.from && step.expected.back().empty()) step.expected.pop_back(), --step.to;
  std::smatch code;
  if (step.to == step.from ||
      !std::regex_match(step.expected.back(), code, std::regex(R"(\[(\d+)\])")))
    return;
  step.code = std::stoi(code[1]);
  step.expected.pop_back();
}

Transcript read(const fs::path& file) {
  Transcript t;
  t.lines = lines_of(slurp(file));
  const bool document = file.extension() == ".md";
  if (!document) t.indent = "  ";
  std::string language = document ? "text" : "console";
  bool open = false;  // the last step may go on
  for (std::size_t i = 0; i < t.lines.size(); ++i) {
    const std::string& line = t.lines[i];
    const auto starts = [&](const std::string& mark) { return line.starts_with(t.indent + mark); };
    if (document && line.starts_with("```")) {
      language = line.substr(3);
      const std::string next = i + 1 < t.lines.size() ? t.lines[i + 1] : "";
      open = false;
      std::smatch name;  // a block that begins with the name of a file in a comment is that file
      if (std::regex_match(next, name, std::regex(R"((?:#|//) ([a-z_]+\.(?:py|cpp|json)))"))) {
        t.files += "cat >" + name[1].str() + " <<'END OF FILE'\n";
        for (++i; t.lines[i] != "```"; ++i) t.files += t.lines[i] + "\n";
        t.files += "END OF FILE\n";
      } else if (language == "console" &&
                 !std::regex_search(next, std::regex("^\\$ (ropewalk|sed) "))) {
        language = "sh";  // .ci/readme_blocks runs these
      }
    } else if (language != "console") {
      continue;
    } else if (starts("$ ")) {
      t.steps.push_back({line.substr(t.indent.size() + 2), {}, 0, i + 1, i + 1});
      open = true;
    } else if (open && starts("> ") && t.steps.back().expected.empty()) {
      t.steps.back().command += "\n" + line.substr(t.indent.size() + 2);
      t.steps.back().from = t.steps.back().to = i + 1;
    } else if (open && (line.empty() || starts(""))) {
      t.steps.back().expected.push_back(line.substr(std::min(line.size(), t.indent.size())));
      t.steps.back().to = i + 1;
    } else {
      open = false;
    }
  }
  for (Step& step : t.steps) finish(step);
  return t;
}

// ---- comparing

/// A line with placeholders as a regular expression: <n> is a number, <s> a duration, and * any
/// text if the line ends with " (glob)". The figures of a document are examples.
std::optional<std::regex> pattern_of(std::string line, bool document) {
  const std::regex figure("(^|[^A-Za-z0-9_])-?[0-9][0-9.,]*(?:e[-+]?[0-9]+)?");
  if (document) line = std::regex_replace(line, figure, "$1<n>");
  const std::string mark = " (glob)";
  const bool glob = line.ends_with(mark);
  if (glob) line.erase(line.size() - mark.size());
  if (!glob && line.find("<n>") == line.npos && line.find("<s>") == line.npos) return std::nullopt;
  std::string p = std::regex_replace(line, std::regex(R"([.^$|()\[\]{}*+?\\])"), R"(\$&)");
  if (glob) p = std::regex_replace(p, std::regex(R"(\\\*)"), ".*");
  p = std::regex_replace(p, std::regex("<n>"), R"(-?[0-9][0-9.,]*(?:e[-+]?[0-9]+)?)");
  p = std::regex_replace(p, std::regex("<s>"), R"([0-9]+(?:\.[0-9]+)? (?:s|min|ms)(?: [0-9]+ s)?)");
  return std::regex(p);
}

struct Aligned {
  char kind;  ///< ' ' as expected, '-' did not come, '+' came and is not expected
  std::string line;
};

/// The expected lines beside those that came, with as few differences as possible. A line "..."
/// stands for any lines of standard output, "2> ..." for any of standard error.
std::vector<Aligned> align(const Lines& expected, const Lines& came, bool document) {
  const std::size_t rows = expected.size(), columns = came.size();
  std::vector<std::optional<std::regex>> patterns;
  for (const std::string& line : expected) patterns.push_back(pattern_of(line, document));
  const auto fits = [&](std::size_t i, std::size_t j) {
    return expected[i] == came[j] || (patterns[i] && std::regex_match(came[j], *patterns[i]));
  };
  const auto dots = [&](std::size_t i) { return expected[i] == "..." || expected[i] == "2> ..."; };
  const auto swallows = [&](std::size_t i, std::size_t j) {
    return dots(i) && expected[i].starts_with("2> ") == came[j].starts_with("2> ");
  };
  std::vector<std::vector<std::size_t>> cost(rows + 1, std::vector<std::size_t>(columns + 1));
  std::vector<std::vector<char>> step(rows + 1, std::vector<char>(columns + 1, ' '));
  for (std::size_t i = rows + 1; i-- > 0;)
    for (std::size_t j = columns + 1; j-- > 0;) {
      std::size_t best = i == rows && j == columns ? 0 : rows + columns + 1;
      const auto may = [&](bool allowed, char kind, std::size_t price, std::size_t di,
                           std::size_t dj) {
        if (!allowed || i + di > rows || j + dj > columns) return;
        if (price + cost[i + di][j + dj] >= best) return;
        best = price + cost[i + di][j + dj];
        step[i][j] = kind;
      };
      may(i < rows && j < columns && fits(i, j), '=', 0, 1, 1);
      may(i < rows && j < columns && swallows(i, j), '.', 0, 0, 1);
      may(i < rows && dots(i), 'e', 0, 1, 0);
      may(i < rows, '-', 1, 1, 0);
      may(j < columns, '+', 1, 0, 1);
      cost[i][j] = best;
    }
  std::vector<Aligned> out;
  for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
    const char s = step[i][j];
    if (s == '=' || s == 'e') out.push_back({' ', expected[i]});
    if (s == '-') out.push_back({'-', expected[i]});
    if (s == '+') out.push_back({'+', came[j]});
    i += s == '=' || s == 'e' || s == '-';
    j += s == '=' || s == '.' || s == '+';
  }
  return out;
}

// ---- running

const std::string salt = "==== end of a step of a transcript";

/// What each step printed. A folder of its own has links to the plugins of this build and to the
/// planted files of Python. Its path has the same length everywhere, as lines are wrapped.
struct Ran {
  int code;
  std::vector<Lines> came;
  std::vector<int> codes;
};

Ran run(const Transcript& t) {
  std::string folder = "/tmp/ropewalk-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return {1, {}, {}};
  const fs::path build = fs::path(ROPEWALK_EXECUTABLE).parent_path(), bin = folder + ".bin";
  std::string script = "exec </dev/null\ncd " + folder + "\n";
  script += "ln -s " + build.string() + "/tools/testing/*.so " + build.string() + "/*mutants.so " +
            build.string() + "/harness/testing/*.so .\n" + "cp -r '" + source.string() +
            "'/tools/tests/python/* .\n";
  script += "export PATH='" + bin.string() + "':'" + build.string() + "':$PATH LC_ALL=C.UTF-8 " +
            "PYTHONDONTWRITEBYTECODE=1 SOURCE='" + source.string() + "'\n" +
            "unset ROPEWALK_PYTHON\n";
#ifdef ROPEWALK_SANITIZED
  script += "export SANITIZED=1\n";
#endif
  fs::create_directories(bin);
  for (const auto& tool : fs::directory_iterator(source / folder_of_transcripts / "tools"))
    fs::create_symlink(tool.path(), bin / tool.path().filename());
  std::ofstream(bin / "python3") << "#!/bin/sh\nexec '" << python_with("numpy") << "' \"$@\"\n";
  fs::permissions(bin / "python3", fs::perms::owner_all);
  script += t.files;
  for (const Step& step : t.steps)
    script += "{ " + step.command + "\n}; status=$?; printf '\\n" + salt +
              " %d\\n' $status; printf '\\n" + salt + "\\n' >&2\n";
  const Result r = shell(script);
  Ran ran{r.code, {}, {}};
  std::istringstream out(r.out), err(r.err);
  const auto chunk = [&](std::istringstream& stream, const std::string& mark, Lines& lines) {
    std::string line;
    Lines read;
    while (std::getline(stream, line) && !line.starts_with(salt)) read.push_back(line);
    if (!read.empty() && read.back().empty())
      read.pop_back();
    else if (!read.empty())
      read.back() += " (no-eol)";
    while (!read.empty() && read.back().empty()) read.pop_back();
    for (const std::string& text : read) {
      std::string shown = mark + text;
      for (auto at = shown.find(folder); at != shown.npos; at = shown.find(folder, at))
        shown.replace(at, folder.size(), "<dir>");
      lines.push_back(shown);
    }
    return line.starts_with(salt) ? line.substr(salt.size()) : "";
  };
  for (std::size_t i = 0; i < t.steps.size(); ++i) {
    Lines& lines = ran.came.emplace_back();
    const std::string code = chunk(out, "", lines);
    chunk(err, "2> ", lines);
    ran.codes.push_back(code.empty() ? r.code : std::stoi(code));
    if (code.empty()) break;  // the shell ended here
  }
  fs::remove_all(folder);
  fs::remove_all(bin);
  return ran;
}

// ---- the tests

Lines transcripts() {
  Lines names;
  for (const auto& [folder, kind] :
       {std::pair{folder_of_transcripts, ".txt"}, {"docs", ".md"}, {"", ".md"}})
    for (const auto& entry : fs::directory_iterator(source / folder))
      if (entry.path().extension() == kind &&
          (kind == std::string(".txt") || !read(entry.path()).steps.empty()))
        names.push_back(fs::path(folder) / entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

class Transcripts : public testing::TestWithParam<std::string> {};

TEST_P(Transcripts, Hold) {
  const fs::path file = source / GetParam();
  Transcript t = read(file);
  ASSERT_FALSE(t.steps.empty()) << file << " has no command";
  if (t.files.find(".py") != t.files.npos && python_with("numpy").empty())
    GTEST_SKIP() << "no python3 here has numpy";
  const Ran ran = run(t);
  if (ran.code == 80) GTEST_SKIP() << "something that it needs is not here";
  std::size_t literal = 0, left_out = 0;
  for (std::size_t i = t.steps.size(); i-- > 0;) {
    const Step& step = t.steps[i];
    for (const std::string& line : step.expected)
      (line == "..." || line == "2> ..." ? left_out : literal) += 1;
    if (i >= ran.came.size()) {
      ADD_FAILURE() << GetParam() << ":" << step.from << ": not reached: $ " << step.command;
      continue;
    }
    const auto aligned = align(step.expected, ran.came[i], t.indent.empty());
    std::string shown;
    bool same = ran.codes[i] == step.code;
    for (const Aligned& a : aligned) same = same && a.kind == ' ';
    for (const Aligned& a : aligned) shown += a.kind + (" " + a.line) + "\n";
    if (same) continue;
    if (update) {
      Lines now;
      for (const Aligned& a : aligned)
        if (a.kind != '-') now.push_back(a.line.empty() ? "" : t.indent + a.line);
      if (ran.codes[i] != 0) now.push_back(t.indent + "[" + std::to_string(ran.codes[i]) + "]");
      const auto at = [&](std::size_t n) {
        return t.lines.begin() + static_cast<std::ptrdiff_t>(n);
      };
      t.lines.insert(t.lines.erase(at(step.from), at(step.to)), now.begin(), now.end());
      continue;
    }
    ADD_FAILURE() << GetParam() << ":" << step.from << ": $ " << step.command << "\n"
                  << "exit code " << ran.codes[i] << ", expected " << step.code
                  << "; - did not come, + came:\n"
                  << shown;
  }
  if (update) {
    std::ofstream out(file);
    for (const std::string& line : t.lines) out << line << "\n";
  }
  EXPECT_GE(literal, left_out) << "a transcript has more lines than it leaves out";
}

INSTANTIATE_TEST_SUITE_P(Of, Transcripts, testing::ValuesIn(transcripts()), [](const auto& one) {
  std::string name = fs::path(one.param).replace_extension().string();
  if (name.starts_with(folder_of_transcripts)) name.erase(0, folder_of_transcripts.size());
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  update = count > 1 && std::string(arguments[1]) == "--update";
  return RUN_ALL_TESTS();
}
