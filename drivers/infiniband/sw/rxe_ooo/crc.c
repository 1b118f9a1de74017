// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ICRC of a packet in an skb. Which fields count as ones: core/icrc.c. */
#include <linux/crc32.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include "rxe_ooo.h"
#include "core/icrc.h"

/*
 * crc32_le() is table driven in 6.12 and uses vector instructions from 6.14
 * on; it works in any context.
 */
static u32 crc_nonlinear(struct sk_buff *skb, u32 crc, u32 from, u32 to)
{
	struct skb_seq_state state;
	u32 done = 0, len;
	const u8 *data;

	skb_prepare_seq_read(skb, from, to, &state);
	while ((len = skb_seq_read(done, &data, &state))) {
		crc = crc32_le(crc, data, len);
		done += len;
	}
	skb_abort_seq_read(&state);
	return crc;
}

static u32 crc_range(struct sk_buff *skb, u32 crc, u32 from, u32 to)
{
	if (to <= skb_headlen(skb))
		return crc32_le(crc, skb->data + from, to - from);
	return crc_nonlinear(skb, crc, from, to);
}

bool rxo_icrc(struct sk_buff *skb, u32 end, __le32 *icrc)
{
	u32 body = skb_transport_offset(skb) + sizeof(struct udphdr) + OOO_BTH_LEN;
	u8 prefix[OOO_ICRC_PREFIX_MAX];
	u32 len, crc;

	len = ooo_icrc_prefix(skb_network_header(skb), skb_network_header_len(skb),
			      skb_transport_header(skb), prefix);
	if (!len)
		return false;
	crc = crc32_le(~0, prefix, len);
	*icrc = cpu_to_le32(~crc_range(skb, crc, body, end));
	return true;
}
