/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints: /sys/kernel/tracing/events/rxe_ooo. One line a packet, with the
 * fields of the BTH; `dest` is the BTH's destination QP.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rxe_ooo

#if !defined(RXE_OOO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RXE_OOO_TRACE_H

#include <linux/tracepoint.h>

#include "rxe_ooo.h"

DECLARE_EVENT_CLASS(rxe_ooo_packet,
	TP_PROTO(const struct rxo_qp *qp, const struct ooo_hdr *hdr, u32 payload_len),
	TP_ARGS(qp, hdr, payload_len),
	TP_STRUCT__entry(
		__string(dev, dev_name(&qp->dev->ib.dev))
		__field(u32, qpn)
		__field(u32, dest)
		__field(u32, psn)
		__field(u32, len)
		__field(u8, opcode)
		__field(bool, ack_req)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->qpn = qp->ib.qp_num;
		__entry->dest = hdr->dest_qpn;
		__entry->psn = hdr->psn;
		__entry->len = payload_len;
		__entry->opcode = hdr->opcode;
		__entry->ack_req = hdr->ack_req;
	),
	TP_printk("dev=%s qpn=%#x dest=%#x psn=%#x opcode=%#x len=%u%s",
		  __get_str(dev), __entry->qpn, __entry->dest, __entry->psn, __entry->opcode,
		  __entry->len, __entry->ack_req ? " ack_req" : "")
);

DEFINE_EVENT(rxe_ooo_packet, rxe_ooo_rx,
	TP_PROTO(const struct rxo_qp *qp, const struct ooo_hdr *hdr, u32 payload_len),
	TP_ARGS(qp, hdr, payload_len));

DEFINE_EVENT(rxe_ooo_packet, rxe_ooo_tx,
	TP_PROTO(const struct rxo_qp *qp, const struct ooo_hdr *hdr, u32 payload_len),
	TP_ARGS(qp, hdr, payload_len));

/* @why: the name of the counter; the header's fields are 0 if it could not be parsed. */
TRACE_EVENT(rxe_ooo_rx_drop,
	TP_PROTO(const struct ooo_hdr *hdr, const char *why),
	TP_ARGS(hdr, why),
	TP_STRUCT__entry(
		__string(why, why)
		__field(u32, dest)
		__field(u32, psn)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__assign_str(why);
		__entry->dest = hdr->dest_qpn;
		__entry->psn = hdr->psn;
		__entry->opcode = hdr->opcode;
	),
	TP_printk("why=%s dest=%#x psn=%#x opcode=%#x",
		  __get_str(why), __entry->dest, __entry->psn, __entry->opcode)
);

#endif /* RXE_OOO_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
