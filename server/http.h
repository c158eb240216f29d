/* SPDX-License-Identifier: MIT
 * http.h: the listening socket of `warpsight serve`: libmicrohttpd, deadlines, event streams.
 * What may be asked is decided by http_rules.c, what is answered by api_*.c. */
#ifndef WS_SERVER_HTTP_H
#define WS_SERVER_HTTP_H

#include "daemon.h"

struct ws_http;

/* Listen on an address.
 *   address  "127.0.0.1", "::1", an IPv4 or IPv6 address, without brackets
 *   port     0: any that is free
 *   fd, got  the bound socket and its port. No answer is given before ws_http_start
 *   errors   -WS_EEXIST in use; -WS_EINVAL not an address; -WS_EPERM; -WS_EIO; message says it in one line */
int ws_http_listen(const char *address, uint16_t port, int *fd, uint16_t *got, char *message, size_t cap);

/* Answer on a bound socket, which is then ours. All signals should be blocked: threads are made.
 *   daemon   must outlive the server; its policy has the port already */
int ws_http_start(struct ws_http **out, struct ws_daemon *daemon, int fd);

/* Take no more connections, let running answers end for at most grace_ms, end the streams, and free.
 * daemon->is_stopping must be set. */
void ws_http_stop(struct ws_http *http, unsigned grace_ms);

#endif
