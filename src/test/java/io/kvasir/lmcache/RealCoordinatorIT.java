package io.kvasir.lmcache;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.HttpCalls;
import io.kvasir.index.Tier;
import io.kvasir.lmcache.LookupSource.Location;
import io.kvasir.lmcache.LookupSource.Prompt;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * LMCache's own coordinator, with its default size of chunks, before whom this acts as the servers that store and drop.
 * Runs where {@code LMCACHE_COORDINATOR} is the address of one that knows nobody: {@code python -m
 * lmcache.v1.mp_coordinator}, which needs no accelerator.
 */
@EnabledIfEnvironmentVariable(named = "LMCACHE_COORDINATOR", matches = ".+")
final class RealCoordinatorIT {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final int RANKS = 2;

  private final URI coordinator = URI.create(String.valueOf(System.getenv("LMCACHE_COORDINATOR")));
  private final HttpCalls calls = new HttpCalls();
  private final KeyDirectory directory =
      new KeyDirectory(
          new LmCacheSettings(
              coordinator, null, new LmCacheSettings.PollSettings(PATIENCE, PATIENCE.multipliedBy(2)),
              new LmCacheSettings.LookupSettings(PATIENCE, 256, 4, PATIENCE, false), Map.of(), null),
          new KeyDirectorySettings(RANKS, Map.of()), calls);
  /** Any, so that a coordinator may be tried twice. */
  private final String model = "/models/m-" + System.nanoTime();
  private int sequence;

  @AfterEach
  void close() {
    calls.close();
  }

  @Test
  void storedChunks_areFound_byModelAndSalt_untilTheyAreDropped() throws Exception {
    JsonNode _ = post("/instances", JSON.createObjectNode().put("instance_id", model).put("ip", "127.0.0.1")
        .put("http_port", 8080));
    Prompt prompt = new Prompt(model, IntStream.range(0, 700).map(i -> i - 1).toArray(), "s");
    ArrayNode keys = keys(prompt);
    assertThat(keys).hasSize(2 * RANKS);
    assertThat(directory.lookup(prompt).get()).isEmpty();

    publish("store", "l1", "dram", false, keys);
    assertThat(directory.lookup(prompt).get()).containsExactly(new Location(model, Tier.HOST, 512));
    assertThat(directory.lookup(new Prompt(model, prompt.tokens(), "t")).get()).isEmpty();
    assertThat(directory.lookup(new Prompt("other", prompt.tokens(), "s")).get()).isEmpty();
    assertThat(directory.workers())
        .anyMatch(row -> row.instance().equals(model) && row.keys() == 2 * RANKS);

    publish("store", "l2", "s3", true, keys);
    ArrayNode last = JSON.createArrayNode().add(keys.get(keys.size() - 1));
    publish("delete", "l1", "dram", false, last);
    assertThat(directory.lookup(prompt).get()).containsExactlyInAnyOrder(
        new Location(model, Tier.HOST, 256), new Location("", Tier.REMOTE, 512));
    publish("delete", "l2", "s3", true, keys);
    publish("delete", "l1", "dram", false, keys);
    assertThat(directory.lookup(prompt).get()).isEmpty();
  }

  /** As the coordinator names the prompt's chunks, of each rank. */
  private ArrayNode keys(Prompt prompt) throws Exception {
    ObjectNode body =
        JSON.createObjectNode().put("model_name", model).put("world_size", RANKS).put("cache_salt", prompt.salt());
    ArrayNode tokens = body.putArray("token_ids");
    for (int token : prompt.tokens()) {
      tokens.add(Integer.toUnsignedLong(token));
    }
    ArrayNode keys = JSON.createArrayNode();
    post("/directory/lookup", body).path("results").forEach(row -> keys.add(row.path("key")));
    return keys;
  }

  private void publish(String type, String tier, String backend, boolean shared, ArrayNode keys) throws Exception {
    sequence++;
    ObjectNode body = JSON.createObjectNode();
    ObjectNode batch =
        body.putArray("batches").addObject().put("instance_id", model).put("incarnation", 1).put("seq", sequence)
            .put("event_type", type).put("tier", tier).put("backend", backend).put("shared", shared);
    ArrayNode entries = batch.putArray("entries");
    keys.forEach(key -> entries.addObject().put("size_bytes", 1).set("key", key));
    assertThat(post("/events", body).path("applied").asInt()).isEqualTo(1);
  }

  private JsonNode post(String path, ObjectNode body) throws Exception {
    return calls.send(
            HttpCalls.Request.post(
                coordinator.resolve(path), body.toString().getBytes(StandardCharsets.UTF_8), PATIENCE))
        .requireStatus(200).jsonObject();
  }
}
