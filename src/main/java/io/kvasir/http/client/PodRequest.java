package io.kvasir.http.client;

import io.kvasir.http.Headers;
import java.net.URI;

/**
 * One request to a pod.
 *
 * @param pod the pod's base URL, http or https, without a path
 * @param method {@code GET}, {@code POST} …
 * @param target path and query, beginning with a slash, sent as it is
 * @param headers end-to-end headers in the order to send them; Host, Connection, Content-Length, Transfer-Encoding
 *     and Expect are the client's own business and dropped from these; with Upgrade it is a request to leave HTTP
 * @param body sent as it is with its Content-Length; empty for none; not to be changed meanwhile
 */
public record PodRequest(URI pod, String method, String target, Headers headers, byte[] body) {}
