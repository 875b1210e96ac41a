package io.kvasir.events;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.kvasir.index.Tier;
import io.kvasir.load.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.SinkQueueWithCancel;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Against a server with TensorRT-LLM's rules: an answer takes the events out, a full buffer drops the oldest. */
final class TensorRtEventsTest extends SourceConformance {
  private Server server;

  @BeforeEach
  void startServer() throws IOException {
    server = open(new Server(Ports.free(), 100_000));
  }

  @Override
  EventSource source() {
    return rank(0, 1);
  }

  @Override
  void publish(long number, byte[] payload) {
    server.add(removed(number, number));
  }

  @Override
  void unreadable(long number) {
    server.add("{\"event_id\":" + number + ",\"data\":{\"type\":\"removed\",\"block_hashes\":[1.5]}}");
  }

  /** Whether events were lost before the first answer is known with the first event. */
  @Override
  void begun(TestStream stream) {
    stream.expect("up", "gap0");
    stream.ignore("ok");
  }

  /** No response repeats an event: a repeated number is from another process. */
  @Override
  @Test
  void aMissingNumber_isLost_andARepeatedOneDropped() {
    TestStream stream = subscribe();
    begun(stream);
    publish(0);
    publish(3);
    stream.expect("0", "gap1", "lost1-2", "3");
    publish(0);
    stream.expect("restart", "0");
  }

  private EventSource rank(int rank, int ranks) {
    return open(new EventFeed.TensorRt(server.url(), Duration.ofMillis(1)), rank, ranks);
  }

  private static String removed(long number, long key) {
    return "{\"event_id\":" + number + ",\"data\":{\"type\":\"removed\",\"block_hashes\":[" + key + "]}}";
  }

  /** Holds events until they are requested. */
  private static final class Server implements AutoCloseable {
    private final HttpServer http;
    private final Deque<String> buffer = new ArrayDeque<>();
    private final AtomicInteger asking = new AtomicInteger();
    private final int capacity;
    private volatile boolean together;

    Server(int port, int capacity) throws IOException {
      this.capacity = capacity;
      http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
      http.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
      http.createContext(
          "/kv_cache_events",
          exchange -> {
            together |= asking.incrementAndGet() > 1;
            byte[] answer = drained(exchange.getRequestMethod());
            exchange.sendResponseHeaders(answer.length == 0 ? 405 : 200, answer.length == 0 ? -1 : answer.length);
            exchange.getResponseBody().write(answer);
            asking.decrementAndGet();
            exchange.close();
          });
      http.start();
    }

    URI url() {
      return URI.create("http://127.0.0.1:" + http.getAddress().getPort());
    }

    synchronized void add(String event) {
      buffer.add(event);
      if (buffer.size() > capacity) {
        buffer.removeFirst();
      }
    }

    private synchronized byte[] drained(String method) {
      if (!method.equals("POST")) {
        return new byte[0];
      }
      String all = "[" + String.join(",", buffer) + "]";
      buffer.clear();
      return all.getBytes(UTF_8);
    }

    @Override
    public void close() {
      http.stop(0);
    }
  }

  @Test
  void aFullBuffer_isAGap() throws IOException {
    try (Server small = new Server(0, 4)) {
      for (int i = 0; i < 10; i++) {
        small.add(removed(i, i));
      }
      TestStream stream = subscribe(open(new EventFeed.TensorRt(small.url(), Duration.ofMillis(1)), 0, 1));
      stream.expect("up", "gap0", "lost0-5", "6", "7", "8", "9");
    }
  }

  @Test
  void aServerThatBeganAnew_isSeen_byItsNumbers() throws IOException {
    TestStream stream = subscribe();
    stream.expect("up", "gap0");
    server.add(removed(0, 0));
    server.add(removed(1, 1));
    stream.expect("0", "ok", "1");
    int port = server.url().getPort();
    server.close();
    stream.expect("down");
    server = open(new Server(port, 100));
    server.add(removed(0, 0));
    stream.expect("up", "gap2", "restart", "0");
  }

  @Test
  void ranks_shareOnePoller() {
    TestStream zero = subscribe(rank(0, 2));
    TestStream one = subscribe(rank(1, 2));
    for (int i = 0; i < 50; i++) {
      server.add(removed(i, i));
      server.add(removed(i, i).replace("\"data\"", "\"attention_dp_rank\":1,\"data\""));
    }
    zero.expect("up", "gap0", "0", "ok");
    one.expect("up", "gap0", "0", "ok");
    assertThat(zero.numbersTo(49)).hasSize(49);
    assertThat(one.numbersTo(49)).hasSize(49);
    assertThat(server.together).isFalse();
  }

