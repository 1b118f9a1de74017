/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The module's objects, with the lock or context that owns each field, and
 * what the files offer each other.
 *
 * Lifetime, one scheme for all: an object that a packet or a key can name is
 * found under rcu_read_lock() in an xarray, and used only after its refcount
 * was raised from non-zero (or inside that RCU section, for memory keys).
 * Destroy removes it from the xarray, drops the initial reference and waits
 * for the last user; memory goes after an RCU grace period.
 *
 * Lock order: qp->lock -> cq->lock; qp->lock -> srq->lock; qp->lock ->
 * dev->key_lock; qp->lock -> mr->odp->lock. Nothing is taken inside the inner
 * ones. All are taken with BH disabled, cq->lock and the post locks with
 * interrupts off.
 */
#ifndef RXE_OOO_H
#define RXE_OOO_H

#include <linux/skbuff.h>
#include <linux/netdevice.h>
#include <linux/xarray.h>
#include <linux/rhashtable.h>
#include <linux/refcount.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/dst.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/rdma_user_rxe_ooo.h>

#include "core/core.h"

/* ------------------------------------------------------------------ */
/* net.c: one per network namespace                                    */

struct rxo_dev;

struct rxo_net {
	struct net *net;
	struct mutex lock;		/* sockets, user count, writers of @devs */
	unsigned int users;		/* devices in this namespace; @lock */
	struct socket *sock4;		/* UDP 4791; set and cleared under @lock */
	struct socket *sock6;		/* NULL without IPv6 */
	struct list_head devs;		/* struct rxo_dev.net_list; writers @lock, readers RCU */
	/*
	 * QPN -> struct rxo_qp of every device in this namespace: QPNs are
	 * unique in the namespace, so a packet finds its QP without a device
	 * look-up. Readers: RCU. QPN 1 (GSI) is per device and not in here.
	 */
	struct xarray qps;
	u32 next_qpn;			/* cyclic allocation, xa_lock */
};

extern unsigned int rxo_net_id;
static inline struct rxo_net *rxo_net(struct net *net)
{
	return net_generic(net, rxo_net_id);
}

/*
 * Enters @dev into its namespace; the first one opens the sockets (errno of
 * the bind: EADDRINUSE when another driver has the port). Process context.
 */
int rxo_net_add_dev(struct rxo_dev *dev);
/* Takes it out (harmless if it is not in); waits until no receive path can see it. */
void rxo_net_del_dev(struct rxo_dev *dev);
/* The device on @ndev, with a reference on its ib.dev; NULL: there is none. Process context. */
struct rxo_dev *rxo_net_get_dev(struct rxo_net *rn, const struct net_device *ndev);
/* The device to blame for a packet from @ndev; RCU; NULL when the namespace has none left. */
struct rxo_dev *rxo_net_find_dev(struct rxo_net *rn, const struct net_device *ndev);
int rxo_net_init(void);			/* pernet registration */
void rxo_net_exit(void);

/* ------------------------------------------------------------------ */
/* dev.c: the device                                                   */

/* Device-wide counters of what belongs to no QP; per CPU. */
#define RXO_DEV_STATS(X)							\
	X(RX_ICRC_ERR, "rx_icrc_encapsulated")				\
	X(RX_MALFORMED, "rx_malformed")					\
	X(RX_NO_QP, "rx_no_qp")						\
	X(RX_BAD_PKEY, "rx_bad_pkey")					\
	X(RX_BAD_QKEY, "rx_bad_qkey")					\
	X(RX_WRONG_SOURCE, "rx_wrong_address")				\
	X(RX_WRONG_OPCODE, "rx_wrong_opcode")				\
	X(RX_WRONG_LENGTH, "rx_wrong_length")				\
	X(RX_BACKLOG_FULL, "rx_backlog_full")				\
	X(RX_NO_MEMORY, "rx_no_memory")					\
	X(RX_CNP, "np_cnp_received")					\
	X(TX_NO_ROUTE, "tx_no_route")					\
	X(TX_QUEUE_FULL, "tx_queue_full")				\
	X(TX_QDISC_DROP, "tx_qdisc_dropped")				\
	X(TX_NO_MEMORY, "tx_no_memory")					\
	X(TX_JOINED, "tx_joined")

