// Preloaded by lock_test: a file system without locks, which answers as NFS does for a folder.
#include <cerrno>

extern "C" int flock(int, int) {
  errno = EBADF;
  return -1;
}
