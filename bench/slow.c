/* A server for W6 of the bench: whatever byte it is sent, it sends back one,
 * DELAY microseconds later. 'q' ends it. Prints its port.
 *
 *   pawl_bench_slow DELAY_US */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CLIENTS = 4096 };

static struct pollfd fds[MAX_CLIENTS + 1]; /* the first listens */
static int64_t due[MAX_CLIENTS + 1];       /* 0: nothing is owed */
static int n = 1;

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int listen_anywhere(void) {
  struct sockaddr_in a = {.sin_family = AF_INET,
                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) ||
      listen(fd, MAX_CLIENTS) || getsockname(fd, (struct sockaddr *)&a, &size))
    exit(1);
  printf("%d\n", ntohs(a.sin_port));
  fflush(stdout);
  return fd;
}

static void accept_one(void) {
  int one = 1, fd = accept(fds[0].fd, NULL, NULL);
  if (fd < 0) return;
  if (n > MAX_CLIENTS) exit(1);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fds[n] = (struct pollfd){.fd = fd, .events = POLLIN};
  due[n++] = 0;
}

static void read_one(int i, int64_t at_us) {
  char c;
  if (read(fds[i].fd, &c, 1) == 1) {
    if (c == 'q') exit(0);
    due[i] = at_us;
    return;
  }
  close(fds[i].fd);
  fds[i] = fds[--n];
  due[i] = due[n];
}

/* Answers what is due; how long until the next one is. */
static int64_t answer(void) {
  int64_t now = now_us(), next = now + 1000000;
  for (int i = 1; i < n; i++) {
    if (due[i] && due[i] <= now) {
      if (write(fds[i].fd, "x", 1) != 1) exit(1);
      due[i] = 0;
    } else if (due[i] && due[i] < next) {
      next = due[i];
    }
  }
  return next - now;
}

int main(int argc, char **argv) {
  int64_t delay_us = argc > 1 ? atoll(argv[1]) : 50000;
  fds[0] = (struct pollfd){.fd = listen_anywhere(), .events = POLLIN};
  for (;;) {
    int64_t left = answer(), at;
    struct timespec t = {.tv_sec = (time_t)(left / 1000000),
                         .tv_nsec = (long)(left % 1000000 * 1000)};
    if (ppoll(fds, (nfds_t)n, &t, NULL) <= 0) continue;
    at = now_us() + delay_us;
    for (int i = n - 1; i > 0; i--)
      if (fds[i].revents) read_one(i, at);
    if (fds[0].revents) accept_one();
  }
}
