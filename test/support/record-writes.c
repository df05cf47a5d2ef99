/* LD_PRELOAD, two uses. 1. Logs writes, syncs, truncations, renames and removals of files under RECORD_UNDER, and what goes to
 * stdout, in the order they happened, to RECORD_LOG. Entry: kind, u32 name length, i64 offset, u32 bytes, name, bytes.
 * 2. Fails calls on those files while the file RECORD_FAULT begins with f (no space), w (write error) or s (sync error). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int logfd = -1;
static const char *under;
static const char *fault;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("RECORD_LOG");
  under = getenv("RECORD_UNDER");
  fault = getenv("RECORD_FAULT");
  if (path && under) logfd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    long done = syscall(SYS_write, logfd, at, length);
    if (done <= 0) abort();
    at += done;
    length -= (size_t)done;
  }
}

static void note(char kind, const char *name, int64_t offset, const void *bytes, uint32_t length) {
  uint32_t name_length = (uint32_t)strlen(name);
  char head[17];
  if (logfd < 0) return;
  head[0] = kind;
  memcpy(head + 1, &name_length, 4);
  memcpy(head + 5, &offset, 8);
  memcpy(head + 13, &length, 4);
  pthread_mutex_lock(&lock);
  put(head, sizeof head);
  put(name, name_length);
  put(bytes, length);
  pthread_mutex_unlock(&lock);
}

/* The path of a descriptor when it lies under the directory, else null. */
static const char *watched(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = under == NULL ? -1 : readlink(link, path, size - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  return strncmp(path, under, strlen(under)) == 0 ? path : NULL;
}

/* The errno that a call on this file is to fail with; 0 for none. */
static int spoiled(int fd, char on) {
  char path[4096];
  char now = 0;
  if (fault == NULL || watched(fd, path, sizeof path) == NULL) return 0;
  int control = open(fault, O_RDONLY | O_CLOEXEC);
  if (control < 0) return 0;
  if (syscall(SYS_read, control, &now, 1) != 1) now = 0;
  close(control);
  if (now == 'f' && on == 'w') return ENOSPC;
  return now == on ? EIO : 0;
}

#define SPOIL(fd, on) do { int number = spoiled(fd, on); if (number) { errno = number; return -1; } } while (0)
#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  NEXT(pwrite64);
  char path[4096];
  SPOIL(fd, 'w');
  ssize_t done = next(fd, bytes, length, offset);
  const char *name = done > 0 ? watched(fd, path, sizeof path) : NULL;
  if (name) note('W', name, offset, bytes, (uint32_t)done);
  return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  return pwrite64(fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  NEXT(write);
  char path[4096];
  const char *name = fd > 2 ? watched(fd, path, sizeof path) : NULL;
  off64_t offset = name ? lseek64(fd, 0, SEEK_CUR) : 0;
  ssize_t done = next(fd, bytes, length);
  if (name && done > 0) note('W', name, offset, bytes, (uint32_t)done);
  if (fd == 1 && done > 0) note('O', "", 0, bytes, (uint32_t)done);
  return done;
}

int fsync(int fd) {
  NEXT(fsync);
  char path[4096];
  SPOIL(fd, 's');
  int result = next(fd);
  const char *name = watched(fd, path, sizeof path);
  if (name && result == 0) note('S', name, 0, "", 0);
  return result;
}

int fdatasync(int fd) {
  NEXT(fdatasync);
  char path[4096];
  SPOIL(fd, 's');
  int result = next(fd);
  const char *name = watched(fd, path, sizeof path);
  if (name && result == 0) note('S', name, 0, "", 0);
  return result;
}

int ftruncate64(int fd, off64_t size) {
  NEXT(ftruncate64);
  char path[4096];
  int result = next(fd, size);
  const char *name = watched(fd, path, sizeof path);
  if (name && result == 0) note('T', name, size, "", 0);
  return result;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int rename(const char *from, const char *to) {
  NEXT(rename);
  int result = next(from, to);
  if (result == 0 && under && strncmp(from, under, strlen(under)) == 0) note('R', from, 0, to, (uint32_t)strlen(to));
  return result;
}

int unlink(const char *path) {
  NEXT(unlink);
  int result = next(path);
  if (result == 0 && under && strncmp(path, under, strlen(under)) == 0) note('U', path, 0, "", 0);
  return result;
}
