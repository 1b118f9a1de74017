// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ring of requests with a reply of their own: max_dest_rd_atomic of them
 * are kept, the oldest gives way. What is still to be sent never does.
 */
#include "resp_priv.h"

/*
 * A power of two, so that indexes may wrap. The number may be raised in SQD,
 * with replies in the ring: those move.
 */
static bool allocate(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;
	struct ooo_resp_reply *reply;
	u32 num = 1, i;

	while (num < ep->attr.max_dest_rd_atomic)
		num *= 2;
	if (resp->reply && resp->reply_num >= num)
		return true;
	reply = ooo_env_alloc(ep, num * sizeof(*reply));
	if (!reply)
		return false;
	if (resp->reply) {
		for (i = resp->reply_first; i != resp->reply_next; i++)
			reply[i % num] = resp->reply[i % resp->reply_num];
		ooo_env_free(ep, resp->reply, resp->reply_num * sizeof(*reply));
	}
	resp->reply = reply;
	resp->reply_num = num;
	return true;
}

/* May the peer have one more? It knows max_dest_rd_atomic (IBTA 9.7.4.1.4). */
enum resp_verdict ooo_resp_reply_room(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;

	if (resp->reply_next - resp->reply_emit >= ep->attr.max_dest_rd_atomic)
		return RESP_NAK_INVALID;
	return allocate(ep) ? RESP_DONE : RESP_DROP;
}

static struct ooo_resp_reply *entry(struct ooo_resp *resp, u32 index)
{
	return &resp->reply[index % resp->reply_num];
}

/* A zeroed entry; it counts when it is committed. There is room. */
struct ooo_resp_reply *ooo_resp_reply_reserve(struct ooo_ep *ep)
{
	struct ooo_resp *resp = &ep->resp;
	struct ooo_resp_reply *r;

	while (resp->reply_next - resp->reply_first >= ep->attr.max_dest_rd_atomic)
		resp->reply_first++;
	r = entry(resp, resp->reply_next);
	memset(r, 0, sizeof(*r));
	return r;
}

void ooo_resp_reply_commit(struct ooo_ep *ep, u32 packets)
{
	struct ooo_resp *resp = &ep->resp;
	struct ooo_resp_reply *r = entry(resp, resp->reply_next++);

	r->seq = resp->eseq;
	r->packets = packets;
	r->msn = ++resp->msn;
}

/* The reply that has the PSN @seq; *@index is its free-running number. */
struct ooo_resp_reply *ooo_resp_reply_find(struct ooo_ep *ep, u32 seq, u32 *index)
{
	struct ooo_resp *resp = &ep->resp;
	struct ooo_resp_reply *r;
	u32 i;

	for (i = resp->reply_next; i != resp->reply_first; i--) {
		r = entry(resp, i - 1);
		if (seq - r->seq >= r->packets)
			continue;
		*index = i - 1;
		return r;
	}
	return NULL;
}

static struct ooo_resp_replay *replay_at(struct ooo_resp *resp, u32 index)
{
	return &resp->replay[index % OOO_REPLAYS];
}

/* Have they a packet in common that is still to be sent? */
static bool overlap(const struct ooo_resp_replay *a, const struct ooo_resp_replay *b)
{
	return a->reply == b->reply && a->next < b->to && b->next < a->to;
}

/* @r sends what @wish asks for, too. What it has sent, and is wanted again, is sent again. */
static void unite(struct ooo_resp_replay *r, const struct ooo_resp_replay *wish)
{
	if (wish->next < r->next) {
		r->from = wish->next;
		r->next = wish->next;
	}
	r->to = max_t(u32, r->to, wish->to);
}

/* Takes the wish at @index out; those behind it move up. */
static void take_out(struct ooo_resp *resp, u32 index)
{
	for (; index + 1 != resp->replay_next; index++)
		*replay_at(resp, index) = *replay_at(resp, index + 1);
	resp->replay_next--;
}

/* Joins @wish with one that it overlaps, and that with all that it overlaps then. */
static bool joined(struct ooo_resp *resp, const struct ooo_resp_replay *wish)
{
	struct ooo_resp_replay *r = NULL;
	u32 i;

	for (i = resp->replay_first; !r && i != resp->replay_next; i++)
		if (overlap(replay_at(resp, i), wish))
			r = replay_at(resp, i);
	if (!r)
		return false;
	unite(r, wish);
	while (i != resp->replay_next) {
		if (overlap(replay_at(resp, i), r)) {
			unite(r, replay_at(resp, i));
			take_out(resp, i);
		} else {
			i++;
		}
	}
	return true;
}

/* Sends the packets [@from, @to) of a reply again. Too many wishes: the peer asks later. */
void ooo_resp_replay(struct ooo_ep *ep, u32 index, u32 from, u32 to)
{
	struct ooo_resp_replay wish = { .reply = index, .from = from, .next = from, .to = to };
	struct ooo_resp *resp = &ep->resp;

	if (unlikely(ep->paths))
		ooo_resp_data_lost(ep, entry(resp, index)->seq + from);
	if (!joined(resp, &wish) && resp->replay_next - resp->replay_first < OOO_REPLAYS)
		resp->replay[resp->replay_next++ % OOO_REPLAYS] = wish;
}

/* The oldest wish whose reply is still kept; NULL: none. */
struct ooo_resp_replay *ooo_resp_replay_oldest(struct ooo_resp *resp)
{
	struct ooo_resp_replay *r;

	while (resp->replay_first != resp->replay_next) {
		r = &resp->replay[resp->replay_first % OOO_REPLAYS];
		if (r->reply - resp->reply_first < resp->reply_next - resp->reply_first)
			return r;
		resp->replay_first++;
	}
	return NULL;
}
