// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Who runs a QP, and when.
 *
 * Packets, doorbells, timers and resumptions come in many contexts at once.
 * Whoever finds qp->lock free runs the core then and there; the others leave
 * their packet in the backlog or a bit in qp->pending. No wake-up is lost:
 *
 *	the one that leaves work		the one that holds the lock
 *	L1  store backlog or bit		H1  unlock
 *	L2  full barrier			H2  full barrier
 *	L3  trylock				H3  look for work, trylock again
 *
 * If L3 fails, some holder unlocks after it, and its H3 sees L1. One hold is
 * bounded; what is left then goes to a BH work item, so that other softirqs
 * get their turn.
 *
 * Everything runs with BH disabled. The work item holds a reference; the
 * timer is cancelled before the QP goes.
 */
#include <net/inet_ecn.h>

#include "objects.h"
#include "compat.h"

#define RX_BUDGET	64	/* packets in one hold */
#define INLINE_PASSES	3	/* holds before the work item takes over */
#define FLUSH_BUDGET	256	/* receive entries flushed in one hold */

/* ------------------------------------------------------------------ */
/* Under qp->lock                                                      */

/* True: the core's budget ran out. */
static bool rx_packet(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt, u64 now)
{
	if (!rxo_qp_connected(qp)) {
		rxo_ud_rx_one(qp, skb, pkt);
		return false;
	}
	/* Checked before the queue, but modify_qp may have changed the MTU since. */
	if (!ooo_packet_length_ok(pkt->h.opcode, pkt->payload_len, qp->ep.attr.mtu)) {
		rxo_count(qp->dev, RXO_RX_MALFORMED);
		return false;
	}
	return ooo_ep_rx(&qp->ep, pkt, now);
}

/* From the backlog: the headers are decoded again, which is cheaper than to keep them. */
static bool rx_queued(struct rxo_qp *qp, struct sk_buff *skb, u64 now)
{
	struct ooo_pkt pkt = {
		.payload = skb,
		.ce = RXO_RX_CB(skb)->ecn == INET_ECN_CE,
	};
	bool more = false;

	if (ooo_parse(skb->data, skb_headlen(skb), skb->len, &pkt.h, &pkt.payload_off,
		      &pkt.payload_len))
		more = rx_packet(qp, skb, &pkt, now);
	consume_skb(skb);
	return more;
}

static bool run_backlog(struct rxo_qp *qp, u64 now)
{
	struct sk_buff *skb;
	bool more = false;
	int n;

	for (n = 0; n < RX_BUDGET; n++) {
		skb = skb_dequeue(&qp->backlog);
		if (!skb)
			return more;
		more |= rx_queued(qp, skb, now);
	}
	return true;
}

void rxo_qp_arm(struct rxo_qp *qp)
{
	u64 when = min(qp->deadline, qp->resume_at);

	/* An earlier timer is left to fire: it finds the later deadline and sets itself again. */
	if (when >= qp->armed || qp->dead)
		return;
	qp->armed = when;
	hrtimer_start(&qp->timer, ns_to_ktime(when), HRTIMER_MODE_ABS_SOFT);
}

static bool run_timer(struct rxo_qp *qp, u64 now)
{
	bool more = false;

	qp->armed = OOO_NEVER;
	if (qp->resume_at <= now) {
		qp->resume_at = OOO_NEVER;
		set_bit(RXO_PENDING_RESUME, &qp->pending);
	}
	if (qp->deadline <= now) {
		qp->deadline = OOO_NEVER;
		more = ooo_ep_timer(&qp->ep, now);
	}
	rxo_qp_arm(qp);
	return more;
}

static bool take(struct rxo_qp *qp, int bit)
{
	return test_bit(bit, &qp->pending) && test_and_clear_bit(bit, &qp->pending);
}

static bool run_connected(struct rxo_qp *qp, u64 now)
{
	bool more = false;

	if (take(qp, RXO_PENDING_TIMER))
		more |= run_timer(qp, now);
	if (take(qp, RXO_PENDING_RECV))
		ooo_ep_post_recv(&qp->ep, now);
	if (take(qp, RXO_PENDING_CNP))
		ooo_ep_cnp(&qp->ep, now);
	if (take(qp, RXO_PENDING_RESUME))
		more |= ooo_ep_resume(&qp->ep, now);
	if (take(qp, RXO_PENDING_SEND))
		more |= ooo_ep_post_send(&qp->ep, now);
	return more;
}

