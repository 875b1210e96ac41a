package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.answers.AnswerCache;
import io.kvasir.answers.AnswerSettings;
import io.kvasir.answers.TestAnswers;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class CacheHandlerTest {
  @Test
  void figures_tellTheStoreAndWhatItDid() throws IOException {
    try (AnswerCache cache = open(TestAnswers.memory())) {
      JsonNode figures = call(cache, "GET", "/admin/cache", "", 200);
      assertThat(figures.path("store").asText()).isEqualTo("memory");
      assertThat(figures.path("available").asBoolean()).isTrue();
      assertThat(figures.path("entries").asInt(-1)).isZero();
      assertThat(figures.path("hits").asInt(-1)).isZero();
      assertThat(figures.path("bypassed").path("sampled").asInt(-1)).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"{\"all\":true}", "{\"tenant\":\"\"}", "{\"model\":\"m\"}", "{\"tenant\":\"t\",\"model\":\"m\"}"})
  void flush_takesLimits(String body) throws IOException {
    try (AnswerCache cache = open(TestAnswers.memory())) {
      JsonNode done = call(cache, "POST", "/admin/cache/flush", body, 200);
      assertThat(done.path("forgotten").asInt(-1)).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "{}", "[]", "{\"all\":false}", "{\"all\":true,\"tenant\":\"t\"}", "{\"tennant\":\"t\"}", "{\"tenant\":1}",
        "{\"tenant\":\"t\",\"model\":null}", "{\"tenant\":"
      })
  void flush_withoutAClearLimit_forgetsNothing(String body) throws IOException {
    try (AnswerCache cache = open(TestAnswers.memory())) {
      JsonNode refused = call(cache, "POST", "/admin/cache/flush", body, 400);
      assertThat(refused.at("/error/message").asText()).contains("{\"all\": true}");
    }
  }

  @Test
  void flush_storeAway_saysSo() throws IOException {
    try (AnswerCache cache = open(TestAnswers.settings(TestAnswers.redis(1, null), 1, 1, false, 1))) {
      JsonNode refused = call(cache, "POST", "/admin/cache/flush", "{\"all\":true}", 503);
      assertThat(refused.at("/error/message").asText()).contains("redis://127.0.0.1:1");
      JsonNode figures = call(cache, "GET", "/admin/cache", "", 200);
      assertThat(figures.path("available").asBoolean(true)).isFalse();
    }
  }

  @Test
  void withoutACache_saysOff() throws IOException {
    assertThat(call(null, "GET", "/admin/cache", "", 200).path("store").asText()).isEqualTo("off");
    call(null, "POST", "/admin/cache/flush", "{\"all\":true}", 409);
    call(null, "PUT", "/admin/cache", "", 405);
    call(null, "GET", "/admin/cache/flush", "", 405);
    call(null, "GET", "/admin/cache/nothing", "", 404);
  }

  private static AnswerCache open(AnswerSettings settings) throws IOException {
    return new AnswerCache(settings, InstantSource.system(), new Metrics(new PrometheusRegistry()));
  }

  private static JsonNode call(
      @Nullable AnswerCache cache, String method, String target, String body, int status) throws IOException {
    return TestAdmin.call(new CacheHandler(cache), method, target, body, status);
  }
}
