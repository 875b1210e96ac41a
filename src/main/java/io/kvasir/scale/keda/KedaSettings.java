package io.kvasir.scale.keda;

import io.kvasir.http.TlsFiles;
import org.jspecify.annotations.Nullable;

/**
 * Where KEDA reaches a node.
 *
 * @param host the address to listen on
 * @param port 0 for any that is free
 * @param tls its certificate, null for plain HTTP/2
 */
public record KedaSettings(String host, int port, @Nullable TlsFiles tls) {}
