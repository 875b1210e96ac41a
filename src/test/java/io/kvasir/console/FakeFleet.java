package io.kvasir.console;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A fleet for the console to show: workers made by number, in which something is always wrong, and the other answers of
 * the admin API from {@code answers.json}. Its figures move each time it goes on. Thread-safe.
 */
final class FakeFleet {
  /** Names that would be harmful if a page took them for markup. */
  static final String MARKUP = "<img src=x onerror=\"window.hurt=1\"><script>window.hurt=1</script>";

  /** The lists that are objects by key where they are watched. */
  static final Map<String, List<String>> KEYS =
      Map.of(
          "workers", List.of("id"), "sources", List.of("worker", "source"), "cells", List.of("name"),
          "nodes", List.of("address"), "by_node", List.of("node"), "tenants", List.of("tenant"));

  /** Samples of the vitals before a page is opened. */
  static final int PAST = 175;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final Random random = new Random(7);
  private final ObjectNode answers;
  private final ArrayNode workers = JSON.createArrayNode();

  FakeFleet(int size) {
    try (InputStream file = FakeFleet.class.getResourceAsStream("answers.json")) {
      this.answers = (ObjectNode) JSON.readTree(file);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    for (int i = 0; i < size; i++) {
      workers.add(worker(i));
    }
    answers.putObject("workers").set("workers", workers);
    ArrayNode past = answers.putObject("vitals/history").put("scope", "cluster").put("step_s", 5).putArray("samples");
    for (int step = PAST; step > 0; step--) {
      goOn();
      ObjectNode sample = answers.path("vitals").deepCopy();
      past.add(sample.put("time", Instant.now().minusSeconds(5L * step).toString()).put("nodes", 2));
    }
    ((ObjectNode) answers.path("vitals")).putObject("workers").put("healthy", size - 1).put("known", size)
        .put("draining", 1);
  }

  /** What a GET of a path is answered, null when there is nothing. */
  synchronized @Nullable JsonNode answer(String path) {
    if (path.equals("openapi.json")) {
      ObjectNode document = JSON.createObjectNode();
      ObjectNode paths = document.putObject("paths");
      answers.fieldNames().forEachRemaining(name -> paths.putObject("/admin/" + name));
      return document;
    }
    if (path.startsWith("workers/")) {
      ObjectNode pod = JSON.createObjectNode().put("pod", path.substring("workers/".length()));
      pod.set("history", answers.path("history"));
      return pod;
    }
    if (path.startsWith("decisions/")) {
      return answers.at("/decisions/decisions/0");
    }
    if (path.equals("explain")) {
      ObjectNode answer = answers.at("/decisions/decisions/0").deepCopy();
      answer.putObject("compared").set("least-loaded", answers.at("/decisions/decisions/0"));
      return answer;
    }
    JsonNode answer = answers.get(path);
    return answer == null ? null : answer.deepCopy();
  }

  /** Another second has gone by. */
  synchronized void goOn() {
    ObjectNode vitals = (ObjectNode) answers.path("vitals");
    vitals.put("time", Instant.now().toString()).put("requests_per_s", 80 + random.nextInt(400) / 10.0)
        .put("in_flight", 40 + random.nextInt(30)).put("waiting", random.nextInt(4));
    ((ObjectNode) vitals.path("ttft_ms")).put("p50", 160 + random.nextInt(60)).put("p90", 600 + random.nextInt(400));
    ((ObjectNode) vitals.path("tokens")).put("delivered", 0.6 + random.nextInt(80) / 1000.0);
    for (JsonNode worker : workers) {
      ((ObjectNode) worker).put("in_flight", random.nextInt(24));
    }
  }

  /** What an administrator asked for: a pod drains or serves, the demo's traffic runs or not. */
  synchronized void change(String path, JsonNode body) {
    String[] parts = path.split("/", -1);
    for (JsonNode worker : workers) {
      if (parts.length == 3 && worker.path("pod").asText().equals(parts[1])) {
        ((ObjectNode) worker).put("draining", parts[2].equals("drain"));
      }
    }
    if (path.equals("demo")) {
      answers.set("demo", body);
    }
  }

  private ObjectNode worker(int number) {
    boolean strange = number == 2;
    ObjectNode worker = JSON.createObjectNode();
    worker
        .put("id", strange ? MARKUP : "vllm-%d".formatted(number)).put("pod", "vllm-%d".formatted(number))
        .put("url", "http://10.0.%d.%d:8000".formatted(number / 250, number % 250 + 1))
        .put("rank", 0).put("ranks", 1).put("role", number % 4 == 3 ? "decode" : number % 4 == 1 ? "prefill" : "both")
        .put("max_in_flight", 64).put("engine", "h100-Qwen3-32B-tp2")
        .put("cell", number % 3 == 0 ? "qwen3-32b" : number % 3 == 1 ? "qwen3-32b-2" : "llama-70b")
        .put("health", number == 5 ? "unhealthy" : "healthy")
        .put("why", number == 5 ? "connect: no answer within 2 s, three times" : "")
        .put("draining", number == 7).put("drained", false).put("suspect", number == 9)
        .put("in_flight", random.nextInt(24)).put("pending_tokens", random.nextInt(90_000))
        .put("blocks", random.nextInt(40_000)).put("predicted_blocks", random.nextInt(200))
        .put("trust", number == 9 ? 0.4 : 1).put("resyncs", number == 9 ? 3 : 0).put("last_sequence", 48_211 + number)
        .put("capacity_blocks", 40_000).put("event_lag_ms", random.nextInt(30));
    if (number != 11) {
      worker.put("cache_fill", worker.path("blocks").asInt() / 40_000.0);
    }
    worker.putArray("models").add(number % 3 == 2 ? strange ? MARKUP : "Llama-3.3-70B" : "Qwen3-32B");
    worker.putObject("labels").put("zone", "eu-north-1" + "abc".charAt(number % 3));
    worker.putObject("engine_reports").put("running", random.nextInt(20)).put("waiting", random.nextInt(6))
        .put("kv_use", random.nextInt(100) / 100.0);
    worker.putObject("promises").put("kept", 1832).put("broken", 12);
    worker.putObject("cost").put("ms_per_token", 0.0213).put("ms_per_pair", 1.2e-6).put("samples", 4211);
    return worker;
  }
}
