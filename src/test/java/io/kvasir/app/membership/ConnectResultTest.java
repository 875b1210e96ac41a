package io.kvasir.app.membership;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ConnectResultTest {
  private static final Duration PATIENCE = Duration.ofMillis(300);

  @Test
  void with_aListener_answers() throws Exception {
    try (ServerSocket node = listener()) {
      assertThat(ConnectResult.probe(address(node), "", PATIENCE)).isEqualTo(ConnectResult.ACCEPTED);
    }
  }

  @Test
  void with_anAddressToComeFrom_comesFromThere() throws Exception {
    try (ServerSocket node = listener()) {
      assertThat(ConnectResult.probe(address(node), "127.0.1.7", PATIENCE)).isEqualTo(ConnectResult.ACCEPTED);
      try (Socket taken = node.accept()) {
        assertThat(taken.getInetAddress().getHostAddress()).isEqualTo("127.0.1.7");
      }
    }
  }

  @Test
  void with_nobodyThere_refuses() throws Exception {
    ServerSocket node = listener();
    node.close();
    assertThat(ConnectResult.probe(address(node), "", PATIENCE)).isEqualTo(ConnectResult.REFUSED);
  }

  @Test
  void with_aProxyThatLetsNobodyIn_isSilent() throws Exception {
    try (ServerSocket proxy = listener()) {
      Thread cutting =
          Thread.startVirtualThread(
              () -> {
                try (Socket taken = proxy.accept()) {
                  assertThat(taken.isConnected()).isTrue();
                } catch (java.io.IOException e) {
                  throw new AssertionError(e);
                }
              });
      assertThat(ConnectResult.probe(address(proxy), "", Duration.ofSeconds(60))).isEqualTo(ConnectResult.INCONCLUSIVE);
      cutting.join();
    }
  }

  static ServerSocket listener() throws java.io.IOException {
    return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  static InetSocketAddress address(ServerSocket socket) {
    return InetSocketAddress.createUnresolved("127.0.0.1", socket.getLocalPort());
  }
}
