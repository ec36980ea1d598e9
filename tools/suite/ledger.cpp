#include "tools/suite/ledger.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/glob.h"
#include "base/text_file.h"
#include "properties/array/offered_features.h"
#include "properties/property.h"

namespace ropewalk::tools {
using namespace harness;
using namespace report;
namespace {

LedgerKey key_of(const VerdictRow& row) {
  return {row.kernel, row.angle_contract, row.pairing, row.dtype, row.property};
}

/// With --json, standard output holds only rows.
std::FILE* stream(const VerifyOptions& options) {
  return options.json ? stderr : stdout;
}

// The ledger lists the properties of smoke, whatever profile runs. '*' stands for those without
// extensions of the contract.
std::set<std::string> properties_and_features(bool with_extensions) {
  std::set<std::string> all;
  for (const properties::Property* property :
       properties::chosen_properties({}, properties::Profile::smoke))
    if (with_extensions || !property->of_extension) all.emplace(property->name);
  for (const std::string& feature : properties::feature_names())
    if (with_extensions || (feature != "axes" && feature != "norm" && feature != "append"))
      all.insert(offered(feature));
  return all;
}

}  // namespace

LedgerCheck::LedgerCheck(const VerifyOptions& options)
    : options_(options),
      all_(properties_and_features(false)),
      known_(properties_and_features(true)) {
  const bool compares = !options.ledger.empty();
  const std::string& file = compares ? options.ledger : options.write_ledger;
  std::error_code error;
  if (const auto folder = std::filesystem::path(file).parent_path();
      !compares && !folder.empty() && !std::filesystem::is_directory(folder, error))
    throw BadFile(shown_path(file) + ": there is no such folder");
  if (compares || std::filesystem::exists(file, error))
    file_ = parse_expected(read_text_file(file), shown_path(file), all_);
  if (compares && file_.ledger.empty())
    throw BadFile(shown_path(file), 1, "is not a ledger: no line says what a kernel holds");
}

void LedgerCheck::on_offer(const LedgerKey& feature) {
  if (matches(options_.properties, feature.property)) held_.insert(feature);
}

void LedgerCheck::on_row(const VerdictRow& row) {
  if (!row.pairing.empty() && !known_.contains(row.property)) return;
  const std::string what =
      fmt::format("{}{}{}", row.verdict, row.reason.empty() ? "" : ": ", row.reason);
  if (row.verdict == Verdict::pass)
    held_.insert(key_of(row));
  else if (row.pairing.empty() && row.verdict == Verdict::skipped)
    skipped_[row.kernel] = what;
  else
    refused_[row.pairing.empty() ? LedgerKey{row.kernel, {}, {}, {}, {}} : key_of(row)] = what;
}

bool LedgerCheck::was_asked(const LedgerKey& key) const {
  return matches(options_.kernels, key.kernel) && matches(options_.properties, key.property) &&
         !skipped_.contains(key.kernel);
}

std::string LedgerCheck::why_lost(const LedgerKey& key) const {
  for (const LedgerKey& refused : {key, LedgerKey{key.kernel, {}, {}, {}, {}}})
    if (const auto found = refused_.find(refused); found != refused_.end()) return found->second;
  return "not offered";
}

int LedgerCheck::compare(int code) const {
  std::FILE* out = stream(options_);
  std::size_t same = 0, lost = 0, fresh = 0;
  std::set<std::string> skipped;
  for (const LedgerKey& key : file_.ledger) {
    if (held_.contains(key)) {
      ++same;
    } else if (was_asked(key)) {
      ++lost;
      fmt::print(out, "LOST  {}: {}\n", to_text(key), why_lost(key));
    } else if (const auto why = skipped_.find(key.kernel); why != skipped_.end()) {
      if (skipped.insert(key.kernel).second && !options_.quiet)
        fmt::print(out, "ledger: {} is not compared: {}\n", key.kernel, why->second);
    }
  }
  std::set<std::string> listed, unlisted;
  for (const LedgerKey& key : file_.ledger) listed.insert(key.kernel);
  for (const LedgerKey& key : held_) {
    if (file_.ledger.contains(key)) continue;
    if (!listed.contains(key.kernel)) {
      unlisted.insert(key.kernel);  // a new kernel costs one new file only
      continue;
    }
    ++fresh;
    fmt::print(out, "NEW   {}\n", to_text(key));
  }
  for (const std::string& kernel : unlisted)
    fmt::print(out, "ledger: {} has no rows yet; --write-ledger adds them\n", kernel);
  fmt::print(out, "ledger {}: {} hold, {} lost, {} new\n", options_.ledger, same, lost, fresh);
  if (lost + fresh == 0) return code;
  fmt::print(out,
             "if that is meant: ropewalk verify --profile smoke --write-ledger {}, and commit it\n",
             options_.ledger);
  return 1;
}

int LedgerCheck::write(int code) const {
  std::FILE* out = stream(options_);
  if (code != 0) {
    fmt::print(out, "ledger {}: not written, because the run did not hold\n",
               options_.write_ledger);
    return code;
  }
  // What this machine or these options left out stays as it was.
  Ledger next = held_;
  for (const LedgerKey& key : file_.ledger)
    if (!was_asked(key)) next.insert(key);
  std::string text = to_text(next, all_);
  for (const KnownFailure& known : file_.failures)
    text += fmt::format("{} {} {} {}\n", known.kernel, known.property, known.until, known.reason);
  write_whole_file(options_.write_ledger, text);
  fmt::print(out, "ledger {}: written, {} hold, {} before\n", options_.write_ledger, next.size(),
             file_.ledger.size());
  return code;
}

int LedgerCheck::finish(int code) const {
  return options_.ledger.empty() ? write(code) : compare(code);
}

}  // namespace ropewalk::tools
