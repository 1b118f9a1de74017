/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Everything that differs between the kernels that we build on: 6.12 and 7.3. */
#ifndef RXE_OOO_COMPAT_H
#define RXE_OOO_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>
#include <linux/netdevice.h>
#include <net/inet_dscp.h>
#include <net/flow.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

/* 6.14: the core itself raises port events, except for members of a bond. */
static inline bool rxo_core_raises_port_events(struct net_device *ndev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
	return !netif_is_lag_master(ndev) && !netif_is_lag_port(ndev);
#else
	return false;
#endif
}

/*
 * A device is born in the namespace of its netdev: before 7.0 the core knows
 * the initial one only, and reads the field first when it registers the device.
 */
#ifdef ib_alloc_device_with_net
#define rxo_alloc_ib_device(drv_struct, member, net) \
	ib_alloc_device_with_net(drv_struct, member, net)
#else
#define rxo_alloc_ib_device(drv_struct, member, netns)			\
	({								\
		struct drv_struct *_drv = ib_alloc_device(drv_struct, member); \
		if (_drv)						\
			write_pnet(&_drv->member.coredev.rdma_net, netns); \
		_drv;							\
	})
#endif

/* 7.0: takes the sock. */
static inline void rxo_setup_udp_tunnel_sock(struct net *net, struct socket *sock,
					     struct udp_tunnel_sock_cfg *cfg)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	setup_udp_tunnel_sock(net, sock->sk, cfg);
#else
	setup_udp_tunnel_sock(net, sock, cfg);
#endif
}

static inline void rxo_udp_tunnel_sock_release(struct socket *sock)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	udp_tunnel_sock_release(sock->sk);
#else
	udp_tunnel_sock_release(sock);
#endif
}

/* 6.18: a type of its own for the DSCP. */
static inline void rxo_flow4_set_tos(struct flowi4 *fl4, u8 tos)
{
#ifdef flowi4_dscp
	fl4->flowi4_dscp = inet_dsfield_to_dscp(tos);
#else
	fl4->flowi4_tos = tos & INET_DSCP_MASK;
#endif
}

/* 7.0: IPv6 is no module any more, so no stub stands between. */
#if IS_ENABLED(CONFIG_IPV6)
static inline struct dst_entry *rxo_ip6_dst_lookup(struct net *net, struct flowi6 *fl6)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return ip6_dst_lookup_flow(net, NULL, fl6, NULL);
#else
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl6, NULL);
#endif
}
#endif

static inline u32 rxo_dst6_cookie(struct dst_entry *dst)
{
#if IS_ENABLED(CONFIG_IPV6)
	return rt6_get_cookie(dst_rt6_info(dst));
#else
	return 0;
#endif
}

static inline u8 rxo_dst6_hoplimit(struct dst_entry *dst)
{
#if IS_ENABLED(CONFIG_IPV6)
	return ip6_dst_hoplimit(dst);
#else
	return 0;
#endif
}

static inline int rxo_ip6_local_out(struct net *net, struct sock *sk, struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_IPV6)
	return ip6_local_out(net, sk, skb);
#else
	kfree_skb(skb);
	return 0;
#endif
}

/* 6.13: one call for timer and function. */
static inline void rxo_hrtimer_setup(struct hrtimer *timer,
				     enum hrtimer_restart (*function)(struct hrtimer *),
				     clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

/* 6.17: reg_user_mr() takes DMA handles. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define RXO_HAVE_DMAH
#endif

/* 7.0: resizing is for user space only, and is called so. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define RXO_HAVE_RESIZE_USER_CQ
#endif

static inline struct ib_umem *rxo_umem_get(struct ib_device *dev, unsigned long addr, size_t size,
					   int access)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return ib_umem_get_va(dev, addr, size, access);
#else
	return ib_umem_get(dev, addr, size, access);
#endif
}

/* 6.13: the name of a symbol namespace is a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define RXO_IMPORT_NS_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#else
#define RXO_IMPORT_NS_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#endif

#endif /* RXE_OOO_COMPAT_H */
