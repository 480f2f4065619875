/* Hands frames from one interface to another after a fixed delay, both ways, order kept.
 *
 *     relay LEFT RIGHT DELAY_US
 *
 * The delay counts from the kernel's receive stamp of a frame, so that the time until this process wakes is
 * part of it. Runs at real-time priority with its memory locked. On SIGTERM it prints one JSON object: for
 * each way the frames, those that could not be sent, and how late they left (percentiles, microseconds).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 8192, FRAME = 1600, LATE_US = 50000, PRIORITY = 50 };

struct frame {
    int64_t due_ns;
    ssize_t length;
    unsigned char bytes[FRAME];
};

struct way {
    int from, to;
    uint64_t head, tail; /* of a ring: frames head..tail wait */
    uint64_t frames, not_sent, late[LATE_US + 1];
    struct frame ring[SLOTS];
};

static struct way ways[2];
static volatile sig_atomic_t stopping;

static void stop(int signal) { (void)signal; stopping = 1; }

static void fail(const char *what) {
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); /* the clock of the receive stamps */
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int attach(const char *name) {
    int on = 1, room = 1 << 24;
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
    if (fd < 0) fail("socket");
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons(ETH_P_ALL),
                             .sll_ifindex = (int)if_nametoindex(name)};
    if (!at.sll_ifindex) fail(name);
    if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on)) fail("PACKET_IGNORE_OUTGOING");
    if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on)) fail("SO_TIMESTAMPNS");
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) fail("SO_RCVBUFFORCE");
    if (bind(fd, (struct sockaddr *)&at, sizeof at)) fail("bind");
    return fd;
}

static void receive(struct way *way, int64_t delay_ns) {
    while (way->tail - way->head < SLOTS) {
        struct frame *frame = &way->ring[way->tail % SLOTS];
        char control[128];
        struct iovec data = {frame->bytes, FRAME};
        struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        frame->length = recvmsg(way->from, &message, 0);
        if (frame->length < 0) {
            if (errno == EAGAIN || errno == EINTR) return;
            fail("recvmsg");
        }
        frame->due_ns = now_ns() + delay_ns;
        for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
            if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
                struct timespec stamp;
                memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
                frame->due_ns = stamp.tv_sec * 1000000000LL + stamp.tv_nsec + delay_ns;
            }
        }
        way->tail++;
    }
}

static void send_due(struct way *way) {
    while (way->head < way->tail) {
        struct frame *frame = &way->ring[way->head % SLOTS];
        int64_t late_us = (now_ns() - frame->due_ns) / 1000;
        if (late_us < 0 || now_ns() < frame->due_ns) return;
        if (send(way->to, frame->bytes, (size_t)frame->length, 0) != frame->length) way->not_sent++;
        way->late[late_us > LATE_US ? LATE_US : late_us]++;
        way->frames++;
        way->head++;
    }
}

static int quantile(const struct way *way, double share) {
    uint64_t rank = (uint64_t)(share * (double)way->frames), seen = 0;
    for (int us = 0; us <= LATE_US; us++)
        if ((seen += way->late[us]) > rank || (seen == way->frames && seen > 0)) return us;
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "relay LEFT RIGHT DELAY_US\n");
        return 2;
    }
    int64_t delay_ns = 1000 * atoll(argv[3]);
    struct sched_param priority = {.sched_priority = PRIORITY};
    if (sched_setscheduler(0, SCHED_FIFO, &priority)) fail("real-time priority");
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) fail("mlockall");
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGTERM, &action, NULL);
    ways[0].from = ways[1].to = attach(argv[1]);
    ways[1].from = ways[0].to = attach(argv[2]);
    while (!stopping) {
        int64_t wait_ns = 1000000000, now = now_ns();
        for (int i = 0; i < 2; i++)
            if (ways[i].head < ways[i].tail) {
                int64_t left = ways[i].ring[ways[i].head % SLOTS].due_ns - now;
                if (left < wait_ns) wait_ns = left > 0 ? left : 0;
            }
        struct pollfd ends[2] = {{ways[0].from, POLLIN, 0}, {ways[1].from, POLLIN, 0}};
        struct timespec timeout = {wait_ns / 1000000000, wait_ns % 1000000000};
        if (ppoll(ends, 2, &timeout, NULL) < 0 && errno != EINTR) fail("ppoll");
        for (int i = 0; i < 2; i++) {
            receive(&ways[i], delay_ns);
            send_due(&ways[i]);
        }
    }
    for (int i = 0; i < 2; i++)
        printf("%s\"%s\": {\"frames\": %llu, \"not_sent\": %llu, \"late_us_p50\": %d, \"late_us_p99\": %d, \"late_us_max\": %d}%s",
               i ? ", " : "{", i ? "down" : "up", (unsigned long long)ways[i].frames, (unsigned long long)ways[i].not_sent,
               quantile(&ways[i], 0.5), quantile(&ways[i], 0.99), quantile(&ways[i], 1.0), i ? "}\n" : "");
    return 0;
}
