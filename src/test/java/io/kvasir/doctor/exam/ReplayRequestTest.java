package io.kvasir.doctor.exam;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.HttpCalls;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class ReplayRequestTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  /** An engine replays on the thread that publishes: it is not to send all that it keeps. */
  @Test
  void rankOfWhichNothingWasHeard_sendsNoBatches_andAnswersAllTheSame() throws Exception {
    SimSettings settings =
        SimSettings.builder().port(0).speed(0).capacityBlocks(512).events(EventSettings.DEFAULT.withLoopback()).build();
    try (SimEngine engine = SimEngine.start(settings); HttpCalls calls = new HttpCalls(null, null)) {
      for (int i = 0; i < 3; i++) {
        String body =
            "{\"model\":\"kvasir-demo\",\"max_tokens\":1,\"prompt\":\"" + (i + " and the king. ").repeat(20) + "\"}";
        int _ =
            calls.send(
                    HttpCalls.Request.post(
                        engine.url().resolve("/v1/completions"), body.getBytes(StandardCharsets.UTF_8), TIMEOUT))
                .requireStatus(200)
                .status();
      }
      String endpoint = Objects.requireNonNull(engine.replayEndpoint());
      PeerSocket socket = ZmtpPeer.at(endpoint, "DEALER", TIMEOUT);

      ReplayExam unheard = ReplayRequest.send(endpoint, socket, -1, TIMEOUT);
      ReplayExam heard = ReplayRequest.send(endpoint, socket, 1, TIMEOUT);

      assertThat(unheard).isEqualTo(new ReplayExam(endpoint, socket, true, 0, -1, false, null));
      assertThat(heard.kept()).isGreaterThan(1);
    }
  }
}
