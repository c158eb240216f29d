# SPDX-License-Identifier: MIT
# bench.mk: measurements, never part of `make test`. T picks some; MINUTES=10 for the long ingest; BASE=FOLDER: the
# build folder of another state of the sources, measured in turn with this one, so that a ratio outlives a noisy machine.
# ALONE=1: the browser, and the daemon it asks, before all others (real-time priority; root).
BENCH_BIN := $(B)/bench/http_load $(B)/bench/rows
$(B)/bench/%: tests/bench/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -D_GNU_SOURCE $(CFLAGS_ALL) $< $(if $(filter rows,$*),-lsqlite3) -o $@

.PHONY: bench
bench: $(PROGRAM) $(B)/web/spool_writer $(BENCH_BIN) ## measure ingest, pages, memory, log, browser, bundle against their targets (T=, MINUTES=, BASE=)
	$(Q)B=$(B) BASE=$(BASE) MINUTES=$(or $(MINUTES),1) ALONE=$(ALONE) python3 tests/bench/bench.py $(T)

.PHONY: soak
soak: all $(B)/web/spool_writer ## the daemon for SOAK_SECONDS (600) under SOAK_RATE (20000) launches a second: memory, descriptors, WAL
	$(Q)B=$(B) python3 tests/bench/soak.py
