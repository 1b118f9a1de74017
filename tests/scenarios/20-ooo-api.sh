#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# machines: qemu uml
# timeout: 300
#
# The programming interface of out-of-order placement: ooo_api.c on a live device. Program and
# header as a user would build them, in C and in C++.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

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
		return 1
	fi
}

flags=(-Wall -Wextra -Wpedantic -Werror)
report ooo-api-builds gcc -std=gnu11 -Wall -Wextra -Werror -o "$work/ooo_api" "$here/ooo_api.c" \
	-lrxe_ooo -libverbs || exit 1

header='#include <infiniband/rxe_ooodv.h>'
use='int bits = IBV_QP_OOO_RW_DATA_PLACEMENT | IBV_OOO_RW_DATA_PLACEMENT;'
# What an rdma-core that has the names could look like
known='enum { IBV_OOO_RW_DATA_PLACEMENT = 1 << 0, IBV_QP_OOO_RW_DATA_PLACEMENT = 1 << 26 };'
printf '%s\n' "$header" "$use" > "$work/plain.c"
printf '%s\n' '#include <infiniband/verbs.h>' "$known" "$header" "$use" > "$work/known.c"
printf '%s\n' '#define RXE_OOODV_NO_IBV_NAMES' "$header" "$known" "$use" > "$work/without.c"
for file in plain known without; do
	report "ooo-header-$file" gcc -std=c99 "${flags[@]}" -Wno-pedantic -c -o "$work/o" \
		"$work/$file.c"
	if type g++ > /dev/null 2>&1; then
		report "ooo-header-$file-c++" g++ -x c++ -Wall -Wextra -Werror -c -o "$work/o" \
			"$work/$file.c"
	fi
done

modprobe rxe_ooo || exit 1
ip link add ooo0 type veth peer name ooo1
ip addr add 10.9.0.1/24 dev ooo0
ip link set ooo0 up
ip link set ooo1 up
# GID 0 is the link-local address: of use once it is there and its duplicates have been looked for.
until ip -6 addr show dev ooo0 | grep inet6 | grep -qv tentative; do sleep 0.1; done
# A name that the stock provider would claim, too: ours goes by driver id.
rdma link add rxe_api type rxe_ooo netdev ooo0 || exit 1
"$work/ooo_api" rxe_api
rdma link del rxe_api
ip link del ooo0
