// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that nobody has asked for, at a device in use.
 *
 *	inject --dev NETDEV --mac PEER --src4 A --dst4 A --src6 A --dst6 A --qpn N[,N...]
 *	       [--live N,...] [--family 4|6] [--psn N] [--mtu N] [--count N] [--seed N] [--wild]
 *
 * Without --wild each packet breaks one rule, aimed at the RC queue pairs --qpn, and the counter that
 * it has to raise is known beforehand, or it is one that the queue pair itself must ignore: real
 * traffic of these queue pairs goes on undisturbed. PSNs of these are far behind or ahead of --psn,
 * where the real traffic started. Prints what the counters have to grow by, as JSON.
 *
 * With --wild (inject_wild.c) packets are copies of real ones that passed, with fields changed and a
 * right ICRC: whoever can send those can break a connection. --live are the queue pairs that are spared.
 *
 * The same seed makes the same packets, except that --wild depends on what passes.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"
#include "inject.h"

#define FAR		(1u << 22)	/* PSNs: farther than any window */
#define LOST_MAX	100		/* incomplete datagrams: the stack keeps them for long */

struct target target = { .mtu = 1024, .psn = 0xfffff0 };
struct rng rng;
static struct pkt pkt;

/* What the device must count. */
enum effect {
	NOTHING,	/* the stack drops it, or the queue pair ignores it */
	ICRC, MALFORMED, NO_QP, BAD_PKEY, BAD_QKEY, WRONG_ADDRESS, WRONG_OPCODE, WRONG_LENGTH, CNP,
	EFFECTS
};

static const char *const counters[EFFECTS] = {
	[ICRC] = "rx_icrc_encapsulated", [MALFORMED] = "rx_malformed", [NO_QP] = "rx_no_qp",
	[BAD_PKEY] = "rx_bad_pkey", [BAD_QKEY] = "rx_bad_qkey",
	[WRONG_ADDRESS] = "rx_wrong_address", [WRONG_OPCODE] = "rx_wrong_opcode",
	[WRONG_LENGTH] = "rx_wrong_length", [CNP] = "np_cnp_received",
};

static u64 expected[EFFECTS];

/* ------------------------------------------------------------------ */
/* Parts of packets                                                    */

static bool is_live(u32 qpn)
{
	u32 i;

	for (i = 0; i < target.num_live; i++)
		if (target.live[i] == qpn)
			return true;
	return qpn < 2 || qpn == 0xffffff;
}

static u32 nobodys_qpn(void)
{
	u32 qpn;

	do {
		qpn = rng_below(&rng, 1 << 24);
	} while (is_live(qpn));
	return qpn;
}

static u32 wrong_icrc(void)
{
	return rng_range(&rng, 1, ~0u - 1);
}

/* An opcode that exists, of RC or of any other service than @not. */
static u8 other_opcode(u32 not)
{
	u8 op;

	do {
		op = rng_next(&rng);
	} while (!ooo_opcode_info(op) || op == OOO_OPCODE_CNP || OOO_BTH_SERVICE(op) == not);
	return op;
}

static u8 rc_opcode(void)
{
	u8 op;

	do {
		op = OOO_BTH_RC | rng_below(&rng, 32);
	} while (!ooo_opcode_info(op));
	return op;
}

/* A payload length that the opcode may have, or may not. */
static u32 length_of(u8 op, bool right)
{
	u32 len, tries = 0;

	do {
		len = rng_below(&rng, target.mtu + (right ? 1 : 300));
		if (right && tries++ > 4)
			len = (u32[]){ 0, 8, 16, target.mtu }[rng_below(&rng, 4)];
	} while (ooo_packet_length_ok(op, len, target.mtu) != right);
	return len;
}

