// Each sentence of an explanation is said of a kernel of which it is true, and not of one that
// looks alike. The names of diagnosis_test.cpp have a table of their own there.
#include <gtest/gtest.h>

#include <string>

#include "harness/testing/own_worker.h"
#include "properties/explain/diagnosis.h"

namespace ropewalk::properties {
namespace {

using namespace harness;

class Sentences : public testing::Test {
 protected:
  /// What is said of a kernel that fails `small`, and `larger` too.
  std::string said_of(const std::string& kernel, const std::string& larger, std::string small) {
    if (small.empty()) small = larger;
    Subject subject = subject_of(worker_, oracle_, kernel);
    const Property& agreement = property_named("agreement");
    const Case c = case_from_text(small);
    const Finding f = agreement.check(subject, c);
    if (f.kind == Finding::Kind::crash) return cause_of_crash(subject, agreement, c, f).words;
    return to_text(diagnose(look_at(subject), c, case_from_text(larger)));
  }
  Worker worker_{options({ROPEWALK_SENTENCES_PLUGIN, ROPEWALK_MUTANTS})};
  Oracle oracle_;
};

const std::string window = "tokens=5 rotary_dim=8 positions=5,9,2,7,11 q.heads=3 q.head_dim=16 ";
const std::string row = "tokens=5 rotary_dim=8 positions=5,9,2,7,11 q.heads=3 q.head_dim=8 ";
const std::string adjacent = row + "pairing=interleaved";
const std::string narrow =
    "dtype=bf16 tokens=16 rotary_dim=16 positions=random:1:900 q.heads=8 "
    "q.head_dim=16";
const std::string drafts = "tokens=8 rotary_dim=8 positions=5,6,6,7,8,10,11,12 q.head_dim=8";
const std::string one_pair = "positions=5 q.heads=1";
const std::string rising = "tokens=2 rotary_dim=8 positions=3,9 q.head_dim=8";
const std::string wide_table = row + "table_dtype=f16";
const std::string append =
    "contract=exact tokens=4 rotary_dim=8 q.head_dim=8 q.heads=2 q.append=1 ";
const std::string sections =
    "tokens=3 rotary_dim=8 axes=2 axis_of_pair=0,0,1,1 positions=5,9,2,7,11,4 q.heads=3 "
    "q.head_dim=8";
const std::string normed =
    "tokens=3 rotary_dim=8 positions=5,9,2 q.head_dim=8 k.heads=1 k.head_dim=8 q.norm=1 k.norm=1";
const std::string few = "positions=5 rotary_dim=4 q.head_dim=4 ";

const struct {
  std::string sentence, true_of, untrue_of, larger, small = {};
} sentences[] = {
    {"leaves outputs unwritten", "mutant_no_tail_table", "s_reads_output", adjacent},
    {"reads what its outputs held before the call", "s_reads_output", "mutant_no_tail_table",
     adjacent},
    {"makes NaN or infinity of finite inputs", "s_makes_nan", "s_zero_times_beside", window},
    {"elements that are not rotated, right if they hold numbers", "s_zero_times_beside",
     "s_makes_nan", window},
    {"reads unused rows of tables", "s_row_before", "s_makes_nan", one_pair},
    {"reads poison, which lies around rows and behind tables", "s_reads_gap", "s_row_before",
     "tokens=2 rotary_dim=8 positions=5,9 q.heads=2 q.head_dim=8 q.in=48,24,12 q.in_at=4"},
    {"partner at i + head_dim / 2", "s_far_partner", "s_zero_times_beside", window},
    {"reads row r - 1 of the table, not r", "s_row_before", "s_row_behind", row},
    {"reads row r + 1 of the table, not r", "s_row_behind", "s_index", row},
    {"reads table row 4, position 5", "s_row_before", "s_index", one_pair},
    {"takes the index of a token for its position", "s_index", "s_row_before", row},
    {"turns rightly, but writes the result as half_split", "s_writes_other",
     "mutant_other_pairing_forgotten_table", adjacent},
    {"pairs elements as half_split", "mutant_other_pairing_forgotten_table", "s_reads_other",
     adjacent},
    {"reads its input as half_split", "s_reads_other", "s_writes_other", adjacent},
    {"takes 8 tokens for consecutive if their last position is 7 past the first", "s_block_of_8",
     "s_consecutive", drafts + " q.heads=4", drafts},
    {"takes tokens for consecutive, from the first on", "s_consecutive", "s_block_of_8",
     "tokens=5 rotary_dim=8 positions=1,90,60,70,80 q.heads=3 q.head_dim=8"},
    {"reads a table of f16 as one of bf16", "s_f16_as_bf16", "s_f16_to_bf16", wide_table},
    {"rounds cos and sin to bfloat16", "s_f16_to_bf16", "s_f16_as_bf16", wide_table},
    {"rounds each product to bf16 before the sum", "mutant_half_products_rounded_bf16_table",
     "mutant_half_truncated_bf16_table", narrow},
    {"rounds cos, sin and each product to bf16", "s_table_and_products",
     "mutant_half_products_rounded_bf16_table", narrow},
    {"rounds cos and sin to bf16", "mutant_half_table_rounded_bf16_table", "s_table_and_products",
     narrow},
    {"error_bound = 5 would declare it", "mutant_half_products_rounded_bf16_table",
     "mutant_half_truncated_bf16_table", narrow},
    {"rows from 40 on of batch x heads", "s_batch_heads", "s_tokens_heads", few + "q.heads=41"},
    {"rows from 40 on of tokens x heads", "s_tokens_heads", "s_batch_heads", few + "q.heads=41"},
    {"rows from 40 on of batch x tokens", "s_batch_tokens", "s_tokens_heads",
     "tokens=41 rotary_dim=4 positions=from:3:1 q.head_dim=4"},
    {"walks the heads of q.in, whose stride is 0, as if packed",
     "mutant_zero_stride_is_dense_table", "mutant_reads_past_input_table", row + "q.in=40,8,0"},
    {"right for the input of q[batch 0, token 0, head 0]", "s_head_0", "s_louder",
     "positions=5 q.heads=2"},
    {"the first element of pair 1 is that of pair 0", "s_first_twice", "s_louder",
     "positions=5 rotary_dim=4 q.head_dim=4"},
    {"only in the first call of a prepared state", "s_first_call", "s_wrong_if_ascending", rising},
    {"only in the first call of a prepared state", "s_first_call", "s_every_other", rising},
    {"only in the second call of a prepared state", "s_second_call", "s_stale_position", rising},
    {"writes a token without a slot to slot 0", "mutant_skipped_token_to_slot_0_exact",
     "mutant_slot_of_next_token_exact", append + "positions=5,9,2,7 slots=1,0,2,-1"},
    {"writes a token to the slot of the next", "mutant_slot_of_next_token_exact",
     "mutant_slots_of_first_call_exact", append + "positions=5,9,2,7 slots=1,0,2,3"},
    {"uses the slots of the call before", "mutant_slots_of_first_call_exact",
     "mutant_slot_of_next_token_exact", append + "positions=5,9,2,7 slots=1,0,2,3"},
    {"leaves slot 0 out", "s_not_slot_0", "mutant_no_tail_table", "q.append=1 " + one_pair,
     "q.append=1 " + one_pair},
    {"turns pairs by other axes than their own: pair 1 by axis 1",
     "mutant_sections_as_axes_in_turn_table", "mutant_first_axis_for_all_table", sections},
    {"exchanges the weights of the first two tensors", "s_exchanged_weights",
     "mutant_weights_of_q_for_k_exact", normed},
    {"writes zeros for subnormal numbers, which flushes_subnormals=True declares",
     "mutant_range_subnormal_f64_table", "mutant_range_tiny_f64_table",
     row + " data=subnormal dtype=f64"},
    {"the call of this case, made alone, is right", "control_scalar_table",
     "mutant_untouched_never_written_table", window},
    {"only in what is not rotated", "mutant_untouched_never_written_table", "mutant_no_tail_table",
     window + "pairing=interleaved"},
};

TEST_F(Sentences, EachIsSaidWhereItIsTrueAndNotOfALookalike) {
  for (const auto& [sentence, true_of, untrue_of, larger, small] : sentences) {
    const std::string said = said_of(true_of, larger, small);
    EXPECT_NE(said.find(sentence), std::string::npos) << true_of << ": " << said;
    const std::string other = said_of(untrue_of, larger, small);
    EXPECT_EQ(other.find(sentence), std::string::npos) << untrue_of << ": " << other;
  }
}

}  // namespace
}  // namespace ropewalk::properties