/*
 * WRONG_SOURCE: an address that is not the connected QP's; WRONG_OPCODE and
 * WRONG_LENGTH: not of the QP's service, not what its path MTU demands;
 * BACKLOG_FULL: the QP was busy and its backlog full; QUEUE_FULL: a QP had
 * to wait for local queues to drain; QDISC_DROP: the local qdisc took a packet away;
 * JOINED: packets that went through the stack together with others (tx_batch.c).
 */
enum rxo_dev_stat {
#define RXO_DEV_STAT_ENUM(id, name) RXO_##id,
	RXO_DEV_STATS(RXO_DEV_STAT_ENUM)
#undef RXO_DEV_STAT_ENUM
	RXO_DEV_STAT_NUM
};

struct rxo_dev_stats {
	u64 value[RXO_DEV_STAT_NUM];
};

struct rxo_dev {
	struct ib_device ib;		/* first */
	struct rxo_net *rn;		/* fixed at creation */
	/* held from creation to dealloc; compare, use under RCU/RTNL rules of netdev.c */
	struct net_device *ndev;
	netdevice_tracker ndev_tracker;
	struct list_head net_list;	/* in rn->devs */
	bool in_net;			/* ... it is; rn->lock */
	bool leaving;			/* its netdev is gone, or in another namespace */
	bool port_active;		/* last state reported by an event; RTNL */
	u16 speed;			/* enum ib_port_speed, of the netdev; by @speed_work */
	u8 width;			/* enum ib_port_width */
	struct work_struct speed_work;	/* asks the netdev, which needs RTNL */

	struct ooo_tunables tun;	/* written by sysfs, read by the core (READ_ONCE-sized) */
	bool ooo_default;		/* sysfs; read at INIT->RTR of user QPs */

	struct xarray mrs;		/* key >> 8 -> struct rxo_mr (MW too); RCU readers */
	u32 next_key;			/* cyclic allocation; xa_lock */
	spinlock_t key_lock;		/* what keys mean: bind, invalidate, rereg, dereg */
	atomic64_t dm_bytes;		/* device memory in use */
	struct xarray ahs;		/* ah_num -> struct rxo_ah; RCU readers */
	struct xarray srqs;		/* srq_num -> struct rxo_srq (XRC); RCU readers */
	struct rxo_qp __rcu *gsi;	/* QP 1 */

	struct mutex mcast_lock;	/* changes of groups and members; outside RTNL */
	struct rhashtable mcast_groups;	/* GID -> struct rxo_mcast_group; RCU readers */
	struct list_head mcast_list;	/* the same groups; mcast_lock */
	u32 num_mcast_groups;		/* mcast_lock */
	struct work_struct mcast_work;	/* joins again what the netdev has forgotten */

	atomic_t held_bytes;		/* out-of-order packets of all QPs */
	atomic_t num_qp, num_cq, num_mr, num_pd, num_srq, num_ah, num_mw, num_ctx;
	spinlock_t dead_lock;		/* dead_stat */
	u64 dead_stat[OOO_STAT_NUM];	/* sums of destroyed QPs; dead_lock */
	struct rxo_dev_stats __percpu *stats;
	spinlock_t atomic_lock;		/* serialises atomics that cmpxchg cannot do */
};

static inline struct rxo_dev *to_rxo(struct ib_device *ib)
{
	return container_of(ib, struct rxo_dev, ib);
}

static inline void rxo_count_n(struct rxo_dev *dev, enum rxo_dev_stat stat, u32 n)
{
	this_cpu_add(dev->stats->value[stat], n);
}

static inline void rxo_count(struct rxo_dev *dev, enum rxo_dev_stat stat)
{
	rxo_count_n(dev, stat, 1);
}

/* link.c: rdma link add; one device a netdev */
int rxo_link_add(const char *name, struct net_device *ndev);

/* dev.c: creates and registers; -EADDRINUSE: no sockets */
int rxo_dev_create(const char *name, struct net_device *ndev);
/* Process context: QPs of a device that is going away finish their work with errors. */
void rxo_dev_fail_qps(struct rxo_dev *dev);
extern const struct ib_device_ops rxo_dev_ops;	/* dev.c: device, port, GID, statistics */
extern const struct attribute_group rxo_dev_group;	/* sysfs.c */

