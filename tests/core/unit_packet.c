// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Opcode table, parser, builder. */
#include <stdlib.h>
#include "opcode.h"
#include "rng.h"
#include "unit.h"

static const u8 services[] = { OOO_BTH_RC, OOO_BTH_UC, OOO_BTH_UD, OOO_BTH_XRC };

static void fill_header(struct rng *r, struct ooo_hdr *h, u8 opcode)
{
	rng_fill(r, (u8 *)h, sizeof(*h));
	h->opcode = opcode;
	h->solicited = rng_below(r, 2);
	h->ack_req = rng_below(r, 2);
	h->rsvd7 &= 0x7f & ~OOO_BTH_EXT;
	h->dest_qpn &= 0xffffff;
	h->psn &= 0xffffff;
	h->msn &= 0xffffff;
	h->srqn &= 0xffffff;
	h->src_qpn &= 0xffffff;
	h->has_sack = ooo_may_extend(opcode) && rng_below(r, 2);
	if (!h->has_sack)
		return;
	h->rsvd7 |= OOO_BTH_CAP | OOO_BTH_EXT;
	h->sack.words = rng_below(r, OOO_SACK_WORDS + 1);
	h->sack.base &= 0xffffff;
	h->sack.needless_psn &= 0xffffff;
}

/* Fields that the opcode's packet does not carry read as zero. */
static void keep_carried(struct ooo_hdr *h)
{
	u32 info = ooo_opcode_info(h->opcode);
	struct ooo_hdr k = {
		.opcode = h->opcode, .solicited = h->solicited, .ack_req = h->ack_req,
		.rsvd7 = h->rsvd7, .pkey = h->pkey, .dest_qpn = h->dest_qpn, .psn = h->psn,
	};

	if (info & (OOO_HAS_RETH | OOO_HAS_ATOMIC)) {
		k.va = h->va;
		k.rkey = h->rkey;
	}
	if (info & OOO_HAS_RETH)
		k.dma_len = h->dma_len;
	if (info & OOO_HAS_ATOMIC) {
		k.compare = h->compare;
		k.swap_add = h->swap_add;
	}
	if (info & OOO_HAS_ATOMIC_ACK)
		k.orig = h->orig;
	if (info & OOO_HAS_AETH) {
		k.syndrome = h->syndrome;
		k.msn = h->msn;
	}
	if (info & (OOO_HAS_IMM | OOO_HAS_IETH))
		k.imm = h->imm;
	if (info & OOO_HAS_XRCETH)
		k.srqn = h->srqn;
	if (info & OOO_HAS_FETH)
		k.feth = h->feth;
	if (info & OOO_HAS_DETH) {
		k.qkey = h->qkey;
		k.src_qpn = h->src_qpn;
	}
	if (h->has_sack) {
		k.has_sack = true;
		k.sack = h->sack;
	}
	*h = k;
}

static bool same_sack(const struct ooo_hdr *a, const struct ooo_hdr *b)
{
	const struct ooo_sack *s = &a->sack, *t = &b->sack;

	if (a->has_sack != b->has_sack)
		return false;
	return !a->has_sack ||
	       (s->window == t->window && s->ce == t->ce && s->needless == t->needless &&
		s->needless_psn == t->needless_psn && s->base == t->base && s->words == t->words &&
		!memcmp(s->bits, t->bits, 8 * s->words));
}

static bool same(const struct ooo_hdr *a, const struct ooo_hdr *b)
{
	return a->opcode == b->opcode && a->solicited == b->solicited &&
	       a->ack_req == b->ack_req && a->rsvd7 == b->rsvd7 && a->pkey == b->pkey &&
	       a->dest_qpn == b->dest_qpn && a->psn == b->psn && a->va == b->va &&
	       a->rkey == b->rkey && a->dma_len == b->dma_len && a->compare == b->compare &&
	       a->swap_add == b->swap_add && a->orig == b->orig &&
	       a->syndrome == b->syndrome && a->msn == b->msn && a->imm == b->imm &&
	       a->srqn == b->srqn && a->feth == b->feth && a->qkey == b->qkey &&
	       a->src_qpn == b->src_qpn && same_sack(a, b);
}

