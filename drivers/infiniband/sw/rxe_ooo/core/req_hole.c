// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Missing responses of a capable peer. Its answers leave in PSN order, so a
 * response is late when one above it is here, and counts as lost when that has
 * been so for the reordering window. Exactly the missing ranges are asked for
 * again, several at once; a range that stays away is asked for once more.
 *
 * When a response was first known to be late is kept in a few marks: below
 * each of them everything was late at that time, at the latest.
 */
#include "req_priv.h"

#define MARKS_IN_WINDOW	8u	/* marks are so many to a reordering window, at the most */

static struct ooo_req_mark *mark_at(struct ooo_req *req, u32 index)
{
	return &req->mark[index % OOO_MARKS];
}

static bool unmarked(struct ooo_req *req)
{
	return req->marks == req->mark_first ||
	       ooo_before(mark_at(req, req->marks - 1)->seq, req->acked);
}

/* Puts a mark at what has been seen, unless there is one from just before. */
static void put_mark(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u64 gap = ooo_req_reo(ep) / MARKS_IN_WINDOW;

	if (!unmarked(req))
		return;
	if (req->marks != req->mark_first && now - mark_at(req, req->marks - 1)->at < gap) {
		req->hole_due = min_t(u64, req->hole_due,
				      mark_at(req, req->marks - 1)->at + gap);
		return;
	}
	if (req->marks - req->mark_first == OOO_MARKS)
		req->mark_first++;
	*mark_at(req, req->marks++) = (struct ooo_req_mark){ .seq = req->acked, .at = now };
}

/* Marks below una speak of nothing any more. */
static void drop_marks(struct ooo_req *req)
{
	while (req->mark_first != req->marks &&
	       !ooo_before(req->una, mark_at(req, req->mark_first)->seq))
		req->mark_first++;
}

/* Below this all that is missing is lost, unless it has been asked for. */
static u32 overdue_to(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u64 reo = ooo_req_reo(ep);
	u32 to = req->una, i;

	for (i = req->mark_first; i != req->marks; i++) {
		if (now - mark_at(req, i)->at < reo) {
			req->hole_due = min_t(u64, req->hole_due, mark_at(req, i)->at + reo);
			break;
		}
		to = mark_at(req, i)->seq;
	}
	return to;
}

/* A response that is no repetition arrives below others: how late is it? */
void ooo_req_late_response(struct ooo_ep *ep, u32 seq, u64 now)
{
	struct ooo_req *req = &ep->req;
	u32 i;

	for (i = req->mark_first; i != req->marks; i++) {
		if (!ooo_before(seq, mark_at(req, i)->seq))
			continue;
		ooo_req_late(ep, now - mark_at(req, i)->at);
		return;
	}
}

static bool missing(struct ooo_ep *ep, u32 seq)
{
	return !ooo_before(seq, ep->req.una) && !ooo_req_have(ep, seq);
}

/* What has come from the start of the range on is no part of it any more. */
static bool any_missing(struct ooo_ep *ep, struct ooo_req_ask *ask)
{
	while (ask->seq != ask->end && !missing(ep, ask->seq))
		ask->seq++;
	return ask->seq != ask->end;
}

/* Longer and longer while nothing gets us further. */
static u64 patience(const struct ooo_ep *ep)
{
	return (ooo_req_rtt_guard(ep) + ooo_req_reo(ep)) << ep->req.backoff;
}

/* Forgets what was answered, and what was not for too long. */
static void tidy(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u64 time = patience(ep);
	u32 i = 0;

	req->asks_due = 0;
	while (i < req->asks) {
		struct ooo_req_ask *ask = &req->ask[i];
		bool over = ask->at && now - ask->at >= time;

		if (over || !any_missing(ep, ask)) {
			*ask = req->ask[--req->asks];
			continue;
		}
		req->asks_due += !ask->at;
		i++;
	}
}

/* When the oldest range that was asked for is given up. */
static u64 asks_due_at(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;
	u64 at = OOO_NEVER;
	u32 i;

	for (i = 0; i < req->asks; i++)
		if (req->ask[i].at)
			at = min_t(u64, at, req->ask[i].at + patience(ep));
	return at;
}

static bool is_asked(const struct ooo_req *req, u32 seq)
{
	u32 i;

	for (i = 0; i < req->asks; i++)
		if (seq - req->ask[i].seq < req->ask[i].end - req->ask[i].seq)
			return true;
	return false;
}

