package io.kvasir.peer;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/** Mutual TLS on lines. Thread-safe. */
public interface PeerTls {
  /** What connections that begin now are made with; certificates may have been replaced since the last one. */
  SSLContext context();

  /**
   * Looks at who is at the other end, whose certificate is one of our authority's.
   *
   * @throws SSLPeerUnverifiedException when it is not a node of ours
   */
  void verify(SSLSession session) throws SSLPeerUnverifiedException;
}