static void every_opcode_round_trips(void)
{
	struct rng r = { 1 };
	u32 opcode, i, known = 0;

	for (opcode = 0; opcode < 256; opcode++) {
		known += !!ooo_hdr_len(opcode);
		for (i = 0; ooo_hdr_len(opcode) && i < 200; i++) {
			u32 len = rng_below(&r, 300), hdr_len, payload_len, n, total;
			u8 buf[OOO_MAX_HDR + 304 + 4];
			struct ooo_hdr in, got;

			fill_header(&r, &in, opcode);
			n = ooo_build(&in, len, buf);
			CHECK_EQ(n, ooo_hdr_size(&in));
			total = n + len + (-len & 3) + OOO_ICRC_LEN;
			CHECK(ooo_parse(buf, total, total, &got, &hdr_len, &payload_len));
			CHECK_EQ(hdr_len, n);
			CHECK_EQ(payload_len, len);
			keep_carried(&in);
			CHECK(same(&in, &got));
		}
	}
	CHECK_EQ(known, 25 + 12 + 2 + 25 + 1);
}

static void truncated_packets_are_refused(void)
{
	struct rng r = { 2 };
	u32 opcode, cut;

	for (opcode = 0; opcode < 256; opcode++) {
		u32 n, total, hdr_len, payload_len;
		u8 buf[OOO_MAX_HDR + 8 + 4];
		struct ooo_hdr h;

		if (!ooo_hdr_len(opcode))
			continue;
		fill_header(&r, &h, opcode);
		n = ooo_build(&h, 7, buf);
		total = n + 8 + OOO_ICRC_LEN;
		for (cut = 0; cut < total; cut++) {
			/* exactly so many bytes, so that ASan sees a read beyond */
			u8 *copy = malloc(cut ? cut : 1);
			bool good;

			memcpy(copy, buf, cut);
			good = ooo_parse(copy, cut, cut, &h, &hdr_len, &payload_len);
			free(copy);
			if (cut < n + 1 + OOO_ICRC_LEN || cut % 4)
				CHECK(!good);
			else
				CHECK(good && payload_len + 1 + OOO_ICRC_LEN + n == cut);
		}
	}
}

static void few_linear_bytes_are_enough(void)
{
	struct rng r = { 3 };
	u32 opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		u32 n, hdr_len, payload_len;
		u8 buf[OOO_MAX_HDR];
		struct ooo_hdr h;
		u8 *copy;

		if (!ooo_hdr_len(opcode))
			continue;
		fill_header(&r, &h, opcode);
		n = ooo_build(&h, 1024, buf);
		copy = malloc(n);
		memcpy(copy, buf, n);
		CHECK(ooo_parse(copy, n, n + 1028, &h, &hdr_len, &payload_len));
		CHECK(!ooo_parse(copy, n - 1, n + 1028, &h, &hdr_len, &payload_len));
		CHECK_EQ(payload_len, 1024);
		free(copy);
	}
}

static void random_bytes_do_no_harm(void)
{
	struct rng r = { 4 };
	u32 i, good = 0;

	for (i = 0; i < 300000; i++) {
		u32 len = rng_below(&r, 100), hdr_len, payload_len;
		u8 *buf = malloc(len ? len : 1);
		struct ooo_hdr h;

		rng_fill(&r, buf, len);
		if (len > 1 && i & 1)
			buf[1] &= 0xf0;
		if (ooo_parse(buf, len, len, &h, &hdr_len, &payload_len)) {
			CHECK(hdr_len + payload_len + OOO_ICRC_LEN <= len);
			CHECK(hdr_len <= OOO_MAX_HDR);
			good++;
		}
		free(buf);
	}
	CHECK(good > 1000);
}

static void unknown_version_is_refused(void)
{
	struct ooo_hdr h = { .opcode = OOO_OP_SEND_ONLY };
	u8 buf[OOO_MAX_HDR] = { 0 };
	u32 a, b, n = ooo_build(&h, 0, buf);

	CHECK(ooo_parse(buf, n + 4, n + 4, &h, &a, &b));
	buf[1] |= 1;
	CHECK(!ooo_parse(buf, n + 4, n + 4, &h, &a, &b));
}

static void unknown_opcodes_are_refused(void)
{
	static const u8 bad[] = { 0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f, 0x40, 0x60, 0x80, 0x82,
				  0x2c, 0x36, 0x3c, 0xe0, 0xff, 0x66, 0x71 };
	u8 buf[OOO_MAX_HDR] = { 0 };
	struct ooo_hdr h;
	u32 a, b;

	for (size_t i = 0; i < sizeof(bad); i++) {
		buf[0] = bad[i];
		CHECK_EQ(ooo_hdr_len(bad[i]), 0);
		CHECK(!ooo_parse(buf, sizeof(buf), sizeof(buf), &h, &a, &b));
		CHECK(!ooo_packet_length_ok(bad[i], 0, 1024));
	}
}

