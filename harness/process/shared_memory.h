// The memory that a parent shares with one worker: a file of its own for each, as a kernel may do
// to it what it likes.
#pragma once
#include <cstddef>
#include <string>

namespace ropewalk::harness {

class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory() { close(); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// A fresh file; one that was open before is closed, and its addresses end. Throws WorkerError.
  void open();
  /// Room for at least so many bytes; the address holds until the next reserve() or open(). What
  /// the file holds stays. Throws WorkerError when there is no memory.
  std::byte* reserve(std::size_t bytes);

  std::byte* data() const { return data_; }
  int descriptor() const { return file_; }
  /// What another process has done to the file; empty: nothing.
  std::string damage() const;

 private:
  void close();

  int file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ropewalk::harness