/* Everything at random; capability and mark bits, but no extension. */
static struct ooo_hdr header(u8 op)
{
	struct ooo_hdr h = {
		.opcode = op, .solicited = rng_next(&rng) & 1, .ack_req = rng_next(&rng) & 1,
		.rsvd7 = rng_next(&rng) & 0x7b, .pkey = 0x7fff | (rng_next(&rng) & 0x8000),
		.dest_qpn = target.qpn[rng_below(&rng, target.num_qpn)],
		.psn = rng_next(&rng) & 0xffffff, .va = rng_next(&rng), .rkey = rng_next(&rng),
		.dma_len = rng_next(&rng), .compare = rng_next(&rng), .swap_add = rng_next(&rng),
		.orig = rng_next(&rng), .syndrome = rng_next(&rng),
		.msn = rng_next(&rng) & 0xffffff, .imm = rng_next(&rng),
		.srqn = rng_next(&rng) & 0xffffff, .feth = rng_next(&rng),
		.qkey = rng_next(&rng), .src_qpn = rng_next(&rng) & 0xffffff,
	};

	return h;
}

static struct ooo_sack nonsense_sack(void)
{
	struct ooo_sack s = {
		.window = rng_next(&rng), .ce = rng_next(&rng), .needless = rng_next(&rng),
		.words = rng_below(&rng, OOO_SACK_WORDS + 1),
		.needless_psn = rng_next(&rng) & 0xffffff, .base = rng_next(&rng) & 0xffffff,
	};

	rng_fill(&rng, (u8 *)s.bits, sizeof(s.bits));
	return s;
}

/* An RC packet that is right except for its ICRC and whatever is done to it afterwards. */
static struct pkt *rc_packet(u8 op)
{
	struct ooo_hdr h = header(op);

	pkt_init(&pkt);
	pkt.icrc_xor = wrong_icrc();
	pkt_roce(&pkt, &h, length_of(op, true));
	return &pkt;
}

static struct pkt *any_rc_packet(void)
{
	return rc_packet(rc_opcode());
}

/* ------------------------------------------------------------------ */
/* Kinds of packets; each sends one and says what it is worth          */

static void icrc(void)
{
	pkt_send(any_rc_packet());
}

/* A good packet of which one bit is wrong; not in the first bytes, which decide earlier. */
static void flipped_bit(void)
{
	struct pkt *p = any_rc_packet();

	p->icrc_xor = 0;
	p->flip = rng_range(&rng, 9 * 8, p->len * 8 - 1);
	pkt_send(p);
}

static void extension_icrc(void)
{
	struct ooo_hdr h = header(OOO_OP_ACK);

	h.rsvd7 |= OOO_BTH_CAP | OOO_BTH_EXT;
	h.has_sack = true;
	h.sack = nonsense_sack();
	pkt_init(&pkt);
	pkt.icrc_xor = wrong_icrc();
	pkt_roce(&pkt, &h, 0);
	pkt_send(&pkt);
}

static void no_qp(void)
{
	struct pkt *p = any_rc_packet();

	ooo_put24(p->body + 5, nobodys_qpn());
	p->icrc_xor = 0;
	pkt_send(p);
}

static void multicast_qpn(void)
{
	struct pkt *p = any_rc_packet();

	ooo_put24(p->body + 5, 0xffffff);
	pkt_send(p);
}

static void bad_pkey(void)
{
	struct pkt *p = any_rc_packet();

	ooo_put16(p->body + 2, rng_below(&rng, 0x7fff) | (rng_next(&rng) & 0x8000));
	p->icrc_xor = 0;
	pkt_send(p);
}

static void bad_qkey(void)
{
	struct ooo_hdr h = header(OOO_BTH_UD | OOO_OP_SEND_ONLY);

	h.dest_qpn = 1;
	h.qkey &= 0x7fffffff;	/* the GSI's has this bit */
	pkt_init(&pkt);
	pkt_roce(&pkt, &h, MAD_LEN);
	pkt.body[ooo_hdr_len(h.opcode)] = 1;
	pkt_send(&pkt);
}

