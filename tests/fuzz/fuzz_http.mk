# SPDX-License-Identifier: MIT
# The rules alone: the table of routes names handlers that are never called here, so they stay unresolved.
FUZZ_HTTP_PARTS := server/http_rules.c server/routes.c server/json.c server/utf8.c
$(B)/fuzz/fuzz_http: $(B)/fuzz/obj/tests/fuzz/fuzz_http.o $(call fuzz_obj,$(FUZZ_HTTP_PARTS))
	$(call msg,FUZZLD,$@)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -Wl,--unresolved-symbols=ignore-all $^ -lm -o $@

-include $(patsubst %.o,%.d,$(call fuzz_obj,$(FUZZ_HTTP_PARTS)))
