package io.kvasir.sim.publisher;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** The snapshot that a simulated engine answers with, by its bytes and by what it says. */
final class SnapshotTest {
  private static final long FIRST = 0x1122334455667788L;
  private static final long SECOND = 0xfedcba9876543210L;
  private static final int[] TOKENS = {1, 2, 300, 70000, 5, 6, 7, 8};

  /** Frames of vLLM's pull request 50134, events as msgspec writes them; the time of the snapshot is left out. */
  @Test
  void answer_byteForByte() throws Exception {
    EventPublisher.Binding binding =
        new EventPublisher.Binding("127.0.0.1", 0, null, true, 0, "kv", true, 1, true);
    try (EventPublisher publisher = new EventPublisher(binding, EventFormat.VLLM, 3, "publisher");
        ZContext context = new ZContext()) {
      publisher.publish(1, List.of(stored(null, new long[] {FIRST, SECOND}, TOKENS)));
      publisher.publish(2, List.of(removed(FIRST)));

      List<List<String>> answer = request(context, publisher);

      assertThat(answer).hasSize(2);
      assertThat(answer.getFirst().subList(0, 3)).containsExactly("", "6b76", "0000000000000002");
      String payload = answer.getFirst().get(3);
      assertThat(payload.substring(0, 4)).isEqualTo("93cb");
      assertThat(payload.substring(20))
          .isEqualTo(
              "93" + "81a474797065b0416c6c426c6f636b73436c6561726564"
                  + "8ba474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392cf1122334455667788cffedcba98765432"
                  + "10b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473980102cd012cce0001117005060708aa626c6f"
                  + "636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa65787472615f6b6579"
                  + "7392c0c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f617474656e74696f6e"
                  + "84a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf1122334455667788a66d656469756d"
                  + "a3475055a967726f75705f69647800"
                  + "03");
      assertThat(answer.getLast()).containsExactly("", "", "ffffffffffffffff", "");
    }
  }

  /** Its eight letters are a number that no engine has reached. */
  @Test
  void answer_ofAnEngineThatDoesNotKnowIt_isTheEndMark() throws Exception {
    EventPublisher.Binding binding =
        new EventPublisher.Binding("127.0.0.1", 0, null, true, 0, "kv", true, 9, false);
    try (EventPublisher publisher = new EventPublisher(binding, EventFormat.VLLM, 0, "publisher");
        ZContext context = new ZContext()) {
      publisher.publish(1, List.of(stored(null, new long[] {FIRST, SECOND}, TOKENS)));

      assertThat(request(context, publisher))
          .containsExactly(List.of("", "", "ffffffffffffffff", ""));
    }
  }

  @Test
  void snapshot_saysWhatIsHeld_parentsFirst() throws Exception {
    for (int seed = 0; seed < 200; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      PublishedCache cache = new PublishedCache();
      Map<Long, Integer> held = new HashMap<>();
      for (int step = 0; step < 150; step++) {
        CacheEvent event = event(random, held);
        cache.apply(List.of(event));
        apply(event, held);
      }
      Map<Long, Integer> told = new HashMap<>();
      Set<Long> known = new HashSet<>();
      for (List<CacheEvent> message : cache.snapshot()) {
        for (CacheEvent event : message) {
          if (event instanceof CacheEvent.Stored(Long parent, long[] keys, int[] tokens, _, _, _, _, _)) {
            assertThat(parent == null || known.contains(parent)).as("seed %d: a parent is there", seed).isTrue();
            assertThat(tokens).hasSize(keys.length * 2);
            for (int i = 0; i < keys.length; i++) {
              known.add(keys[i]);
              assertThat(tokens[2 * i]).as("seed %d: each block has its own tokens", seed).isEqualTo((int) keys[i]);
            }
          }
          apply(event, told);
        }
      }
      assertThat(told).as("seed %d", seed).isEqualTo(held);
    }
  }

  @Test
  void snapshot_ofManyBlocks_isOfSeveralMessages_andBeginsOnce() throws Exception {
    PublishedCache cache = new PublishedCache();
    for (long key = 1; key <= 3000; key++) {
      cache.apply(List.of(stored(null, new long[] {key}, new int[] {(int) key, 0})));
    }
    List<List<CacheEvent>> messages = cache.snapshot();
    assertThat(messages).extracting(List::size).containsExactly(1024, 1024, 953);
    assertThat(messages.stream().flatMap(List::stream).filter(CacheEvent.Cleared.class::isInstance)).hasSize(1);
  }

  /** Blocks are numbered in a binary tree, {@code key / 2} is the parent of {@code key}. */
  private static CacheEvent event(SplittableRandom random, Map<Long, Integer> held) {
    int kind = random.nextInt(20);
    if (kind == 0 && random.nextInt(4) == 0) {
      return new CacheEvent.Cleared();
    }
    if (kind < 10 || held.isEmpty()) {
      long key = 1;
      int length = 1 + random.nextInt(5);
      List<Long> path = new ArrayList<>(List.of(key));
      while (path.size() < length) {
        key = 2 * key + random.nextInt(2);
        path.add(key);
      }
      // What is there already comes again now and then, as a copy.
      int from = 0;
      while (from < path.size() - 1 && held.containsKey(path.get(from)) && random.nextInt(4) > 0) {
        from++;
      }
      List<Long> stored = path.subList(from, path.size());
      return stored(
          from == 0 ? null : path.get(from - 1),
          stored.stream().mapToLong(Long::longValue).toArray(),
          stored.stream().flatMapToInt(own -> IntStream.of(own.intValue(), 7)).toArray());
    }
    List<Long> keys = held.keySet().stream().sorted().toList();
    return removed(keys.get(random.nextInt(keys.size())));
  }

  private static void apply(CacheEvent event, Map<Long, Integer> held) {
    switch (event) {
      case CacheEvent.Stored stored -> {
        for (long key : stored.keys()) {
          held.merge(key, 1, Integer::sum);
        }
      }
      case CacheEvent.Removed removed -> {
        for (long key : removed.keys()) {
          held.computeIfPresent(key, (_, copies) -> copies == 1 ? null : copies - 1);
        }
      }
      case CacheEvent.StoredInGroup _, CacheEvent.RemovedFromGroup _ -> throw new AssertionError(event);
      case CacheEvent.Cleared() -> held.clear();
    }
  }

  private static CacheEvent stored(@Nullable Long parent, long[] keys, int[] tokens) {
    return new CacheEvent.Stored(parent, keys, tokens, tokens.length / keys.length, null, null, "GPU");
  }

  private static CacheEvent removed(long key) {
    return new CacheEvent.Removed(new long[] {key}, "GPU");
  }

  /** The messages that come for the request of a snapshot, in hexadecimal digits, up to the end mark. */
  private static List<List<String>> request(ZContext context, EventPublisher publisher) {
    ZMQ.Socket dealer = context.createSocket(SocketType.DEALER);
    dealer.setReceiveTimeOut(10_000);
    dealer.setHandshakeIvl(500);
    dealer.connect("tcp://127.0.0.1:" + publisher.replayPort());
    dealer.sendMore(new byte[0]);
    dealer.send("snapshot".getBytes(StandardCharsets.US_ASCII));
    List<List<String>> messages = new ArrayList<>();
    do {
      List<String> frames = new ArrayList<>();
      do {
        byte[] frame = dealer.recv();
        assertThat(frame).as("a frame in time").isNotNull();
        frames.add(HexFormat.of().formatHex(Objects.requireNonNull(frame)));
      } while (dealer.hasReceiveMore());
      messages.add(frames);
    } while (!messages.getLast().getLast().isEmpty());
    return messages;
  }
}
