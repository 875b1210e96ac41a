package io.kvasir.app.neighbours;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.neighbours.NodeMessage.Endpoint;
import io.kvasir.app.neighbours.NodeMessage.Outcome;
import io.kvasir.app.neighbours.NodeMessage.PortProbe;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Ports as a node finds them, at real sockets; with certificates in {@code DoctorIT}. */
final class PortProberTest {
  private final PortProber prober = new PortProber("", new NodeTrust(null, null, null));

  private static ServerSocket listener() throws IOException {
    return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  private static Endpoint endpoint(NodePort port, int number, boolean tls) {
    return new Endpoint("h2:7625", port, "127.0.0.1", number, tls);
  }

  private Outcome outcome(Endpoint endpoint) throws InterruptedException {
    List<PortProbe> probes = prober.probe(List.of(endpoint));
    assertThat(probes).hasSize(1);
    PortProbe probe = probes.getFirst();
    assertThat(probe.endpoint()).isEqualTo(endpoint);
    assertThat(probe.detail().isEmpty()).isEqualTo(probe.outcome() == Outcome.OPEN);
    return probe.outcome();
  }

  @Test
  void aPortThatListens_isOpen_andOneThatDoesNotIsRefused() throws Exception {
    int port;
    try (ServerSocket node = listener()) {
      port = node.getLocalPort();
      assertThat(outcome(endpoint(NodePort.LINE, port, false))).isEqualTo(Outcome.OPEN);
    }
    assertThat(outcome(endpoint(NodePort.LINE, port, false))).isEqualTo(Outcome.REFUSED);
  }

  @Test
  void aProxyWithoutANode_isCut() throws Exception {
    try (ServerSocket proxy = listener()) {
      Thread cutting = Thread.startVirtualThread(() -> {
        try (Socket taken = proxy.accept()) {
          assertThat(taken.isConnected()).isTrue();
        } catch (IOException failed) {
          throw new AssertionError(failed);
        }
      });
      assertThat(outcome(endpoint(NodePort.CLUSTER, proxy.getLocalPort(), false))).isEqualTo(Outcome.CUT);
      cutting.join();
    }
  }

  @Test
  void tlsOnOneSideOnly_isUntrusted() throws Exception {
    assertThat(outcome(endpoint(NodePort.CLUSTER, 9, true))).isEqualTo(Outcome.UNTRUSTED);
    assertThat(outcome(endpoint(NodePort.MANAGEMENT, 9, true))).isEqualTo(Outcome.UNTRUSTED);
  }

  @Test
  void aNameThatIsUnknown_isSilent() throws Exception {
    Endpoint unknown = new Endpoint("h2:7625", NodePort.LINE, "no-such-host.invalid", 9, false);
    assertThat(outcome(unknown)).isEqualTo(Outcome.SILENT);
  }
}
