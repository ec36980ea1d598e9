#include "harness/expected/ledger.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text_file.h"

namespace ropewalk::harness {
namespace {

const std::string header = "kernel,contract,pairing,dtype,property,margin\n";
const std::string row = "plain,table,half_split,f32,norm,0.487\n";

std::string message_of(const std::string& text) {
  try {
    parse_ledger(text, "l.csv");
  } catch (const BadFile& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Ledger, ComesBackSorted) {
  Ledger ledger;
  ledger[{"plain", "table", "half_split", "f32", "norm"}] = 0.4868;
  ledger[{"plain", "table", "half_split", "f32", offered("fused")}] = std::nullopt;
  ledger[{"dense", "table", "interleaved", "f64", "decay"}] = 1;
  const std::string text = to_text(ledger);
  EXPECT_EQ(text, header + "dense,table,interleaved,f64,decay,1.000\n" + row +
                      "plain,table,half_split,f32,offers:fused,-\n");
  const Ledger read = parse_ledger(text, "l.csv");
  EXPECT_EQ(to_text(read), text);
  EXPECT_EQ(to_text(parse_ledger(header, "l.csv")), header);
}

TEST(Ledger, ForeignAndBrokenTextNamesItsLine) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "l.csv:1: is empty"},
      {"\n", "l.csv:1: is no ledger"},
      {row, "l.csv:1: is no ledger"},
      {std::string("\x7f"
                   "ELF\0\xff\n",
                   7),
       "l.csv:1: is no ledger"},
      {header + "\n", "l.csv:2: a row has 6 fields, not ''"},
      {header + "plain,table,half_split,f32,norm\n", "l.csv:2: a row has 6 fields"},
      {header + "plain,table,half_split,f32,norm,0.5,\n", "l.csv:2: a row has 6 fields"},
      {header + "plain,,half_split,f32,norm,0.5\n", "l.csv:2: a field is not of"},
      {header + "pl ain,table,half_split,f32,norm,0.5\n", "l.csv:2: a field is not of"},
      {header + "pl\xc3\xa9in,table,half_split,f32,norm,0.5\n", "l.csv:2: a field is not of"},
      {header + "plain,table,half_split,f32,norm,-\n", "l.csv:2: the margin of a property"},
      {header + "plain,table,half_split,f32,norm,1.5\n", "l.csv:2: the margin of a property"},
      {header + "plain,table,half_split,f32,norm,-0.1\n", "l.csv:2: the margin of a property"},
      {header + "plain,table,half_split,f32,norm,nan\n", "l.csv:2: the margin of a property"},
      {header + "plain,table,half_split,f32,norm,0.5x\n", "l.csv:2: the margin of a property"},
      {header + "plain,table,half_split,f32,offers:fused,0.5\n", "not '0.5'"},
      {header + row + row, "l.csv:3: the row appears twice"},
  };
  for (const auto& [text, what] : cases) {
    const std::string message = message_of(text);
    EXPECT_NE(message.find(what), std::string::npos) << message << "\nwanted: " << what;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Ledger, WindowsLineEndsAreNoDifference) {
  EXPECT_EQ(to_text(parse_ledger(header.substr(0, header.size() - 1) + "\r\n" + row, "l.csv")),
            header + row);
}

}  // namespace
}  // namespace ropewalk::harness
