/*
 * Counts the instructions of an emulated program in a file that others read while it runs: one number for each thread, so that none
 * waits for another. A plugin of qemu (docs/devel/tcg-plugins, API 1), whose header Debian does not ship.
 *
 *   gcc -O2 -shared -fPIC -o instructions.so instructions.c && qemu-aarch64 -plugin ./instructions.so,counts=COUNTS PROGRAM
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS_MAX 4096
#define BYTES (THREADS_MAX * sizeof(uint64_t))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum { NO_REGISTERS = 0 };
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int, void *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t *counts;

static void executed(unsigned thread, void *instructions) {
  counts[thread % THREADS_MAX] += (uintptr_t)instructions;
}

static void translated(plugin_id id, struct qemu_plugin_tb *block) {
  qemu_plugin_register_vcpu_tb_exec_cb(block, executed, NO_REGISTERS, (void *)qemu_plugin_tb_n_insns(block));
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
  if (argc != 1 || strncmp(argv[0], "counts=", 7) != 0) return 1;
  int file = open(argv[0] + 7, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, BYTES) != 0) return 1;
  counts = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (counts == MAP_FAILED) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