  /** What is left in its queue keeps the ranks that are still read from nothing. */
  @Test
  void aRankThatLeavesWithAFullQueue_holdsUpNoOther() throws Exception {
    SinkQueueWithCancel<KvBatch> slow =
        rank(0, 2).batches().runWith(Sink.<KvBatch>queue(1).withAttributes(Attributes.inputBuffer(1, 1)), system());
    TestStream other = subscribe(rank(1, 2));
    // One response of more bytes than a queue takes, though of fewer events.
    String filler = " ".repeat(17 << 20);
    server.add(IntStream.range(0, 200).mapToObj(i -> removed(i, i)).collect(Collectors.joining(",", filler, "")));
    await(() -> metric("kvasir_events_queued_messages") >= 150);
    server.add(removed(0, 0).replace("\"data\"", "\"attention_dp_rank\":1,\"data\""));
    slow.cancel();
    other.expect("up", "gap0", "0", "ok");
    await(() -> metric("kvasir_events_queued_messages") == 0);
    assertThat(metric("kvasir_events_connections")).isEqualTo(1);
  }

  /** As when a stream is opened again before the end of the one before has been noted. */
  @Test
  void aSubscriptionThatAnotherHasReplaced_isNotConnectedAnyMore() {
    EventMetrics.SourceMetrics counted = metrics.of("tensorrt");
    TensorRtPoller poller =
        new TensorRtPoller(HttpClient.newHttpClient(), server.url(), 1, Duration.ofMillis(1), counted, () -> 0);
    Runnable first = poller.subscribe(0, new BatchQueue(() -> {}, counted));
    await(() -> metric("kvasir_events_connections") == 1);
    Runnable second = poller.subscribe(0, new BatchQueue(() -> {}, counted));
    await(() -> metric("kvasir_events_connections") == 2);
    first.run();
    assertThat(metric("kvasir_events_connections")).isEqualTo(1);
    assertThat(poller.idle()).isFalse();
    second.run();
    assertThat(metric("kvasir_events_connections")).isZero();
    poller.close();
  }

  /** A reader that failed as nothing should polls no more: whoever subscribes must not wait for it. */
  @Test
  void aPollerThatHasEnded_endsWhoComesLater() {
    EventMetrics.SourceMetrics counted = metrics.of("tensorrt");
    AtomicBoolean fails = new AtomicBoolean(true);
    BatchQueue first = new BatchQueue(() -> {
      if (fails.getAndSet(false)) {
        throw new StackOverflowError("as of a consumer");
      }
    }, counted);
    assertThat(first.poll()).as("so it is called when something comes").isNull();
    TensorRtPoller poller =
        new TensorRtPoller(HttpClient.newHttpClient(), server.url(), 1, Duration.ofMillis(1), counted, () -> 0);
    Runnable unsubscribe = poller.subscribe(0, first);
    await(() -> first.failure() instanceof StackOverflowError);
    assertThat(poller.ended()).isTrue();

    BatchQueue next = new BatchQueue(() -> {}, counted);
    poller.subscribe(0, next);
    assertThat(next.exhausted()).isTrue();
    unsubscribe.run();
    poller.close();
  }

  @Test
  void storedBlocks_followOneAnother_andAShortOneStandsAlone() throws IOException {
    List<KvEvent> read =
        decode(
            new TensorRtDecoder(),
            """
            {"event_id":1,"window_size":8192,"attention_dp_rank":0,"data":{"type":"stored","parent_hash":null,"blocks":[
              {"type":"stored_block","block_hash":18446744073709551615,"cache_level":0,"priority":35,"tokens":[
                {"type":"unique_token","token_id":1,"token_extra_id":0},
                {"type":"unique_token","token_id":4294967295,"token_extra_id":0}]},
              {"block_hash":2,"cache_level":0,"tokens":[{"token_id":3,"token_extra_id":9},{"token_id":4}]},
              {"block_hash":"00ff","cache_level":0,"tokens":[{"token_id":5}]}]}}
            """);
    assertThat(read).hasSize(2);
    KvEvent.Stored whole = (KvEvent.Stored) read.getFirst();
    assertThat(whole.root()).isTrue();
    assertThat(whole.keys()).containsExactly(-1, 2);
    assertThat(whole.tokens()).containsExactly(1, -1, 3, 4);
    assertThat(whole.blockSize()).isEqualTo(2);
    assertThat(whole.extraKeys().getFirst()).isEmpty();
    assertThat(whole.extraKeys().get(1)).hasSize(1);
    KvEvent.Stored part = (KvEvent.Stored) read.get(1);
    assertThat(part.parentKey()).isEqualTo(2);
    assertThat(part.keys()).containsExactly(0xff);
    assertThat(part.blockSize()).isEqualTo(1);
  }

