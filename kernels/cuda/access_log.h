// Logs each load and store of a launch, and names in words the first one that a device could not be
// trusted with. For tests: it takes about 100 times as long as the body.
//
//   AccessLog log(memory, bytes, fault);
//   log.allow(x, sizeof x, Rights::read_only, "x");
//   run_grid(grid, order, fault, [&](const Lane& lane) {
//     body(launch, lane, LoggedAccess(fault, log, lane));
//   });
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/api/rope_kernel.h"
#include "kernels/cuda/host_access.h"
#include "kernels/cuda/launch.h"

namespace ropewalk::cuda {

enum class Rights : std::uint32_t { read_only, read_and_write };

/// What lanes did to each two bytes of memory that a launch may touch. It lies in memory of the
/// caller, and allocates nothing.
class AccessLog {
 public:
  /// The bytes of memory for a log that allows `touched` bytes in all.
  static std::size_t bytes_for(std::size_t touched);

  /// `memory` is aligned to 8 bytes. Its content may be anything.
  AccessLog(void* memory, std::size_t bytes, LaunchFault& fault);

  /// The launch may touch these bytes. `begin` and `bytes` are even. `what` is static text.
  /// Bytes that are allowed twice keep the larger right.
  void allow(const void* begin, std::size_t bytes, Rights rights, const char* what);

  /// Notes an access, and gives the fault its words where it is not allowed. Returns whether the
  /// memory may be touched. `epoch` counts the barriers that the lane has passed: what lanes of one
  /// block do on two sides of a barrier has an order.
  bool read(const Lane& lane, std::uint32_t epoch, const void* at, std::size_t bytes);
  bool write(const Lane& lane, std::uint32_t epoch, const void* at, std::size_t bytes);

 private:
  struct Who {
    std::uint64_t lane;  ///< (block + 1) << 10 | thread; 0: nobody
    std::uint32_t epoch;
  };
  struct Cell {
    std::uint64_t key;  ///< the address / 2 + 1; 0: empty
    const char* what;
    Rights rights;
    Who writer, readers[2];
  };

  Cell* find(std::uint64_t key, bool insert);
  Cell* allowed(const Lane& lane, std::uint64_t key, Rights needed);
  static bool conflict(const Who& before, const Who& now);
  static Who who(const Lane& lane, std::uint32_t epoch);

  Cell* cells_;
  std::size_t count_;
  LaunchFault* fault_;
};

/// Allows what the contract lets a call touch: the elements of each row of in and out, the tables
/// and the positions. Gaps between rows stay forbidden.
void allow_operands(AccessLog& log, const rope_problem& p, const rope_operands& o);
/// The bytes that allow_operands() allows.
std::size_t bytes_of_operands(const rope_problem& p);

/// HostAccess with a log. An access that is not allowed touches nothing.
class LoggedAccess : public HostAccess {
 public:
  LoggedAccess(LaunchFault& fault, AccessLog& log, const Lane& lane)
      : HostAccess(fault), log_(&log), lane_(lane) {}

  template <class Unit>
  Unit load(const void* base, std::int64_t offset) const {
    const auto* at = static_cast<const std::byte*>(base) + offset;
    if (!aligned(at, sizeof(Unit), "a load") || !log_->read(lane_, epoch_, at, sizeof(Unit)))
      return Unit{};
    return HostAccess::load<Unit>(base, offset);
  }
  template <class Unit>
  Unit load_constant(const void* base, std::int64_t offset) const {
    return load<Unit>(base, offset);
  }
  template <class Unit>
  void store(void* base, std::int64_t offset, const Unit& unit) const {
    auto* at = static_cast<std::byte*>(base) + offset;
    if (aligned(at, sizeof(Unit), "a store") && log_->write(lane_, epoch_, at, sizeof(Unit)))
      HostAccess::store(base, offset, unit);
  }
  /// Called after each barrier that the lane passed.
  void passed_barrier() { ++epoch_; }

 private:
  AccessLog* log_;
  Lane lane_;
  std::uint32_t epoch_ = 0;
};

}  // namespace ropewalk::cuda
