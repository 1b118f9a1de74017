/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the files of inject share: a packet under construction, and the way to the wire. */
#ifndef INJECT_H
#define INJECT_H

#include <netinet/in.h>

#include "opcode.h"
#include "packet.h"
#include "rng.h"

#define UDP_LEN		8
#define PKT_ROOM	65536
#define GSI_QKEY	0x80010000
#define MAD_LEN		256

/* How the world looks to the injector: command line. */
struct target {
	const char *dev;
	u8 own_mac[6], peer_mac[6];
	u8 src4[4], dst4[4], src6[16], dst6[16];
	bool ipv6;		/* the addressed QPs' family */
	u32 qpn[64];		/* of the QPs that are aimed at */
	u32 num_qpn;
	u32 live[1024];		/* every QPN that is there: "no such QP" avoids them */
	u32 num_live;
	u32 psn;		/* where the QPs' PSNs started */
	u32 mtu;
};

struct pkt {
	/* how it is finished */
	bool ipv6;
	u8 src[16], dst[16], mac[6];
	u32 ip_len;		/* of the IP header, options or extension headers included */
	u8 next;		/* IPv6: protocol of an extension header; 0: none */
	bool df;
	u32 icrc_xor;		/* 0: a right ICRC */
	u32 vlan;		/* + 1; 0: untagged */
	bool bad_ip_sum, bad_udp_sum;
	s32 udp_len_off;	/* what the UDP length says in excess */
	u32 flip;		/* this bit of the body is flipped after all; 0: none */
	u32 tail;		/* bytes after the IP datagram */
	/* the UDP payload: BTH to ICRC, and its length */
	u32 len;
	u8 body[PKT_ROOM];
};

extern struct target target;
extern struct rng rng;

/* inject_packet.c */
void pkt_init(struct pkt *p);
/* The body: headers, @payload random bytes, pad and room for the ICRC. */
void pkt_roce(struct pkt *p, const struct ooo_hdr *hdr, u32 payload);
void pkt_send(struct pkt *p);
void pkt_send_fragments(struct pkt *p, u32 size, bool lose_one);
void pkt_send_gso(struct pkt *p, u32 segment);

void wire_open(void);
void wire_flush(void);
u64 wire_frames(void);

/* inject_wild.c: no rules, aimed at whatever QP is seen that is not in target.live */
void wild(u64 count);

#endif
