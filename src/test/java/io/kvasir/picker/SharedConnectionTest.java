package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import io.kvasir.gateway.GatewayAccess;
import io.kvasir.time.ManualClock;
import java.net.URI;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Streams that share a proxy's connection. */
final class SharedConnectionTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[]}";
  private static final int PIECE = 256 << 10;

  /** It waits for as long as the clock stands still, with more on its way than a stream may send. */
  @Test
  void bodiesThatWaitForMemory_keepNoOtherStreamWaiting() throws Exception {
    PickerSettings settings = TestPicker.SETTINGS;
    ManualClock clock = new ManualClock();
    try (TestPicker picker =
        new TestPicker(
            new PickerSettings(
                settings.listener(), PickerSettings.Limits.of(8 << 20, 8 << 20), true, 0, false,
                Duration.ofMillis(300), false, settings.pools()),
            GatewayAccess.open(), clock)) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      TestStream[] waiting = new TestStream[4];
      for (int i = 0; i < waiting.length; i++) {
        waiting[i] = picker.stream().head("POST", CHAT, false);
        for (int sent = 0; sent < 24 * PIECE; sent += PIECE) {
          waiting[i].body("x".repeat(PIECE), false);
        }
      }
      Await.await(() -> picker.metric("kvasir_picker_memory_waits") == waiting.length);

      // While the first are answered, the others send what they may.
      for (int i = 0; i < 20; i++) {
        TestStream other = picker.stream().head("POST", CHAT, false).body(BODY, true);
        other.destined();
        assertThat(other.echo()).isEqualTo(BODY);
        other.cancel();
      }
      for (TestStream each : waiting) {
        assertThat(each.hasReply()).isFalse();
        each.cancel();
      }
      Await.await(() -> picker.metric("kvasir_picker_memory_used_bytes") == 0);
    }
  }
}
