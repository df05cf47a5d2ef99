/*
 * sd_notify for Node: one datagram to the socket that systemd names in NOTIFY_SOCKET. Node has no AF_UNIX datagrams, and a
 * child process per watchdog ping would cost 5 ms and NotifyAccess=all. N-API only, so one file serves every Node.
 *   send(path, text) -> 0 or errno; EAGAIN when the manager lags (the ping is dropped).
 *   trim() -> gives the kernel back what the start needed: free heap, and pages of the program that have been read once.
 *   map(fd, size, head, tail) -> the bytes of a file between two short texts, as one string whose memory is the kernel's cache of the
 *     file; undefined where that is not possible.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 6
#include <errno.h>
#include <malloc.h>
#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int send_datagram(const char *path, size_t length, const char *text, size_t size) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  if (length == 0 || length >= sizeof address.sun_path) return EINVAL;
  if (path[0] != '/' && path[0] != '@') return EINVAL;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0'; /* The abstract namespace. */
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  ssize_t sent = sendto(fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
  int error = sent < 0 ? errno : 0;
  close(fd);
  return error;
}

static napi_value send_call(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2], result;
  char path[128], text[1024];
  size_t path_length, text_length;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < 2 ||
      napi_get_value_string_utf8(env, arguments[0], path, sizeof path, &path_length) != napi_ok ||
      napi_get_value_string_utf8(env, arguments[1], text, sizeof text, &text_length) != napi_ok) {
    napi_throw_type_error(env, NULL, "send(path, text) takes two strings");
    return NULL;
  }
  napi_create_int32(env, send_datagram(path, path_length, text, text_length), &result);
  return result;
}

/* Mapped parts of files that hold nothing but what the file holds. Nobody can write to them, so the program's are looked for once. */
#define RANGES_MAX 16
static struct { char *from; size_t length; } ranges[RANGES_MAX];
static int range_count = 0;
static bool is_program_known = false;

static void add_range(char *from, size_t length) {
  if (range_count == RANGES_MAX) return;
  ranges[range_count].from = from;
  ranges[range_count++].length = length;
}

/*
 * Program text, and read-only data none of whose pages the loader changed (Anonymous: 0 kB; what it relocated would be lost).
 */
static void find_program(void) {
  char program[512], line[1024];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  FILE *maps = length > 0 ? fopen("/proc/self/smaps", "re") : NULL;
  if (maps == NULL) return;
  program[length] = '\0';
  unsigned long from = 0, to = 0;
  int is_ours = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long start, end, kilobytes;
    char access[5];
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %n", &start, &end, access, &at) == 3) {
      from = start;
      to = end;
      is_ours = at > 0 && strcmp(line + at, program) == 0 && (strcmp(access, "r-xp") == 0 || strcmp(access, "r--p") == 0);
    } else if (is_ours && sscanf(line, "Anonymous: %lu kB", &kilobytes) == 1) {
      if (kilobytes == 0) add_range((char *)from, to - from);
      is_ours = 0;
    }
  }
  fclose(maps);
}

/* Dropped pages stay in the kernel's cache of the file and come back when touched. */
static void drop_mapped_pages(void) {
  if (!is_program_known) find_program();
  is_program_known = true;
  for (int i = 0; i < range_count; i++) (void)madvise(ranges[i].from, ranges[i].length, MADV_DONTNEED);
}

static napi_value trim_call(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  malloc_trim(0);
  drop_mapped_pages();
  return NULL;
}

/* Part of Node-API since Node 20.4, where it counts as experimental. */
extern napi_status NAPI_CDECL node_api_create_external_string_latin1(napi_env env, char *text, size_t length, napi_finalize finalize,
                                                                     void *hint, napi_value *result, bool *copied) __attribute__((weak));

/*
 * One page for the head, the file, one page for the tail. The tail begins within the last page of the file, after its last byte: that page is the
 * process's own. A string's memory stays for ever: V8 keeps the source of a program.
 */
static char *map_file(int fd, size_t size, const char *head, size_t head_length, const char *tail, size_t tail_length) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
  if (size == 0 || head_length > page || tail_length > page) return NULL;
  char *room = mmap(NULL, page + whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return NULL;
  char *file = room + page;
  if (mmap(file, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    munmap(room, page + whole + page);
    return NULL;
  }
  memcpy(file - head_length, head, head_length);
  memcpy(file + size, tail, tail_length);
  (void)mprotect(room, page + whole + page, PROT_READ);
  add_range(file, size / page * page);
  return file - head_length;
}

static napi_value map_call(napi_env env, napi_callback_info info) {
  size_t count = 4, head_length, tail_length;
  napi_value arguments[4], result;
  int64_t fd, size;
  char head[128], tail[128];
  if (node_api_create_external_string_latin1 == NULL) return NULL;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < 4 ||
      napi_get_value_int64(env, arguments[0], &fd) != napi_ok || napi_get_value_int64(env, arguments[1], &size) != napi_ok ||
      napi_get_value_string_latin1(env, arguments[2], head, sizeof head, &head_length) != napi_ok ||
      napi_get_value_string_latin1(env, arguments[3], tail, sizeof tail, &tail_length) != napi_ok) {
    napi_throw_type_error(env, NULL, "map(fd, size, head, tail) takes two numbers and two strings");
    return NULL;
  }
  char *text = map_file((int)fd, (size_t)size, head, head_length, tail, tail_length);
  bool copied;
  if (text == NULL) return NULL;
  size_t length = head_length + (size_t)size + tail_length;
  if (node_api_create_external_string_latin1(env, text, length, NULL, NULL, &result, &copied) != napi_ok) return NULL;
  return result;
}

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "trim", NAPI_AUTO_LENGTH, trim_call, NULL, &function);
  napi_set_named_property(env, exports, "trim", function);
  napi_create_function(env, "map", NAPI_AUTO_LENGTH, map_call, NULL, &function);
  napi_set_named_property(env, exports, "map", function);
  napi_create_function(env, "send", NAPI_AUTO_LENGTH, send_call, NULL, &function);
  napi_set_named_property(env, exports, "send", function);
  return exports;
}