/* stats.c */
struct rdma_hw_stats *rxo_alloc_hw_stats(struct ib_device *ib, u32 port_num);
int rxo_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port_num, int index);
void rxo_stats_bury(struct rxo_dev *dev, const u64 *stat);	/* a QP's last values */

/* netdev.c */
int rxo_netdev_init(void);
void rxo_netdev_exit(void);
bool rxo_netdev_active(const struct net_device *ndev);
void rxo_netdev_speed(struct work_struct *work);	/* of rxo_dev.speed_work */
extern const struct ib_device_ops rxo_obj_ops;	/* objects.c: everything else */
extern const struct uapi_definition rxo_uapi_defs[];	/* dv.c */

/* Limits, limits.h */
#include "limits.h"

/* ------------------------------------------------------------------ */
/* ring.c: queues shared with user space, or kernel memory of the same form */

struct rxo_ring {
	struct rxe_ooo_ring_hdr *hdr;	/* vmalloc_user() memory, untrusted when user's */
	void *entries;			/* hdr + RXE_OOO_RING_HDR_SIZE */
	u32 depth;			/* power of two */
	u32 stride;
	u32 size;			/* bytes of the mapping */
	u32 index;			/* the kernel's own producer or consumer index */
	struct rxo_mmap *mmap;		/* user rings: the mmap entry */
};

/* ------------------------------------------------------------------ */

struct rxo_ucontext {
	struct ib_ucontext ib;		/* first */
};

struct rxo_pd {
	struct ib_pd ib;		/* first */
};

/* tx.c: how to reach one destination */
struct rxo_av {
	/* holds a reference on the source GID's attr; owner's lock */
	struct rdma_ah_attr attr;
	union {
		struct sockaddr _sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} src, dst;			/* from the source GID and the destination GID */
	u8 network_type;		/* enum rdma_network_type: IPV4 or IPV6 */
	u8 tos, ttl;			/* traffic class, hop limit */
	__be32 flow_label;
	/* UDP source port: entropy from the QPNs or the flow label */
	__be16 sport;
	/* interface index that owns the source address (VLAN, macvlan...), 0: none */
	int oif;
	/* cached, NULL: look it up; RCU readers, route.c replaces it */
	struct dst_entry __rcu *route;
	u32 route_cookie;		/* for dst_check() */
	/*
	 * Of a connected QP with several paths (ooo_paths): copies with the
	 * source ports that follow, for path 1 and up, each with a route of its
	 * own, which no interface is asked of. The copies hold no reference.
	 */
	bool spread;
	u8 more_num;
	struct rxo_av *more;
};

struct rxo_ah {
	struct ib_ah ib;		/* first */
	struct rxo_av av;
	u32 num;
	struct rcu_head rcu;
};

struct rxo_cq {
	struct ib_cq ib;		/* first */
	/* ring, notify, error; irqsave: kernel consumers poll with interrupts off */
	spinlock_t lock;
	struct rxo_ring ring;		/* the kernel produces; @ring.index is the producer's */
	bool is_user;
	bool ignore_overrun;		/* creation flag: drop silently */
	bool timestamps;		/* creation flag: the consumer wants them */
	bool error;			/* overrun: nothing is added any more */
	bool error_told;		/* IB_EVENT_CQ_ERR was raised; @event_work */
	u8 notify;			/* IB_CQ_SOLICITED/NEXT_COMP armed, 0 none */
	/*
	 * Kernel consumers: their handler may call verbs, so it must not run
	 * under qp->lock, and never twice at a time: a BH work item.
	 */
	struct work_struct comp_work;
	struct work_struct event_work;	/* IB_EVENT_CQ_ERR */
};

struct rxo_xrcd {
	struct ib_xrcd ib;		/* first */
	/* PDs that have an SRQ in the domain: address -> how many; RCU readers */
	struct xarray pds;
};

