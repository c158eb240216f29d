# SPDX-License-Identifier: MIT
# Makefile: every target. Sources are found by wildcard per folder; there is no recursion.
# Nothing is written outside build/ except by: deps, golden, format, install, web, ptx.
# `make help` lists the targets; V=1 shows commands; SAN=address,undefined|thread; WERROR=1.

.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules

VERSION := 0.1.0
PREFIX ?= /usr/local
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
SAN ?=
comma := ,
B := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))$(BUILD_SUFFIX)
Q := $(if $(V),,@)
msg = $(if $(V),@true,@printf '  %-7s %s\n' $(1) $(2))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
OPT ?= -O2 -g
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
CPPFLAGS_ALL := -D_GNU_SOURCE -I. -I$(B)/gen $(CPPFLAGS)
CFLAGS_ALL := -std=c11 $(OPT) $(WARN) $(if $(WERROR),-Werror) -fPIC -fvisibility=hidden -pthread $(SANFLAGS) $(CFLAGS)
LDFLAGS_ALL := -pthread $(SANFLAGS) $(LDFLAGS)

# --- what this machine has -----------------------------------------------------------------------
GIT_COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda /opt/cuda /usr/lib/cuda))
CUDA_INC := $(firstword $(foreach d,include targets/x86_64-linux/include targets/sbsa-linux/include,$(if $(wildcard $(CUDA_HOME)/$(d)/cuda.h),$(CUDA_HOME)/$(d))))
CUPTI_INC := $(firstword $(foreach d,$(CUDA_INC) $(CUDA_HOME)/extras/CUPTI/include,$(if $(wildcard $(d)/cupti_range_profiler.h),$(d))))
NVCC := $(or $(wildcard $(CUDA_HOME)/bin/nvcc),$(shell command -v nvcc 2>/dev/null))
HAVE_CUPTI := $(if $(CUPTI_INC),1)
# For --version: "13.0", or that there is none.
CUDA_TEXT := $(or $(if $(CUPTI_INC),$(shell awk '$$2 == "CUDA_VERSION" { printf "%d.%d", $$3 / 1000, $$3 % 1000 / 10; exit }' $(CUDA_INC)/cuda.h 2>/dev/null)),none: without the collector)
PKGS := sqlite3 libcjson libmicrohttpd
# Goals that need no library must not fail for want of one; checked where they are used.
have_pkgs = $(shell pkg-config --exists $(PKGS) 2>/dev/null && echo 1)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
# Its functions are looked up when `warpsight push` runs: only the header is needed, and only for that command.
PQ_CFLAGS := $(shell pkg-config --cflags libpq 2>/dev/null)

