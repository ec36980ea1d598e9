// The memory that a call may write, so that the call can be repeated and compared.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk::harness {

/// A kind of memory, as the worker reaches it. Any thread may call these functions.
class MemorySpace {
 public:
  using Bytes = std::vector<std::byte>;

  virtual ~MemorySpace() = default;
  virtual Bytes copy(const std::byte* at, std::size_t bytes) = 0;
  virtual void restore(std::byte* at, const Bytes& content) = 0;
  virtual bool equals(const std::byte* at, const Bytes& content) = 0;

  /// Call first on each thread that calls entries.
  virtual void begin_thread() {}
  /// Call before each of several repeated calls: it keeps a device busy beside them.
  virtual void add_load() {}
  /// Waits until the work of a stream is done. Throws StepFailed.
  virtual void wait([[maybe_unused]] void* stream) {}
  /// Waits until all work is done. `when` is like "in prepare". Throws StepFailed.
  virtual void wait_for_all([[maybe_unused]] const char* when) {}
  /// True if nothing more can be done with this memory in this process.
  virtual bool is_lost() const { return false; }
  /// What an entry left changed in this kind of memory's driver, in words.
  virtual std::string left_changed() { return {}; }
};

class WritableMemory {
 public:
  /// The content of all parts, in the order in which they were added.
  using Copy = std::vector<MemorySpace::Bytes>;

  explicit WritableMemory(MemorySpace& space) : space_(&space) {}

  void add(std::byte* at, std::size_t bytes) { parts_.emplace_back(at, bytes); }

  Copy copy() const {
    Copy out;
    for (const auto& [at, bytes] : parts_) out.push_back(space_->copy(at, bytes));
    return out;
  }
  void restore(const Copy& from) const {
    for (std::size_t i = 0; i < from.size(); ++i) space_->restore(parts_[i].first, from[i]);
  }
  bool equals(const Copy& other) const {
    for (std::size_t i = 0; i < other.size(); ++i)
      if (!space_->equals(parts_[i].first, other[i])) return false;
    return true;
  }
  MemorySpace& space() const { return *space_; }

 private:
  MemorySpace* space_;
  std::vector<std::pair<std::byte*, std::size_t>> parts_;
};

}  // namespace ropewalk::harness