struct rxo_srq {
	struct ib_srq ib;		/* first */
	spinlock_t lock;		/* ring, limit, error; BH disabled */
	struct rxo_ring ring;		/* the kernel consumes */
	spinlock_t post_lock;		/* kernel consumers' posting; irqsave */
	u32 posted;			/* kernel consumers' producer index; @post_lock */
	u32 max_sge;
	u32 limit;			/* armed limit, 0: not armed */
	u32 num;			/* XRC SRQ number */
	bool is_user;
	bool error;
	unsigned long events;		/* bit set of RXO_SRQ_EVENT_*, atomic */
	struct work_struct event_work;
};

enum { RXO_SRQ_EVENT_LIMIT, RXO_SRQ_EVENT_ERR };

enum rxo_mr_type {
	RXO_MR_USER, RXO_MR_DMA, RXO_MR_FAST, RXO_MR_DM, RXO_MR_ODP, RXO_MR_DMABUF,
	RXO_MW1, RXO_MW2
};

/*
 * FREE: a key that a work request can bring into force; BUSY: a look-up waits,
 * for microseconds, until rereg_mr is done.
 */
enum rxo_mr_state { RXO_MR_INVALID, RXO_MR_FREE, RXO_MR_VALID, RXO_MR_BUSY };

/* What a user's region is made of; rereg_mr replaces it as a whole. */
struct rxo_mr_memory {
	struct ib_umem *umem;		/* USER */
	union {				/* kvmalloc array, one entry a page of 1 << page_shift */
		struct page **pages;	/* USER */
		/* FAST: kernel addresses, as ib_map_mr_sg() hands them out */
		u64 *addrs;
	};
	u32 num_pages;
	u64 offset;			/* of iova in the first page; ODP: iova's user address */
};

/*
 * A memory region or window: found by key under RCU. @users counts copies
 * that are running (BH disabled, bounded): invalidation sets @state, then
 * waits until @users is back at its base value, so that nothing is written
 * after it returns. What a key means changes under dev->key_lock only.
 */
struct rxo_mr {
	union {
		struct ib_mr ib;
		struct ib_mw mw;
	};
	struct rxo_dev *dev;
	struct rxo_pd *pd;
	enum rxo_mr_type type;
	enum rxo_mr_state state;	/* WRITE_ONCE by owner, re-read after users++ */
	atomic_t users;
	/* rkey = lkey; low 8 bits belong to the consumer (fast registration, MW2) */
	u32 key;
	u32 access;			/* IB_ACCESS_* */
	u64 iova;			/* start address as peers name it; 0 when zero-based */
	u64 length;			/* bytes */
	struct rxo_mr_memory mem;
	u32 max_pages;			/* FAST */
	u8 page_shift;
	void *kva;			/* DM, DMABUF: contiguous kernel memory, at iova */
	struct dma_buf *dmabuf;		/* DMABUF: attached to, mapped at @dmabuf_kva */
	void *dmabuf_kva;
	struct rxo_odp *odp;		/* ODP */
	u32 windows;			/* regions: windows that are bound to it; key_lock */
	/* MW: the region that it is bound to; key_lock, or @users */
	struct rxo_mr *parent;
	u64 base;			/* MW: the region's address of the window's start */
	u64 qp_serial;			/* MW2: the QP that it is bound through */
	refcount_t refs;		/* held beyond RCU, by page faults; dereg waits on @gone */
	struct completion gone;
	struct rcu_head rcu;
};

static inline bool rxo_mr_is_window(const struct rxo_mr *mr)
{
	return mr->type == RXO_MW1 || mr->type == RXO_MW2;
}

/* odp_fault.c: pages that a QP waits for; one request at a time */
struct rxo_fault_range {
	struct rxo_mr *mr;
	u64 addr;			/* user address */
	u32 len;
	bool write;
};

/* more than a QP has operations under way that wait for pages */
#define RXO_FAULTS_FAILED	4

struct rxo_fault {
	struct work_struct work;
	/* set under qp->lock, cleared by the work item: owns the rest */
	bool busy;
	struct rxo_fault_range want;	/* its region is referenced while @busy */
	struct {
		struct rxo_fault_range range;
		unsigned long until;	/* jiffies: the answer is for the attempt that follows */
	} failed[RXO_FAULTS_FAILED];	/* there were no such pages */
	u32 next_failed;
};

/* ------------------------------------------------------------------ */
/* qp.c                                                                */

