// The fields of a certificate row, listed once. The JSON code uses the list, and so does the check
// that the parts of one certificate agree.
#pragma once
#include <concepts>
#include <string>
#include <type_traits>

#include "reports/record/record.h"

namespace ropewalk::report {

template <class Row>
concept CertificateRowLike = std::same_as<std::remove_const_t<Row>, CertificateRow>;

/// The unit of a row's errors in words: of blocks, or of full vectors.
inline std::string shown_unit(const CertificateRow& row, bool of_block) {
  return row.error_unit == "u" && !of_block ? "u rho" : row.error_unit;
}

/// The fields in which all parts of one certificate must agree.
template <CertificateRowLike Row, class Visit>
void each_common_field(Row& row, Visit&& visit) {
  visit("version", row.version);
  visit("kernel", row.kernel);
  visit("plugin", row.plugin);
  visit("angle_contract", row.angle_contract);
  visit("pairing", row.pairing);
  visit("dtype", row.dtype);
  visit("rotary_dim", row.rotary_dim);
  visit("rope_theta", row.rope_theta);
  visit("seed", row.seed);
  visit("cpu_features", row.cpu_features);
  visit("code_file", row.code_file);
  visit("code_fingerprint", row.code_fingerprint);
  visit("oracle_fingerprint", row.oracle_fingerprint);
  visit("whole_first", row.whole_first);
  visit("whole_last", row.whole_last);
  visit("error_unit", row.error_unit);
  visit("block_bound", row.block_bound);
  visit("vector_bound", row.vector_bound);
  visit("enumerated", row.enumerated);
  visit("bounded", row.bounded);
  visit("assumed", row.assumed);
  visit("judged_on", row.judged_on);
  visit("declared", row.declared);
  visit("direction", row.direction);
  visit("position_dtype", row.position_dtype);
  visit("division", row.division);
}

template <CertificateRowLike Row, class Visit>
void each_field(Row& row, Visit&& visit) {
  each_common_field(row, visit);
  visit("first", row.first);
  visit("last", row.last);
  visit("planned", row.planned);
  visit("executed", row.executed);
  visit("compared", row.compared);
  visit("blocks", row.blocks);
  visit("block_error", row.block_error);
  visit("block_position", row.block_position);
  visit("block_pair", row.block_pair);
  visit("block_column", row.block_column);
  visit("vector_error", row.vector_error);
  visit("vector_position", row.vector_position);
  visit("vector_pair", row.vector_pair);
  visit("calls", row.calls);
  visit("shortest_call", row.shortest_call);
  visit("longest_call", row.longest_call);
  visit("long_calls", row.long_calls);
  visit("sampled_i64", row.sampled_i64);
  visit("sampled_backward", row.sampled_backward);
}

}  // namespace ropewalk::report
