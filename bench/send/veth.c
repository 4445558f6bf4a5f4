/* SPDX-License-Identifier: MIT */
#include "bench/send/veth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/support/scratch.h"

static const char *const card_names[] = { "near", "far" };
static struct {
        bool is_tried;
        int err;
        int namespaces[2];
} veth;

struct in_addr veth_address(enum veth_side side)
{
        return (struct in_addr){ htonl(0xc0000201 + side) }; /* 192.0.2.1: TEST-NET-1 of RFC 5737 */
}

/* ---- the request for a pair of cards ---- */

struct request {
        struct nlmsghdr head;
        struct ifinfomsg card;
        char attributes[256];
};

/* Returns the attribute, which is closed when what is in it has been added. */
static struct rtattr *add(struct request *request, unsigned short type, const void *bytes, size_t byte_len)
{
        struct rtattr *attribute = (void *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));

        attribute->rta_type = type;
        attribute->rta_len = (unsigned short)RTA_LENGTH(byte_len);
        if (byte_len)
                memcpy(RTA_DATA(attribute), bytes, byte_len);
        request->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(request->head.nlmsg_len) + RTA_LENGTH(byte_len));
        return attribute;
}

static void close_attribute(const struct request *request, struct rtattr *attribute)
{
        attribute->rta_len = (unsigned short)((const char *)request + request->head.nlmsg_len - (char *)attribute);
}

static void add_name(struct request *request, enum veth_side side)
{
        add(request, IFLA_IFNAME, card_names[side], strlen(card_names[side]) + 1);
}

/* near, here, and in the namespace of the other side its peer far. */
static void fill(struct request *request, int far_namespace)
{
        const struct ifinfomsg card = { .ifi_family = AF_UNSPEC };

        *request = (struct request){ .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(card)),
                                               .nlmsg_type = RTM_NEWLINK,
                                               .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK } };
        add_name(request, VETH_NEAR);
        struct rtattr *info = add(request, IFLA_LINKINFO, NULL, 0);
        add(request, IFLA_INFO_KIND, "veth", sizeof("veth"));
        struct rtattr *data = add(request, IFLA_INFO_DATA, NULL, 0);
        struct rtattr *peer = add(request, VETH_INFO_PEER, &card, sizeof(card));
        add_name(request, VETH_FAR);
        add(request, IFLA_NET_NS_FD, &far_namespace, sizeof(far_namespace));
        close_attribute(request, peer);
        close_attribute(request, data);
        close_attribute(request, info);
}

static int make_cards(int far_namespace)
{
        struct request request;
        struct {
                struct nlmsghdr head;
                struct nlmsgerr answer;
                char rest[sizeof(request)];
        } reply = { .head = { 0 } };
        const int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

        if (kernel < 0)
                return -errno;
        fill(&request, far_namespace);
        int err = 0;
        if (send(kernel, &request, request.head.nlmsg_len, 0) < 0 || recv(kernel, &reply, sizeof(reply), 0) < 0)
                err = -errno;
        close(kernel);
        return err ? err : reply.head.nlmsg_type == NLMSG_ERROR ? reply.answer.error : -EPROTO;
}

/* In its namespace. */
static int start_card(enum veth_side side)
{
        const struct in_addr mask = { htonl(0xffffff00) };
        const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = veth_address(side) };
        struct ifreq card = { .ifr_flags = 0 };

        if (any < 0)
                return -errno;
        strcpy(card.ifr_name, card_names[side]);
        memcpy(&card.ifr_addr, &address, sizeof(address));
        int err = ioctl(any, SIOCSIFADDR, &card);
        address.sin_addr = mask;
        memcpy(&card.ifr_addr, &address, sizeof(address));
        err = err ? err : ioctl(any, SIOCSIFNETMASK, &card);
        card.ifr_flags = IFF_UP;
        err = err ? -errno : ioctl(any, SIOCSIFFLAGS, &card) ? -errno : 0;
        close(any);
        return err;
}

/* ---- namespaces ---- */

static int new_namespace(int *opened)
{
        if (unshare(CLONE_NEWNET))
                return -errno;
        *opened = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
        return *opened < 0 ? -errno : 0;
}

static int make(void)
{
        int err = new_namespace(&veth.namespaces[VETH_FAR]);
        if (!err)
                err = new_namespace(&veth.namespaces[VETH_NEAR]);
        if (!err)
                err = make_cards(veth.namespaces[VETH_FAR]);
        if (!err)
                err = start_card(VETH_NEAR);
        if (!err && setns(veth.namespaces[VETH_FAR], CLONE_NEWNET))
                err = -errno;
        return err ? err : start_card(VETH_FAR);
}

static void *make_by_thread(void *unused)
{
        veth.err = make();
        return unused;
}

/* By a thread, as only the right to the new namespaces is needed then, and none to come back from them. */
int veth_open(void)
{
        pthread_t thread;

        if (!veth.is_tried) {
                must(-pthread_create(&thread, NULL, make_by_thread, NULL), "pthread_create");
                must(-pthread_join(thread, NULL), "pthread_join");
        }
        veth.is_tried = true;
        return veth.err;
}

struct job {
        enum veth_side side;
        void (*work)(void *arg);
        void *arg;
};

static void *run_by_thread(void *job_)
{
        const struct job *job = job_;

        must(setns(veth.namespaces[job->side], CLONE_NEWNET) ? -errno : 0, "setns");
        job->work(job->arg);
        return NULL;
}

void veth_run(enum veth_side side, void (*work)(void *arg), void *arg)
{
        struct job job = { side, work, arg };
        pthread_t thread;

        must(-pthread_create(&thread, NULL, run_by_thread, &job), "pthread_create");
        must(-pthread_join(thread, NULL), "pthread_join");
}
