// Runs the transcripts, which say what a user types and gets: the files of the folder transcripts,
// and the console blocks of documents that begin with a command that is there in tests. The syntax
// is cram's (docs/decisions/0075-transcripts.md):
//
//     $ command        runs in bash, with `> ` before its further lines; all commands of a file
//                      share a shell, a folder of their own, and the plugins of this build
//     output           of standard output, line by line, then that of standard error
//     2> output        of standard error, without lines of progress
//     [2]              the exit code, if it is not 0; in a .txt file that of all of a pipe
//     ...              any lines of standard output; `2> ...` of standard error
//     <n> <s> <dir>    in a line: a number, a duration, the folder of the transcript
//     a * b (glob)     a line with any text in the place of *
//
// In a .txt file these lines are indented by two spaces, and other lines are comments. A command
// that ends the shell with 80 skips the transcript. The scripts in transcripts/tools are commands.
// `transcripts_test --update` writes what came, and keeps the lines with placeholders that still
// fit.
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

const fs::path source = ROPEWALK_SOURCE_DIR, build = fs::path(ROPEWALK_EXECUTABLE).parent_path();
const fs::path folder_of_transcripts = "tools/tests/transcripts";
const std::string mark_of_errors = "2> ", glob = " (glob)";
bool update = false;

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A command, what its file says of it, and what came.
struct Step {
  std::string command;
  std::size_t from, to;  ///< the lines of the file with the output and the code
  Lines expected = {}, came = {};
  int code = 0, code_that_came = -1;  ///< -1: it was not reached
};

struct Transcript {
  Lines lines;
  std::string indent;  ///< of commands and outputs; none in a document
  std::vector<Step> steps;
  std::string files;  ///< shell commands that write the files that a document shows
};

/// Takes the exit code off the end of the lines, and empty lines, which only divide the file.
void finish(Step& step) {
  Lines& lines = step.expected;
  for (; !lines.empty() && lines.back().empty(); --step.to) lines.pop_back();
  std::smatch code;
  if (lines.empty() || !std::regex_match(lines.back(), code, std::regex(R"(\[(\d+)\])"))) return;
  step.code = std::stoi(code[1]);
  lines.pop_back();
}

Transcript read(const fs::path& file) {
  const bool is_document = file.extension() == ".md";
  Transcript t{lines_of(slurp(file)), is_document ? "" : "  ", {}, {}};
  const std::regex runs("\\$ (ropewalk|sed) "), named(R"((?:#|//) ([a-z_]+\.(?:py|cpp|json)))");
  bool inside = !is_document, open = false;  // in a block; the last step may go on
  for (std::size_t i = 0; i < t.lines.size(); ++i) {
    const std::string& line = t.lines[i];
    const bool indented = inside && line.starts_with(t.indent);
    const std::string text = indented ? line.substr(t.indent.size()) : "";
    std::smatch name;
    if (is_document && line.starts_with("```")) {
      const std::string next = i + 1 < t.lines.size() ? t.lines[i + 1] : "";
      // .ci/readme_blocks runs the other ones
      inside = line == "```console" &&
               std::regex_search(next, runs, std::regex_constants::match_continuous);
      open = false;
      if (line == "```" || !std::regex_match(next, name, named)) continue;
      t.files += "cat >" + name[1].str() + " <<'END OF FILE'\n";
      while (t.lines[++i] != "```") t.files += t.lines[i] + "\n";
      t.files += "END OF FILE\n";
    } else if (text.starts_with("$ ")) {
      t.steps.push_back({text.substr(2), i + 1, i + 1});
      open = true;
    } else if (open && text.starts_with("> ") && t.steps.back().expected.empty()) {
      t.steps.back().command += "\n" + text.substr(2);
      t.steps.back().from = t.steps.back().to = i + 1;
    } else if (open && (indented || line.empty())) {
      t.steps.back().expected.push_back(text);
      t.steps.back().to = i + 1;
    } else {
      open = false;
    }
  }
  for (Step& step : t.steps) finish(step);
  return t;
}

