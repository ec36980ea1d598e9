// Suggests what a misspelled word was probably meant to be.
#pragma once
#include <string>
#include <vector>

namespace ropewalk::tools {

/// The known word with the fewest edits: a letter added, left out or changed, or two neighbours
/// swapped. Empty if no word is within a third of the word's length.
std::string nearest_to(const std::string& word, const std::vector<std::string>& known);

}  // namespace ropewalk::tools
