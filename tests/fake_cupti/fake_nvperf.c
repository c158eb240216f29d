/* SPDX-License-Identifier: MIT
 * fake_nvperf.c: a libnvperf_host.so that is only there, or not: the fake CUPTI looks for its one symbol, as the
 * real one needs the real one to be open. */
__attribute__((visibility("default"))) extern const int ws_fake_nvperf_host;
const int ws_fake_nvperf_host = 1;