/// A line as a regular expression, if it has placeholders. In a document figures are examples.
std::optional<std::regex> pattern_of(std::string line, bool is_document) {
  const auto replace = [&](const std::string& pattern, const char* with) {
    line = std::regex_replace(line, std::regex(pattern), with);
  };
  const bool is_glob = line.ends_with(glob);
  if (is_glob) line.erase(line.size() - glob.size());
  if (is_document) replace("(^|[^A-Za-z0-9_])-?[0-9][0-9.,]*(?:e[-+]?[0-9]+)?", "$1<n>");
  if (!is_glob && line.find("<n>") == line.npos && line.find("<s>") == line.npos) return {};
  replace(R"([.^$|()\[\]{}*+?\\])", R"(\$&)");
  if (is_glob) replace(R"(\\\*)", ".*");
  replace("<n>", R"(-?[0-9][0-9.,]*(?:e[-+]?[0-9]+)?)");
  replace("<s>", R"([0-9]+(?:\.[0-9]+)? (?:s|min|ms)(?: [0-9]+ s)?)");
  return std::regex(line);
}

bool is_left_out(const std::string& line) {
  return line == "..." || line == mark_of_errors + "...";
}

/// The expected lines beside those that came, with as few differences as possible. Each begins with
/// ' ' if it came as expected, with '-' if it did not come, and with '+' if it is not expected.
Lines align(const Lines& expected, const Lines& came, bool is_document) {
  const std::size_t rows = expected.size(), columns = came.size();
  std::vector<std::optional<std::regex>> patterns;
  for (const std::string& line : expected) patterns.push_back(pattern_of(line, is_document));
  struct Best {
    std::size_t cost = 0;               ///< of the lines from here on
    std::size_t rows = 0, columns = 0;  ///< that the first of them takes
    char kind = 0;
  };
  std::vector<std::vector<Best>> best(rows + 1, std::vector<Best>(columns + 1));
  for (std::size_t i = rows + 1; i-- > 0;)
    for (std::size_t j = columns + 1; j-- > 0;) {
      if (i == rows && j == columns) continue;
      best[i][j].cost = rows + columns + 1;
      const auto may = [&](std::size_t di, std::size_t dj, char kind) {
        const std::size_t cost = best[i + di][j + dj].cost + (kind == '-' || kind == '+');
        if (cost < best[i][j].cost) best[i][j] = {cost, di, dj, kind};
      };
      const bool both = i < rows && j < columns, any = i < rows && is_left_out(expected[i]);
      if (both &&
          (expected[i] == came[j] || (patterns[i] && std::regex_match(came[j], *patterns[i]))))
        may(1, 1, ' ');
      if (both && any &&
          expected[i].starts_with(mark_of_errors) == came[j].starts_with(mark_of_errors))
        may(0, 1, 0);
      if (any) may(1, 0, ' ');
      if (i < rows) may(1, 0, '-');
      if (j < columns) may(0, 1, '+');
    }
  Lines out;
  for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
    const Best& b = best[i][j];
    if (b.kind != 0) out.push_back(b.kind + (b.kind == '+' ? came[j] : expected[i]));
    i += b.rows, j += b.columns;
  }
  return out;
}

/// Takes what one step printed off the text, up to the line with `salt`, and its exit code.
std::string take(std::string& text, const std::string& salt, int& code) {
  const auto at = text.find("\n" + salt);
  std::string printed = text.substr(0, at);
  code = at == text.npos ? -1 : std::stoi(text.substr(at + 1 + salt.size()));
  text.erase(0, at == text.npos ? at : text.find('\n', at + 1) + 1);
  if (!printed.empty() && printed.back() != '\n') printed += " (no-eol)";
  return printed.erase(printed.find_last_not_of('\n') + 1);
}