static bool run_datagram(struct rxo_qp *qp)
{
	bool send = take(qp, RXO_PENDING_SEND);

	send |= take(qp, RXO_PENDING_RESUME);
	if (take(qp, RXO_PENDING_TIMER))
		run_timer(qp, ktime_get_ns());
	if (take(qp, RXO_PENDING_RECV) && qp->ep.state == OOO_ERR)
		rxo_ud_flush(qp);
	return send && rxo_ud_post_send(qp);
}

/* True: there is more to do, later. */
static bool run(struct rxo_qp *qp)
{
	u64 now = ktime_get_ns();
	bool more;

	if (qp->dead) {
		skb_queue_purge(&qp->backlog);
		qp->pending = 0;
		return false;
	}
	qp->flush_budget = FLUSH_BUDGET;
	more = run_backlog(qp, now);
	more |= rxo_qp_connected(qp) ? run_connected(qp, now) : run_datagram(qp);
	if (more)
		set_bit(RXO_PENDING_RESUME, &qp->pending);
	return more;
}

/* ------------------------------------------------------------------ */
/* Lock and unlock; BH disabled                                        */

static bool has_work(struct rxo_qp *qp)
{
	return READ_ONCE(qp->pending) || !skb_queue_empty_lockless(&qp->backlog);
}

static void run_and_unlock(struct rxo_qp *qp)
	__releases(&qp->lock)
{
	int pass;

	for (pass = 1; ; pass++) {
		bool more = has_work(qp) && run(qp);

		rxo_tx_flush(qp);
		spin_unlock(&qp->lock);
		smp_mb();	/* H2 */
		if (!more && !has_work(qp))
			return;
		if (more || pass == INLINE_PASSES) {
			rxo_qp_defer(qp);
			return;
		}
		if (!spin_trylock(&qp->lock))
			return;	/* the holder looks again, as we did */
	}
}

static void try_run(struct rxo_qp *qp)
{
	smp_mb();	/* L2 */
	if (spin_trylock(&qp->lock))
		run_and_unlock(qp);
}

void rxo_qp_lock(struct rxo_qp *qp)
	__acquires(&qp->lock)
{
	spin_lock_bh(&qp->lock);
}

void rxo_qp_unlock(struct rxo_qp *qp)
	__releases(&qp->lock)
{
	run_and_unlock(qp);
	local_bh_enable();
}

/* ------------------------------------------------------------------ */
/* Where work comes from                                               */

static void backlog_add(struct rxo_qp *qp, struct sk_buff *skb)
{
	if (skb_queue_len_lockless(&qp->backlog) >= RXO_BACKLOG_MAX) {
		rxo_count(qp->dev, RXO_RX_BACKLOG_FULL);
		kfree_skb(skb);
		return;
	}
	skb_queue_tail(&qp->backlog, skb);
}

static void rx_now(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt)
{
	if (!qp->dead) {
		qp->flush_budget = FLUSH_BUDGET;
		if (rx_packet(qp, skb, pkt, ktime_get_ns()))
			set_bit(RXO_PENDING_RESUME, &qp->pending);
	}
	consume_skb(skb);
}

void rxo_qp_rx(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt)
{
	if (!spin_trylock(&qp->lock)) {
		backlog_add(qp, skb);
		try_run(qp);
		return;
	}
	if (skb_queue_empty_lockless(&qp->backlog))
		rx_now(qp, skb, pkt);
	else
		backlog_add(qp, skb);
	run_and_unlock(qp);
}

void rxo_ud_rx(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt)
{
	rxo_qp_rx(qp, skb, pkt);
}

void rxo_qp_defer(struct rxo_qp *qp)
{
	if (!refcount_inc_not_zero(&qp->refs))
		return;
	if (!queue_work(system_bh_wq, &qp->work))
		rxo_qp_put(qp);
}

