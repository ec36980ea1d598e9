#include "properties/witness/witness.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ropewalk::properties {
using namespace harness;
using namespace mutants;
namespace {

const CaseChange& change_for(std::string_view word) {
  const auto& list = case_changes();
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.word == word; });
  if (found == list.end()) throw std::logic_error("no case for " + std::string(word));
  return *found;
}

// Small in every size, and with every optional feature off.
Case plain_case(const Composed& kernel) {
  Case c;
  c.kernel = kernel.name;
  c.contract = kernel.form.contract;
  c.dtype = kernel.form.dtype;
  c.batch = 2;
  c.tokens = 4;
  c.rotary_dim = 16;
  c.position_from = 3;
  c.seed = 20210420;
  c.tensors[0].heads = 3;
  c.tensors[0].head_dim = 16;
  return c;
}

struct Edit {
  Turn turn;
  void (*change)(Witness&);
};

void accept(const Composed& kernel, Turn turn, Case& c) {
  for (const AcceptedCase& each : accepted_cases())
    if (each.refusal == kernel.refusal && each.turn == turn) each.accept(c);
}

Witness made(const Composed& kernel, const std::vector<Edit>& edits) {
  Witness w;
  w.c = plain_case(kernel);
  for (const Turn turn : {Turn::tensors, Turn::sizes, Turn::features, Turn::layouts, Turn::last}) {
    accept(kernel, turn, w.c);
    for (const Edit& edit : edits)
      if (edit.turn == turn && edit.change != nullptr) edit.change(w);
  }
  return w;
}

}  // namespace

Witness witness_of(const Composed& kernel, const Member& member,
                   std::optional<std::size_t> without) {
  const std::vector<std::string_view> words = conditions_of(member);
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const CaseChange& change = change_for(words[i]);
    const bool left_out = without == i;
    edits.push_back({left_out ? Turn::last : change.turn, left_out ? change.miss : change.meet});
  }
  return made(kernel, edits);
}

Witness witness_of(const Composed& kernel, std::string_view condition) {
  const CaseChange& change = change_for(condition);
  return made(kernel, {{change.turn, change.meet}});
}

Witness plain_witness_of(const Composed& kernel) {
  return made(kernel, {});
}

}  // namespace ropewalk::properties
