#define _GNU_SOURCE /* clearenv, close_range, RLIMIT_NPROC */
#include "fence.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <errno.h>
/* The kernel's own headers, which a C library need not bring: without them the
 * system calls are not fenced, and that is said. */
#ifdef __has_include
#if __has_include(<linux/seccomp.h>)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif
#endif
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* A sanitizer needs more room and more of the system than any script. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#ifndef __linux__ /* where the C library declares it */
extern char **environ;
#endif

enum { CPU_SECONDS = 60 }; /* of its whole life: remote.c has it end before */

/* ---- what it was given ---- */

static void close_all_but(int kept) {
  long most = sysconf(_SC_OPEN_MAX);
#if defined(__linux__) && defined(SYS_close_range)
  if ((kept == 0 ||
       syscall(SYS_close_range, 0u, (unsigned)kept - 1, 0) == 0) &&
      syscall(SYS_close_range, (unsigned)kept + 1, ~0u, 0) == 0)
    return;
#endif
  if (most < 0 || most > 1 << 20) most = 1 << 20;
  for (int fd = 0; fd < most; fd++)
    if (fd != kept) close(fd);
}

/* The zone stays: without it the C library would look for a file each time. */
static void empty_environment(void) {
  const char *zone = getenv("TZ");
  char kept[256];
  static char *none[] = {NULL};
  snprintf(kept, sizeof kept, "%s",
           zone && zone[0] ? zone : ":/etc/localtime");
  environ = none;
  (void)setenv("TZ", kept, 1);
  tzset();
}

int pawl_fence_strip(int kept, long parent) {
  static const int others[] = {SIGINT,  SIGTERM, SIGHUP,
                               SIGQUIT, SIGTSTP, SIGPIPE};
#ifdef __linux__
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  /* it may have ended before that was asked for */
  if (parent && getppid() != (pid_t)parent) return 0;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    (void)signal(others[i], SIG_IGN);
  close_all_but(kept);
  empty_environment();
  return chdir("/") == 0;
}

/* ---- limits ---- */

static int limit(int what, size_t most) {
  const struct rlimit to = {(rlim_t)most, (rlim_t)most};
  return setrlimit(what, &to) == 0;
}

static int set_limits(size_t bytes) {
  int ok = limit(RLIMIT_CORE, 0) & limit(RLIMIT_FSIZE, 0) &
           limit(RLIMIT_NOFILE, 0) & limit(RLIMIT_CPU, CPU_SECONDS);
#ifdef RLIMIT_NPROC
  ok &= limit(RLIMIT_NPROC, 0);
#endif
#ifdef RLIMIT_MEMLOCK
  ok &= limit(RLIMIT_MEMLOCK, 0);
#endif
#ifdef RLIMIT_AS
  if (!IS_SANITIZED) ok &= limit(RLIMIT_AS, bytes);
#else
  (void)bytes;
#endif
  return ok;
}

/* ---- system calls ---- */

#if defined(SECCOMP_MODE_FILTER) && defined(PR_SET_NO_NEW_PRIVS) &&      \
    (defined(__x86_64__) || defined(__aarch64__) || defined(__i386__) || \
     defined(__arm__))
#define HAS_FILTER 1

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#elif defined(__i386__)
#define OUR_ARCH AUDIT_ARCH_I386
#else
#define OUR_ARCH AUDIT_ARCH_ARM
#endif

/* What Lua, our own code and an allocator do: talk, take memory, look at the
 * clock, end. */
static const int allowed[] = {
    SYS_read,
    SYS_write,
    SYS_munmap,
    SYS_mremap,
    SYS_brk,
    SYS_madvise,
    SYS_futex,
    SYS_getrandom,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_clock_gettime,
    SYS_gettimeofday,
#ifdef SYS_recvfrom
    SYS_recvfrom,
    SYS_sendto,
#endif
#ifdef SYS_recv
    SYS_recv,
    SYS_send,
#endif
#ifdef SYS_socketcall
    SYS_socketcall,
#endif
#ifdef SYS_time
    SYS_time,
#endif
#ifdef SYS_clock_gettime64
    SYS_clock_gettime64,
#endif
#ifdef SYS_sigreturn
    SYS_sigreturn,
#endif
};