static void qp_work(struct work_struct *work)
{
	struct rxo_qp *qp = container_of(work, struct rxo_qp, work);

	local_bh_disable();
	try_run(qp);
	local_bh_enable();
	rxo_qp_put(qp);
}

void rxo_qp_resume(struct rxo_qp *qp)
{
	set_bit(RXO_PENDING_RESUME, &qp->pending);
	rxo_qp_defer(qp);
}

/* Kernel consumers post with interrupts off; the stack must not be entered then. */
void rxo_qp_wake(struct rxo_qp *qp, unsigned int pending)
{
	set_bit(pending, &qp->pending);
	if (in_hardirq() || irqs_disabled()) {
		rxo_qp_defer(qp);
		return;
	}
	local_bh_disable();
	try_run(qp);
	local_bh_enable();
}

static enum hrtimer_restart qp_timer(struct hrtimer *timer)
{
	struct rxo_qp *qp = container_of(timer, struct rxo_qp, timer);

	rxo_qp_wake(qp, RXO_PENDING_TIMER);
	return HRTIMER_NORESTART;
}

/* ------------------------------------------------------------------ */
/* Asynchronous events: handlers want process context                  */

static const enum ib_event_type event_types[] = {
	[OOO_EVENT_COMM_EST] = IB_EVENT_COMM_EST,
	[OOO_EVENT_SQ_DRAINED] = IB_EVENT_SQ_DRAINED,
	[OOO_EVENT_QP_FATAL] = IB_EVENT_QP_FATAL,
	[OOO_EVENT_QP_REQ_ERR] = IB_EVENT_QP_REQ_ERR,
	[OOO_EVENT_QP_ACCESS_ERR] = IB_EVENT_QP_ACCESS_ERR,
	[OOO_EVENT_LAST_WQE] = IB_EVENT_QP_LAST_WQE_REACHED,
};

static void qp_event_work(struct work_struct *work)
{
	struct rxo_qp *qp = container_of(work, struct rxo_qp, event_work);
	struct ib_event event = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(event_types); i++) {
		if (!test_and_clear_bit(i, &qp->events) || !qp->ib.event_handler)
			continue;
		event.event = event_types[i];
		qp->ib.event_handler(&event, qp->ib.qp_context);
	}
}

void rxo_qp_event(struct rxo_qp *qp, unsigned int event)
{
	set_bit(event, &qp->events);
	schedule_work(&qp->event_work);
}

/* ------------------------------------------------------------------ */

void rxo_qp_run_init(struct rxo_qp *qp)
{
	spin_lock_init(&qp->lock);
	skb_queue_head_init(&qp->backlog);
	qp->deadline = OOO_NEVER;
	qp->resume_at = OOO_NEVER;
	qp->armed = OOO_NEVER;
	INIT_WORK(&qp->work, qp_work);
	INIT_WORK(&qp->event_work, qp_event_work);
	rxo_fault_init(&qp->fault);
	rxo_hrtimer_setup(&qp->timer, qp_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

/* After this only references keep the QP busy, and they do nothing with it. */
void rxo_qp_run_stop(struct rxo_qp *qp)
{
	rxo_qp_lock(qp);
	ooo_ep_to_reset(&qp->ep);
	qp->dead = true;
	rxo_qp_unlock(qp);
	hrtimer_cancel(&qp->timer);
	cancel_work_sync(&qp->event_work);
}

/* The device goes away under its users: flush, and say why. Process context. */
void rxo_qp_fatal(struct rxo_qp *qp)
{
	rxo_qp_lock(qp);
	if (qp->dead || qp->ep.state == OOO_ERR || qp->ep.state == OOO_RESET) {
		rxo_qp_unlock(qp);
		return;
	}
	if (rxo_qp_connected(qp)) {
		ooo_ep_fatal(&qp->ep, OOO_EVENT_QP_FATAL, ktime_get_ns());
	} else {
		qp->ep.state = OOO_ERR;
		rxo_ud_flush(qp);
		rxo_qp_event(qp, OOO_EVENT_QP_FATAL);
	}
	rxo_qp_unlock(qp);
}
