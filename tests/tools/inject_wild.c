// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * No rules: real packets on their way to queue pairs that are not spared are copied, changed in a few
 * fields and sent after them with a right ICRC. So PSNs, keys and addresses are those of the moment.
 * Between them rubbish for the GSI queue pair, which goes up to the MAD layer.
 */
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "inject.h"

#define TEMPLATES	64
#define BODY_MAX	1400

struct template {
	u32 len;
	bool ipv6;
	u8 src[16], dst[16];
	u8 body[BODY_MAX];
};

static struct template templates[TEMPLATES];
static u32 num_templates;
static struct pkt pkt;

static bool spared(u32 qpn)
{
	u32 i;

	for (i = 0; i < target.num_live; i++)
		if (target.live[i] == qpn)
			return true;
	return false;
}

/* A frame that left through our netdev: to a template, if it is RoCEv2. */
static void learn(const u8 *frame, u32 len)
{
	bool ipv6 = ooo_get16(frame + 12) == ETHERTYPE_IPV6;
	u32 ip_len = ipv6 ? 40 : 20, n = 14 + ip_len + UDP_LEN;
	const u8 *ip = frame + 14, *udp = ip + ip_len;
	struct template *t;

	if (len < n + OOO_BTH_LEN + OOO_ICRC_LEN || len - n > BODY_MAX ||
	    ip[ipv6 ? 6 : 9] != IPPROTO_UDP || (!ipv6 && ip[0] != 0x45) ||
	    ooo_get16(udp + 2) != OOO_UDP_PORT || spared(ooo_get24(frame + n + 5)))
		return;
	t = &templates[num_templates++ % TEMPLATES];
	t->ipv6 = ipv6;
	memcpy(t->src, ip + (ipv6 ? 8 : 12), ipv6 ? 16 : 4);
	memcpy(t->dst, ip + (ipv6 ? 24 : 16), ipv6 ? 16 : 4);
	t->len = len - n;
	memcpy(t->body, frame + n, t->len);
}

static int listen_socket(void)
{
	struct sockaddr_ll from = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
				    .sll_ifindex = if_nametoindex(target.dev) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from))) {
		perror("listen");
		exit(2);
	}
	return fd;
}

/* Ours come back, too: changes add up. */
static void look(int fd)
{
	u8 frame[2048];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t len;
	int n;

	for (n = 0; n < 200; n++, size = sizeof(from)) {
		len = recvfrom(fd, frame, sizeof(frame), 0, (struct sockaddr *)&from, &size);
		if (len < 0)
			return;
		if (from.sll_pkttype == PACKET_OUTGOING)
			learn(frame, len);
	}
}

/* ------------------------------------------------------------------ */

static void put_length(struct pkt *p, u32 len)
{
	while (p->len < len)
		p->body[p->len++] = rng_next(&rng);
	p->len = len;
}

static void change_opcode(u8 *b)
{
	b[0] = rng_below(&rng, 4) ? (b[0] & 0xe0) | rng_below(&rng, 32) : rng_next(&rng);
}

static void change_psn(u8 *b)
{
	u32 psn = ooo_get24(b + 9);

	switch (rng_below(&rng, 4)) {
	case 0:
		psn += rng_below(&rng, 9) - 4;
		break;
	case 1:
		psn += rng_below(&rng, 600) - 300;
		break;
	case 2:
		psn += 0x7ffff0 + rng_below(&rng, 32);
		break;
	case 3:
		psn = rng_next(&rng);
		break;
	}
	ooo_put24(b + 9, psn & 0xffffff);
}

/* A field of four bytes somewhere in the extended headers: keys, lengths, addresses, bitmaps. */
static void change_word(u8 *b, u32 len)
{
	static const u32 values[] = { 0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe };
	u32 words = (min_t(u32, len, OOO_MAX_HDR) - OOO_BTH_LEN) / 4;
	u8 *w = b + OOO_BTH_LEN + 4 * rng_below(&rng, words);

	switch (rng_below(&rng, 4)) {
	case 0:
		ooo_put32(w, rng_next(&rng));
		break;
	case 1:
		ooo_put32(w, values[rng_below(&rng, 8)]);
		break;
	case 2:
		ooo_put32(w, ooo_get32(w) + rng_below(&rng, 2049) - 1024);
		break;
	case 3:
		w[rng_below(&rng, 4)] ^= 1 << rng_below(&rng, 8);
		break;
	}
}

