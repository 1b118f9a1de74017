#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# ci-setup.sh [--devices-only | --remove]: as root, on Debian or Ubuntu: install what rxe_ooo needs, build and
# install it, and make two devices, ra in namespace a and rb in namespace b, joined by a veth pair.
#   --devices-only   rxe_ooo is installed already
#   --remove         remove devices and namespaces
#   NETEM="..."      what netem does on both ends; say `limit`, or its queue of 1000 packets drops
set -euo pipefail
repo=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")

install_it()
{
	export DEBIAN_FRONTEND=noninteractive
	# Source packages are needed once, for rdma-core's private headers.
	if ! apt-cache showsrc rdma-core > /dev/null 2>&1; then
		sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/*.sources 2> /dev/null || true
		sed -i 's/^# *deb-src/deb-src/' /etc/apt/sources.list 2> /dev/null || true
	fi
	apt-get -qq update
	apt-get -qq -y install build-essential "linux-headers-$(uname -r)" rdma-core ibverbs-utils \
		libibverbs-dev iproute2 perftest cmake ninja-build pkgconf libudev-dev libnl-3-dev \
		libnl-route-3-dev python3 dpkg-dev
	# Cloud kernels keep the InfiniBand modules in a package of their own.
	modinfo ib_uverbs > /dev/null 2>&1 || apt-get -qq -y install "linux-modules-extra-$(uname -r)"
	local src
	src=$(mktemp -d)
	(cd "$src" && { apt-get -qq source --download-only rdma-core || true; } &&
		tar -xf rdma-core_*.orig.tar.* --strip-components=1)
	make -C "$repo" modules
	make -C "$repo" provider RDMA_CORE="$src"
	make -C "$repo" install
	rm -rf "$src"
}

devices()
{
	ip netns add a
	ip netns add b
	ip link add v0 netns a type veth peer name v1 netns b
	ip -n a addr add 10.0.0.1/24 dev v0
	ip -n b addr add 10.0.0.2/24 dev v1
	for end in "a v0 ra" "b v1 rb"; do
		read -r node interface device <<< "$end"
		ip -n "$node" link set lo up
		ip -n "$node" link set "$interface" up
		ip netns exec "$node" rdma link add "$device" type rxe_ooo netdev "$interface"
		# shellcheck disable=SC2086
		[ -z "${NETEM-}" ] || ip netns exec "$node" tc qdisc add dev "$interface" root netem $NETEM
	done
	rdma link
}

case ${1-} in
"")
	install_it
	devices ;;
--devices-only)
	devices ;;
--remove)
	for device in ra rb; do rdma link del $device 2> /dev/null || true; done
	ip netns del a
	ip netns del b ;;
*)
	echo "usage: $0 [--devices-only | --remove]" >&2
	exit 2 ;;
esac