/* No MAD for the GSI queue pair: another length, or another version than 1. */
static void no_mad(void)
{
	struct ooo_hdr h = header(OOO_BTH_UD | OOO_OP_SEND_ONLY);
	u32 len = rng_next(&rng) & 1 ? MAD_LEN : rng_below(&rng, MAD_LEN);

	h.dest_qpn = 1;
	h.qkey = GSI_QKEY;
	pkt_init(&pkt);
	pkt_roce(&pkt, &h, len);
	if (len == MAD_LEN)
		pkt.body[ooo_hdr_len(h.opcode)] = rng_range(&rng, 2, 255);
	pkt_send(&pkt);
}

/* Of another service: to the RC queue pairs, or to the GSI's, which is of UD. */
static void other_service(void)
{
	bool gsi = rng_below(&rng, 4) == 0;
	u8 op = other_opcode(gsi ? OOO_BTH_UD : OOO_BTH_RC);
	struct ooo_hdr h = header(op);

	if (gsi)
		h.dest_qpn = 1;
	pkt_init(&pkt);
	pkt_roce(&pkt, &h, length_of(op, true));
	pkt_send(&pkt);
}

/* Somebody else on the same network, with a packet that is right in everything else. */
static void other_source(void)
{
	struct pkt *p = any_rc_packet();

	p->icrc_xor = 0;
	p->src[p->ipv6 ? 15 : 3] = rng_range(&rng, 100, 200);
	pkt_send(p);
}

static void other_family(void)
{
	u8 op = rc_opcode();
	struct ooo_hdr h = header(op);

	target.ipv6 = !target.ipv6;
	pkt_init(&pkt);
	target.ipv6 = !target.ipv6;
	pkt_roce(&pkt, &h, length_of(op, true));
	pkt_send(&pkt);
}

static void wrong_length(void)
{
	u8 op = rc_opcode();
	struct ooo_hdr h = header(op);

	pkt_init(&pkt);
	pkt_roce(&pkt, &h, length_of(op, false));
	pkt_send(&pkt);
}

static void cnp(void)
{
	struct ooo_hdr h = header(OOO_OPCODE_CNP);

	pkt_init(&pkt);
	pkt_roce(&pkt, &h, OOO_CNP_LEN);
	memset(pkt.body + OOO_BTH_LEN, 0, OOO_CNP_LEN);
	pkt_send(&pkt);
}

/* Malformed: the length of a datagram, of its headers, its pad, its version, its opcode. */
static void unknown_opcode(void)
{
	struct pkt *p = any_rc_packet();

	do {
		p->body[0] = rng_next(&rng);
	} while (ooo_opcode_info(p->body[0]));
	p->icrc_xor = 0;
	pkt_send(p);
}

static void wrong_version(void)
{
	struct pkt *p = any_rc_packet();

	p->body[1] |= rng_range(&rng, 1, 15);
	p->icrc_xor = 0;
	pkt_send(p);
}

static void too_short(void)
{
	struct pkt *p = any_rc_packet();

	p->len = rng_below(&rng, OOO_BTH_LEN + OOO_ICRC_LEN);
	pkt_send(p);
}

static void cut_headers(void)
{
	u8 op;
	struct pkt *p;

	do {
		op = rc_opcode();
	} while (ooo_hdr_len(op) == OOO_BTH_LEN);
	p = rc_packet(op);
	p->len = rng_range(&rng, 16, ooo_hdr_len(op) + 3);
	p->icrc_xor = 0;
	pkt_send(p);
}

static void ragged(void)
{
	struct pkt *p = any_rc_packet();

	p->len += rng_range(&rng, 1, 3);
	p->icrc_xor = 0;
	pkt_send(p);
}

static void pad_beyond(void)
{
	struct pkt *p = rc_packet((u8[]){ OOO_OP_ACK, OOO_OP_READ_REQUEST, OOO_OP_CMP_SWAP,
					  OOO_OP_FLUSH }[rng_below(&rng, 4)]);

	p->body[1] |= rng_range(&rng, 1, 3) << 4;
	p->icrc_xor = 0;
	pkt_send(p);
}

