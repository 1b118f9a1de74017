# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the scripts of tests/vm share: where things are, and the cache.

REPO=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
# shellcheck disable=SC2034
VM=$REPO/tests/vm
# shellcheck disable=SC2034
BUILD=$REPO/build
CACHE=${RXE_OOO_CACHE:-/var/cache/rxe_ooo}
mkdir -p "$CACHE"
START=$SECONDS

log()
{
	echo "[$(date +%T)] ${0##*/}: $*" >&2
}

die()
{
	log "$*"
	exit 1
}

# A slow product is named by a hash of its recipe: files, and further words.  One of these is a number
# that stands for the commands of the script: raise it when they would make something else.
recipe_key()
{
	local f
	for f in "$@"; do
		if [ -f "$f" ]; then cat "$f"; else echo "$f"; fi
	done | sha256sum | cut -c1-12
}

# cached PRODUCT LOCK: true if the product is there.  If not, its lock is held: make it, then call
# `cache_add`.
cached()
{
	[ -e "$1.ok" ] || cache_lock "$2"
	[ -e "$1.ok" ] && touch "$1.ok"
}

# cache_add PRODUCT: what was made as PRODUCT.tmp is whole.
cache_add()
{
	mv -T "$1.tmp" "$1"
	touch "$1.ok"
	cache_prune "$1"
}

# One maker at a time; released when the script ends.
cache_lock()
{
	exec 9> "$CACHE/$1.lock"
	flock 9
}

# Other versions of the product go when they have not been used for two weeks.
cache_prune()
{
	find "$CACHE" -maxdepth 1 -name "$(basename "${1%-*}")-*.ok" -mtime +14 | while read -r old; do
		rm -rf "$old" "${old%.ok}"
	done
}