/* The bytes of IBTA's formats, written out by hand. */
static void bytes_are_where_ibta_wants_them(void)
{
	static const u8 want[] = {
		0x0a, 0xe0, 0x12, 0x34, 0x00, 0xab, 0xcd, 0xef, 0x81, 0x01, 0x02, 0x03,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xca, 0xfe, 0xba, 0xbe,
		0x00, 0x00, 0x00, 0x02,
	};
	struct ooo_hdr h = {
		.opcode = OOO_OP_WRITE_ONLY, .solicited = true, .ack_req = true, .rsvd7 = 1,
		.pkey = 0x1234, .dest_qpn = 0xabcdef, .psn = 0x010203,
		.va = 0x1122334455667788ull, .rkey = 0xcafebabe, .dma_len = 2,
	};
	u8 buf[OOO_MAX_HDR];

	CHECK_EQ(ooo_build(&h, 2, buf), sizeof(want));
	CHECK(!memcmp(buf, want, sizeof(want)));
}

static void headers_follow_each_other_as_annexes_say(void)
{
	static const struct {
		u8 opcode, len;
	} rows[] = {
		{ OOO_OP_SEND_MIDDLE, 12 }, { OOO_OP_SEND_LAST_IMM, 16 },
		{ OOO_OP_SEND_ONLY_INV, 16 }, { OOO_OP_WRITE_FIRST, 28 },
		{ OOO_OP_WRITE_ONLY_IMM, 32 }, { OOO_OP_READ_REQUEST, 28 },
		{ OOO_OP_READ_RESP_MIDDLE, 12 }, { OOO_OP_READ_RESP_ONLY, 16 },
		{ OOO_OP_ACK, 16 }, { OOO_OP_ATOMIC_ACK, 24 }, { OOO_OP_CMP_SWAP, 40 },
		{ OOO_OP_FLUSH, 32 }, { OOO_OP_ATOMIC_WRITE, 28 },
		{ OOO_BTH_XRC | OOO_OP_SEND_MIDDLE, 16 }, { OOO_BTH_XRC | OOO_OP_CMP_SWAP, 44 },
		{ OOO_BTH_XRC | OOO_OP_ACK, 16 }, { OOO_BTH_UD | OOO_OP_SEND_ONLY, 20 },
		{ OOO_BTH_UD | OOO_OP_SEND_ONLY_IMM, 24 }, { OOO_OPCODE_CNP, 12 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(ooo_hdr_len(rows[i].opcode), rows[i].len);
}

static void payload_lengths(void)
{
	u32 i;

	for (i = 0; i < sizeof(services); i++) {
		u8 s = services[i];
		bool ud = s == OOO_BTH_UD;

		CHECK(ooo_packet_length_ok(s | OOO_OP_SEND_ONLY, 0, 256));
		CHECK(ooo_packet_length_ok(s | OOO_OP_SEND_ONLY, 256, 256));
		CHECK(!ooo_packet_length_ok(s | OOO_OP_SEND_ONLY, 257, 256));
		CHECK(ooo_packet_length_ok(s | OOO_OP_SEND_FIRST, 256, 256) == !ud);
		CHECK(!ooo_packet_length_ok(s | OOO_OP_SEND_FIRST, 255, 256));
		CHECK(!ooo_packet_length_ok(s | OOO_OP_WRITE_MIDDLE, 512, 256));
		CHECK(!ooo_packet_length_ok(s | OOO_OP_WRITE_LAST, 0, 256));
		CHECK(ooo_packet_length_ok(s | OOO_OP_WRITE_LAST, 1, 256) == !ud);
	}
	CHECK(!ooo_packet_length_ok(OOO_OP_READ_REQUEST, 4, 256));
	CHECK(ooo_packet_length_ok(OOO_OP_READ_REQUEST, 0, 256));
	CHECK(ooo_packet_length_ok(OOO_OP_ATOMIC_WRITE, 8, 256));
	CHECK(!ooo_packet_length_ok(OOO_OP_ATOMIC_WRITE, 4, 256));
	CHECK(ooo_packet_length_ok(OOO_OPCODE_CNP, 16, 256));
	CHECK(!ooo_packet_length_ok(OOO_OP_ACK, 1, 256));
}

const struct unit_test packet_tests[] = {
	UNIT_TEST(every_opcode_round_trips),
	UNIT_TEST(truncated_packets_are_refused),
	UNIT_TEST(few_linear_bytes_are_enough),
	UNIT_TEST(random_bytes_do_no_harm),
	UNIT_TEST(unknown_version_is_refused),
	UNIT_TEST(unknown_opcodes_are_refused),
	UNIT_TEST(bytes_are_where_ibta_wants_them),
	UNIT_TEST(headers_follow_each_other_as_annexes_say),
	UNIT_TEST(payload_lengths),
	{ NULL, NULL },
};
