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
import io.kvasir.sim.lmcache.CacheCoordinator;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The directory of a coordinator with LMCache's default size of chunks, before which this acts as the servers that
 * store and drop. The coordinator is the simulator's; where {@code LMCACHE_COORDINATOR} is the address of LMCache's own
 * ({@code python -m lmcache.v1.mp_coordinator}, which needs no accelerator), it is that one, and both are held to the
 * same.
 */
final class CoordinatorIT {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final int RANKS = 2;

  private final @Nullable CacheCoordinator simulated;
  private final URI coordinator;
  private final HttpCalls calls = new HttpCalls();
  private final KeyDirectory directory;
  /** Any, so that a coordinator may be tried twice. */
  private final String model = "/models/m-" + System.nanoTime();
  private int sequence;
  private int incarnation = 1;

  CoordinatorIT() throws IOException {
    String real = System.getenv("LMCACHE_COORDINATOR");
    simulated = real == null ? CacheCoordinator.start("127.0.0.1", 0, Duration.ofSeconds(30)) : null;
    coordinator = simulated == null ? URI.create(String.valueOf(real)) : simulated.url();
    directory =
        new KeyDirectory(
            new LmCacheSettings(
                coordinator, null, new LmCacheSettings.PollSettings(PATIENCE, PATIENCE.multipliedBy(2)),
                new LmCacheSettings.LookupSettings(PATIENCE, 256, 4, PATIENCE, false), Map.of(), null),
            new KeyDirectorySettings(RANKS, Map.of()), calls);
  }

  @AfterEach
  void close() {
    calls.close();
    if (simulated != null) {
      simulated.close();
    }
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

  @Test
  void restartedServer_holdsNothingOfBefore_andWhatComesLateOrAgainIsDropped() throws Exception {
    Prompt prompt = new Prompt(model, IntStream.range(0, 300).toArray(), "");
    ArrayNode keys = keys(prompt);
    incarnation = 2;
    publish("store", "l1", "dram", false, keys);
    incarnation = 1;
    assertThat(publish(7, "store", "l1", keys).path("stale").asInt()).isEqualTo(1);
    incarnation = 2;
    assertThat(publish(sequence, "delete", "l1", keys).path("duplicates").asInt()).isEqualTo(1);
    assertThat(directory.lookup(prompt).get()).containsExactly(new Location(model, Tier.HOST, 256));

    incarnation = 3;
    assertThat(publish(1, "store", "l1", JSON.createArrayNode()).path("applied").asInt()).isEqualTo(1);
    assertThat(directory.lookup(prompt).get()).isEmpty();
  }

  /** As LMCache 0.5.6 names them. */
  @Test
  void namesOfChunks_areLmCaches() throws Exception {
    Prompt prompt = new Prompt(model, IntStream.range(0, 512).toArray(), "s");
    assertThat(keys(prompt)).extracting(key -> key.path("chunk_hash_hex").asText()).containsExactly(
        "084547b6c40ed5b05ba8cd0305db5bf74d5617673948d9ed193ab7d6cbc484d4",
        "084547b6c40ed5b05ba8cd0305db5bf74d5617673948d9ed193ab7d6cbc484d4",
        "e5ffee45c2b9db326814c9692dc594369887ba3b0df5761817820b60f864c8e0",
        "e5ffee45c2b9db326814c9692dc594369887ba3b0df5761817820b60f864c8e0");
    assertThat(keys(prompt).get(1).toString()).endsWith(
        ",\"model_name\":\"" + model + "\",\"kv_rank\":33620481,\"object_group_id\":0,\"cache_salt\":\"s\"}");
  }

  /** With the words of LMCache 0.5.6. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      /directory/lookup | {} | 422 | supply exactly one of 'keys' or 'token_ids'
      /directory/lookup | {"token_ids":[1]} | 422 | 'model_name' is required with 'token_ids'
      /directory/lookup | {"token_ids":[1],"model_name":"m","cache_salt":"a/b"} | 400 | "cache_salt must not contain
      /directory/lookup | {"token_ids":[1],"model_name":"m","world_size":0} | 422 | {"ge":1}
      /directory/lookup | {"keys":[{"chunk_hash_hex":"00","model_name":"m"}]} | 422 | ["body","keys",0,"kv_rank"]
      /directory/lookup | {"keys":[{"chunk_hash_hex":"0z","model_name":"m","kv_rank":1}]} | 422 | at position 1
      /directory/lookup | {"keys":[{"chunk_hash_hex":"0F","model_name":"m","kv_rank":1}]} | 200 | _hash_hex":"0F"
      /directory/lookup | {"token_ids":[1],"model_name":"m"} | 200 | {"chunks":0,"results":[]}
      /events | {} | 200 | {"applied":0,"duplicates":0,"stale":0}
      /events | {"batches":[{"instance_id":"a"}]} | 422 | ["body","batches",0,"incarnation"]
      """)
  void whatCannotBeMeant_isRefused_inItsWords(String path, String body, int status, String words) throws Exception {
    HttpCalls.Reply reply = calls.send(
        HttpCalls.Request.post(coordinator.resolve(path), body.getBytes(StandardCharsets.UTF_8), PATIENCE));
    assertThat(reply.status()).isEqualTo(status);
    assertThat(new String(reply.body(), StandardCharsets.UTF_8)).contains(words);
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
    assertThat(publish(sequence, type, tier, backend, shared, keys).path("applied").asInt()).isEqualTo(1);
  }

  private JsonNode publish(int number, String type, String tier, ArrayNode keys) throws Exception {
    return publish(number, type, tier, "dram", false, keys);
  }

  private JsonNode publish(int number, String type, String tier, String backend, boolean shared, ArrayNode keys)
      throws Exception {
    ObjectNode body = JSON.createObjectNode();
    ObjectNode batch =
        body.putArray("batches").addObject().put("instance_id", model).put("incarnation", incarnation)
            .put("seq", number).put("event_type", type).put("tier", tier).put("backend", backend)
            .put("shared", shared);
    ArrayNode entries = batch.putArray("entries");
    keys.forEach(key -> entries.addObject().put("size_bytes", 1).set("key", key));
    return post("/events", body);
  }

  private JsonNode post(String path, ObjectNode body) throws Exception {
    return calls.send(
            HttpCalls.Request.post(
                coordinator.resolve(path), body.toString().getBytes(StandardCharsets.UTF_8), PATIENCE))
        .requireStatus(200).jsonObject();
  }
}