static void bad_extension(void)
{
	struct ooo_hdr h = header(OOO_OP_ACK);
	u8 *ext;

	h.rsvd7 |= OOO_BTH_CAP | OOO_BTH_EXT;
	h.has_sack = true;
	h.sack = nonsense_sack();
	pkt_init(&pkt);
	pkt_roce(&pkt, &h, 0);
	ext = pkt.body + OOO_BTH_LEN + 4;
	if (rng_next(&rng) & 1) {
		ext[1] = rng_range(&rng, 13, 255);
	} else {
		ext[1] = rng_below(&rng, 4);	/* of this version: at least 4 */
		pkt.len = rng_range(&rng, 8, 20) * 4;
	}
	pkt_send(&pkt);
}

static void extension_header(void)
{
	struct ooo_hdr h = header(OOO_OP_ACK);
	bool ipv6 = target.ipv6;

	target.ipv6 = true;
	pkt_init(&pkt);
	target.ipv6 = ipv6;
	pkt_roce(&pkt, &h, 0);
	pkt.ip_len = 48;
	pkt.next = rng_next(&rng) & 1 ? IPPROTO_DSTOPTS : IPPROTO_HOPOPTS;
	pkt_send(&pkt);
}

static void ip_options(void)
{
	struct pkt *p = any_rc_packet();

	if (!p->ipv6)
		p->ip_len = 20 + 4 * rng_range(&rng, 1, 10);
	pkt_send(p);
}

static void priority_tag(void)
{
	struct pkt *p = any_rc_packet();

	p->vlan = 1 + (rng_below(&rng, 8) << 13);
	pkt_send(p);
}

static void trailing_bytes(void)
{
	struct pkt *p = any_rc_packet();

	p->tail = rng_range(&rng, 1, 200);
	pkt_send(p);
}

static void to_all_stations(void)
{
	struct pkt *p = any_rc_packet();

	memset(p->mac, 0xff, 6);
	pkt_send(p);
}

static void fragments(void)
{
	u8 op;
	struct pkt *p;

	do {
		op = rc_opcode();
		p = rc_packet(op);
	} while (p->len < 100);
	p->df = false;
	pkt_send_fragments(p, 8 * rng_range(&rng, 2 + p->len / 64, 1 + p->len / 16), false);
}

static void huge_datagram(void)
{
	u8 op = OOO_OP_WRITE_ONLY;
	struct ooo_hdr h = header(op);

	pkt_init(&pkt);
	pkt.df = false;
	pkt_roce(&pkt, &h, rng_range(&rng, 4100, 60000));
	pkt_send_fragments(&pkt, 1400, false);
}

static void joined(void)
{
	u32 segment = 0, num = rng_range(&rng, 2, 20), n;
	struct pkt one;

	pkt_init(&pkt);
	for (n = 0; n < num; n++) {
		struct ooo_hdr h = header(OOO_OP_WRITE_ONLY);

		pkt_init(&one);
		pkt_roce(&one, &h, segment ? segment - ooo_hdr_len(h.opcode) - OOO_ICRC_LEN :
			 rng_below(&rng, target.mtu) & ~3u);
		segment = one.len;
		rng_fill(&rng, one.body + segment - OOO_ICRC_LEN, OOO_ICRC_LEN);
		memcpy(pkt.body + n * segment, one.body, segment);
	}
	pkt.len = num * segment;
	pkt.icrc_xor = wrong_icrc();
	pkt_send_gso(&pkt, segment);
	expected[ICRC] += num;
}

/* What the stack does not let through. */
static void lost_fragment(void)
{
	static u32 lost;
	struct pkt *p = any_rc_packet();

	p->df = false;
	if (lost++ < LOST_MAX && p->len > 100)
		pkt_send_fragments(p, 8 * (1 + p->len / 32), true);
}

static void other_station(void)
{
	struct pkt *p = any_rc_packet();

	p->mac[5] ^= 0x55;
	pkt_send(p);
}

static void other_vlan(void)
{
	struct pkt *p = any_rc_packet();

	p->vlan = 1 + rng_range(&rng, 100, 200);
	pkt_send(p);
}

