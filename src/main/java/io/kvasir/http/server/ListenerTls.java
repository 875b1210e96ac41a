package io.kvasir.http.server;

import javax.net.ssl.SSLContext;

/**
 * TLS of a listener.
 *
 * @param context its certificate, and which client certificates it trusts
 * @param clientCertificate whether clients without a trusted certificate are refused
 */
public record ListenerTls(SSLContext context, boolean clientCertificate) {}
