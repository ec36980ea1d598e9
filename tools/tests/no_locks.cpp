// Preloaded by lock_test: a file system without locks, as NFS answers for a folder.
#include <cerrno>

extern "C" int flock(int, int) {
  errno = EBADF;
  return -1;
}
