#include "reports/pages/certificate.h"

#include <gtest/gtest.h>

#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

// A part of 0:99, with its worst errors at its first position.
CertificatePart part(std::int64_t first, std::int64_t last, double error = 0.5) {
  CertificateRow row = sample_results().certificates.front();
  row.whole_first = 0;
  row.whole_last = 99;
  row.first = row.block_position = row.vector_position = first;
  row.last = last;
  row.planned = row.executed = row.compared = last - first + 1;
  row.blocks = row.compared * (row.rotary_dim / 2);
  row.block_error = row.vector_error = error;
  return {row, "file_of_" + std::to_string(first)};
}

std::string refusal(std::vector<CertificatePart> parts) {
  try {
    joined(std::move(parts));
  } catch (const BadMerge& bad) {
    return bad.what();
  }
  return "";
}

TEST(Joined, OfEqualErrorsTheSmallerPositionIsNamed) {
  EXPECT_EQ(joined({part(50, 99), part(0, 49)}).front().block_position, 0);
}

TEST(Joined, TwoDataTypesOfAKernelAreTwoWholes) {
  std::vector<CertificatePart> parts = {part(0, 49), part(0, 9, 0.7), part(50, 99), part(10, 99)};
  for (const std::size_t narrow : {1u, 3u}) parts[narrow].row.dtype = "bf16";
  const std::vector<CertificateRow> rows = joined(parts);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].dtype, "bf16");
  EXPECT_EQ(rows[0].block_error, 0.7);
  EXPECT_EQ(rows[1].dtype, "f32");
  EXPECT_EQ(rows[1].block_error, 0.5);
  parts[3].row.dtype = "f16";
  EXPECT_EQ(refusal(parts).find("positions 10:99 of"), 0u) << refusal(parts);
}

TEST(Joined, RefusesWhatIsNoWhole) {
  const struct {
    std::vector<CertificatePart> parts;
    const char* what;
  } cases[] = {
      {{part(0, 49)}, "positions 50:99 of"},
      {{part(50, 99)}, "positions 0:49 of"},
      {{part(0, 9), part(20, 99)}, "positions 10:19 of"},
      {{part(0, 49), part(40, 99)}, "overlap"},
      {{part(0, 99), part(10, 20)}, "overlap"},
      {{part(0, 99), part(0, 99)}, "in two files: file_of_0 and file_of_0"},
  };
  for (const auto& c : cases) {
    const std::string said = refusal(c.parts);
    EXPECT_NE(said.find(c.what), std::string::npos) << said << "\nwanted: " << c.what;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
}

TEST(Joined, RefusesPartsOfDifferentRuns) {
  const auto differs = [](auto&& change) {
    CertificatePart other = part(50, 99);
    change(other.row);
    return refusal({part(0, 49), other});
  };
  const auto expect = [](const std::string& said, const char* field) {
    EXPECT_NE(said.find(std::string("not parts of one run: ") + field + ": "), std::string::npos)
        << said;
  };
  expect(differs([](CertificateRow& r) { r.version = "9"; }), "version");
  expect(differs([](CertificateRow& r) { r.code_fingerprint += "0"; }), "code_fingerprint");
  expect(differs([](CertificateRow& r) { r.oracle_fingerprint += "0"; }), "oracle_fingerprint");
  expect(differs([](CertificateRow& r) { r.rope_theta *= 2; }), "rope_theta");
  expect(differs([](CertificateRow& r) { r.seed += 1; }), "seed");
  expect(differs([](CertificateRow& r) { r.whole_last += 1; }), "whole_last");
  expect(differs([](CertificateRow& r) { r.division = "others"; }), "division");
  EXPECT_NE(differs([](CertificateRow& r) { r.kernel = "zeta"; }), "");  // two halves, no whole
}

TEST(Joined, RefusesARowThatContradictsItself) {
  const auto said = [](auto&& change) {
    CertificatePart bad = part(0, 99);
    change(bad.row);
    return refusal({bad});
  };
  EXPECT_EQ(said([](CertificateRow&) {}), "");
  EXPECT_NE(said([](CertificateRow& r) { r.compared -= 1; }), "");
  EXPECT_NE(said([](CertificateRow& r) { r.planned += 1; }), "");
  EXPECT_NE(said([](CertificateRow& r) { r.blocks = 0; }), "");
  EXPECT_NE(said([](CertificateRow& r) { r.block_error = 3; }), "");
  EXPECT_NE(said([](CertificateRow& r) { r.vector_error = 0.0 / 0.0; }), "");
  EXPECT_NE(said([](CertificateRow& r) { r.first = 200; }), "");
}

}  // namespace
}  // namespace ropewalk::report
