package io.kvasir.execution.attempt;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.execution.Call.ClientHttp;
import io.kvasir.http.Headers;
import io.kvasir.time.ManualClock;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class QuarantineTest {
  private final ManualClock clock = new ManualClock();
  private final Quarantine quarantine = new Quarantine(Duration.ofMinutes(1), clock);

  @Test
  void aRequestStaysForItsTime() {
    assertThat(add(quarantine, request("/v1/completions", "a"))).isTrue();
    clock.advance(Duration.ofSeconds(30));
    assertThat(add(quarantine, request("/v1/completions", "a"))).as("it is in already").isFalse();
    clock.advance(Duration.ofSeconds(29));
    assertThat(quarantine.contains(request("/v1/completions", "a"))).isTrue();
    clock.advance(Duration.ofSeconds(1));
    assertThat(quarantine.contains(request("/v1/completions", "a"))).isFalse();
    assertThat(add(quarantine, request("/v1/completions", "a"))).isTrue();
  }

  @Test
  void onlyTheSameRequestIsInIt() {
    add(quarantine, request("/v1/completions", "ab"));

    assertThat(quarantine.contains(request("/v1/completions", "ab"))).isTrue();
    assertThat(quarantine.contains(request("/v1/completions", "ba"))).isFalse();
    assertThat(quarantine.contains(request("/v1/completions", "abc"))).isFalse();
    assertThat(quarantine.contains(request("/v1/responses", "ab"))).isFalse();
    assertThat(quarantine.contains(new ClientHttp("PUT", "/v1/completions", Headers.EMPTY, bytes("ab")))).isFalse();
  }

  @Test
  void theLatestStay() {
    for (int i = 0; i <= Quarantine.MAX_REQUESTS; i++) {
      add(quarantine, request("/v1/completions", Integer.toString(i)));
    }
    assertThat(quarantine.contains(request("/v1/completions", "0"))).isFalse();
    assertThat(quarantine.contains(request("/v1/completions", "1"))).isTrue();
    assertThat(quarantine.contains(request("/v1/completions", "" + Quarantine.MAX_REQUESTS))).isTrue();
  }

  @Test
  void earlierOnesEndWhileLaterOnesStay() {
    add(quarantine, request("/v1/completions", "a"));
    clock.advance(Duration.ofSeconds(40));
    add(quarantine, request("/v1/completions", "b"));
    clock.advance(Duration.ofSeconds(40));

    assertThat(quarantine.contains(request("/v1/completions", "a"))).isFalse();
    assertThat(quarantine.contains(request("/v1/completions", "b"))).isTrue();
  }

  @Test
  void withoutATimeNothingIsKept() {
    Quarantine off = new Quarantine(null, clock);

    assertThat(add(off, request("/v1/completions", "a"))).isFalse();
    assertThat(off.contains(request("/v1/completions", "a"))).isFalse();
  }

  @Test
  void theSecondSuspicionWithinItsTimeCounts() {
    ClientHttp request = request("/v1/completions", "a");
    assertThat(quarantine.suspect(quarantine.fingerprint(request))).isFalse();
    assertThat(quarantine.suspect(quarantine.fingerprint(request("/v1/completions", "b")))).isFalse();
    assertThat(quarantine.contains(request)).isFalse();
    clock.advance(Duration.ofMinutes(9));
    assertThat(quarantine.suspect(quarantine.fingerprint(request))).isTrue();
    assertThat(quarantine.contains(request)).isTrue();

    clock.advance(Duration.ofMinutes(5));
    assertThat(quarantine.contains(request)).isFalse();
    assertThat(quarantine.suspect(quarantine.fingerprint(request))).as("once more").isTrue();
    clock.advance(Duration.ofMinutes(10));
    assertThat(quarantine.suspect(quarantine.fingerprint(request))).as("long ago").isFalse();
    assertThat(new Quarantine(null, clock).suspect(quarantine.fingerprint(request))).isFalse();
  }

  private static boolean add(Quarantine to, ClientHttp request) {
    return to.add(to.fingerprint(request));
  }

  private static ClientHttp request(String target, String body) {
    return new ClientHttp("POST", target, Headers.EMPTY, bytes(body));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
