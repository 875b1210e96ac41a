package io.kvasir.http.server;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/**
 * TLS of a listener for HTTP/1.1: version 1.3, or 1.2 with clients that know no other.
 *
 * @param context its certificate, and which client certificates it trusts
 * @param clientCertificate whether clients without a trusted certificate are refused
 */
public record ListenerTls(SSLContext context, boolean clientCertificate) {
  private static final String[] VERSIONS = {"TLSv1.3", "TLSv1.2"};
  private static final String[] APPLICATION_PROTOCOLS = {"http/1.1"};

  /** The listener's side of a connection. */
  public SSLEngine engine() {
    SSLEngine engine = context.createSSLEngine();
    engine.setUseClientMode(false);
    engine.setSSLParameters(parameters());
    return engine;
  }

  /** What the listener's side of a connection agrees to. */
  SSLParameters parameters() {
    SSLParameters parameters = context.getDefaultSSLParameters();
    parameters.setProtocols(VERSIONS);
    parameters.setApplicationProtocols(APPLICATION_PROTOCOLS);
    parameters.setNeedClientAuth(clientCertificate);
    return parameters;
  }
}
