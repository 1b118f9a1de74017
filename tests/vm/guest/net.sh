# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For scenarios: two nodes joined by a veth pair, and words to say about them.
#
#   . tests/vm/guest/net.sh
#   two_namespaces              # namespaces a and b, with v0 10.0.0.1 fd00::1 and v1 10.0.0.2 fd00::2
#   on a rdma link add x0 type rxe_ooo netdev v0
#   on b netem delay 1ms reorder 75%
#
# or, for a driver that works only in the initial namespace (stock rdma_rxe on 6.12):
#
#   two_ends                    # v0 and v1 both here; `on a` and `on b` then change nothing
#
# A program that connects needs `--bind_source_ip` (perftest) or the like with two_ends.

# shellcheck disable=SC2034
{
ADDR_a=10.0.0.1 DEV_a=v0
ADDR_b=10.0.0.2 DEV_b=v1
}
SPLIT=

# on NODE COMMAND...
on()
{
	local node=$1
	shift
	if [ -n "$SPLIT" ] && ! declare -F "$1" > /dev/null; then
		ip netns exec "$node" "$@"
	else
		NODE=$node "$@"
	fi
}

two_namespaces()
{
	local mtu=${1:-1500} node
	SPLIT=yes
	ip netns add a
	ip netns add b
	ip link add v0 mtu "$mtu" netns a type veth peer name v1 mtu "$mtu" netns b
	ip -n a addr add $ADDR_a/24 dev v0
	ip -n b addr add $ADDR_b/24 dev v1
	ip -n a addr add fd00::1/64 dev v0 nodad
	ip -n b addr add fd00::2/64 dev v1 nodad
	for node in a b; do
		ip -n $node link set lo up
	done
	ip -n a link set v0 up
	ip -n b link set v1 up
}

# Each end has its own routing: traffic really crosses the pair although both ends are local.
two_ends()
{
	local mtu=${1:-1500} dev
	SPLIT=
	ip link add v0 mtu "$mtu" type veth peer name v1 mtu "$mtu"
	ip addr add $ADDR_a/24 dev v0 noprefixroute
	ip addr add $ADDR_b/24 dev v1 noprefixroute
	for dev in v0 v1; do
		sysctl -q -w net.ipv4.conf.$dev.accept_local=1 net.ipv4.conf.$dev.rp_filter=0
		ip link set $dev up
	done
	sysctl -q -w net.ipv4.conf.all.rp_filter=0
	ip neigh replace $ADDR_b lladdr "$(cat /sys/class/net/v1/address)" dev v0
	ip neigh replace $ADDR_a lladdr "$(cat /sys/class/net/v0/address)" dev v1
	ip route replace $ADDR_b/32 dev v0 src $ADDR_a table 101
	ip route replace $ADDR_a/32 dev v1 src $ADDR_b table 102
	# A second call finds the rules there.
	ip rule del pref 10 2> /dev/null || true
	ip rule del pref 11 2> /dev/null || true
	ip rule add pref 10 iif v0 lookup local
	ip rule add pref 11 iif v1 lookup local
	ip rule del pref 20 2> /dev/null || true
	ip rule del pref 21 2> /dev/null || true
	ip rule add pref 20 from $ADDR_a to $ADDR_b lookup 101
	ip rule add pref 21 from $ADDR_b to $ADDR_a lookup 102
	ip rule show pref 100 | grep -q . || ip rule add pref 100 lookup local
	ip rule del pref 0 2> /dev/null || true
}

# on NODE netem ARGUMENT...: netem on the node's end; without arguments, none.
netem()
{
	local dev=DEV_${NODE:?on a or b}
	local ns=()
	[ -z "$SPLIT" ] || ns=(-n "$NODE")
	tc "${ns[@]}" qdisc del dev "${!dev}" root 2> /dev/null || true
	[ $# = 0 ] || tc "${ns[@]}" qdisc add dev "${!dev}" root netem limit 100000 "$@"
}

# Wait until a server of this host listens on a TCP port (perftest's is 18515): on b listening 18515
listening()
{
	local ns=() i
	[ -z "$SPLIT" ] || ns=(-N "${NODE:?}")
	for ((i = 0; i < 300; i++)); do
		[ -z "$(ss "${ns[@]}" -Hltn "sport = :$1")" ] || return 0
		sleep 0.1
	done
	echo "nothing listens on port $1"
	return 1
}
