// Lists in the order in which their keys first appear.
#pragma once
#include <map>
#include <vector>

namespace ropewalk::report {

/// The places of keys in a list that begins empty and is filled by of() alone.
template <class Key>
class Places {
 public:
  /// The element of this key. A new one stands at the end.
  template <class Element>
  Element& of(const Key& key, std::vector<Element>& list) {
    const auto place = places_.try_emplace(key, list.size()).first->second;
    return place == list.size() ? list.emplace_back() : list[place];
  }

 private:
  std::map<Key, std::size_t> places_;
};

}  // namespace ropewalk::report