/* tx_batch.c */
struct rxo_tx_batch {
	struct sk_buff *head, *tail;	/* a list; NULL: empty */
	u32 bytes;			/* of UDP payload in all */
	u32 first;			/* in the first one: no other has more */
	u32 truesize;
	u16 count;
};

struct rxo_qp {
	struct ib_qp ib;		/* first */
	struct rxo_dev *dev;
	refcount_t refs;		/* table look-up; destroy waits on @gone */
	struct completion gone;
	struct rcu_head rcu;
	/* never used again, unlike a QPN; 0: none yet; mw.c, key_lock */
	u64 serial;

	spinlock_t lock;		/* @ep and everything below up to @backlog */
	struct ooo_ep ep;		/* RC, UC, XRC */
	/* what modify_qp was given; also under ib core's qp mutex */
	struct ib_qp_attr attr;
	struct rxo_av av;		/* of a connected QP */
	/*
	 * Rings: the kernel consumes. @sq.index counts completed entries,
	 * @sq_base is the ring index of the core's entry 0 (RESET starts the
	 * core at 0, but never moves the ring back). A kernel consumer has no
	 * send ring: it posts straight into @ep.sq.
	 */
	struct rxo_ring sq, rq;
	u32 sq_base;
	u32 sq_posted, rq_posted;	/* kernel consumers' producer indices; @post_lock */
	spinlock_t post_lock;		/* irqsave: kernel consumers post with interrupts off */
	struct rxo_cq *scq, *rcq;	/* NULL for XRC_TGT; fixed */
	struct rxo_srq *srq;		/* fixed */
	u32 sq_max_sge, rq_max_sge, max_inline;
	enum ib_sig_type sig_type;
	bool is_user;			/* rings are shared with user space; fixed */
	bool dead;			/* destroy has begun: nothing is processed any more */
	bool sqd_notify;		/* en_sqd_async_notify */
	bool cq_lost;			/* a CQ overran and lost a completion; until RESET */
	u32 flush_budget;		/* receive entries that one hold may still flush */
	u32 held_bytes;			/* of @ep's held packets */
	struct rxo_recv_copy *recv;	/* the receive entry in use: a bounded copy */
	u8 port_num;
	struct mutex modify_lock;	/* one modify_qp at a time; outside @lock */
	struct rxo_fault fault;

	/*
	 * Packets that arrive while another context holds @lock: whoever
	 * releases it processes them (bounded, then a BH work item goes on).
	 */
	struct sk_buff_head backlog;	/* its own lock; bounded by backlog_max */
	unsigned long pending;		/* bit set: RXO_PENDING_*, atomic */
	struct hrtimer timer;		/* soft; pending bit + run */
	u64 deadline;			/* what the core asked for; @lock */
	u64 resume_at;			/* retry after an allocation failure; @lock */
	u64 armed;			/* when @timer fires, OOO_NEVER: it does not; @lock */
	struct work_struct work;	/* BH workqueue: resume with a fresh budget */
	/*
	 * Sent skbs are charged to this unbound kernel socket until they
	 * leave the local queues. Their destructor is the kernel's own, so an
	 * skb outlives QP and module without harm; the socket's user data
	 * leads back here, under RCU, until rxo_qp_table_del().
	 */
	struct socket *tx_sock;
	void (*tx_old_write_space)(struct sock *sk);
	bool tx_full;			/* refused a packet: resume at half; atomic by xchg */
	struct rxo_tx_batch batch;	/* built, not sent: gone before @lock is free; @lock */
	struct work_struct event_work;	/* async events that need process context */
	unsigned long events;		/* bit set of enum ooo_event, atomic */
	struct list_head mcast_members;	/* UD: struct rxo_mcast_member.qp_list; dev->mcast_lock */
};

enum {
	RXO_PENDING_SEND,
	RXO_PENDING_RECV,
	RXO_PENDING_TIMER,
	RXO_PENDING_RESUME,
	RXO_PENDING_CNP,
};

static inline struct rxo_qp *to_rqp(struct ib_qp *ib)
{
	return container_of(ib, struct rxo_qp, ib);
}

static inline struct rxo_qp *ep_to_qp(struct ooo_ep *ep)
{
	return container_of(ep, struct rxo_qp, ep);
}

static inline struct rxo_cq *to_rcq(struct ib_cq *ib)
{
	return container_of(ib, struct rxo_cq, ib);
}