  @Test
  void smallerWindows_areLeftOut() throws IOException {
    TensorRtDecoder decoder = new TensorRtDecoder();
    for (int window : new int[] {1024, 8192}) {
      decode(decoder, "{\"event_id\":0,\"window_size\":" + window + ",\"data\":{\"type\":\"created\"}}");
    }
    String removed = removed(2, 7);
    assertThat(decode(decoder, removed.replace("\"data\"", "\"window_size\":1024,\"data\""))).isEmpty();
    assertThat(decode(decoder, removed.replace("\"data\"", "\"window_size\":8192,\"data\""))).hasSize(1);
  }

  @Test
  void aBlockThatMovesToTheHost_isStoredThere_andComesBack() throws IOException {
    TensorRtDecoder decoder = new TensorRtDecoder();
    decode(decoder, "{\"event_id\":0,\"data\":{\"type\":\"created\",\"num_blocks_per_cache_level\":[4,4]}}");
    decode(
        decoder,
        """
        {"event_id":1,"data":{"type":"stored","parent_hash":5,"blocks":[
          {"block_hash":6,"cache_level":0,"tokens":[{"token_id":1},{"token_id":2}]}]}}
        """);
    List<KvEvent> moved = decode(decoder, updated(2, 0, 1));
    KvEvent.Stored there = (KvEvent.Stored) moved.getFirst();
    assertThat(there.tier()).isEqualTo(Tier.HOST);
    assertThat(there.parentKey()).isEqualTo(5);
    assertThat(there.tokens()).containsExactly(1, 2);
    assertThat(((KvEvent.Removed) moved.get(1)).tier()).isEqualTo(Tier.DEVICE);
    assertThat(((KvEvent.Removed) decode(decoder, removed(3, 6)).getFirst()).tier()).isEqualTo(Tier.HOST);
    assertThat(decode(decoder, updated(4, 1, 0))).hasSize(1);
    assertThat(decode(decoder, "{\"event_id\":5,\"data\":{\"type\":\"updated\",\"block_hash\":6}}")).isEmpty();
  }

  /** Tokens 1 to 4 have the key 924206229973855; under adapter 7 another, which no event explains. */
  @Test
  void promptsUnderAnAdapterOrASalt_areNotTakenForPlainOnes() throws IOException {
    TensorRtDecoder decoder = new TensorRtDecoder();

    assertThat(decode(decoder, firstBlock(1, "1405807694910447675"))).as("nothing is proved yet").hasSize(1);
    List<KvEvent> plain = decode(decoder, firstBlock(2, "924206229973855"));
    assertThat(decode(decoder, firstBlock(3, "8961321873627678067"))).isEmpty();

    KvEvent.Removed foreign = (KvEvent.Removed) plain.getFirst();
    assertThat(foreign.keys()).containsExactly(1405807694910447675L);
    assertThat(((KvEvent.Stored) plain.getLast()).keys()).containsExactly(924206229973855L);
    assertThat(decode(decoder, firstBlock(4, "924206229973855"))).hasSize(1);
  }

  /** Keys that are made in a way of their own prove nothing, so nothing is left out. */
  @Test
  void keysOfAnUnknownWay_areAllTaken() throws IOException {
    TensorRtDecoder decoder = new TensorRtDecoder();
    for (int number = 1; number < 20; number++) {
      assertThat(decode(decoder, firstBlock(number, String.valueOf(1000 + number)))).hasSize(1);
    }
  }

  private static String firstBlock(int number, String key) {
    return """
        {"event_id":%d,"data":{"type":"stored","parent_hash":null,"blocks":[
          {"block_hash":%s,"cache_level":0,
           "tokens":[{"token_id":1},{"token_id":2},{"token_id":3},{"token_id":4}]}]}}
        """
        .formatted(number, key);
  }

  private static String updated(int number, int from, int to) {
    return """
        {"event_id":%d,"data":{"type":"updated","block_hash":6,
          "cache_level":{"type":"event_diff","new_value":%d,"old_value":%d}}}
        """
        .formatted(number, to, from);
  }

  private static List<KvEvent> decode(TensorRtDecoder decoder, String event) throws IOException {
    DecodedMessage decoded = decoder.decode(new ObjectMapper().readTree(event), 1);
    assertThat(decoded.faults()).isEmpty();
    return new ArrayList<>(decoded.batch().events());
  }
}