/// Runs the commands in a folder with the plugins of this build and the planted files of Python,
/// until one of them ends the shell. Returns its exit code. The path of the folder has the same
/// length everywhere, as lines are wrapped.
int run(Transcript& t) {
  std::string folder = "/tmp/ropewalk-XXXXXX", salt = "==== a step ended with ";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder in /tmp");
  const fs::path bin = folder + ".bin";
  fs::create_directories(bin);
  for (const auto& tool : fs::directory_iterator(source / folder_of_transcripts / "tools"))
    fs::create_symlink(tool.path(), bin / tool.path().filename());
  spill(bin / "python3", "#!/bin/sh\nexec '" + python_with("numpy") + "' \"$@\"\n");
  fs::permissions(bin / "python3", fs::perms::owner_all);
#ifdef ROPEWALK_SANITIZED
  const std::string sanitized = "export SANITIZED=1\n";
#else
  const std::string sanitized = "unset SANITIZED\n";
#endif
  std::string script = "exec </dev/null; unset ROPEWALK_PYTHON; cd " + folder + "\nSOURCE='" +
                       source.string() + "' BUILD='" + build.string() + "'\n" + sanitized +
                       "ln -s \"$BUILD\"/tools/testing/*.so \"$BUILD\"/harness/testing/*.so "
                       "\"$BUILD\"/*mutants.so .; cp -r \"$SOURCE\"/tools/tests/python/* .\n"
                       "export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PATH=" +
                       bin.string() + ":\"$BUILD\":\"$PATH\"\n" + t.files;
  const std::string end = "printf '\\n" + salt + "%d\\n' $code";
  for (const Step& step : t.steps)
    script += "{ " + step.command + "\n}; code=$?; " + end + "; " + end + " >&2\n";
  spill(bin / "script", script);
  const std::string of_pipes = t.indent.empty() ? "" : " -o pipefail";
  Result r = shell("bash" + of_pipes + " '" + (bin / "script").string() + "'");
  for (std::string* text : {&r.out, &r.err})
    for (auto at = text->find(folder); at != text->npos; at = text->find(folder, at))
      text->replace(at, folder.size(), "<dir>");
  for (Step& step : t.steps) {
    int code;
    step.came = lines_of(take(r.out, salt, step.code_that_came));
    for (const std::string& line : lines_of(take(r.err, salt, code)))
      step.came.push_back(mark_of_errors + line);
    if (step.code_that_came >= 0) continue;
    step.code_that_came = r.code;
    break;
  }
  fs::remove_all(folder);
  fs::remove_all(bin);
  return r.code;
}

/// The names of all transcripts, and of all documents that have one.
Lines transcripts() {
  Lines names;
  for (const fs::path& folder : {folder_of_transcripts, fs::path("docs"), fs::path()})
    for (const auto& entry : fs::directory_iterator(source / folder)) {
      const auto kind = entry.path().extension();
      if (folder == folder_of_transcripts ? kind == ".txt"
                                          : kind == ".md" && !read(entry.path()).steps.empty())
        names.push_back(folder / entry.path().filename());
    }
  std::sort(names.begin(), names.end());
  return names;
}

class Transcripts : public testing::TestWithParam<std::string> {};

TEST_P(Transcripts, Hold) {
  Transcript t = read(source / GetParam());
  ASSERT_FALSE(t.steps.empty()) << "no command in it";
  if (t.files.find(".py") != t.files.npos && python_with("numpy").empty())
    GTEST_SKIP() << "no python3 here has numpy";
  const bool is_skipped = run(t) == 80;
  std::size_t lines = 0, left_out = 0;
  for (auto step = t.steps.rbegin(); step != t.steps.rend(); ++step) {
    for (const std::string& line : step->expected) ++(is_left_out(line) ? left_out : lines);
    if (is_skipped && (step->code_that_came == 80 || step->code_that_came == -1)) continue;
    const Lines aligned = align(step->expected, step->came, t.indent.empty());
    std::string shown;
    bool same = step->code == step->code_that_came;
    for (const std::string& line : aligned) {
      same = same && line[0] == ' ';
      shown += line + "\n";
    }
    if (same) continue;
    if (!update)
      ADD_FAILURE() << GetParam() << ":" << step->from << ": $ " << step->command << "\nexit code "
                    << step->code_that_came << ", expected " << step->code
                    << "; '-' did not come, '+' came and is not expected\n"
                    << shown;
    Lines now;
    for (const std::string& line : aligned)
      if (line[0] != '-') now.push_back(line.size() == 1 ? "" : t.indent + line.substr(1));
    if (step->code_that_came != 0)
      now.push_back(t.indent + "[" + std::to_string(step->code_that_came) + "]");
    const auto begin = t.lines.begin();
    const auto at =
        t.lines.erase(begin + std::ptrdiff_t(step->from), begin + std::ptrdiff_t(step->to));
    t.lines.insert(at, now.begin(), now.end());
  }
  std::string text;
  for (const std::string& line : t.lines) text += line + "\n";
  if (update) spill(source / GetParam(), text);
  EXPECT_GE(lines, left_out) << "it leaves out more than it shows";
  if (is_skipped) GTEST_SKIP() << "what it needs is not here";
}

INSTANTIATE_TEST_SUITE_P(Of, Transcripts, testing::ValuesIn(transcripts()), [](const auto& one) {
  fs::path name = fs::path(one.param).replace_extension();
  if (name.parent_path() == folder_of_transcripts) name = name.filename();
  return std::regex_replace(name.string(), std::regex("[^a-z0-9A-Z]"), "_");
});

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  update = count > 1 && std::string(arguments[1]) == "--update";
  return RUN_ALL_TESTS();
}
