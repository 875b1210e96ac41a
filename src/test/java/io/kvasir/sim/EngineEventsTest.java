package io.kvasir.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.msgpack.core.MessagePack;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** What a subscriber on the other end of a real socket hears of an engine's cache. */
final class EngineEventsTest extends EngineTest {
  private static final String TEXT = "Once there was a king who counted every tree in his land. ".repeat(30);

  private final ZContext context = new ZContext();

  @AfterEach
  void disconnect() {
    context.close();
  }

  /** One message: topic, sequence number and decoded payload. */
  private record Message(String topic, long sequence, JsonNode batch) {}

  @Test
  void answer_inAColdCache_isToldBlockByBlock() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = text().put("max_tokens", 64).put("ignore_eos", true).put("return_token_ids", true);

    JsonNode answer = ask(engine, "/v1/completions", request.toString());
    int computed = answer.at("/usage/total_tokens").asInt() - 1;

    List<Integer> told = new ArrayList<>();
    @Nullable String parent = null;
    long sequence = 0;
    for (Message message : replay(engine, 0, 0, true)) {
      assertThat(message.topic).isEmpty();
      assertThat(message.sequence).isEqualTo(sequence++);
      assertThat(message.batch.get(2).asInt()).isZero();
      for (JsonNode event : message.batch.get(1)) {
        assertThat(event.path("type").asText()).isEqualTo("BlockStored");
        assertThat(event.path("block_size").asInt()).isEqualTo(16);
        assertThat(event.path("medium").asText()).isEqualTo("GPU");
        assertThat(event.path("parent_block_hash").isNull() ? null : event.path("parent_block_hash").asText())
            .isEqualTo(parent);
        event.path("token_ids").forEach(token -> told.add(token.asInt()));
        JsonNode hashes = event.path("block_hashes");
        parent = hashes.get(hashes.size() - 1).asText();
      }
    }
    List<Integer> expected = new ArrayList<>();
    answer.at("/choices/0/prompt_token_ids").forEach(token -> expected.add(token.asInt()));
    answer.at("/choices/0/token_ids").forEach(token -> expected.add(token.asInt()));
    assertThat(told).isEqualTo(expected.subList(0, computed / 16 * 16));
  }

  @Test
  void portOfReplaysThatIsTaken_isNamedByItsSetting() throws Exception {
    int taken = URI.create(Objects.requireNonNull(start(settings()).replayEndpoint())).getPort();
    SimSettings another = settings().events(EventSettings.DEFAULT.withLoopback().withPorts(0, taken)).build();
    assertThatThrownBy(() -> SimEngine.start(another))
        .isInstanceOf(IOException.class)
        .hasMessage("replay-port: " + taken + " cannot be bound at 127.0.0.1: it is in use");
  }

  /** A prompt, its continuation and one that parts from both: what is found is what the groups' events say. */
  @Test
  void hybridEngine_reportsItsGroups_andGoesOnFromWhereAllHaveWhatTheyNeed() throws Exception {
    SimEngine engine =
        start(settings().groups(List.of(new CacheGroup.SlidingWindow(40), new CacheGroup.State())));
    String beginning = "Once there was a king. ".repeat(20);
    JsonNode first = ask(engine, "/v1/completions", completion(beginning));
    JsonNode longer = ask(engine, "/v1/completions", completion(beginning + "He had three sons. ".repeat(20)));
    JsonNode parting = ask(engine, "/v1/completions", completion(beginning + "She had two sisters. ".repeat(20)));
    JsonNode shorter = ask(engine, "/v1/completions", completion("Once there was a king. ".repeat(10)));

    int end = (first.at("/usage/prompt_tokens").asInt() - 1) / 16;
    assertThat(cached(longer)).isEqualTo(16 * end);
    assertThat(cached(parting)).isEqualTo(16 * end);
    assertThat(cached(shorter)).as("nothing is kept in the middle").isZero();
    List<String> kept = new ArrayList<>();
    for (Message message : replay(engine, 0, 0, true)) {
      for (JsonNode event : message.batch.get(1)) {
        kept.add(
            event.path("group_idx").asInt() + " " + event.path("kv_cache_spec_kind").asText() + " "
                + event.path("kv_cache_spec_sliding_window").asInt() + ": " + event.path("block_hashes").size());
      }
    }
    // An iteration of the state ends at the last block; the rest of the prompt fills none.
    assertThat(kept.subList(0, 3))
        .containsExactly("0 full_attention 0: " + end, "1 sliding_window 40: 3", "2 mamba 0: 1");
  }

  private static String completion(String prompt) {
    return JSON.createObjectNode().put("prompt", prompt).put("max_tokens", 1).toString();
  }

  private static int cached(JsonNode answer) {
    return answer.at("/usage/prompt_tokens_details/cached_tokens").asInt();
  }

  @Test
  void subscriber_hearsEveryBatchInOrder() throws Exception {
    SimEngine engine = start(settings());
    ZMQ.Socket subscriber = subscriber(engine);
    Message first = firstHeard(subscriber, engine);
    subscriber.setReceiveTimeOut(10_000);
    List<Message> heard = new ArrayList<>(List.of(first));
    ask(engine, "/v1/completions", text("The last. ").put("max_tokens", 64).put("ignore_eos", true).toString());
    List<Message> sent = replay(engine, 0, first.sequence, true);
    while (heard.size() < sent.size()) {
      heard.add(Objects.requireNonNull(poll(subscriber), "a batch is missing"));
    }

    assertThat(heard).isEqualTo(sent);
    assertThat(sent.size()).isGreaterThan(4);
  }

  @Test
  void lossy_everyThirdBatchIsInTheReplayOnly() throws Exception {
    SimEngine engine = start(settings());
    ZMQ.Socket subscriber = subscriber(engine);
    Message first = firstHeard(subscriber, engine);
    subscriber.setReceiveTimeOut(10_000);

    engine.setCondition(EngineCondition.LOSSY, true);
    ask(engine, "/v1/completions", text("The last. ").put("max_tokens", 200).put("ignore_eos", true).toString());
    List<Long> sent = new ArrayList<>();
    replay(engine, 0, first.sequence + 1, true).forEach(message -> sent.add(message.sequence));
    List<Long> arriving = sent.stream().filter(sequence -> sequence % 3 != 0).toList();
    List<Long> heard = new ArrayList<>();
    while (heard.size() < arriving.size()) {
      heard.add(Objects.requireNonNull(poll(subscriber), "a batch is missing").sequence);
    }

    assertThat(sent).hasSizeGreaterThan(6).hasSizeGreaterThan(arriving.size());
    assertThat(heard).isEqualTo(arriving);
  }

  @Test
  void warmAnswer_tellsOnlyWhatIsNew() throws Exception {
    SimEngine engine = start(settings());
    ask(engine, "/v1/completions", text().put("max_tokens", 1).toString());
    JsonNode warm = ask(engine, "/v1/completions", text().put("max_tokens", 1).toString());
    int prompt = warm.at("/usage/prompt_tokens").asInt();
    int cached = warm.at("/usage/prompt_tokens_details/cached_tokens").asInt();

    assertThat(cached).isEqualTo((prompt - 1) / 16 * 16);
    List<Message> replay = replay(engine, 0, 0, true);
    assertThat(replay).hasSize(1 + (prompt % 16 == 0 ? 1 : 0));
    assertThat(replay.getFirst().batch.get(1).get(0).path("block_hashes")).hasSize(prompt / 16);
  }

  @Test
  void eviction_isToldBeforeWhatTookItsPlace() throws Exception {
    SimEngine engine = start(settings().capacityBlocks(40).maxModelLen(512));
    Map<String, Integer> held = new HashMap<>();
    for (int i = 0; i < 6; i++) {
      ObjectNode request = JSON.createObjectNode().put("prompt", "Story " + i + ". " + TEXT.substring(0, 600));
      assertThat(post(engine, "/v1/completions", request.toString()).statusCode()).isEqualTo(200);
    }

    int removed = 0;
    for (Message message : replay(engine, 0, 0, true)) {
      for (JsonNode event : message.batch.get(1)) {
        int change = event.path("type").asText().equals("BlockStored") ? 1 : -1;
        for (JsonNode hash : event.path("block_hashes")) {
          held.merge(hash.asText(), change, Integer::sum);
          assertThat(held.get(hash.asText())).isNotNegative();
          removed -= Math.min(0, change);
        }
        assertThat(held.values().stream().mapToInt(Integer::intValue).sum()).isLessThanOrEqualTo(40);
      }
    }
    assertThat(removed).isPositive();
  }

  @Test
  void storesOnly_leavesOutWhatIsEvicted() throws Exception {
    SimEngine engine = start(settings().capacityBlocks(40).maxModelLen(512));
    engine.setCondition(EngineCondition.STORES_ONLY, true);
    for (int i = 0; i < 6; i++) {
      ObjectNode request = JSON.createObjectNode().put("prompt", "Story " + i + ". " + TEXT.substring(0, 600));
      assertThat(post(engine, "/v1/completions", request.toString()).statusCode()).isEqualTo(200);
    }

    int stored = 0;
    for (Message message : replay(engine, 0, 0, true)) {
      for (JsonNode event : message.batch.get(1)) {
        assertThat(event.path("type").asText()).isEqualTo("BlockStored");
        stored += event.path("block_hashes").size();
      }
    }
    assertThat(stored).isGreaterThan(40);
  }

  @Test
  void clear_isToldWithTheNextStep() throws Exception {
    SimEngine engine = start(settings());
    ask(engine, "/v1/completions", text().put("max_tokens", 1).toString());
    int before = replay(engine, 0, 0, true).size();

    assertThat(ask(engine, "/reset_prefix_cache", "{}").path("success").asBoolean()).isTrue();
    assertThat(replay(engine, 0, 0, true)).hasSize(before);
    JsonNode cold = ask(engine, "/v1/completions", text().put("max_tokens", 1).toString());

    assertThat(cold.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isZero();
    JsonNode events = replay(engine, 0, before, true).getFirst().batch.get(1);
    assertThat(events.get(0).path("type").asText()).isEqualTo("AllBlocksCleared");
    assertThat(events.get(1).path("type").asText()).isEqualTo("BlockStored");
  }

  @Test
  void replay_fromTheMiddle_tellsTheRestInBothFramings() throws Exception {
    EventSettings events = EventSettings.DEFAULT.withLoopback();
    SimEngine with = start(settings());
    SimEngine without =
        start(settings().events(
            new EventSettings(
                true, "127.0.0.1", EventSettings.PubSettings.bound(0),
                new EventSettings.ReplaySettings(true, 0, false, 100), "kv", events.format())));
    for (SimEngine engine : List.of(with, without)) {
      ask(engine, "/v1/completions", text().put("max_tokens", 64).put("ignore_eos", true).toString());
      boolean topic = engine.settings().kv().events().replay().withTopic();

      List<Message> all = replay(engine, 0, 0, topic);
      List<Message> rest = replay(engine, 0, 2, topic);

      assertThat(all.size()).isGreaterThan(3);
      assertThat(rest).isEqualTo(all.subList(2, all.size()));
      assertThat(rest.getFirst().sequence).isEqualTo(2);
    }
  }

  @Test
  void replay_beyondTheBuffer_startsWhereItBegins() throws Exception {
    EventFormat format = EventFormat.VLLM;
    SimEngine engine =
        start(settings().events(new EventSettings(
            true, "127.0.0.1", EventSettings.PubSettings.bound(0), new EventSettings.ReplaySettings(true, 0, true, 2),
            "", format)));
    ask(engine, "/v1/completions", text().put("max_tokens", 64).put("ignore_eos", true).toString());

    List<Message> kept = replay(engine, 0, 0, true);

    assertThat(kept).hasSize(2);
    assertThat(kept.getFirst().sequence).isPositive();
  }

  @Test
  void ranks_haveNeighbouringPortsAndStreamsOfTheirOwn() throws Exception {
    SimEngine engine = start(settings().ranks(2));

    ask(engine, "/v1/completions", text().put("max_tokens", 1).toString(), "X-data-parallel-rank", "1");
    assertThat(replay(engine, 0, 0, true)).isEmpty();
    Message first = replay(engine, 1, 0, true).getFirst();
    ask(engine, "/v1/completions", text().put("max_tokens", 1).toString(), "X-data-parallel-rank", "0");
    Message second = replay(engine, 0, 0, true).getFirst();

    assertThat(first.batch.get(2).asInt()).isEqualTo(1);
    assertThat(second.batch.get(2).asInt()).isZero();
    assertThat(first.sequence).isZero();
    assertThat(second.sequence).isZero();
    assertThat(port(engine.eventsEndpoint(1))).isEqualTo(port(engine.eventsEndpoint(0)) + 1);
    assertThat(port(engine.replayEndpoint(1))).isEqualTo(port(engine.replayEndpoint(0)) + 1);
  }

  @Test
  void restart_onTheSamePorts_startsFromNothing() throws Exception {
    SimEngine engine = start(settings());
    ask(engine, "/v1/completions", text().put("max_tokens", 40).toString());
    SimSettings same =
        settings()
            .port(engine.url().getPort())
            .events(new EventSettings(
                true, "127.0.0.1", EventSettings.PubSettings.bound(port(engine.eventsEndpoint())),
                new EventSettings.ReplaySettings(true, port(engine.replayEndpoint()), true, 100), "",
                EventFormat.VLLM))
            .build();
    engine.close();

    try (SimEngine again = SimEngine.start(same)) {
      JsonNode answer = ask(again, "/v1/completions", text().put("max_tokens", 1).toString());

      assertThat(answer.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isZero();
      assertThat(replay(again, 0, 0, true).getFirst().sequence).isZero();
    }
  }

  @Test
  void connectingPublisher_reachesABoundSubscriber() throws Exception {
    ZMQ.Socket subscriber = context.createSocket(SocketType.SUB);
    subscriber.subscribe("kv@");
    int port = subscriber.bindToRandomPort("tcp://127.0.0.1");
    SimEngine engine =
        start(settings().events(new EventSettings(
            true, "127.0.0.1", new EventSettings.PubSettings(0, "tcp://127.0.0.1:" + port),
            new EventSettings.ReplaySettings(false, 0, true, 100), "kv@pod-1@kvasir-demo",
            new EventFormat(Encoding.VLLM_ARRAY, false, true))));

    subscriber.setReceiveTimeOut(100);
    Message heard = firstHeard(subscriber, engine);

    assertThat(engine.eventsEndpoint()).isNull();
    assertThat(heard.topic).isEqualTo("kv@pod-1@kvasir-demo");
    assertThat(heard.batch.get(1).get(0).get(0).asText()).isEqualTo("BlockStored");
    assertThat(heard.batch.get(1).get(0).get(2).asInt(-1)).isZero();
  }

  @Test
  void sglang_tellsAnEmptyCacheFirst() throws Exception {
    EventSettings events =
        EventSettings.DEFAULT.withLoopback().withFormat(new EventFormat(Encoding.SGLANG, false, false));
    SimEngine engine = start(settings().events(events));
    ask(engine, "/v1/completions", text().put("max_tokens", 1).put("cache_salt", "tenant-a").toString());

    List<Message> all = replay(engine, 0, 0, true);

    assertThat(all.getFirst().batch.at("/1/0/type").asText()).isEqualTo("AllBlocksCleared");
    assertThat(all.get(1).batch.at("/1/0/type").asText()).isEqualTo("BlockStored");
    assertThat(all.get(1).batch.at("/1/0/cache_salt").asText()).isEqualTo("tenant-a");
  }

  @Test
  void byteKeys_areTheSameInStoreAndParent() throws Exception {
    EventSettings events =
        EventSettings.DEFAULT.withLoopback().withFormat(new EventFormat(Encoding.VLLM_MAP, true, false));
    SimEngine engine = start(settings().events(events));
    ask(engine, "/v1/completions", text().put("max_tokens", 40).put("ignore_eos", true).toString());

    List<Message> all = replay(engine, 0, 0, true);

    JsonNode first = all.get(0).batch.at("/1/0/block_hashes");
    assertThat(all.get(1).batch.at("/1/0/parent_block_hash").asText())
        .isEqualTo(first.get(first.size() - 1).asText());
  }

  @Test
  void events_off_openNoPorts() throws Exception {
    SimEngine engine = start(settings().events(EventSettings.OFF));

    JsonNode answer = ask(engine, "/v1/completions", text().put("max_tokens", 1).toString());

    assertThat(answer.at("/usage/completion_tokens").asInt()).isEqualTo(1);
    assertThat(engine.eventsEndpoint()).isNull();
    assertThat(engine.replayEndpoint()).isNull();
  }

  /** A subscriber to all of an engine's events, which polls briefly at first. */
  private ZMQ.Socket subscriber(SimEngine engine) {
    ZMQ.Socket subscriber = context.createSocket(SocketType.SUB);
    subscriber.setReceiveTimeOut(100);
    subscriber.setHandshakeIvl(500);
    subscriber.subscribe("");
    subscriber.connect(Objects.requireNonNull(engine.eventsEndpoint()));
    return subscriber;
  }

  /** A subscription may arrive after the first events: asks until one is heard. */
  private static Message firstHeard(ZMQ.Socket subscriber, SimEngine engine) throws Exception {
    for (int i = 0; i < 100; i++) {
      ask(engine, "/v1/completions", text("Chapter " + i + ". ").put("max_tokens", 1).toString());
      Message message = poll(subscriber);
      if (message != null) {
        return message;
      }
    }
    throw new AssertionError("nothing was heard");
  }

  @Test
  void hostMemory_isToldAsLmcacheTellsIt_butNotWhatItDrops() throws Exception {
    SimEngine engine = start(settings().hostTier(HostTierSettings.of(32).withEvents()));
    List<Integer> prompt = IntStream.range(0, 600).boxed().toList();
    List<Integer> other = IntStream.range(5000, 5600).boxed().toList();
    for (List<Integer> tokens : List.of(prompt, other)) {
      ObjectNode request = JSON.createObjectNode().put("model", "kvasir-demo").put("max_tokens", 1);
      tokens.forEach(request.putArray("prompt")::add);
      ask(engine, "/v1/completions", request.toString());
    }

    List<JsonNode> told = new ArrayList<>();
    for (Message message : replay(engine, 0, 0, true)) {
      message.batch.get(1).forEach(event -> {
        if (event.path("medium").asText().equals("cpu")) {
          told.add(event);
        }
      });
    }

    assertThat(told).hasSize(4);
    assertThat(told).allMatch(event -> event.path("type").asText().equals("BlockStored"));
    assertThat(told).allMatch(event -> event.path("block_size").asInt() == 256);
    JsonNode first = told.get(0);
    JsonNode second = told.get(1);
    assertThat(first.path("parent_block_hash").isNull()).isTrue();
    assertThat(second.path("parent_block_hash")).isEqualTo(first.path("block_hashes").get(0));
    assertThat(first.path("block_hashes").toString()).isEqualTo("[3131758554629441992]");
    List<Integer> tokens = new ArrayList<>();
    second.path("token_ids").forEach(token -> tokens.add(token.asInt()));
    assertThat(tokens).isEqualTo(prompt.subList(256, 512));
  }

  /** All batches from a sequence number on, by the protocol of a DEALER. */
  private List<Message> replay(SimEngine engine, int rank, long from, boolean withTopic) throws IOException {
    ZMQ.Socket dealer = context.createSocket(SocketType.DEALER);
    dealer.setReceiveTimeOut(10_000);
    dealer.setRcvHWM(0);
    dealer.setHandshakeIvl(500); // see EventPublisher
    dealer.connect(Objects.requireNonNull(engine.replayEndpoint(rank)));
    dealer.sendMore(new byte[0]);
    dealer.send(ByteBuffer.allocate(8).putLong(from).array());
    List<Message> messages = new ArrayList<>();
    while (true) {
      List<byte[]> frames = frames(dealer);
      assertThat(frames).hasSize(withTopic ? 4 : 3);
      assertThat(frames.getFirst()).isEmpty();
      byte[] sequence = frames.get(frames.size() - 2);
      if (HexFormat.of().formatHex(sequence).equals("ffffffffffffffff")) {
        assertThat(frames.getLast()).isEmpty();
        dealer.close();
        return messages;
      }
      String topic = withTopic ? new String(frames.get(1), StandardCharsets.UTF_8) : "";
      messages.add(new Message(topic, ByteBuffer.wrap(sequence).getLong(), decoded(frames.getLast())));
    }
  }

  private static @Nullable Message poll(ZMQ.Socket subscriber) throws IOException {
    List<byte[]> frames = frames(subscriber);
    if (frames.isEmpty()) {
      return null;
    }
    assertThat(frames).hasSize(3);
    return new Message(
        new String(frames.get(0), StandardCharsets.UTF_8),
        ByteBuffer.wrap(frames.get(1)).getLong(),
        decoded(frames.get(2)));
  }

  private static List<byte[]> frames(ZMQ.Socket socket) {
    List<byte[]> frames = new ArrayList<>();
    byte[] frame = socket.recv();
    while (frame != null) {
      frames.add(frame);
      frame = socket.hasReceiveMore() ? socket.recv() : null;
    }
    return frames;
  }

  private static JsonNode decoded(byte[] payload) throws IOException {
    return JSON.readTree(MessagePack.newDefaultUnpacker(payload).unpackValue().toJson());
  }

  private static int port(@Nullable String endpoint) {
    String known = Objects.requireNonNull(endpoint);
    return Integer.parseInt(known.substring(known.lastIndexOf(':') + 1));
  }

  private static ObjectNode text() {
    return text("");
  }

  private static ObjectNode text(String before) {
    return JSON.createObjectNode().put("model", "kvasir-demo").put("prompt", before + TEXT);
  }
}
