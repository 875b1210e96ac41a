package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.ClusterReaderTest;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.NodeTls;
import io.kvasir.peer.PeerAddress;
import io.kvasir.peer.PeerConnections;
import io.kvasir.peer.PeerSettings;
import io.kvasir.time.NanoClock;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Remoting between nodes that know each other by their certificates, over real sockets. */
final class ClusterTlsIT {
  @TempDir private Path directory = Path.of("");
  private final List<ActorSystem<Void>> systems = new ArrayList<>();

  @AfterEach
  void stop() {
    systems.forEach(ActorSystem::terminate);
    systems.forEach(system -> system.getWhenTerminated().toCompletableFuture().join());
  }

  @Test
  void certificateOfTheAuthority_isWhatLetsANodeIn() throws Exception {
    Certificates made =
        new Certificates(directory)
            .authority("ca")
            .node("node", "ca")
            .authority("other-ca")
            .node("stranger", "other-ca");
    ActorSystem<Void> first = system(made, "node", "ca");
    join(first, first);
    ActorSystem<Void> stranger = system(made, "stranger", "other-ca");
    join(stranger, first);
    ActorSystem<Void> second = system(made, "node", "ca");
    join(second, first);
    await(() -> up(first) == 2 && up(second) == 2);
    assertThat(up(stranger)).as("what the stranger is a member of").isZero();

    int port = Cluster.get(first).selfMember().address().getPort().orElseThrow();
    assertThatThrownBy(() -> read(port, made, null)).isInstanceOf(SSLException.class);
    assertThatThrownBy(() -> read(port, made, "stranger")).isInstanceOf(SSLException.class);
    assertThatThrownBy(() -> read(port, made, "node")).as("let in, and nobody speaks")
        .isInstanceOf(SocketTimeoutException.class);
  }

  @Test
  void lines_areForNodesOfTheAuthority() throws Exception {
    Certificates made =
        new Certificates(directory)
            .authority("ca")
            .node("node", "ca")
            .authority("other-ca")
            .node("stranger", "other-ca");
    try (PeerConnections first =
        PeerConnections.bind(PeerSettings.on("127.0.0.1"), NodeTls.of(system(made, "node", "ca")), NanoClock.SYSTEM);
        PeerConnections second =
            PeerConnections.bind(PeerSettings.on("127.0.0.1"), NodeTls.of(system(made, "node", "ca")),
                NanoClock.SYSTEM);
        PeerConnections stranger =
            PeerConnections.bind(PeerSettings.on("127.0.0.1"), NodeTls.of(system(made, "stranger", "other-ca")),
                NanoClock.SYSTEM);
        PeerConnections open = PeerConnections.bind(PeerSettings.on("127.0.0.1"), null, NanoClock.SYSTEM)) {
      first.serve("first", asked -> asked);
      PeerAddress there = new PeerAddress("first", "127.0.0.1", first.port());
      await(() -> asks(second, there));
      assertThat(asks(stranger, there)).isFalse();
      assertThat(asks(open, there)).isFalse();
      await(() -> asks(second, there));
      assertThat(asks(stranger, there)).isFalse();
      assertThat(asks(open, there)).isFalse();
      assertThatThrownBy(() -> read(first.port(), made, null)).isInstanceOf(SSLException.class);
      assertThatThrownBy(() -> read(first.port(), made, "stranger")).isInstanceOf(SSLException.class);
    }
  }

  private static boolean asks(PeerConnections lines, PeerAddress there) {
    byte[] question = {1};
    CompletableFuture<byte @Nullable []> answer = lines.request(there, question, Duration.ofSeconds(60));
    return answer != null
        && answer.handle((answered, broken) -> broken == null && Arrays.equals(question, answered)).join();
  }

  /** Shows a certificate, or none, and reads what the node says to it. */
  private static void read(int port, Certificates made, @Nullable String alias) throws Exception {
    KeyStore own = KeyStore.getInstance("PKCS12");
    own.load(null, null);
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("ca", made.store().getCertificate("ca"));
    if (alias != null) {
      own.setKeyEntry(
          alias,
          made.store().getKey(alias, Certificates.password()),
          Certificates.password(),
          made.store().getCertificateChain(alias));
    }
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, Certificates.password());
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", port)) {
      socket.setSoTimeout(1_000);
      socket.startHandshake();
      try (InputStream in = socket.getInputStream()) {
        assertThat(in.read()).as("nothing is said").isEqualTo(-1);
        throw new SSLException("closed");
      }
    }
  }

  private ActorSystem<Void> system(Certificates made, String node, String authority) throws Exception {
    String tls = ClusterReaderTest.tls(made.certificate(node), made.key(node), made.certificate(authority));
    ActorSystem<Void> system =
        ActorSystem.create(
            Behaviors.empty(),
            "kvasir",
            KvasirConfig.of(ConfigFactory.parseString("kvasir {\n" + tls + "}")).source().platform());
    systems.add(system);
    return system;
  }

  private static void join(ActorSystem<Void> system, ActorSystem<Void> at) {
    Cluster.get(system).manager().tell(Join.create(Cluster.get(at).selfMember().address()));
  }

  private static int up(ActorSystem<Void> system) {
    int up = 0;
    for (Member member : Cluster.get(system).state().getMembers()) {
      up += member.status().equals(MemberStatus.up()) ? 1 : 0;
    }
    return up;
  }
}
