package io.kvasir.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.client.ScriptedPod;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams whose client does not read, beside others that do: whoever reads slowly waits alone. */
@Timeout(60)
final class SlowReaderTest {
  private static final int SLOW = 8;
  private static final String EVENT =
      "data: {\"choices\":[{\"delta\":{\"content\":\"" + "H".repeat(1000) + "\"}}]}\n\n";

  @Test
  void clientsThatDoNotRead_holdUpNobody_andLoseNothing() throws Exception {
    // More than sockets hold.
    List<String> events =
        Stream.concat(Stream.generate(() -> EVENT).limit(16_000), Stream.of("data: [DONE]\n\n")).toList();
    try (TestRouter router = new TestRouter();
        ScriptedPod pod = new ScriptedPod((request, out) -> out.stream(events))) {
      router.cells.worker("a", pod.url(), "m");
      List<Socket> slow = new ArrayList<>();
      for (int i = 0; i < SLOW; i++) {
        slow.add(ask(router));
        TestRouter.readTo(slow.getLast(), "\r\n\r\n");
      }
      assertThat(contentOf(ask(router))).isEqualTo(16_000);
      for (Socket each : slow) {
        assertThat(contentOf(each)).isEqualTo(16_000);
      }
    }
  }

  private static Socket ask(TestRouter router) throws IOException {
    Socket socket = router.connect();
    socket.getOutputStream()
        .write(TestRouter.wire("/v1/chat/completions", "{\"model\":\"m\",\"stream\":true}", "Connection", "close"));
    return socket;
  }

  private static long contentOf(Socket socket) throws IOException {
    try (socket) {
      String all = new String(socket.getInputStream().readAllBytes(), UTF_8);
      assertThat(all).contains("data: [DONE]").endsWith("0\r\n\r\n");
      String unframed = all.replaceAll("\r\n[0-9a-f]+\r\n", "");
      return unframed.split("HHHHH\"", -1).length - 1L;
    }
  }
}
