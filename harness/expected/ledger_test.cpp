#include "harness/expected/ledger.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text_file.h"

namespace ropewalk::harness {
namespace {

const std::set<std::string> all = {"decay", "norm", "offers:fused", "order"};
const std::string header = "kernel,contract,pairing,dtype,property\n";
const std::string row = "plain,table,half_split,f32,*\n";

std::string message_of(const std::string& text) {
  try {
    parse_ledger(text, "l.csv", all);
  } catch (const BadFile& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Ledger, ComesBackSorted) {
  Ledger ledger =
      parse_ledger(header + "plain,table,half_split interleaved,f16 f32,*\n", "l.csv", all);
  EXPECT_EQ(ledger.size(), 2 * 2 * all.size());
  for (const std::string gone :
       {"half_split,f16,decay", "half_split,f32,decay", "interleaved,f16,decay",
        "interleaved,f32,decay", "interleaved,f16,norm", "half_split,f16,order",
        "interleaved,f32,order"})
    EXPECT_EQ(ledger.erase(key_from("plain,table," + gone)), 1u);
  ledger.insert({"plain", "table", "half_split", "f32", offered("size_4_2")});
  ledger.insert({"dense", "table", "interleaved", "f64", "norm"});
  const std::string text = to_text(ledger, all);
  EXPECT_EQ(text, header +
                      "dense,table,interleaved,f64,norm\n"
                      "plain,table,half_split interleaved,f16 f32,*\n"
                      "plain,table,*,*,-decay\n"
                      "plain,table,interleaved,f16,-norm\n"
                      "plain,table,half_split,f32,offers:size_4_2\n"
                      "plain,table,half_split,f16,-order\n"
                      "plain,table,interleaved,f32,-order\n");
  EXPECT_EQ(parse_ledger(text, "l.csv", all), ledger);
  EXPECT_EQ(to_text(parse_ledger(header, "l.csv", all), all), header);
}

TEST(Ledger, RowsTakeAwayWhatTheirWildcardsName) {
  const std::string rows = row + "dense,exact,interleaved,f64,*\ndense,exact,half_split,f64,*\n";
  EXPECT_EQ(
      to_text(parse_ledger(header + rows + "*,*,half*,*,-*or*\n" + "d*,*,*,*,-o*\n", "l.csv", all),
              all),
      header +
          "dense,exact,half_split interleaved,f64,decay\n"
          "dense,exact,interleaved,f64,norm\n"
          "plain,table,half_split,f32,decay\n"
          "plain,table,half_split,f32,offers:fused\n");
}

TEST(Ledger, ForeignAndBrokenTextNamesItsLine) {
  const std::string words = "l.csv:2: a field is not of";
  const std::pair<std::string, std::string> cases[] = {
      {"", "l.csv:1: is empty"},
      {"\n", "l.csv:1: is no ledger"},
      {row, "l.csv:1: is no ledger"},
      {std::string("\177ELF\0\xff\n", 7), "l.csv:1: is no ledger"},
      {header + "\n", "l.csv:2: a row has 5 fields, not ''"},
      {header + "plain,table,half_split,f32\n", "l.csv:2: a row has 5 fields"},
      {header + "plain,table,half_split,f32,norm,\n", "l.csv:2: a row has 5 fields"},
      {header + "plain,,half_split,f32,norm\n", words},
      {header + "pl ain,table,half_split,f32,norm\n", words},
      {header + "pl\xc3\xa9in,table,half_split,f32,norm\n", words},
      {header + "plain,table,half_split ,f32,norm\n", words},
      {header + "plain,table,a b c,f32,norm\n", words},
      {header + "plain,table,half_split,f32,--norm\n", words},
      {header + "plain,table,*,f32,norm\n", "l.csv:2: a row that takes nothing away names"},
      {header + row + row, "l.csv:3: the row changes nothing"},
      {header + row + "plain,table,*,*,-nrom\n", "l.csv:3: the row changes nothing"},
      {header + row + "plain,table,*,*,-norm\nplain,table,*,*,-norm\n", "l.csv:4: the row"},
  };
  for (const auto& [text, what] : cases) {
    const std::string message = message_of(text);
    EXPECT_NE(message.find(what), std::string::npos) << message << "\nwanted: " << what;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  std::string endless = header;
  for (int i = 0; i < 20'000; ++i) endless += "k" + std::to_string(i) + ",table,half_split,f32,*\n";
  EXPECT_EQ(message_of(endless), "l.csv:5002: says more than 20000 things");
}

TEST(Ledger, WindowsLineEndsAreNoDifference) {
  EXPECT_EQ(
      to_text(parse_ledger(header.substr(0, header.size() - 1) + "\r\n" + row, "l.csv", all), all),
      header + row);
}

}  // namespace
}  // namespace ropewalk::harness
