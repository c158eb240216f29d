/* SPDX-License-Identifier: MIT
 * sha256.h: SHA-256 in base64, as a Content-Security-Policy names an inline script by it. Nothing secret
 * passes through here. */
#ifndef WS_SERVER_SHA256_H
#define WS_SERVER_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* FIPS 180-4. */
void ws_sha256(const void *bytes, size_t count, uint8_t out[32]);
/* "sha256-" and the digest in base64, NUL-ended. */
void ws_sha256_csp(const void *bytes, size_t count, char out[64]);

#endif