static void change_length(struct pkt *p)
{
	u32 len = p->len;

	switch (rng_below(&rng, 4)) {
	case 0:
		len = 16 + 4 * rng_below(&rng, 16);
		break;
	case 1:
		len += 4 * rng_below(&rng, 5);
		break;
	case 2:
		len = ooo_hdr_len(p->body[0]) + target.mtu + OOO_ICRC_LEN;
		break;
	case 3:
		len = 16 + 4 * rng_below(&rng, BODY_MAX / 4 - 4);
		break;
	}
	put_length(p, min_t(u32, len, BODY_MAX));
}

static void change(struct pkt *p)
{
	u8 *b = p->body;

	switch (rng_below(&rng, 10)) {
	case 0:
	case 1:
		change_opcode(b);
		break;
	case 2:
	case 3:
		change_psn(b);
		break;
	case 4:
	case 5:
		change_word(b, p->len);
		break;
	case 6:
		change_length(p);
		break;
	case 7:
		b[8] = rng_next(&rng);	/* capability, mark, extension */
		break;
	case 8:
		b[1] ^= 1 << rng_below(&rng, 8);	/* solicited, pad, version */
		break;
	case 9:
		b[OOO_BTH_LEN + rng_below(&rng, p->len - OOO_BTH_LEN)] = rng_next(&rng);
		break;
	}
}

/* An ACKNOWLEDGE with an extension in place of whatever the packet was. */
static void make_sack(struct pkt *p)
{
	struct ooo_hdr h = {
		.opcode = (p->body[0] & 0xe0) | OOO_OP_ACK, .pkey = 0xffff,
		.dest_qpn = ooo_get24(p->body + 5),
		.psn = (ooo_get24(p->body + 9) + rng_below(&rng, 65) - 32) & 0xffffff,
		.rsvd7 = OOO_BTH_CAP | OOO_BTH_EXT | (rng_next(&rng) & OOO_BTH_RETX),
		.syndrome = rng_below(&rng, 4) ? 0x1f : rng_next(&rng), .has_sack = true,
		.sack = {
			.window = rng_below(&rng, 3) ? rng_next(&rng) : rng_below(&rng, 4),
			.ce = rng_next(&rng), .needless = rng_next(&rng),
			.words = rng_below(&rng, OOO_SACK_WORDS + 1),
		},
	};

	h.sack.base = (h.psn + rng_below(&rng, 500) - 250) & 0xffffff;
	h.sack.needless_psn = (h.psn + rng_below(&rng, 500) - 250) & 0xffffff;
	rng_fill(&rng, (u8 *)h.sack.bits, sizeof(h.sack.bits));
	pkt_roce(p, &h, 0);
}

static void one_copy(void)
{
	const struct template *t = &templates[rng_below(&rng, min_t(u32, num_templates, TEMPLATES))];
	u32 n = rng_below(&rng, 4);

	pkt_init(&pkt);
	pkt.ipv6 = t->ipv6;
	pkt.ip_len = t->ipv6 ? 40 : 20;
	memcpy(pkt.src, t->src, 16);
	memcpy(pkt.dst, t->dst, 16);
	memcpy(pkt.body, t->body, t->len);
	pkt.len = t->len;
	if (rng_below(&rng, 8) == 0)
		make_sack(&pkt);
	while (n--)
		change(&pkt);
	pkt_send(&pkt);
}

/* Base version 1, a class and a method that exist, the rest at random. */
static void one_mad(void)
{
	static const u8 classes[] = { 0x01, 0x03, 0x04, 0x07, 0x32, 0x81 };
	struct ooo_hdr h = {
		.opcode = OOO_BTH_UD | OOO_OP_SEND_ONLY, .pkey = 0xffff, .dest_qpn = 1,
		.psn = rng_next(&rng) & 0xffffff, .qkey = GSI_QKEY, .src_qpn = 1,
	};
	u8 *mad = pkt.body + OOO_BTH_LEN + 8;

	pkt_init(&pkt);
	pkt_roce(&pkt, &h, rng_below(&rng, 8) ? MAD_LEN : rng_below(&rng, 400));
	mad[0] = 1;
	if (rng_below(&rng, 8)) {
		mad[1] = classes[rng_below(&rng, sizeof(classes))];
		mad[2] = rng_below(&rng, 2) ? 2 : rng_below(&rng, 4);
		mad[3] = rng_below(&rng, 2) ? 3 : rng_next(&rng);
		ooo_put16(mad + 16, 0x10 + rng_below(&rng, 12));	/* CM's attributes */
	}
	pkt_send(&pkt);
}

void wild(u64 count)
{
	int fd = listen_socket();
	u64 n;

	for (n = 0; n < count; n++) {
		if (n % 16 == 0)
			look(fd);
		if (num_templates && rng_below(&rng, 20))
			one_copy();
		else
			one_mad();
	}
	wire_flush();
	close(fd);
}
