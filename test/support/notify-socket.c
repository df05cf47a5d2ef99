/*
 * The systemd side of sd_notify for tests: binds an AF_UNIX datagram socket (a path, or @name in the abstract namespace), prints
 * "listening", then each datagram on a line of its own with its line breaks as '|'. Ends when stdin does.
 */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int count, char **arguments) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = count > 1 ? strlen(arguments[1]) : 0;
  if (length == 0 || length >= sizeof address.sun_path) return 2;
  memcpy(address.sun_path, arguments[1], length);
  if (arguments[1][0] == '@') address.sun_path[0] = '\0';
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0) return 1;
  puts("listening");
  fflush(stdout);
  struct pollfd waits[2] = {{.fd = 0, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
  for (;;) {
    if (poll(waits, 2, -1) < 0) return 1;
    if (waits[1].revents & POLLIN) {
      char text[4096];
      ssize_t got = recv(fd, text, sizeof text - 1, 0);
      if (got < 0) return 1;
      text[got] = '\0';
      for (char *at = text; *at; at++)
        if (*at == '\n') *at = '|';
      puts(text);
      fflush(stdout);
    }
    if (waits[0].revents & (POLLIN | POLLHUP)) {
      char byte;
      if (read(0, &byte, 1) <= 0) return 0;
    }
  }
}