/* The holes of one READ in [@s, @end). */
static void ask_range(struct ooo_ep *ep, u32 rd, u32 s, u32 end)
{
	struct ooo_req *req = &ep->req;
	u32 from;

	while (ooo_before(s, end) && req->asks < OOO_ASKS) {
		if (!missing(ep, s) || is_asked(req, s)) {
			s++;
			continue;
		}
		for (from = s++; ooo_before(s, end) && missing(ep, s) && !is_asked(req, s); )
			s++;
		req->ask[req->asks++] = (struct ooo_req_ask){ .seq = from, .end = s,
								  .rd = rd };
		req->asks_due++;
	}
}

static void ask_below(struct ooo_ep *ep, u32 to)
{
	struct ooo_req *req = &ep->req;
	const struct ooo_req_read *rd;
	u32 i, from, end;

	for (i = req->rd_head; i != req->rd_tail; i++) {
		rd = &req->rd[i % OOO_RD_RING];
		if (!ooo_before(rd->seq, to))
			return;
		from = ooo_before(rd->seq, req->una) ? req->una : rd->seq;
		end = ooo_before(to, rd->end) ? to : rd->end;
		ask_range(ep, i, from, end);
	}
}

/* No response is missing. */
void ooo_req_asks_over(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;

	req->hole_due = OOO_NEVER;
	req->mark_first = req->marks;
	req->asks = 0;
	req->asks_due = 0;
}

/* After each arrival, and when the time is over. */
void ooo_req_watch_asks(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	u64 due = req->hole_due;

	if (!ooo_before(req->una, req->acked))
		return ooo_req_asks_over(ep);
	drop_marks(req);
	if (req->asks)
		tidy(ep, now);
	if (now < due && due != OOO_NEVER && !unmarked(req))
		return;
	if (now < due && due != OOO_NEVER) {
		put_mark(ep, now);
		return;
	}
	req->hole_due = asks_due_at(ep);
	put_mark(ep, now);
	ask_below(ep, overdue_to(ep, now));
}

/* Has another part of the same READ been asked for? */
static bool has_company(const struct ooo_req *req, u32 i)
{
	u32 k;

	for (k = 0; k < i; k++)
		if (req->ask[k].at && req->ask[k].rd == req->ask[i].rd)
			return true;
	return false;
}

/* READs on the wire besides those that rd[] counts: one repetition stands for its original. */
u32 ooo_req_extra_reads(const struct ooo_ep *ep)
{
	const struct ooo_req *req = &ep->req;
	u32 i, extra = 0;

	for (i = 0; i < req->asks; i++)
		if (req->ask[i].at && has_company(req, i))
			extra++;
	return extra;
}

/* With this one, too, are there no more READs on the wire than there may be? */
static bool read_room(struct ooo_ep *ep, struct ooo_req_ask *ask)
{
	struct ooo_req *req = &ep->req;
	u32 reads;

	ask->at = 1;
	reads = req->rd_tail - req->rd_head + ooo_req_extra_reads(ep);
	ask->at = 0;
	return reads <= ep->attr.max_rd_atomic;
}

/* The lowest range that is due and may be asked for. */
static struct ooo_req_ask *next_ask(struct ooo_ep *ep)
{
	struct ooo_req *req = &ep->req;
	struct ooo_req_ask *best = NULL;
	u32 i;

	for (i = 0; i < req->asks; i++)
		if (!req->ask[i].at && (!best || ooo_before(req->ask[i].seq, best->seq)) &&
		    read_room(ep, &req->ask[i]))
			best = &req->ask[i];
	return best;
}

/* Sends one of the requests that are due, within max_rd_atomic. */
enum req_step ooo_req_send_ask(struct ooo_ep *ep, u64 now)
{
	struct ooo_req *req = &ep->req;
	struct ooo_req_ask *ask = next_ask(ep);
	enum req_step step;
	u32 count;

	if (!ask)
		return REQ_IDLE;
	if (missing(ep, ask->seq)) {
		step = ooo_req_resend(ep, ask->seq, false, false, &count, now);
		if (step == REQ_STALLED)
			return step;
		ooo_count(ep, OOO_STAT_IMPLIED_NAK);
		ask->end = ask->seq + count;
		req->repaired += count;
	}
	ask->at = now;
	req->asks_due--;
	req->hole_due = min_t(u64, req->hole_due, now + patience(ep));
	return REQ_DONE;
}