static void bad_sum(void)
{
	struct pkt *p = any_rc_packet();

	if (!p->ipv6 && rng_next(&rng) & 1)
		p->bad_ip_sum = true;
	else
		p->bad_udp_sum = true;
	pkt_send(p);
}

static void longer_than_it_is(void)
{
	struct pkt *p = any_rc_packet();

	p->udp_len_off = rng_range(&rng, 1, 2000);
	pkt_send(p);
}

/*
 * What the queue pair itself has to ignore: all is right, and the PSN is far behind (a copy of
 * something old) or far ahead of everything.
 */
static void old_or_early(void)
{
	u8 op = rc_opcode();
	struct ooo_hdr h = header(op);
	u32 far = rng_range(&rng, 1, FAR - 1);

	h.psn = (target.psn + (rng_next(&rng) & 1 ? -far : FAR + far / 2)) & 0xffffff;
	if (h.opcode == OOO_OP_ACK)
		h.rsvd7 &= ~OOO_BTH_CAP;
	pkt_init(&pkt);
	pkt_roce(&pkt, &h, length_of(op, true));
	pkt_send(&pkt);
}

static const struct kind {
	const char *name;
	void (*make)(void);
	enum effect effect;
	u32 weight;
} kinds[] = {
	{ "icrc", icrc, ICRC, 12 },
	{ "one-bit", flipped_bit, ICRC, 8 },
	{ "extension-icrc", extension_icrc, ICRC, 3 },
	{ "no-qp", no_qp, NO_QP, 6 },
	{ "multicast-qpn", multicast_qpn, NO_QP, 1 },
	{ "pkey", bad_pkey, BAD_PKEY, 4 },
	{ "qkey", bad_qkey, BAD_QKEY, 2 },
	{ "service", other_service, WRONG_OPCODE, 5 },
	{ "source", other_source, WRONG_ADDRESS, 6 },
	{ "family", other_family, WRONG_ADDRESS, 3 },
	{ "length", wrong_length, WRONG_LENGTH, 6 },
	{ "cnp", cnp, CNP, 1 },
	{ "opcode", unknown_opcode, MALFORMED, 4 },
	{ "version", wrong_version, MALFORMED, 3 },
	{ "short", too_short, MALFORMED, 4 },
	{ "cut-headers", cut_headers, MALFORMED, 5 },
	{ "ragged", ragged, MALFORMED, 3 },
	{ "pad", pad_beyond, MALFORMED, 3 },
	{ "extension", bad_extension, MALFORMED, 5 },
	{ "no-mad", no_mad, MALFORMED, 2 },
	{ "ipv6-extension-header", extension_header, MALFORMED, 2 },
	{ "ip-options", ip_options, ICRC, 3 },
	{ "priority-tag", priority_tag, ICRC, 1 },
	{ "trailing-bytes", trailing_bytes, ICRC, 2 },
	{ "all-stations", to_all_stations, ICRC, 1 },
	{ "fragments", fragments, ICRC, 3 },
	{ "huge", huge_datagram, WRONG_LENGTH, 1 },
	{ "gso", joined, NOTHING, 1 },		/* counts for itself */
	{ "lost-fragment", lost_fragment, NOTHING, 1 },
	{ "other-station", other_station, NOTHING, 1 },
	{ "vlan", other_vlan, NOTHING, 2 },
	{ "checksum", bad_sum, NOTHING, 2 },
	{ "udp-length", longer_than_it_is, NOTHING, 2 },
	{ "old-or-early", old_or_early, NOTHING, 12 },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static u64 made[KINDS];

static void make_one(u32 total)
{
	u32 pick = rng_below(&rng, total), i;

	for (i = 0; pick >= kinds[i].weight; i++)
		pick -= kinds[i].weight;
	kinds[i].make();
	made[i]++;
	expected[kinds[i].effect]++;
}

static void by_the_rules(u64 count)
{
	u32 total = 0, i;

	for (i = 0; i < KINDS; i++)
		total += kinds[i].weight;
	while (count--)
		make_one(total);
}

/* ------------------------------------------------------------------ */
/* Command line                                                        */

static void usage(const char *what)
{
	fprintf(stderr, "inject: %s; see the head of inject.c\n", what);
	exit(2);
}

static void address(int family, const char *text, void *to)
{
	if (inet_pton(family, text, to) != 1)
		usage(text);
}

static u32 numbers(const char *text, u32 *to, u32 room)
{
	char *end;
	u32 n = 0;

	while (*text && n < room) {
		to[n++] = strtoul(text, &end, 0);
		text = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			usage(text);
	}
	return n;
}

static void mac_of_netdev(void)
{
	struct ifreq ifr = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(ifr.ifr_name, target.dev, sizeof(ifr.ifr_name) - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &ifr))
		usage(target.dev);
	memcpy(target.own_mac, ifr.ifr_hwaddr.sa_data, 6);
	close(fd);
}

