package io.kvasir.enginemodel;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.msgpack.core.MessagePack;

/**
 * Scheduler and cache do what a real vLLM 0.32.0 did: given the recorded requests one after the other, in a cache of
 * its size, they report the same cached tokens and store and evict the same blocks in the same order.
 */
final class RecordedVllmTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int BLOCK = 32;
  /** vLLM keeps one of its 300 blocks as the null block. */
  private static final int CAPACITY = 299;

  private final List<String> changes = new ArrayList<>();
  private final Map<Long, String> names = new HashMap<>();
  /** In the recording; the other one is 1 here. */
  private int prefixGroup;
  private boolean lookahead;

  /** A request, or none after a reset, and the changes vLLM reported next. */
  private record Episode(@Nullable JsonNode request, List<Change> changes) {}

  /** {@code tokens}: of a stored block and everything before it; empty otherwise. */
  private record Change(String what, int[] tokens) {}

  @Test
  void recordedRequests_hitStoreAndEvict_asVllmDid() throws IOException {
    replay("vllm-0.32.0", new PagedCache(CAPACITY, BLOCK, new Recorder()), 120, 187);
  }

  /** The same of a model with a layer of full attention and one with a window of 256 tokens. */
  @Test
  void recordedRequestsOfWindow_hitStoreAndEvict_asVllmDid() throws IOException {
    List<CacheGroup> groups = List.of(new CacheGroup.SlidingWindow(256));
    replay("vllm-0.32.0-sliding-window", PagedCache.ofGroups(159, BLOCK, groups, true, new Recorder()), 150, 978);
  }

  /** The same of a model with a layer of full attention and one with a state, whose group vLLM numbers first. */
  @Test
  void recordedRequestsOfState_hitStoreAndEvict_asVllmDid() throws IOException {
    List<CacheGroup> groups = List.of(new CacheGroup.State());
    prefixGroup = 1;
    replay("vllm-0.32.0-state", PagedCache.ofGroups(159, BLOCK, groups, false, new Recorder()), 150, 1272);
  }

  /** Engines that draft with EAGLE, of which nothing is evicted. */
  @ParameterizedTest
  @CsvSource({"vllm-0.32.0-eagle, RECOMPUTES_LAST_BLOCK", "vllm-0.33.0-eagle, LOOKAHEAD"})
  void recordedRequestsOfSpeculation_hitAndStore_asVllmDid(String recording, Speculation speculation)
      throws IOException {
    lookahead = speculation == Speculation.LOOKAHEAD;
    replay(recording, PagedCache.ofSpeculation(2047, BLOCK, speculation, new Recorder()), 39, 0);
  }

  private void replay(String recording, PagedCache cache, int allRequests, int allEvictions) throws IOException {
    Scheduler<TestSequence> scheduler = new Scheduler<>(cache, 8192, 256);
    int requests = 0;
    int evictions = 0;
    for (Episode episode : recording(recording)) {
      if (episode.request == null) {
        assertThat(cache.clear()).isTrue();
        continue;
      }
      requests++;
      TestSequence sequence = sequence(episode.request, episode.changes);
      scheduler.add(sequence);
      for (EngineStep<TestSequence> step = scheduler.plan(); !step.sequences().isEmpty(); step = scheduler.plan()) {
        scheduler.complete(step);
      }

      String which = "request " + requests;
      assertThat(sequence.cachedTokens()).as(which).isEqualTo(episode.request.path("cached_tokens").asInt());
      assertThat(changes).as(which).isEqualTo(episode.changes.stream().map(Change::what).toList());
      evictions += (int) changes.stream().filter(change -> change.contains("removed")).count();
      changes.clear();
    }
    assertThat(requests).isEqualTo(allRequests);
    assertThat(evictions).isEqualTo(allEvictions);
  }

  /** The request, answered with the tokens that vLLM's own blocks show; what no full block shows is made up. */
  private TestSequence sequence(JsonNode request, List<Change> changes) {
    int[] prompt = ints(request.path("prompt"));
    int[] answer = new int[request.path("max_tokens").asInt()];
    Arrays.fill(answer, -1);
    for (Change change : changes) {
      for (int i = prompt.length; i < change.tokens.length; i++) {
        answer[i - prompt.length] = change.tokens[i];
      }
    }
    if (request.path("output").isArray()) {
      answer = ints(request.path("output"));
    }
    JsonNode salt = request.path("cache_salt");
    return new TestSequence(prompt, answer, BLOCK, salt.isTextual() ? salt.textValue() : null).lookingAhead(lookahead);
  }

  private List<Episode> recording(String name) throws IOException {
    Map<String, int[]> prefixes = new HashMap<>();
    Map<String, String> salts = new HashMap<>();
    List<Episode> episodes = new ArrayList<>();
    try (GZIPInputStream gzip =
            new GZIPInputStream(
                Objects.requireNonNull(
                    RecordedVllmTest.class.getResourceAsStream("/events/" + name + ".jsonl.gz")));
        BufferedReader lines = new BufferedReader(new InputStreamReader(gzip, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonNode json = JSON.readTree(line);
        switch (json.path("kind").asText()) {
          case "request" -> episodes.add(new Episode(json, new ArrayList<>()));
          case "reset" -> episodes.add(new Episode(null, List.of()));
          case "event" -> {
            JsonNode frames = json.path("frames");
            byte[] payload = HexFormat.of().parseHex(frames.get(frames.size() - 1).asText());
            JsonNode batch = JSON.readTree(MessagePack.newDefaultUnpacker(payload).unpackValue().toJson());
            for (JsonNode event : prefixFirst(batch.get(1))) {
              changes(event, prefixes, salts, episodes.getLast().changes);
            }
          }
          default -> { } // a replay repeats what was there
        }
      }
    }
    return episodes;
  }

  /** What an iteration has stored of a sequence, in the order of the groups here. */
  private List<JsonNode> prefixFirst(JsonNode events) {
    List<JsonNode> ordered = new ArrayList<>();
    events.forEach(ordered::add);
    for (int i = 1; i < ordered.size() && prefixGroup > 0; i++) {
      if (isStored(ordered.get(i)) && ordered.get(i).path("group_idx").asInt() == prefixGroup) {
        Collections.swap(ordered, i - 1, i);
      }
    }
    return ordered;
  }

  private static boolean isStored(JsonNode event) {
    return event.path("type").asText().equals("BlockStored");
  }

  private void changes(
      JsonNode event, Map<String, int[]> prefixes, Map<String, String> salts, List<Change> into) {
    switch (event.path("type").asText()) {
      case "BlockStored" -> {
        if (event.path("group_idx").asInt() != prefixGroup) {
          into.add(storedInGroup(event, prefixes, salts));
          return;
        }
        String parent = event.path("parent_block_hash").asText();
        int[] prefix = prefixes.getOrDefault(parent, new int[0]);
        String salt = prefix.length == 0 ? event.at("/extra_keys/0/0").asText() : salts.getOrDefault(parent, "");
        int[] tokens = ints(event.path("token_ids"));
        for (int i = 0; i < event.path("block_hashes").size(); i++) {
          int[] longer = Arrays.copyOf(prefix, prefix.length + BLOCK);
          System.arraycopy(tokens, i * BLOCK, longer, prefix.length, BLOCK);
          prefix = longer;
          String key = event.path("block_hashes").get(i).asText();
          prefixes.put(key, prefix);
          salts.put(key, salt);
          into.add(new Change("stored " + name(salt, prefix), prefix));
        }
      }
      case "BlockRemoved" -> {
        for (JsonNode hash : event.path("block_hashes")) {
          String key = hash.asText();
          int[] tokens = Objects.requireNonNull(prefixes.get(key));
          into.add(new Change(inGroup(event) + "removed " + name(salts.getOrDefault(key, ""), tokens), new int[0]));
        }
      }
      default -> into.add(new Change("cleared", new int[0]));
    }
  }

  /** Of the blocks that a group has come to those that it keeps, which the prefix has stored before. */
  private Change storedInGroup(JsonNode event, Map<String, int[]> prefixes, Map<String, String> salts) {
    StringBuilder kept = new StringBuilder();
    for (JsonNode hash : event.path("block_hashes")) {
      int[] tokens = Objects.requireNonNull(prefixes.get(hash.asText()));
      kept.append(' ').append(name(salts.getOrDefault(hash.asText(), ""), tokens));
    }
    return new Change(inGroup(event) + "stored of " + event.path("token_ids").size() + ":" + kept, new int[0]);
  }

  private String inGroup(JsonNode event) {
    return event.path("group_idx").asInt() == prefixGroup ? "" : "group 1 ";
  }

  /** A block is what its salt and all tokens up to its end are. */
  private static String name(String salt, int[] tokens) {
    return salt + "/" + tokens.length + "/" + Arrays.hashCode(tokens);
  }

  private static int[] ints(JsonNode array) {
    int[] ints = new int[array.size()];
    Arrays.setAll(ints, i -> array.get(i).intValue());
    return ints;
  }

  private final class Recorder implements GroupListener {
    @Override
    public void stored(Sequence sequence, int from, int to) {
      TestSequence known = (TestSequence) sequence;
      for (int i = from; i < to; i++) {
        String name = name(Objects.requireNonNullElse(known.salt(), ""), known.tokens((i + 1) * BLOCK));
        names.put(known.key(i), name);
        changes.add("stored " + name);
      }
    }

    @Override
    public void removed(long key) {
      changes.add("removed " + names.get(key));
    }

    @Override
    public void stored(int group, Sequence sequence, int from, int to, int[] kept) {
      StringBuilder blocks = new StringBuilder();
      for (int block : kept) {
        blocks.append(' ').append(names.get(sequence.key(block)));
      }
      changes.add("group " + group + " stored of " + (to - from) * BLOCK + ":" + blocks);
    }

    @Override
    public void removed(int group, long key) {
      changes.add("group " + group + " removed " + names.get(key));
    }

    @Override
    public void cleared() {
      changes.add("cleared");
    }
  }
}
