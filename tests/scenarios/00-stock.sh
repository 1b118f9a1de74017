#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 60
#
# The machine itself: the stock driver between two nodes, so that a failure of ours is ours.
set -euo pipefail
. tests/vm/guest/net.sh

modprobe rdma_rxe
bind=()
if [ "$RXE_OOO_MACHINE" = qemu ]; then
	two_ends
	bind=(--bind_source_ip)
else
	two_namespaces
fi
on a rdma link add s0 type rxe netdev v0
on b rdma link add s1 type rxe netdev v1
sleep 1
echo "ok stock devices"

common=(-s 65536 -n 500 -m 1024 -F --report_gbits -x 1)
on b ib_write_bw -d s1 "${common[@]}" ${bind[0]+"${bind[@]}" $ADDR_b} > /tmp/server 2>&1 &
on b listening 18515
if on a ib_write_bw -d s0 "${common[@]}" ${bind[0]+"${bind[@]}" $ADDR_a} $ADDR_b > /tmp/client 2>&1; then
	wait
	grep -A1 '#bytes' /tmp/client
	echo "ok stock ib_write_bw"
else
	cat /tmp/client /tmp/server
	echo "not ok stock ib_write_bw - exit status $?"
fi
