/* LD_PRELOAD before libfaketime, which shows the real time to signal handlers that interrupt its own epoll_wait. PostgreSQL reads the
 * clock there: a lock_timeout of 0.2 s then ends an hour late where the clock shows an hour more. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout_ms) {
  return (int)syscall(SYS_epoll_pwait, epoll, events, count, timeout_ms, NULL, 0);
}