# --- sources -------------------------------------------------------------------------------------
ANALYZER_SRC := $(sort $(wildcard analyzer/*.c))
RULE_SRC := $(sort $(wildcard analyzer/rules/*.c))
# Only these may see a CUDA header.
CUDA_SRC := $(filter $(wildcard collector/*.c),$(addprefix collector/,inject.c collection.c activity.c counters.c sampling.c timeline.c translate.c))
PRELOAD_SRC := collector/preload.c
YIELD_SRC := collector/yield.c
COLLECTOR_SRC := $(filter-out $(CUDA_SRC) $(PRELOAD_SRC) $(YIELD_SRC),$(sort $(wildcard collector/*.c)))
MODEL_SRC := $(sort $(wildcard collector/model/*.c))
CUDART_SRC := $(sort $(wildcard collector/cudart/*.c))
SERVER_SRC := $(sort $(wildcard server/*.c))
KERNEL_SRC := $(sort $(wildcard kernels/*.cu kernels/ceilings/*.cu))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
ANALYZER_LIB := $(B)/libanalyzer.a
COLLECTOR_LIB := $(B)/libcollector.a
SERVER_LIB := $(B)/libserver.a
UNIT_BIN := $(patsubst tests/unit/%.c,$(B)/tests/%,$(UNIT_SRC))

COLLECTOR_SO := $(B)/libwarpsight-cupti.so
# In a folder of their own: LD_LIBRARY_PATH must offer nothing else.
CUDART_SO := $(B)/model/libcudart.so.13
PRELOAD_SO := $(B)/libwarpsight.so
YIELD_SO := $(B)/libwarpsight-yield.so
PROGRAM := $(B)/warpsight
KERNELS := $(B)/warpsight-kernels

# --- all -----------------------------------------------------------------------------------------
.PHONY: all
all: check-tools $(if $(wildcard server/main.c),$(PROGRAM)) $(if $(wildcard $(PRELOAD_SRC)),$(PRELOAD_SO) $(YIELD_SO)) $(CUDART_SO) $(if $(HAVE_CUPTI),$(if $(wildcard collector/inject.c),$(COLLECTOR_SO)),no-cupti) $(if $(NVCC),$(if $(KERNEL_SRC),$(KERNELS)),no-nvcc) ## program, collector, kernels (as far as the CUDA toolkit is there)

.PHONY: check-tools no-cupti no-nvcc
check-tools:
	@$(if $(have_pkgs),true,{ echo "make: development files of $(PKGS) are missing: run 'make deps'" >&2; exit 1; })
no-cupti:
	@echo "  SKIP    no CUPTI headers under '$(or $(CUDA_HOME),/usr/local/cuda)': the collector library is not built"
no-nvcc:
	@echo "  SKIP    no nvcc: the reference kernels are not built (recorded sessions still replay)"

# --- generated -----------------------------------------------------------------------------------
$(B)/gen/rules_list.h: $(RULE_SRC) Makefile
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D) && { echo "/* generated: one row per file in analyzer/rules */"; for f in $(notdir $(basename $(RULE_SRC))); do echo "WS_RULE($$f)"; done; } >$@.tmp && { cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@; touch $@; }

$(B)/gen/%_sql.h: server/%.sql Makefile
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D) && { echo "/* generated from $< */"; sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $<; } >$@

# The expected counters travel inside the program: `warpsight kernels verify` works anywhere.
EXPECT := $(sort $(wildcard kernels/*.expect))
$(B)/gen/expect_list.h: $(EXPECT) Makefile
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D) && { echo "/* generated from the .expect files of kernels/ */"; for f in $(EXPECT); do n=$${f##*/}; echo "WS_EXPECT_FILE(\"$${n%.expect}\","; sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $$f; echo ")"; done; } >$@

# What the twins of each rule gained on a GPU, for `warpsight explain`: the newest committed scorecard.
SCORECARD := $(lastword $(sort $(wildcard tests/gpu/results/*-scorecard.txt)))
$(B)/gen/scorecard_text.h: $(SCORECARD) Makefile
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D) && { echo "/* generated from $(SCORECARD) */"; echo '#define WS_SCORECARD_NAME "$(notdir $(SCORECARD:-scorecard.txt=))"'; echo "static const char *const scorecard_lines[] = {"; sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/",/' $(SCORECARD) /dev/null; echo '""};'; } >$@

$(B)/gen/version.h: .FORCE
	$(Q)mkdir -p $(@D) && printf '/* generated */\n#define WS_VERSION "%s"\n#define WS_GIT_COMMIT "%s"\n#define WS_BUILD_CUDA "%s"\n' '$(VERSION)' '$(GIT_COMMIT)' '$(CUDA_TEXT)' >$@.tmp && { cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@; }
.PHONY: .FORCE
.FORCE:

# Which files of the page there are, and a dependency on their content: .incbin is unknown to -MMD.
WEB_DIST := $(wildcard web/dist/index.html web/dist/app.js web/dist/app.css)
$(B)/gen/web_files.h: .FORCE
	$(Q)mkdir -p $(@D) && { echo '/* generated */'; for f in $(WEB_DIST); do case $$f in *.html) n=HTML ;; *.js) n=JS ;; *) n=CSS ;; esac; echo "#define WS_WEB_$$n \"$$f\""; done; } >$@.tmp && { cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@; }
$(B)/obj/server/assets.o: $(WEB_DIST)

GENERATED := $(B)/gen/expect_list.h $(B)/gen/push_schema_sql.h $(B)/gen/rules_list.h $(B)/gen/schema_sql.h $(B)/gen/scorecard_text.h $(B)/gen/version.h $(B)/gen/web_files.h

# --- compile -------------------------------------------------------------------------------------
$(B)/obj/%.o: %.c | $(GENERATED)
	$(call msg,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS_ALL) $(if $(filter server/%,$<),$(PKG_CFLAGS)) $(if $(filter server/pq.c server/push.c,$<),$(PQ_CFLAGS)) $(if $(filter $(CUDA_SRC) tests/fake_cupti/%,$<),-isystem collector/compat -isystem $(CUPTI_INC) -isystem $(CUDA_INC)) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

# What computes numbers, and what reads foreign bytes, converts nothing silently.
$(call obj,$(ANALYZER_SRC) $(RULE_SRC) collector/wire.c): CFLAGS_ALL += -Wconversion

# The model's lane loops want the vectorizer, and PTX decides itself which products are fused. The same handlers
# are compiled once per x86-64 level and chosen at start; elsewhere v3 and v4 are empty.
IS_X86 := $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null))
$(B)/obj/collector/model/exec_%.o: CFLAGS_ALL += -O3 -ffp-contract=off -fno-strict-aliasing -Wno-pass-failed $(if $(IS_X86),$(MODEL_ISA))
$(B)/obj/collector/model/exec_v3.o: MODEL_ISA := -march=x86-64-v3
$(B)/obj/collector/model/exec_v4.o: MODEL_ISA := -march=x86-64-v4 -mprefer-vector-width=512

$(ANALYZER_LIB): $(call obj,$(ANALYZER_SRC) $(RULE_SRC))
$(COLLECTOR_LIB): $(call obj,$(COLLECTOR_SRC) $(MODEL_SRC))
$(SERVER_LIB): $(call obj,$(filter-out server/main.c,$(SERVER_SRC)))
$(B)/%.a:
	$(call msg,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^

# __cxa_demangle comes from libstdc++; the collector never links it.
SERVER_LIBS := $(PKG_LIBS) -l:libstdc++.so.6 -lz -ldl -lm
$(PROGRAM): $(call obj,server/main.c) $(SERVER_LIB) $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib' $^ $(SERVER_LIBS) -o $@

# It sits in every process of a run, and they know of no sanitizer: never built with one.
$(PRELOAD_SO) $(YIELD_SO): CFLAGS_ALL := $(filter-out $(SANFLAGS),$(CFLAGS_ALL))
$(PRELOAD_SO) $(YIELD_SO): LDFLAGS_ALL := $(filter-out $(SANFLAGS),$(LDFLAGS_ALL))
$(PRELOAD_SO): $(call obj,$(PRELOAD_SRC))
	$(call msg,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS_ALL) -Wl,-z,nodelete -Wl,--version-script=collector/export.map $^ -o $@

$(YIELD_SO): $(call obj,$(YIELD_SRC))
	$(call msg,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS_ALL) -Wl,-z,nodelete $^ -ldl -o $@

# A program that is modelled knows of no sanitizer either.
ifeq ($(SAN),)
$(CUDART_SO): $(call obj,$(CUDART_SRC)) $(COLLECTOR_LIB) $(ANALYZER_LIB) collector/cudart/cudart13.map
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared $(LDFLAGS_ALL) -Wl,-z,defs -Wl,-soname,$(@F) -Wl,--version-script=collector/cudart/cudart13.map $(filter %.o %.a,$^) -ldl -lm -o $@
else
$(CUDART_SO): .FORCE
	$(Q)$(MAKE) --no-print-directory SAN= build$(BUILD_SUFFIX)/model/libcudart.so.13 && mkdir -p $(@D) && cp build$(BUILD_SUFFIX)/model/libcudart.so.13 $@
endif

$(COLLECTOR_SO): $(call obj,$(CUDA_SRC) $(COLLECTOR_SRC)) $(ANALYZER_LIB) collector/export.map
	$(call msg,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS_ALL) -Wl,-z,nodelete -Wl,-z,defs -Wl,--version-script=collector/export.map $(filter %.o %.a,$^) -ldl -lm -o $@

# SASS for the board we measure on, PTX for every other one (the driver compiles it at start).
CUDA_ARCH ?= -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75
NVCCFLAGS := -O2 -std=c++17 -lineinfo -Wno-deprecated-gpu-targets --compiler-options -Wall,-Wextra $(if $(WERROR),-Werror all-warnings)
# No sanitizer and no second C compiler changes device code: compiled once, whatever B is.
KB := build
$(KB)/obj/kernels/%.o: kernels/%.cu $(wildcard kernels/*.h kernels/*.cuh kernels/ceilings/*.h)
	$(call msg,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(NVCC) $(NVCCFLAGS) $(CUDA_ARCH) -c $< -o $@

# The tensor cores have instructions that only their own architecture's code may use.
PTX_75 := -gencode arch=compute_75,code=compute_75
$(KB)/obj/kernels/ceilings/wgmma.o: CUDA_ARCH := -gencode arch=compute_90a,code=sm_90a $(PTX_75)
$(KB)/obj/kernels/ceilings/mma.o: CUDA_ARCH := -gencode arch=compute_90a,code=sm_90a $(PTX_75) $(foreach cc,80 89,-gencode arch=compute_$(cc),code=compute_$(cc))

$(KERNELS): $(patsubst %.cu,$(KB)/obj/%.o,$(KERNEL_SRC))
	$(call msg,NVLINK,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) $(CUDA_ARCH) -cudart static $^ -o $@

# --- tests ---------------------------------------------------------------------------------------
$(B)/tests/%: $(B)/obj/tests/unit/%.o $(SERVER_LIB) $(COLLECTOR_LIB) $(ANALYZER_LIB)
	$(call msg,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) $^ $(SERVER_LIBS) -o $@

include $(wildcard tests/*/*.mk)

.PHONY: test test-build
test-build: all $(UNIT_BIN) $(TEST_EXTRA)
test: deps ## all layers that this machine can run; SAN=address,undefined or SAN=thread for a sanitizer
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) test-build
	$(Q)B=$(B) SAN=$(SAN) CC=$(CC) CUDA_HOME=$(CUDA_HOME) CUDA_INC=$(CUDA_INC) NVCC=$(NVCC) tests/run.sh $(T)

# --- the main job ------------------------------------------------------------------------------
.PHONY: demo run golden
demo: ## install what is missing, build, profile the reference kernels (or show the recorded H200 session)
	$(Q)tests/deps.sh build
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) all
	$(Q)tests/demo.sh $(B)

