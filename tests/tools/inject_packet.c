// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packets as bytes, and the packet socket that they leave through. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "crc32.h"
#include "icrc.h"
#include "inject.h"

#define BATCH		64
#define FRAME_ROOM	2048
#define FRAGMENT_V6	44
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4	5
#endif

/* ------------------------------------------------------------------ */
/* The wire                                                            */

static int wire = -1, wire_gso = -1;
static u8 frames[BATCH][FRAME_ROOM];
static struct iovec iov[BATCH];
static struct mmsghdr msgs[BATCH];
static u32 queued;
static u64 sent;

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static int packet_socket(void)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(target.dev) };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || !to.sll_ifindex || bind(fd, (struct sockaddr *)&to, sizeof(to)))
		fail("packet socket");
	return fd;
}

void wire_open(void)
{
	int one = 1;

	crc32_init();
	wire = packet_socket();
	wire_gso = packet_socket();
	if (setsockopt(wire_gso, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
		fail("PACKET_VNET_HDR");
}

u64 wire_frames(void)
{
	return sent;
}

void wire_flush(void)
{
	u32 done = 0;

	while (done < queued) {
		int n = sendmmsg(wire, msgs + done, queued - done, 0);

		if (n > 0)
			done += n;
		else if (errno == ENOBUFS || errno == EAGAIN)
			usleep(100);
		else
			fail("sendmmsg");
	}
	sent += queued;
	queued = 0;
}

static u8 *next_frame(void)
{
	if (queued == BATCH)
		wire_flush();
	return frames[queued];
}

static void queue_frame(u32 len)
{
	iov[queued] = (struct iovec){ frames[queued], len };
	msgs[queued].msg_hdr = (struct msghdr){ .msg_iov = &iov[queued], .msg_iovlen = 1 };
	queued++;
}

/* ------------------------------------------------------------------ */
/* Headers                                                             */

static u32 sum16(const u8 *p, u32 len, u32 sum)
{
	for (; len > 1; p += 2, len -= 2)
		sum += ooo_get16(p);
	if (len)
		sum += p[0] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static u32 pseudo_sum(const struct pkt *p, u32 udp_len)
{
	u32 n = p->ipv6 ? 16 : 4;

	return sum16(p->dst, n, sum16(p->src, n, udp_len + IPPROTO_UDP));
}

static void put_ipv4(const struct pkt *p, u8 *ip, u32 payload)
{
	memset(ip, 1, p->ip_len);	/* options: NOPs */
	ip[0] = 0x40 | p->ip_len / 4;
	ip[1] = rng_next(&rng);
	ooo_put16(ip + 2, p->ip_len + payload);
	ooo_put16(ip + 4, rng_next(&rng));
	ooo_put16(ip + 6, p->df ? 0x4000 : 0);
	ip[8] = rng_range(&rng, 1, 255);
	ip[9] = IPPROTO_UDP;
	ooo_put16(ip + 10, 0);
	memcpy(ip + 12, p->src, 4);
	memcpy(ip + 16, p->dst, 4);
}

static void sum_ipv4(const struct pkt *p, u8 *ip)
{
	ooo_put16(ip + 10, 0);
	ooo_put16(ip + 10, (u16)~sum16(ip, p->ip_len, p->bad_ip_sum));
}

/* An extension header of 8 bytes has a padding option of 4 in it. */
static void put_ipv6(const struct pkt *p, u8 *ip, u32 payload)
{
	static const u8 padding[6] = { 1, 4 };

	ooo_put32(ip, 0x60000000 | (rng_next(&rng) & 0xfffffff));
	ooo_put16(ip + 4, p->ip_len - 40 + payload);
	ip[6] = p->ip_len > 40 ? p->next : IPPROTO_UDP;
	ip[7] = rng_range(&rng, 1, 255);
	memcpy(ip + 8, p->src, 16);
	memcpy(ip + 24, p->dst, 16);
	if (p->ip_len == 40)
		return;
	ip[40] = IPPROTO_UDP;
	ip[41] = 0;
	memcpy(ip + 42, padding, 6);
}

static void put_udp(const struct pkt *p, u8 *udp)
{
	ooo_put16(udp, 0xc000 | (rng_next(&rng) & 0x3fff));
	ooo_put16(udp + 2, OOO_UDP_PORT);
	ooo_put16(udp + 4, UDP_LEN + p->len + p->udp_len_off);
	ooo_put16(udp + 6, 0);
}

static void put_udp_sum(const struct pkt *p, u8 *udp)
{
	u32 sum = sum16(udp, UDP_LEN + p->len, pseudo_sum(p, UDP_LEN + p->len));

	sum = (u16)~(sum ^ 0x1234);	/* wrong */
	ooo_put16(udp + 6, sum ? sum : 1);
}

static void put_icrc(const struct pkt *p, const u8 *ip, u8 *udp)
{
	u8 prefix[OOO_ICRC_PREFIX_MAX];
	u8 *end = udp + UDP_LEN + p->len - OOO_ICRC_LEN;
	u32 ip_len = p->ipv6 ? 40 : p->ip_len, n, crc;

	if (p->len < OOO_BTH_LEN + OOO_ICRC_LEN)
		return;
	n = ooo_icrc_prefix(ip, ip_len, udp, prefix);
	crc = crc32_le(~0u, prefix, n);
	crc = ~crc32_le(crc, udp + UDP_LEN + OOO_BTH_LEN, p->len - OOO_BTH_LEN - OOO_ICRC_LEN);
	crc ^= p->icrc_xor;
	memcpy(end, &crc, sizeof(crc));
}

static u32 put_ethernet(const struct pkt *p, u8 *eth)
{
	u32 n = 12;

	memcpy(eth, p->mac, 6);
	memcpy(eth + 6, target.own_mac, 6);
	if (p->vlan) {
		ooo_put16(eth + n, ETHERTYPE_VLAN);
		ooo_put16(eth + n + 2, p->vlan - 1);
		n += 4;
	}
	ooo_put16(eth + n, p->ipv6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	return n + 2;
}

/* IP header, UDP and body; its length. */
static u32 put_datagram(const struct pkt *p, u8 *ip)
{
	u8 *udp = ip + p->ip_len;

	if (p->ipv6)
		put_ipv6(p, ip, UDP_LEN + p->len);
	else
		put_ipv4(p, ip, UDP_LEN + p->len);
	put_udp(p, udp);
	memcpy(udp + UDP_LEN, p->body, p->len);
	put_icrc(p, ip, udp);
	if (p->bad_udp_sum)
		put_udp_sum(p, udp);
	if (!p->ipv6)
		sum_ipv4(p, ip);
	return p->ip_len + UDP_LEN + p->len;
}

/* ------------------------------------------------------------------ */

void pkt_init(struct pkt *p)
{
	bool ipv6 = target.ipv6;

	memset(p, 0, offsetof(struct pkt, body));
	p->ipv6 = ipv6;
	p->ip_len = ipv6 ? 40 : 20;
	p->df = true;
	memcpy(p->src, ipv6 ? target.src6 : target.src4, ipv6 ? 16 : 4);
	memcpy(p->dst, ipv6 ? target.dst6 : target.dst4, ipv6 ? 16 : 4);
	memcpy(p->mac, target.peer_mac, 6);
}

void pkt_roce(struct pkt *p, const struct ooo_hdr *hdr, u32 payload)
{
	u32 n = ooo_build(hdr, payload, p->body);

	rng_fill(&rng, p->body + n, payload);
	n += payload;
	while (n % 4)
		p->body[n++] = 0;
	p->len = n + OOO_ICRC_LEN;
}

void pkt_send(struct pkt *p)
{
	u8 *frame = next_frame();
	u32 n = put_ethernet(p, frame);

	n += put_datagram(p, frame + n);
	if (p->flip)
		frame[n - p->len + p->flip / 8] ^= 1 << p->flip % 8;
	memset(frame + n, 0x5a, p->tail);
	queue_frame(n + p->tail);
}

/* ------------------------------------------------------------------ */
/* Fragments                                                           */

static u32 fragment_id;

/* One fragment: @len bytes of the datagram's IP payload at @from. */
static void send_fragment(const struct pkt *p, const u8 *ip, u32 from, u32 len, bool more)
{
	u8 *frame = next_frame(), *f;
	u32 n = put_ethernet(p, frame);

	f = frame + n;
	memcpy(f, ip, p->ip_len);
	if (p->ipv6) {
		ooo_put16(f + 4, 8 + len);
		f[6] = FRAGMENT_V6;
		f[40] = IPPROTO_UDP;
		f[41] = 0;
		ooo_put16(f + 42, from | more);
		ooo_put32(f + 44, fragment_id);
		n += 8;
		f += 8;
	} else {
		ooo_put16(f + 2, p->ip_len + len);
		ooo_put16(f + 4, fragment_id);
		ooo_put16(f + 6, from / 8 | (more ? 0x2000 : 0));
		sum_ipv4(p, f);
	}
	memcpy(f + p->ip_len, ip + p->ip_len + from, len);
	queue_frame(n + p->ip_len + len);
}

/* In fragments of @size bytes (a multiple of 8), in any order; one of them may be missing. */
void pkt_send_fragments(struct pkt *p, u32 size, bool lose_one)
{
	static u8 datagram[PKT_ROOM + 128];
	u32 total = put_datagram(p, datagram) - p->ip_len;
	u32 num = (total + size - 1) / size, first = rng_below(&rng, num), i;

	fragment_id++;
	for (i = lose_one; i < num; i++) {
		u32 from = (first + i) % num * size;
		u32 len = min_t(u32, size, total - from);

		send_fragment(p, datagram, from, len, from + len < total);
	}
}

/* ------------------------------------------------------------------ */

/* The body is several packets of @segment bytes: they go as one and are taken apart on the way. */
void pkt_send_gso(struct pkt *p, u32 segment)
{
	static u8 frame[PKT_ROOM + 256];
	struct virtio_net_hdr *vh = (void *)frame;
	u8 *eth = frame + sizeof(*vh), *udp;
	u32 n = put_ethernet(p, eth);

	memset(vh, 0, sizeof(*vh));
	vh->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	vh->gso_type = VIRTIO_NET_HDR_GSO_UDP_L4;
	vh->gso_size = segment;
	vh->hdr_len = n + p->ip_len + UDP_LEN;
	vh->csum_start = n + p->ip_len;
	vh->csum_offset = 6;
	udp = eth + n + p->ip_len;
	n += put_datagram(p, eth + n);
	ooo_put16(udp + 6, pseudo_sum(p, UDP_LEN + p->len));
	while (send(wire_gso, frame, sizeof(*vh) + n, 0) < 0) {
		if (errno != ENOBUFS && errno != EAGAIN)
			fail("GSO");
		usleep(100);
	}
	sent++;
}
