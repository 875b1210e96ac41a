package io.kvasir.peer;

import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/** Mutual TLS between peers. Thread-safe. */
public interface PeerTls {
  /** The context of connections that begin now; certificates may have been replaced since the last call. */
  SSLContext context();

  /**
   * Verifies that the other end, whose certificate the cluster's authority has signed, is a router node.
   *
   * @throws SSLPeerUnverifiedException when it is not
   */
  void verify(SSLSession session) throws SSLPeerUnverifiedException;
}
