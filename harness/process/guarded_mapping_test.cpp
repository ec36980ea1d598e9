// One byte before or after a guarded mapping is a fault, and so is a write to a read-only one.
#include "harness/process/guarded_mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <utility>

namespace ropewalk::harness {
namespace {

/// The signal that ends a child process which runs `act`; 0 if the child survives.
int signal_of(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    // a sanitizer has handlers of its own
    for (const int signal : {SIGSEGV, SIGBUS}) std::signal(signal, SIG_DFL);
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void touch(const std::byte* at) {
  static_cast<void>(*static_cast<const volatile std::byte*>(at));
}
void poke(std::byte* at) {
  *static_cast<volatile std::byte*>(at) = std::byte{1};
}

/// A file in memory, a few pages long.
class SharedFile {
 public:
  explicit SharedFile(std::size_t bytes) : descriptor_(memfd_create("test", MFD_CLOEXEC)) {
    if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("memfd");
  }
  ~SharedFile() { close(descriptor_); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

TEST(WholePages, RoundsUpToAtLeastOne) {
  const std::size_t page = page_bytes();
  EXPECT_EQ(whole_pages(0), page);
  EXPECT_EQ(whole_pages(1), page);
  EXPECT_EQ(whole_pages(page), page);
  EXPECT_EQ(whole_pages(page + 1), 2 * page);
}

TEST(GuardedMapping, EveryByteInsideCanBeUsed) {
  const GuardedMapping mapping(3 * page_bytes() - 5);
  ASSERT_EQ(mapping.bytes(), 3 * page_bytes());
  EXPECT_EQ(signal_of([&] {
              for (std::size_t i = 0; i < mapping.bytes(); ++i) poke(mapping.data() + i);
            }),
            0);
}

TEST(GuardedMapping, OneByteOutsideIsAFault) {
  const GuardedMapping mapping(2 * page_bytes());
  EXPECT_EQ(signal_of([&] { touch(mapping.data() - 1); }), SIGSEGV);
  EXPECT_EQ(signal_of([&] { poke(mapping.data() - 1); }), SIGSEGV);
  EXPECT_EQ(signal_of([&] { touch(mapping.data() + mapping.bytes()); }), SIGSEGV);
  EXPECT_EQ(signal_of([&] { poke(mapping.data() + mapping.bytes()); }), SIGSEGV);
}

TEST(GuardedMapping, AWholeTableOutsideIsAFault) {
  // Other mappings lie close by and are not reached.
  const GuardedMapping before(page_bytes()), mapping(page_bytes()), after(page_bytes());
  constexpr std::size_t guard = GuardedMapping::widest_guard;
  for (const std::size_t distance : {page_bytes(), guard / 2, guard}) {
    EXPECT_EQ(signal_of([&] { touch(mapping.data() - distance); }), SIGSEGV) << distance;
    EXPECT_EQ(signal_of([&] { touch(mapping.data() + mapping.bytes() + distance - 1); }), SIGSEGV)
        << distance;
  }
}

TEST(GuardedMapping, IsGuardedWhereAddressesAreScarce) {
#ifdef ROPEWALK_SANITIZED
  GTEST_SKIP() << "a sanitizer needs the addresses";
#endif
  std::size_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) GTEST_SKIP() << "no /proc here";
  const auto act_with_few_addresses = [&](std::ptrdiff_t touched) {
    return signal_of([&] {
      constexpr std::size_t room = std::size_t{1} << 20;
      const rlimit few{pages * page_bytes() + room, RLIM_INFINITY};
      if (setrlimit(RLIMIT_AS, &few) != 0) abort();
      const GuardedMapping mapping(page_bytes());
      touch(mapping.data() + touched);
    });
  };
  const auto page = static_cast<std::ptrdiff_t>(page_bytes());
  EXPECT_EQ(act_with_few_addresses(0), 0);
  for (const std::ptrdiff_t outside : {std::ptrdiff_t{-1}, -page, page, 2 * page - 1})
    EXPECT_EQ(act_with_few_addresses(outside), SIGSEGV) << outside;
}

TEST(GuardedMapping, ReadOnlyCanBeReadAndNotWritten) {
  GuardedMapping mapping(page_bytes());
  poke(mapping.data());
  mapping.make_read_only();
  EXPECT_EQ(*mapping.data(), std::byte{1});
  EXPECT_EQ(signal_of([&] { touch(mapping.data() + mapping.bytes() - 1); }), 0);
  EXPECT_EQ(signal_of([&] { poke(mapping.data()); }), SIGSEGV);
}

TEST(GuardedMapping, SharesAPartOfAFile) {
  const std::size_t page = page_bytes();
  const SharedFile file(3 * page);
  const GuardedMapping all(file.descriptor(), 0, 3 * page, true);
  const GuardedMapping second(file.descriptor(), page, page, true);
  poke(all.data() + page + 7);
  EXPECT_EQ(second.data()[7], std::byte{1});
  EXPECT_EQ(second.bytes(), page);
  // Neighbours in the file are not neighbours in memory.
  EXPECT_EQ(signal_of([&] { touch(second.data() - 1); }), SIGSEGV);
  EXPECT_EQ(signal_of([&] { touch(second.data() + page); }), SIGSEGV);
}

TEST(GuardedMapping, MovesAndLeavesNothingBehind) {
  GuardedMapping first(page_bytes());
  std::byte* const at = first.data();
  GuardedMapping second(std::move(first));
  EXPECT_EQ(second.data(), at);
  GuardedMapping third;
  third = std::move(second);
  EXPECT_EQ(third.data(), at);
  EXPECT_EQ(signal_of([&] { poke(at); }), 0);
  third = GuardedMapping();
  EXPECT_EQ(third.data(), nullptr);
  EXPECT_EQ(signal_of([&] { touch(at); }), SIGSEGV) << "unmapped when its owner is gone";
}

TEST(GuardedMapping, BadDescriptorIsAnError) {
  EXPECT_THROW(GuardedMapping(-1, 0, page_bytes(), true), std::runtime_error);
}

}  // namespace
}  // namespace ropewalk::harness
