package io.kvasir.picker;

/**
 * A request as a proxy has shown it. The bytes must not be changed.
 *
 * @param body its body as it came; empty where the proxy does not show it
 * @param trailers whether trailers follow the body, which are to be answered
 */
record ShownRequest(ProxyHead head, byte[] body, boolean trailers) {}