static inline struct rxo_srq *to_rsrq(struct ib_srq *ib)
{
	return container_of(ib, struct rxo_srq, ib);
}

static inline struct rxo_mr *to_rmr(struct ib_mr *ib)
{
	return container_of(ib, struct rxo_mr, ib);
}

static inline struct rxo_mr *to_rmw(struct ib_mw *ib)
{
	return container_of(ib, struct rxo_mr, mw);
}

static inline struct rxo_pd *to_rpd(struct ib_pd *ib)
{
	return container_of(ib, struct rxo_pd, ib);
}

static inline struct rxo_ucontext *to_rucontext(struct ib_ucontext *ib)
{
	return container_of(ib, struct rxo_ucontext, ib);
}

static inline struct rxo_ah *to_rah(struct ib_ah *ib)
{
	return container_of(ib, struct rxo_ah, ib);
}

/* qp_table.c: under rcu_read_lock(); NULL when there is none. Raises refs. */
struct rxo_qp *rxo_qp_get(struct rxo_net *rn, u32 qpn);
struct rxo_qp *rxo_qp_get_gsi(struct rxo_dev *dev);	/* likewise */
void rxo_qp_put(struct rxo_qp *qp);
/* Numbers the QP (GSI: 1) and makes it findable; -ENOMEM, -EBUSY (second GSI). */
int rxo_qp_table_add(struct rxo_qp *qp);
/* Not found any more. References that others hold stay good. */
void rxo_qp_table_del(struct rxo_qp *qp);
/* After the last reference is gone; an RCU grace period must follow before @qp is freed. */
void rxo_qp_table_free(struct rxo_qp *qp);
/* For walks: the first QP with a number >= *qpn, referenced, and its number; NULL at the end. */
struct rxo_qp *rxo_qp_next(struct rxo_net *rn, unsigned long *qpn);

/* qp_run.c: process context; the device is gone: QP to ERR, work flushed, IB_EVENT_QP_FATAL. */
void rxo_qp_fatal(struct rxo_qp *qp);

/* netdev.c: is @mtu a path MTU that the port can carry? */
bool rxo_mtu_ok(struct rxo_dev *dev, enum ib_mtu mtu);

/* qp_run.c: any context; asks for ooo_ep_resume() soon. The caller holds a reference. */
void rxo_qp_resume(struct rxo_qp *qp);

/* ------------------------------------------------------------------ */
/* mcast.c                                                             */

struct in_device;
struct inet6_dev;

struct rxo_mcast_group {
	struct rhash_head node;		/* in rxo_dev.mcast_groups */
	struct list_head list;		/* in rxo_dev.mcast_list */
	union ib_gid mgid;
	struct list_head members;	/* struct rxo_mcast_member.list; RCU readers */
	u32 num_members;		/* never 0 outside mcast_lock */
	union {				/* where the netdev has joined; referenced */
		struct in_device *in_dev;
		struct inet6_dev *in6_dev;
	};
	struct rcu_head rcu;
};

struct rxo_mcast_member {
	struct list_head list;		/* in its group */
	struct list_head qp_list;	/* in its QP; mcast_lock */
	struct rxo_mcast_group *group;
	/* readers raise its refcount, and skip it if that is zero */
	struct rxo_qp *qp;
	u32 attached;			/* calls of attach_mcast without a detach; mcast_lock */
	struct rcu_head rcu;
};

int rxo_mcast_init(struct rxo_dev *dev);
void rxo_mcast_exit(struct rxo_dev *dev);
/* Any context: the netdev has changed so that it may have lost its memberships. */
void rxo_mcast_rejoin(struct rxo_dev *dev);
/* Under RCU; NULL: nobody is attached. */
struct rxo_mcast_group *rxo_mcast_find(struct rxo_dev *dev, const union ib_gid *mgid);
/* Process context: a QP that is being destroyed. */
void rxo_mcast_detach_all(struct rxo_qp *qp);

/* ------------------------------------------------------------------ */
/* rx.c -> qp_run.c                                                    */