static void peer_mac(const char *text)
{
	struct ether_addr *mac = ether_aton(text);

	if (!mac)
		usage(text);
	memcpy(target.peer_mac, mac, 6);
}

static void report(u64 count, double seconds)
{
	const char *comma = "";
	u32 i;

	printf("{\"packets\": %llu, \"frames\": %llu, \"seconds\": %.3f, \"expect\": {",
	       (unsigned long long)count, (unsigned long long)wire_frames(), seconds);
	for (i = NOTHING + 1; i < EFFECTS; i++, comma = ", ")
		printf("%s\"%s\": %llu", comma, counters[i], (unsigned long long)expected[i]);
	printf("}, \"kinds\": {");
	for (i = 0, comma = ""; i < KINDS; i++, comma = ", ")
		printf("%s\"%s\": %llu", comma, kinds[i].name, (unsigned long long)made[i]);
	printf("}}\n");
}

enum { DEV, MAC, SRC4, DST4, SRC6, DST6, QPN, LIVE, FAMILY, PSN, MTU, COUNT, SEED, WILD };

static const struct option options[] = {
	{ "dev", 1, NULL, DEV }, { "mac", 1, NULL, MAC }, { "src4", 1, NULL, SRC4 },
	{ "dst4", 1, NULL, DST4 }, { "src6", 1, NULL, SRC6 }, { "dst6", 1, NULL, DST6 },
	{ "qpn", 1, NULL, QPN }, { "live", 1, NULL, LIVE }, { "family", 1, NULL, FAMILY },
	{ "psn", 1, NULL, PSN }, { "mtu", 1, NULL, MTU }, { "count", 1, NULL, COUNT },
	{ "seed", 1, NULL, SEED }, { "wild", 0, NULL, WILD }, {},
};

int main(int argc, char **argv)
{
	struct timespec begin, end;
	u64 count = 1000, seed = 1;
	bool is_wild = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case DEV: target.dev = optarg; break;
		case MAC: peer_mac(optarg); break;
		case SRC4: address(AF_INET, optarg, target.src4); break;
		case DST4: address(AF_INET, optarg, target.dst4); break;
		case SRC6: address(AF_INET6, optarg, target.src6); break;
		case DST6: address(AF_INET6, optarg, target.dst6); break;
		case QPN: target.num_qpn = numbers(optarg, target.qpn, 64); break;
		case LIVE: target.num_live = numbers(optarg, target.live, 1024); break;
		case FAMILY: target.ipv6 = atoi(optarg) == 6; break;
		case PSN: target.psn = strtoul(optarg, NULL, 0); break;
		case MTU: target.mtu = atoi(optarg); break;
		case COUNT: count = strtoull(optarg, NULL, 0); break;
		case SEED: seed = strtoull(optarg, NULL, 0); break;
		case WILD: is_wild = true; break;
		default: usage("unknown option");
		}
	}
	if (!target.dev || (!is_wild && !target.num_qpn))
		usage("--dev and --qpn are needed");
	mac_of_netdev();
	rng.state = seed;
	wire_open();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (is_wild)
		wild(count);
	else
		by_the_rules(count);
	wire_flush();
	clock_gettime(CLOCK_MONOTONIC, &end);
	report(count, end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) * 1e-9);
	return 0;
}
