// The memory that a parent shares with one worker. Each worker gets a file of its own, because a
// kernel may change the file in any way.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>

namespace ropewalk::harness {

/// The worker could not start, or it refuses its plugins. The text is one clear line. The command
/// exits with 2.
class WorkerError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory() { close(); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Opens a fresh file. Closes the file that was open before, and its addresses become invalid.
  /// Throws WorkerError.
  void open();
  /// Makes room for at least `bytes`. The address is valid until the next reserve() or open(). The
  /// file keeps its content. Throws WorkerError if there is no memory.
  std::byte* reserve(std::size_t bytes);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  int descriptor() const { return file_; }
  /// What another process did to the file, in words; empty: nothing.
  std::string damage() const;

 private:
  void close();

  int file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ropewalk::harness
