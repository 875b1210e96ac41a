package io.kvasir.app.node;

import com.typesafe.config.Config;
import io.kvasir.peer.PeerTls;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.remote.artery.tcp.ssl.RotatingKeysSSLEngineProvider;
import org.jspecify.annotations.Nullable;

/** TLS of peer connections, with the certificates of the cluster's own transport, reloaded as often. Thread-safe. */
public final class NodeTls implements PeerTls {
  private final RotatingKeysSSLEngineProvider certificates;

  private NodeTls(RotatingKeysSSLEngineProvider certificates) {
    this.certificates = certificates;
  }

  /**
   * The TLS of a node's peer connections, null when the cluster has none.
   *
   * @throws StartException when the cluster is secured otherwise than by {@code kvasir.cluster.tls}
   */
  public static @Nullable PeerTls of(ActorSystem<?> system) throws StartException {
    Config config = system.settings().config();
    if (!config.getString("pekko.remote.artery.transport").equals("tls-tcp")) {
      return null;
    }
    String provider = config.getString("pekko.remote.artery.ssl.ssl-engine-provider");
    if (!provider.equals(RotatingKeysSSLEngineProvider.class.getName())) {
      throw new StartException(
          "connections between nodes cannot be secured by " + provider
              + "; name certificate, key and authority in kvasir.cluster.tls instead");
    }
    return new NodeTls(new RotatingKeysSSLEngineProvider(system.classicSystem()));
  }

  @Override
  public SSLContext context() {
    return certificates.getSSLContext();
  }

  @Override
  public void verify(SSLSession session) throws SSLPeerUnverifiedException {
    var problem = certificates.verifyClientSession(session.getPeerHost(), session);
    if (problem.isDefined()) {
      throw (SSLPeerUnverifiedException)
          new SSLPeerUnverifiedException("not a node of this cluster: " + problem.get().getMessage())
              .initCause(problem.get());
    }
  }
}
