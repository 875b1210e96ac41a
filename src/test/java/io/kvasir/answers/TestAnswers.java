package io.kvasir.answers;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.answers.AnswerSettings.StoreSettings;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Settings, requests and answers as tests want them. */
public final class TestAnswers {
  public static final String CHAT = "/v1/chat/completions";
  public static final String JSON = "application/json";
  public static final String EVENTS = "text/event-stream; charset=utf-8";

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private TestAnswers() {}

  /** In memory, nothing shared. */
  public static AnswerSettings memory() {
    return settings(new StoreSettings.Memory(64 << 20), 16 << 20, 64 << 20, false, 10_000);
  }

  /** In memory, with answers on their way shared. */
  public static AnswerSettings shared() {
    return settings(new StoreSettings.Memory(64 << 20), 16 << 20, 64 << 20, true, 10_000);
  }

  public static AnswerSettings settings(
      StoreSettings store, int maxEntry, long recording, boolean shared, int maxWaiters) {
    return new AnswerSettings(
        store, Duration.ofHours(1), maxEntry,
        new AnswerSettings.EligibilitySettings(Set.of("batch"), List.of("send_*")),
        new AnswerSettings.KeySettings(List.of("anthropic-version"), Set.of("user")),
        new AnswerSettings.SharingSettings(shared, maxWaiters), recording);
  }

  /** A server at a port that is given up quickly and asked often. */
  public static StoreSettings.Redis redis(int port, @Nullable String password) {
    return new StoreSettings.Redis(
        URI.create("redis://127.0.0.1:" + port), password, null, "test:answers", Duration.ofSeconds(2),
        Duration.ofSeconds(2), 8, Duration.ofMillis(20));
  }

  static AnswerCache cache(AnswerSettings settings) throws IOException {
    return cache(settings, InstantSource.system());
  }

  static AnswerCache cache(AnswerSettings settings, InstantSource clock) throws IOException {
    return new AnswerCache(settings, clock, new Metrics(new PrometheusRegistry()));
  }

  static AnswerRequest request(String path, String body, String... headers) {
    return requestOf("t", path, body, headers);
  }

  static AnswerRequest requestOf(String tenant, String path, String body, String... headers) {
    Map<String, String> named = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    for (int i = 0; i < headers.length; i += 2) {
      named.put(headers[i], headers[i + 1]);
    }
    try {
      return new AnswerRequest(path, "", tenant, "key " + tenant, "m", "p", named::get, MAPPER.readTree(body));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(body, e);
    }
  }

  static Lookup.Miss miss(Lookup lookup) {
    if (lookup instanceof Lookup.Miss miss) {
      return miss;
    }
    throw new AssertionError("not a miss: " + lookup);
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** A whole chat completion that says something. */
  public static String chat(String says) {
    return "{\"id\":\"c\",\"choices\":[{\"index\":0,\"message\":{\"content\":\"" + says
        + "\"},\"finish_reason\":\"stop\"}],\"usage\":{}}";
  }

  /** A clock that stands until it is set. */
  static final class Clock implements InstantSource {
    private volatile Instant now = Instant.parse("2026-01-01T00:00:00Z");

    @Override
    public Instant instant() {
      return now;
    }

    void pass(Duration time) {
      now = now.plus(time);
    }
  }
}
