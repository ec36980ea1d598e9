// Position types: positions as int32 and as int64 mean the same.
//
// Bound: 2 e rho; the contract promises no equal bits here.
//
// Kills by itself: wide_positions_read_narrow
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  const auto typed = [&](Dtype dtype) {
    Case out = c;
    out.position_dtype = dtype;
    return out;
  };
  const Run narrow = run(subject, typed(Dtype::i32));
  if (narrow.failed()) return narrow.failure;
  const Run wide = run(subject, typed(Dtype::i64));
  if (wide.failed()) return wide.failure;
  Tally tally;
  compare(subject, narrow, wide,
          {"int32 and int64 positions differ", nullptr, nullptr,
           [&](double rho, std::uint32_t tensor) {
             return 2 * error_of_one_call(subject, c, tensor, rho);
           }},
          tally);
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.i64_positions && offer.base.position_dtype == Dtype::i32;
}

const Registered position_types({
    .name = "position_types",
    .order = 160,
    .claim = "int32 and int64 positions mean the same",
    .applies = applies,
    .needs = "int32 and int64 positions",
    .shape = any_case,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
