#include "reports/pages/certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text_file.h"
#include "reports/record/fields.h"

namespace ropewalk::report {
namespace {

std::string range_text(std::int64_t first, std::int64_t last) {
  return fmt::format("{}:{}", first, last);
}

// Keeps the larger error. Of equal errors it keeps the one at the smaller position, which is a's.
void take_worse(CertificateRow& a, const CertificateRow& b) {
  if (b.block_error > a.block_error) {
    a.block_error = b.block_error;
    a.block_position = b.block_position;
    a.block_pair = b.block_pair;
    a.block_column = b.block_column;
  }
  if (b.vector_error > a.vector_error) {
    a.vector_error = b.vector_error;
    a.vector_position = b.vector_position;
    a.vector_pair = b.vector_pair;
  }
}

[[noreturn]] void missing(const CertificateRow& row, std::int64_t first, std::int64_t last) {
  throw BadMerge(
      fmt::format("positions {} of {} are in no file", range_text(first, last), name_of(row)));
}

// Appends part b to a. The last position of a must be just before the first of b.
void append(CertificatePart& a, const CertificatePart& b) {
  CertificateRow& whole = a.row;
  const CertificateRow& part = b.row;
  if (const std::string differs = difference(whole, part); !differs.empty())
    throw BadMerge(fmt::format("{} and {} are not parts of one run: {}", a.file, b.file, differs));
  if (part.first == whole.first && part.last == whole.last)
    throw BadMerge(fmt::format("positions {} of {} are in two files: {} and {}",
                               range_text(part.first, part.last), name_of(part), a.file, b.file));
  if (part.first <= whole.last)
    throw BadMerge(fmt::format("positions {} of {} overlap those in {}: {}",
                               range_text(part.first, part.last), name_of(part), a.file, b.file));
  if (part.first > whole.last + 1) missing(part, whole.last + 1, part.first - 1);
  take_worse(whole, part);
  whole.last = part.last;
  whole.planned += part.planned;
  whole.executed += part.executed;
  whole.compared += part.compared;
  whole.blocks += part.blocks;
  whole.shortest_call = std::min(whole.shortest_call, part.shortest_call);
  whole.longest_call = std::max(whole.longest_call, part.longest_call);
  whole.calls += part.calls;
  whole.long_calls += part.long_calls;
  whole.sampled_i64 += part.sampled_i64;
  whole.sampled_backward += part.sampled_backward;
  a.file = b.file;
}

void check_counts(const CertificatePart& part) {
  const CertificateRow& row = part.row;
  const std::int64_t count = row.last - row.first + 1;
  const bool in_whole = row.whole_first <= row.first && row.last <= row.whole_last;
  if (count > 0 && in_whole && row.planned == count && row.executed == count &&
      row.compared == count && row.blocks == count * (row.rotary_dim / 2) &&
      row.block_error <= row.block_bound && row.vector_error <= row.vector_bound)
    return;
  throw BadMerge(fmt::format("{}: the row of {} {} contradicts itself", part.file, name_of(row),
                             range_text(row.first, row.last)));
}

std::string page_of(const CertificateRow& c) {
  std::string out = fmt::format("## {}, {}, {}\n\n", c.kernel, c.pairing, c.dtype);
  const auto line = [&](const char* what, const std::string& text) {
    out += fmt::format("| {} | {} |\n", what, text);
  };
  out += "| | |\n|---|---|\n";
  line("positions", fmt::format("{} to {}, every one", c.first, c.last));
  line("planned = executed = compared",
       fmt::format("{} positions, {} blocks (position, pair)", c.compared, c.blocks));
  const auto size = [&](double error, double bound, bool of_block) {
    const std::string unit = shown_unit(c, of_block);
    return c.error_unit == "u" ? fmt::format("{:.6f} {}, bound {:.6g} {}", error, unit, bound, unit)
                               : fmt::format("{:.6f} of its bound", error);
  };
  line("worst block", fmt::format("{}; at position {}, pair {}, column {}",
                                  size(c.block_error, c.block_bound, true), c.block_position,
                                  c.block_pair, c.block_column));
  line("worst full vector",
       fmt::format("{}; at position {}, pair {}", size(c.vector_error, c.vector_bound, false),
                   c.vector_position, c.vector_pair));
  if (const std::string words = words_beside(c.judged_on); !words.empty())
    line("judged on", words == by_host_launcher ? words + ", not a GPU" : words);
  if (!c.declared.empty()) line("declared error", c.declared);
  line("contract, data",
       fmt::format("{}, {}, rotary_dim {}, rope_theta {}, seed {}", c.angle_contract, c.dtype,
                   c.rotary_dim, c.rope_theta, c.seed));
  line("calls",
       fmt::format("{}, of {} to {} consecutive positions; the seed draws where each begins",
                   c.calls, c.shortest_call, c.longest_call));
  line("long calls", fmt::format("{}; {}", c.long_calls, c.division));
  line("a call", fmt::format("{}, {} positions, out of place, one batch row, 3 heads", c.direction,
                             c.position_dtype));
  const auto sampled = [](std::int64_t positions) {
    return positions > 0 ? fmt::format("{} positions", positions) : "refused by the kernel";
  };
  line("sampled, within the same bounds",
       fmt::format("i64 positions: {}; backward: {}", sampled(c.sampled_i64),
                   sampled(c.sampled_backward)));
  line("enumerated", c.enumerated);
  line("bounded", c.bounded);
  line("assumed", c.assumed);
  line("code",
       fmt::format("{}{}, {}", c.plugin.empty() ? "" : "plugin ", c.code_file, c.code_fingerprint));
  line("oracle", c.oracle_fingerprint);
  line("processor features", c.cpu_features.empty() ? "none needed" : c.cpu_features);
  line("ropewalk", c.version);
  return out;
}

}  // namespace

std::string name_of(const CertificateRow& row) {
  return fmt::format("{} {} {}", row.kernel, row.pairing, row.dtype);
}

std::string difference(const CertificateRow& a, const CertificateRow& b) {
  std::vector<std::pair<std::string, std::string>> fields;
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  each_common_field(a,
                    [&](const char* name, const auto& v) { fields.emplace_back(name, text(v)); });
  std::size_t next = 0;
  std::string out;
  each_common_field(b, [&](const char* name, const auto& v) {
    const std::string& other = fields[next++].second;
    if (out.empty() && other != text(v)) out = fmt::format("{}: {}, not {}", name, other, text(v));
  });
  return out;
}

std::vector<CertificateRow> joined(std::vector<CertificatePart> parts) {
  const auto key = [](const CertificatePart& p) {
    return std::tie(p.row.kernel, p.row.pairing, p.row.dtype, p.row.first, p.row.last);
  };
  std::ranges::stable_sort(parts, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<CertificatePart> wholes;
  const auto close = [&] {
    if (wholes.empty()) return;
    const CertificateRow& c = wholes.back().row;
    if (c.last < c.whole_last) missing(c, c.last + 1, c.whole_last);
  };
  for (const CertificatePart& part : parts) {
    check_counts(part);
    const bool same = !wholes.empty() && name_of(wholes.back().row) == name_of(part.row);
    if (same) {
      append(wholes.back(), part);
      continue;
    }
    close();
    if (part.row.first > part.row.whole_first)
      missing(part.row, part.row.whole_first, part.row.first - 1);
    wholes.push_back(part);
  }
  close();
  std::vector<CertificateRow> rows;
  for (const CertificatePart& whole : wholes) rows.push_back(whole.row);
  return rows;
}

std::string certificate_text(const std::vector<CertificateRow>& rows) {
  std::string out =
      "# Certificate\n\nMade by `ropewalk verify --exhaustive`; what it says and how it is checked:"
      " docs/certificate.md.\nu is that of the data type: 2^-24 for f32, 2^-11 for f16, 2^-8 for "
      "bf16. rho is the "
      "length of a pair.\n";
  for (const CertificateRow& row : rows) out += "\n" + page_of(row);
  return out;
}

void write_certificate(const std::filesystem::path& folder,
                       const std::vector<CertificateRow>& rows) {
  std::string lines;
  for (const CertificateRow& row : rows) lines += to_json_line(row) + "\n";
  write_whole_file(folder / "certificate.jsonl", lines);
  write_whole_file(folder / "certificate.md", certificate_text(rows));
}

}  // namespace ropewalk::report
