package io.kvasir.app.membership;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.net.ServerSocket;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Address;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A detector that gives a silent node so much time that only what its machine says can tell of its end. */
final class NodeFailureDetectorTest {
  private final ActorSystem system = ActorSystem.create("detector", ConfigFactory.load());

  @AfterEach
  void stop() {
    system.terminate();
  }

  @Test
  void silence_ofANodeThatListens_isNoFailure() throws Exception {
    try (ServerSocket node = ConnectResultTest.listener()) {
      NodeFailureDetector detector = detector(node);
      assertThat(detector.isMonitoring()).isFalse();
      detector.heartbeat();
      while (!isAsked(node)) {
        assertThat(detector.isAvailable()).isTrue();
      }
      assertThat(detector.isMonitoring()).isTrue();
      assertThat(detector.isAvailable()).isTrue();
    }
  }

  @Test
  void processGone_isAFailureAtOnce_untilAHeartbeatComes() throws Exception {
    ServerSocket node = ConnectResultTest.listener();
    NodeFailureDetector detector = detector(node);
    detector.heartbeat();
    node.close();
    await("the crash is noticed", () -> !detector.isAvailable());
    detector.heartbeat();
    assertThat(detector.isAvailable()).isTrue();
  }

  /** Whether somebody has connected; waits a moment for it. */
  private static boolean isAsked(ServerSocket node) throws java.io.IOException {
    node.setSoTimeout(5);
    try {
      node.accept().close();
      return true;
    } catch (java.net.SocketTimeoutException notYet) {
      return false;
    }
  }

  private NodeFailureDetector detector(ServerSocket node) {
    Config config =
        ConfigFactory.parseString(
                "heartbeat-interval = 10 ms, acceptable-heartbeat-pause = 1 h, expected-response-after = 1 h")
            .withFallback(system.settings().config().getConfig("pekko.cluster.failure-detector"));
    NodeFailureDetector detector = new NodeFailureDetector(config, system.eventStream());
    detector.setAddress(new Address("pekko", "kvasir", "127.0.0.1", node.getLocalPort()).toString());
    return detector;
  }
}