run: all ## the daemon on the recorded H200 session, needs no GPU; prints the URL
	$(Q)tests/demo.sh $(B) replay

golden: test-build $(GOLDEN) ## rewrite the golden files of the tests; read the diff before you commit it

# --- packages ------------------------------------------------------------------------------------
# A tree that runs on another glibc Linux with nothing installed: every library that is not glibc's
# lies in lib/. RPATH, not RUNPATH: libmicrohttpd's own needs (GnuTLS …) must be found there too.
BUNDLE := $(B)/bundle
GPU_PROGRAMS := $(addprefix $(B)/gpu-,cases loop calibrate calibrate.ptx)
GLIBC := linux-vdso|ld-linux|libc\.so|libm\.so|libdl\.so|libpthread\.so|librt\.so|libresolv\.so|libutil\.so
.PHONY: bundle dist install deb pages
bundle: all $(if $(NVCC),$(GPU_PROGRAMS)) ## relocatable tree build/bundle/: program, collector, kernels, libraries
	$(call msg,BUNDLE,$(BUNDLE))
	$(Q)rm -rf $(BUNDLE) && mkdir -p $(BUNDLE)/lib $(BUNDLE)/kernels
	$(Q)cp $(PROGRAM) $(PRELOAD_SO) $(YIELD_SO) $(wildcard $(COLLECTOR_SO) $(KERNELS) $(GPU_PROGRAMS)) LICENSE README.md $(BUNDLE)/
	$(Q)mkdir -p $(BUNDLE)/model && cp $(CUDART_SO) $(BUNDLE)/model/
	$(Q)cp kernels/*.expect $(BUNDLE)/kernels/
	$(Q)ldd $(PROGRAM) | awk '$$3 ~ /^\// && $$1 !~ /^($(GLIBC))/ {print $$3}' | xargs -I{} cp -L {} $(BUNDLE)/lib/
	$(Q)strip --strip-debug $(BUNDLE)/warpsight $(BUNDLE)/*.so $(BUNDLE)/lib/*

dist: bundle ## build/warpsight-VERSION-linux-x86_64.tar.gz of the bundle
	$(call msg,TAR,$(B)/warpsight-$(VERSION)-linux-x86_64.tar.gz)
	$(Q)tar -C $(B) --sort=name --owner=0 --group=0 --transform 's,^bundle,warpsight-$(VERSION),' -czf $(B)/warpsight-$(VERSION)-linux-$$(uname -m).tar.gz bundle

PAGES := $(B)/pages
pages: $(PROGRAM) ## man pages and completions for bash and zsh in build/pages/, from the tables of --help
	$(call msg,PAGES,$(PAGES))
	$(Q)server/packaging/pages.sh $(PROGRAM) $(PAGES) $(VERSION)

deb: all ## build/warpsight_VERSION_ARCH.deb, of what `make install PREFIX=/usr` installs
	$(call msg,DEB,$(B))
	$(Q)rm -rf $(B)/deb && $(MAKE) --no-print-directory install DESTDIR=$(B)/deb PREFIX=/usr && server/packaging/deb.sh $(B)/deb $(B) $(VERSION)

install: all pages ## into PREFIX (default /usr/local), under DESTDIR
	$(Q)install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/warpsight $(DESTDIR)$(PREFIX)/share/warpsight/kernels
	$(Q)install -m 755 $(PROGRAM) $(wildcard $(KERNELS)) $(DESTDIR)$(PREFIX)/bin/
	$(Q)install -m 755 $(PRELOAD_SO) $(YIELD_SO) $(wildcard $(COLLECTOR_SO)) $(DESTDIR)$(PREFIX)/lib/warpsight/
	$(Q)install -d $(DESTDIR)$(PREFIX)/lib/warpsight/model && install -m 755 $(CUDART_SO) $(DESTDIR)$(PREFIX)/lib/warpsight/model/
	$(Q)install -m 644 kernels/*.expect $(DESTDIR)$(PREFIX)/share/warpsight/kernels/
	$(Q)install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/doc/warpsight
	$(Q)install -m 644 $(PAGES)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	$(Q)install -m 644 $(PAGES)/bash/warpsight $(DESTDIR)$(PREFIX)/share/bash-completion/completions/
	$(Q)install -m 644 $(PAGES)/zsh/_warpsight $(DESTDIR)$(PREFIX)/share/zsh/site-functions/
	$(Q)install -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/warpsight/copyright
	$(Q)install -d $(DESTDIR)$(PREFIX)/share/systemd/user && sed 's|/usr/local|$(PREFIX)|' server/warpsight.service >$(DESTDIR)$(PREFIX)/share/systemd/user/warpsight.service

# --- chores --------------------------------------------------------------------------------------
.PHONY: deps
deps: ## install by apt what is missing for the build and the tests, and say so
	$(Q)tests/deps.sh

.PHONY: lint format
C_FILES = $(shell git ls-files -co --exclude-standard '*.c' '*.h')
lint: $(GENERATED) $(ANALYZER_LIB) ## format, clang-tidy, analyzer purity, include direction, one-getenv
	$(Q)B=$(B) CUDA_INC=$(CUDA_INC) CUPTI_INC=$(CUPTI_INC) tests/lint.sh
format: ## clang-format in place
	$(Q)clang-format -i $(C_FILES)

.PHONY: docs
docs: $(PROGRAM) ## docs/metrics.md and docs/rules.md from the program's tables
	$(Q)python3 tests/docs/reference_pages.py $(PROGRAM) docs

.PHONY: clean
clean: ## remove build/
	$(Q)rm -rf build

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z][a-z_.-]*:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile $(wildcard tests/*/*.mk)
	@echo "  variables      V=1 shows commands · SAN=address,undefined|thread · WERROR=1 · CC=clang · T='test_expr …' runs only those"

-include $(patsubst %.o,%.d,$(call obj,$(ANALYZER_SRC) $(RULE_SRC) $(CUDA_SRC) $(COLLECTOR_SRC) $(PRELOAD_SRC) $(YIELD_SRC) $(MODEL_SRC) $(CUDART_SRC) $(SERVER_SRC) $(UNIT_SRC)))
