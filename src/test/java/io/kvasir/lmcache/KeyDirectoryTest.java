package io.kvasir.lmcache;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.index.Chain;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import io.kvasir.routing.TestFacts;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** LMCache in its multi-process mode, over sockets, with the documents of LMCache 0.5.6's coordinator. */
final class KeyDirectoryTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final int CHUNK = 256;
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /** What the coordinator answers, by the path. */
  private volatile String lookup = "{}";
  private volatile String stats = stats("{}");
  private volatile int status = 200;

  private final ScriptedPod coordinator = new ScriptedPod((request, out) -> {
    switch (request.target()) {
      case "/instances" -> out.json(status, """
          {"instances":[
           {"instance_id":"node-a","ip":"10.0.0.1","http_port":8080,"registration_time":1763900000.5,"metadata":{},
            "p2p_advertised_url":"","mq_port":0},
           {"instance_id":"w1","ip":"10.0.0.2","http_port":8080,"registration_time":1763900001.5,"metadata":{},
            "p2p_advertised_url":"","mq_port":0}]}
          """);
      case "/directory/stats" -> out.json(status, stats);
      case "/directory/lookup" -> out.json(status, lookup);
      default -> out.json(404, "{\"detail\":\"Not Found\"}");
    }
  });
  private @Nullable LmCache lmcache;

  @AfterEach
  void close() {
    if (lmcache != null) {
      lmcache.close();
    }
    coordinator.close();
  }

  private LmCache start(int worldSize) {
    return start(worldSize, Duration.ofMillis(1));
  }

  private LmCache start(int worldSize, Duration remember) {
    LmCache started =
        new LmCache(
            new LmCacheSettings(
                coordinator.url(), new KeyDirectorySettings(worldSize, Map.of("m", "/models/m")),
                new LmCacheSettings.PollSettings(Duration.ofMillis(100), Duration.ofMinutes(1)),
                new LmCacheSettings.LookupSettings(TIMEOUT, CHUNK, 4, remember, false),
                Map.of("node-a", "w0"), null),
            NanoClock.SYSTEM);
    started.start(
        () -> Set.of("w0", "w1"), () -> true, CostModel.bundled(), new Metrics(new PrometheusRegistry()));
    lmcache = started;
    return started;
  }

  private static String stats(String keys) {
    return """
        {"num_keys":12,"num_placements":14,"l1_keys_by_instance":%s,
         "blend":{"num_chunks":0,"num_namespaces":0},"l1_count":12,"l1_size_bytes":1,"l2_count":2,"l2_size_bytes":1}
        """.formatted(keys);
  }

  /** A chunk's row. */
  private static String row(int chunk, int rank, String... placements) {
    return """
        {"key":{"chunk_hash_hex":"%064x","model_name":"/models/m","kv_rank":%d,"object_group_id":0,"cache_salt":"s"},
         "placements":[%s],"token_ids":[1,2,3],"access_count":0}
        """.formatted(chunk, rank, String.join(",", placements));
  }

  private static String placement(String instance, String tier, String backend, boolean shared) {
    return """
        {"instance_id":"%s","incarnation":1,"tier":"%s","backend":"%s","size_bytes":9,"shared":%s}"""
        .formatted(instance, tier, backend, shared);
  }

  private static String memory(String instance) {
    return placement(instance, "l1", "dram", false);
  }

  private static String disk(String instance) {
    return placement(instance, "l2", "fs", false);
  }

  private static String shared() {
    return placement("w1", "l2", "s3", true);
  }

  private static String answer(int chunks, String... rows) {
    return "{\"chunks\":" + chunks + ",\"results\":[" + String.join(",", rows) + "]}";
  }

  private static RoutingContext prompt(int chunks) {
    return prompt("m", "s", chunks);
  }

  private static RoutingContext prompt(String model, String salt, int chunks) {
    int[] tokens = IntStream.range(0, chunks * CHUNK + 7).map(i -> i - 1).toArray();
    return new RoutingContext("r", model, Role.BOTH, Set.of())
        .put(Slots.CHAIN, new Chain(LongStream.rangeClosed(1, (long) chunks * CHUNK / 16).toArray(), 16))
        .put(Slots.PROMPT_TOKENS, (long) tokens.length)
        .put(Slots.FACTS, new TestFacts(Map.of("cache_salt", salt), () -> tokens));
  }

  private static CacheMatches find(LmCache cache, int chunks) {
    return cache.find(prompt(chunks)).toCompletableFuture().join();
  }

  private static Set<String> found(CacheMatches matches) {
    return matches.matches().stream()
        .map(match -> match.worker() + "=" + match.tokens() + "@" + match.tier().name())
        .collect(Collectors.toSet());
  }

  @Test
  void promptIsLookedUp_asWholeChunks_underTheEnginesNameOfTheModel_andItsSalt() throws Exception {
    lookup = answer(2, row(1, 0, memory("node-a")), row(2, 0));
    LmCache cache = start(1);

    assertThat(found(find(cache, 2))).containsExactly("w0=256@HOST");
    ScriptedPod.ReceivedRequest request = coordinator.next();
    while (!request.target().equals("/directory/lookup")) {
      request = coordinator.next();
    }
    JsonNode body = JSON.readTree(request.body());
    assertThat(request.method()).isEqualTo("POST");
    assertThat(body.path("model_name").asText()).isEqualTo("/models/m");
    assertThat(body.path("world_size").asInt()).isEqualTo(1);
    assertThat(body.path("cache_salt").asText()).isEqualTo("s");
    assertThat(body.path("token_ids")).hasSize(2 * CHUNK);
    assertThat(body.at("/token_ids/0").asLong()).as("unsigned").isEqualTo(4_294_967_295L);
    assertThat(body.at("/token_ids/511").asLong()).isEqualTo(510);
  }

  /** Models of one family have one tokenizer and template, and so one chain for a text. */
  @Test
  void resultOfOneModel_orOneSalt_isNotUsedForAnother() {
    LmCache cache = start(1, Duration.ofMinutes(1));
    lookup = answer(2, row(1, 0, memory("node-a")), row(2, 0));
    assertThat(found(cache.find(prompt("m", "s", 2)).toCompletableFuture().join())).containsExactly("w0=256@HOST");
    lookup = answer(2, row(1, 0, memory("w1")), row(2, 0));

    assertThat(found(cache.find(prompt("n", "s", 2)).toCompletableFuture().join())).containsExactly("w1=256@HOST");
    assertThat(found(cache.find(prompt("m", "t", 2)).toCompletableFuture().join())).containsExactly("w1=256@HOST");
    assertThat(found(cache.find(prompt("m", "s", 2)).toCompletableFuture().join())).containsExactly("w0=256@HOST");
    lookup = answer(3, row(1, 0), row(2, 0), row(3, 0));
    assertThat(found(cache.find(prompt("n", "s", 3)).toCompletableFuture().join()))
        .as("by the first chunk that nobody holds").containsExactly("w1=256@HOST");
  }

  @Test
  void everyHolder_countsAsFarAsItGoesWithoutAGap_fromWhereItHoldsAll() {
    lookup = answer(
        4,
        row(1, 0, memory("node-a"), memory("w1"), shared()),
        row(2, 0, disk("node-a"), memory("w1"), shared()),
        row(3, 0, disk("node-a"), shared()),
        row(4, 0, memory("w1")));
    LmCache cache = start(1);

    assertThat(found(find(cache, 4))).containsExactlyInAnyOrder(
        "w0=768@DISK", "w1=512@HOST", CacheMatches.ANY_WORKER + "=768@REMOTE");
  }

  /** Each rank keeps a share of a chunk, which is of no use without the others. */
  @Test
  void chunkThatNotAllRanksHold_isNotHeld_inWhateverOrderTheyCome() {
    lookup = answer(
        2,
        row(1, 0, memory("node-a"), memory("w1")), row(2, 0, memory("node-a")),
        row(1, 1, memory("node-a")), row(2, 1, disk("node-a")));
    LmCache cache = start(2);

    assertThat(found(find(cache, 2))).containsExactly("w0=512@DISK");
  }

  @Test
  void whatTheInstancesHoldInMemory_isTheirOccupancy() {
    stats = stats("{\"node-a\":7,\"w1\":3,\"gone\":5}");
    LmCache cache = start(1);

    await("key counts", () -> cache.keys().isFresh(System.nanoTime()));
    assertThat(cache.keys().byWorker()).isEqualTo(Map.of("w0", 7L, "w1", 3L));
    assertThat(cache.view().serviceName()).isEqualTo("coordinator");
    assertThat(cache.view().instances()).extracting(LmCacheView.InstanceView::keys).containsExactly(7L, 3L);
    assertThat(cache.problems()).isEmpty();
  }

  /** Its coordinator is older, another server, cut, or does not reckon as this router. */
  @ParameterizedTest
  @ValueSource(strings = {
    "{}", "[]", "", "{\"chunks\":2}", "{\"chunks\":\"2\",\"results\":[]}", "{\"chunks\":32,\"results\":[]}",
    "{\"chunks\":2,\"results\":[{\"key\""
  })
  void answerThatIsNone_isUnknown(String answer) {
    lookup = answer;
    assertThat(find(start(1), 2)).isEqualTo(CacheMatches.UNKNOWN);
  }

  @Test
  void chunksOfAnotherSize_areTold_withTheSetting_untilTheyFit() {
    lookup = answer(32);
    LmCache cache = start(1);
    assertThat(find(cache, 2)).isEqualTo(CacheMatches.UNKNOWN);
    assertThat(cache.problems()).anySatisfy(problem -> assertThat(problem.line())
        .contains("512 tokens are 32 chunks, and here 2", "kvasir.lmcache.chunk-size"));
    assertThat(cache.view().problems()).anyMatch(problem -> problem.contains("512 tokens are 32 chunks"));

    lookup = answer(2);
    assertThat(find(cache, 2)).isEqualTo(new CacheMatches(List.of()));
    assertThat(cache.problems()).noneMatch(problem -> problem.what().contains("chunks"));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "{\"chunks\":2,\"results\":[]}", "{\"chunks\":2,\"results\":[1,null,{\"placements\":7},{\"placements\":[[],{}]}]}"
  })
  void answerWithoutHolders_isThatNobodyHoldsIt(String answer) {
    lookup = answer;
    assertThat(find(start(1), 2)).isEqualTo(new CacheMatches(List.of()));
  }

  @Test
  void coordinatorWithoutADirectory_isDegraded_inWords() {
    status = 404;
    LmCache cache = start(1);

    await("the failure", () -> cache.problems().size() == 1);
    assertThat(cache.problems().getFirst().what())
        .contains("the LMCache coordinator " + coordinator.url(), "answered 404");
    status = 200;
    await("it answers", () -> cache.problems().isEmpty());
  }

  /** The answer repeats all of them, for each rank. */
  @Test
  void longPrompt_isLookedUpToItsLimit() throws Exception {
    int asked = (1 << 19) / 8 / CHUNK;
    lookup =
        answer(asked, IntStream.rangeClosed(1, asked).mapToObj(i -> row(i, 0, memory("w1"))).toArray(String[]::new));
    LmCache cache = start(8);

    assertThat(found(find(cache, 2 * asked))).containsExactly("w1=" + asked * CHUNK + "@HOST");
  }
}
