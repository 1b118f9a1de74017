# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# rxe_ooo: see `make help`.

KDIR ?= /lib/modules/$(shell uname -r)/build
DRIVER := drivers/infiniband/sw/rxe_ooo
VM := tests/vm
# For check-vm and check-uml: only scenarios whose name contains this.
ONLY ?=
# And how many guests share the scenarios.
GUESTS ?= $(if $(ONLY),1,2)

help:
	@sed -n 's/^## \?//p' $(firstword $(MAKEFILE_LIST))

## Use it on this machine:
##   make modules KDIR=DIR        build the kernel module (default: for the running kernel)
##   make provider RDMA_CORE=DIR  build the rdma-core provider, against an rdma-core source tree
##   make install                 install both, headers, man pages and pkg-config (DESTDIR is honoured)
##   make uninstall               remove what that installed
##   make deb                     build Debian packages, in build/deb (see debian/README.source)
modules:
	@test -e "$(KDIR)/Makefile" || { \
		echo "No kernel headers in $(KDIR)."; \
		echo "Install them (Debian: linux-headers-$$(uname -r)) or say KDIR=DIR."; exit 1; }
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)/$(DRIVER)" modules

provider:
	@test -n "$(RDMA_CORE)" || { \
		echo "Say RDMA_CORE=DIR: an rdma-core source tree of the installed libibverbs' version"; \
		echo "(Debian: apt-get source rdma-core)."; exit 1; }
	scripts/build-provider "$(RDMA_CORE)" build/provider

install:
	scripts/install "$(KDIR)" $(DRIVER) build/provider

uninstall:
	scripts/uninstall

deb:
	scripts/build-deb build/deb

##
## See it work (as root; installs what it needs on Debian, makes test machines in a cache):
##   make demo                    stock rdma_rxe and rxe_ooo side by side under reordering
##   make bench                   bandwidth by size, beside stock rdma_rxe
##   make bench-transport         goodput against delay, loss and reordering, beside stock and siw
##                                (on UML; ARGS="--rounds 3 --ops WRITE": see tests/bench/transport.py)
demo: deps
	@tests/vm/run --machine qemu --name demo --timeout $(or $(TIMEOUT),3600) -- \
		python3 tests/demo/demo.py

bench: deps
	@tests/vm/run --machine $(or $(MACHINE),qemu) --name bench --timeout $(or $(TIMEOUT),7200) -- \
		python3 tests/bench/bench.py

bench-transport: deps
	@tests/vm/run --machine $(or $(MACHINE),uml) --name bench-transport --no-scan \
		--timeout $(or $(TIMEOUT),14000) -- python3 tests/bench/transport.py $(ARGS)

##
## Test it:
##   make check                   test system, core, build, provider, dissector, uml and qemu, with totals
##   make check-all               and the packages and series, which take longer
##   make check-core              the transport core in a simulator, in user space
##   make check-vm                scenarios on Debian's kernel (QEMU); ONLY=NAME selects
##   make check-uml               scenarios on the newest kernel (User-mode Linux); ONLY=NAME
##   make check-uml-kasan         the same with KASAN, UBSAN, fault injection: slow
##   make check-uml-lockdep       the same with lockdep, sleep-in-atomic checks, debug objects: slow
##   make check-goodput           speed under reordering, against stock rdma_rxe; wants an idle machine
##   make check-robustness        the attacks and faults of scenarios 74, 76..78 and 83 in their long forms
##   make soak                    everything at random on UML, verified, SOAK_SECONDS=1800
##   make fuzz                    the core's parser and state machines, SECONDS=600 each
##   make check-build             against each kernel, warnings are errors; make install
##   make check-provider          the provider's data path, in user space
##   make check-dissector         the Wireshark dissector of what we add to RoCEv2
##   make check-package           Debian packages: build, install, DKMS on two kernels, use, purge
##   make check-patches           the series for the kernel and for rdma-core: apply, build, run
##   make lint                    checkpatch, sparse, W=1, shellcheck
check: deps
	@tests/check

check-all: check check-package check-patches

check-core:
	@$(MAKE) --no-print-directory -C tests/core check

check-vm: deps
	@$(VM)/suite-guests --name $@ --timeout $(or $(TIMEOUT),3600) --guests $(GUESTS) qemu $(ONLY)

check-uml check-uml-kasan check-uml-lockdep: check-%: deps
	@$(VM)/suite-guests --name $@ --timeout $(or $(TIMEOUT),$(if $(filter uml,$*),2400,14000)) \
		--guests $(GUESTS) $* $(ONLY)

check-goodput: deps
	@$(VM)/run --machine $(or $(MACHINE),qemu) --name $@ --timeout $(or $(TIMEOUT),4000) -- \
		env SCENARIO_ROUNDS=$(or $(SCENARIO_ROUNDS),10) $(VM)/suite 30-reorder-goodput

check-robustness: deps
	@$(VM)/run --machine $(or $(MACHINE),uml) --name $@ --timeout $(or $(TIMEOUT),14000) -- sh -c '\
		failed=0; export RXE_OOO_LONG=1; \
		for s in tests/scenarios/7[4678]-*.py tests/scenarios/83-*.py; do \
			echo "== $$s"; "$$s" || failed=1; done; exit $$failed'

SOAK_SECONDS ?= 1800
soak: deps
	@$(VM)/run --machine $(or $(MACHINE),uml) --name $@ --timeout $$(($(SOAK_SECONDS) * 2 + 900)) -- \
		env SOAK_SECONDS=$(SOAK_SECONDS) SOAK_SEED=$(or $(SOAK_SEED),84) tests/scenarios/84-soak.py

fuzz:
	@$(MAKE) --no-print-directory -C tests/core fuzz

check-build: deps
	@tests/build

check-provider: deps
	@$(VM)/layer qemu > /dev/null
	@$(VM)/in-root --cd /opt/rxe_ooo -- make -s -C tests/provider check

check-dissector: deps
	@$(VM)/rootfs > /dev/null
	@$(VM)/in-root --cd /opt/rxe_ooo -- tests/dissector/test_dissector.py

check-package: deps
	@tests/package

check-patches: deps
	@tests/patches

lint:
	@tests/lint

##
## While working on it (see tests/vm/README.md):
##   make quick-uml CMD="..."     build what changed, boot UML, run CMD in it (quick-qemu: QEMU)
##   make rootfs uml-kernel       make the test root, the UML kernel; print where they are
##   make clean                   remove what was built here (not the cache)
quick-uml quick-uml-kasan quick-uml-lockdep quick-qemu: quick-%:
	@$(VM)/run --machine $* --timeout $(or $(TIMEOUT),300) -- sh -c '$(CMD)'

rootfs:
	@$(VM)/rootfs

uml-kernel:
	@$(VM)/uml-kernel fast

uml-kernel-kasan uml-kernel-lockdep: uml-kernel-%:
	@$(VM)/uml-kernel $*

clean:
	@if [ -e tests/core/Makefile ]; then $(MAKE) --no-print-directory -C tests/core clean; fi
	rm -rf build
	find $(DRIVER) \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' -o -name modules.order -o -name Module.symvers \) -delete

deps:
	@$(VM)/host-deps

.PHONY: help deps modules provider install uninstall deb check-all check-package check-patches demo bench bench-transport check check-core check-vm check-uml \
	check-uml-kasan check-uml-lockdep check-build check-goodput check-robustness soak fuzz check-provider check-dissector lint quick-uml quick-uml-kasan quick-uml-lockdep quick-qemu rootfs uml-kernel \
	uml-kernel-kasan uml-kernel-lockdep clean
