#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 300
#
# A kernel consumer: NVMe over RDMA, target and host on one device. Fast registration, local
# invalidate, send with invalidate, rdma_cm, shared completion queues and drains, all of the kernel's;
# placement is on for its queue pairs. What is written is read back, on a good network, under
# reordering and with duplicates.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvmet=/sys/kernel/config/nvmet
host=nqn.2014-08.org.nvmexpress:uuid:11111111-1111-1111-1111-111111111111
failed=0

# report NAME COMMAND...
report()
{
	local name=$1
	shift
	if "$@" > "$work/log" 2>&1; then
		echo "ok $name"
	else
		cat "$work/log"
		echo "not ok $name - exit status $?"
		failed=1
		return 1
	fi
}

device()
{
	ip link set lo up &&
	ip link add d0 type veth peer name d1 &&
	ip addr add 10.5.0.1/24 dev d0 &&
	ip link set d0 up && ip link set d1 up &&
	rdma link add x0 type rxe_ooo netdev d0
}

target()
{
	truncate -s 64M /dev/shm/disk &&
	mkdir "$nvmet/subsystems/t" && echo 1 > "$nvmet/subsystems/t/attr_allow_any_host" &&
	mkdir "$nvmet/subsystems/t/namespaces/1" &&
	echo -n /dev/shm/disk > "$nvmet/subsystems/t/namespaces/1/device_path" &&
	echo 1 > "$nvmet/subsystems/t/namespaces/1/enable" &&
	mkdir "$nvmet/ports/1" &&
	echo rdma > "$nvmet/ports/1/addr_trtype" && echo ipv4 > "$nvmet/ports/1/addr_adrfam" &&
	echo 10.5.0.1 > "$nvmet/ports/1/addr_traddr" && echo 4420 > "$nvmet/ports/1/addr_trsvcid" &&
	ln -s "$nvmet/subsystems/t" "$nvmet/ports/1/subsystems/t"
}

connect()
{
	echo "transport=rdma,traddr=10.5.0.1,trsvcid=4420,nqn=t,hostnqn=$host,hostid=${host##*:},nr_io_queues=2" \
		> /dev/nvme-fabrics || return
	for ((i = 0; i < 100; i++)); do
		disk=$(ls /dev/nvme[0-9]n1 2> /dev/null) && return
		sleep 0.1
	done
	return 1
}

# copy BLOCK_SIZE COUNT
copy()
{
	dd if=/dev/urandom of="$work/out" bs="$1" count="$2" &&
	dd if="$work/out" of="$disk" bs="$1" oflag=direct &&
	dd if="$disk" of="$work/in" bs="$1" count="$2" iflag=direct &&
	cmp "$work/out" "$work/in"
}

under_netem()
{
	tc qdisc replace dev lo root netem limit 100000 "${@:3}" &&
	copy "$1" "$2"
}

disconnect()
{
	for c in /sys/class/nvme/nvme*/delete_controller; do
		echo 1 > "$c" || return
	done
	rm "$nvmet/ports/1/subsystems/t" && rmdir "$nvmet/ports/1" &&
	echo 0 > "$nvmet/subsystems/t/namespaces/1/enable" &&
	rmdir "$nvmet/subsystems/t/namespaces/1" && rmdir "$nvmet/subsystems/t"
}

# The target lets go of its queue pairs from a work item; the GSI QP stays.
nothing_left()
{
	for ((i = 0; i < 100; i++)); do
		rdma resource show | grep -q ' qp 1 cm_id 0 mr 0 ' && return
		sleep 0.1
	done
	return 1
}

if ! modprobe nvmet-rdma || ! modprobe nvme-rdma || [ ! -d $nvmet ]; then
	echo "skip nvme-rdma - the kernel has no NVMe over RDMA"
	exit 0
fi
report nvme-rdma-device device || exit 1
report nvme-rdma-target target || exit 1
report nvme-rdma-connect connect || exit 1
report nvme-rdma-copy-1M copy 1M 16
report nvme-rdma-copy-4k copy 4k 64
report nvme-rdma-copy-reorder under_netem 256k 32 delay 1ms reorder 75%
report nvme-rdma-copy-duplicate under_netem 256k 16 delay 1ms 500us duplicate 2%
tc qdisc del dev lo root
report nvme-rdma-disconnect disconnect
report nvme-rdma-nothing-left nothing_left
report nvme-rdma-unload sh -c 'rdma link del x0 && rmmod rxe_ooo'
exit $failed