/* What rx.c found out about a packet; lives in skb->cb while it is in a backlog. */
struct rxo_rx_cb {
	/* BTH and extended headers: payload starts there (from skb->data = BTH) */
	u16 hdr_len;
	u16 payload_len;
	u8 ecn;			/* 2 bits of the IP header */
};

#define RXO_RX_CB(skb)	((struct rxo_rx_cb *)(skb)->cb)

/*
 * rx.c calls this for a packet that belongs to a connected QP: skb->data is
 * the BTH, skb->len without ICRC trimmed; everything is validated except what depends on the
 * QP's state. Takes over the skb. BH context.
 */
void rxo_qp_rx(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt);

/* ud.c (GSI, UD) */
void rxo_ud_rx(struct rxo_qp *qp, struct sk_buff *skb, const struct ooo_pkt *pkt);

/* ------------------------------------------------------------------ */
/* tx.c: env_pkt.c and ud.c build a packet in two steps                 */

/*
 * Allocates an skb with room for L2..UDP in front; *payload points to
 * @payload_len bytes that the caller fills in. NULL: no memory, or the QP has
 * too much in the local qdisc (then qp->pending RESUME follows from the skb destructor).
 */
struct sk_buff *rxo_tx_alloc(struct rxo_qp *qp, struct rxo_av *av, u32 hdr_len, u32 payload_len,
			     u8 **payload);
/*
 * Adds the transport headers (@hdr), pad, UDP, IP and ICRC and hands the skb
 * to the stack (ip_local_out / ip6_local_out), so that every qdisc sees it,
 * lo's too. Consumes the skb. A packet that cannot be routed is a lost
 * packet: counted, 0.
 */
void rxo_tx_send(struct rxo_qp *qp, struct rxo_av *av, struct sk_buff *skb,
		 const struct ooo_hdr *hdr, u32 payload_len);
/* tx.c, for tx_batch.c: complete from the IP header to the ICRC. Consumes the skb. */
void rxo_tx_send_built(struct rxo_qp *qp, struct rxo_av *av, struct sk_buff *skb);
/* tx_batch.c: under qp->lock and rcu_read_lock() */
bool rxo_tx_batch_ok(const struct rxo_qp *qp, const struct dst_entry *dst);
u16 rxo_tx_batch_id(struct rxo_qp *qp, u32 udp_payload);
void rxo_tx_batch_add(struct rxo_qp *qp, struct sk_buff *skb);
void rxo_tx_batch_send(struct rxo_qp *qp);
/* What rxo_tx_send() has kept; the holder of qp->lock calls it before it lets go. */
static inline void rxo_tx_flush(struct rxo_qp *qp)
{
	if (qp->batch.head)
		rxo_tx_batch_send(qp);
}

/* From an address vector of the verbs layer; -EINVAL: not an IP GID, no such GID. */
int rxo_av_init(struct rxo_dev *dev, struct rxo_av *av, const struct rdma_ah_attr *attr);
void rxo_av_destroy(struct rxo_av *av);
/* Of a connected QP: the numbers that spread its packets over paths (UDP source port). */
void rxo_av_set_qpns(struct rxo_av *av, u32 local, u32 remote);
/* ... and, when these are set, over so many paths. 0 or -ENOMEM. */
int rxo_av_spread(struct rxo_av *av, u32 paths);

static inline struct rxo_av *rxo_av_path(struct rxo_av *av, u8 path)
{
	return likely(!path) || path > av->more_num ? av : &av->more[path - 1];
}

/* route.c: a route for @av, held by RCU (BH disabled); NULL: none */
struct dst_entry *rxo_route(struct net *net, struct rxo_av *av);
void rxo_route_forget(struct rxo_av *av);

/* tx.c: accounting of what waits in local queues */
int rxo_tx_sock_create(struct rxo_qp *qp);
void rxo_tx_sock_detach(struct rxo_qp *qp);	/* no more calls into @qp, after RCU */
void rxo_tx_sock_release(struct rxo_qp *qp);

/*
 * crc.c: the ICRC of a packet whose skb has network and transport headers
 * set; @end: offset of the ICRC from skb->data
 */
bool rxo_icrc(struct sk_buff *skb, u32 end, __le32 *icrc);

/* rx.c */
int rxo_udp_rcv(struct sock *sk, struct sk_buff *skb);

#endif /* RXE_OOO_H */