/* Memory that can be written is not to be run. */
static const int mapping[] = {
    SYS_mprotect,
#ifdef SYS_mmap
    SYS_mmap,
#endif
#ifdef SYS_mmap2
    SYS_mmap2,
#endif
};

/* What a C library may try on its own, and does without. */
static const int refused[] = {
    SYS_openat,     SYS_readlinkat, SYS_faccessat,      SYS_ioctl,
    SYS_fcntl,      SYS_lseek,      SYS_rt_sigprocmask, SYS_rt_sigaction,
    SYS_close,      SYS_getpid,     SYS_uname,          SYS_sysinfo,
    SYS_fstat,      SYS_prlimit64,
#ifdef SYS_open
    SYS_open,       SYS_stat,       SYS_access,         SYS_readlink,
#endif
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
};

#define N(list) (sizeof(list) / sizeof *(list))
enum { LENGTH = 5 + 2 * (N(allowed) + N(refused)) + 5 * N(mapping) };

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LOW_HALF 4
#else
#define LOW_HALF 0
#endif

#define PUT(...) code[n++] = (struct sock_filter)__VA_ARGS__
#define REFUSE (SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA))
#ifdef SECCOMP_RET_KILL_PROCESS
#define FORBID SECCOMP_RET_KILL_PROCESS
#else
#define FORBID SECCOMP_RET_KILL
#endif

static int filter_calls(void) {
  struct sock_filter code[LENGTH];
  unsigned short n = 0;
  PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
  PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0));
  PUT(BPF_STMT(BPF_RET | BPF_K, FORBID));
  PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
  for (size_t i = 0; i < N(allowed); i++) {
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1));
    PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  for (size_t i = 0; i < N(mapping); i++) { /* the third argument: PROT_... */
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)mapping[i], 0, 4));
    PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[2]) + LOW_HALF));
    PUT(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0));
    PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    PUT(BPF_STMT(BPF_RET | BPF_K, REFUSE));
  }
  for (size_t i = 0; i < N(refused); i++) {
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refused[i], 0, 1));
    PUT(BPF_STMT(BPF_RET | BPF_K, REFUSE));
  }
  PUT(BPF_STMT(BPF_RET | BPF_K, FORBID));
  const struct sock_fprog program = {n, code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#endif

int pawl_fence_raise(size_t bytes) {
  int held = 0;
#ifdef __linux__
  int by = 0;
  if (prctl(PR_GET_PDEATHSIG, &by) == 0 && by == SIGKILL)
    held |= PAWL_FENCE_DEATH;
  (void)prctl(PR_SET_DUMPABLE, 0); /* nobody of the same user looks into it */
#ifdef PR_SET_NO_NEW_PRIVS
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) held |= PAWL_FENCE_NO_MORE;
#endif
#endif
  if (set_limits(bytes)) held |= PAWL_FENCE_LIMITS;
#ifdef HAS_FILTER
  if (!IS_SANITIZED && (held & PAWL_FENCE_NO_MORE) && filter_calls())
    held |= PAWL_FENCE_CALLS;
#endif
  return held;
}

const char *pawl_fence_lacks(int held, char *to, size_t size) {
  static const char *const names[] = {"limits", "end with its parent",
                                      "seccomp", "no new privileges"};
  size_t at = 0;
  to[0] = '\0';
  for (int i = 0; i < 4; i++)
    if (!(held & 1 << i) && at < size)
      at += (size_t)snprintf(to + at, size - at, "%s%s", at ? ", " : "",
                             names[i]);
  return to;
}
