package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Value;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.kvasir.Await;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.FakeCells;
import io.kvasir.http.MemoryBudget;
import io.kvasir.picker.extproc.BodySendMode;
import io.kvasir.picker.extproc.CommonResponse;
import io.kvasir.picker.extproc.HeaderMap;
import io.kvasir.picker.extproc.HttpBody;
import io.kvasir.picker.extproc.HttpHeaders;
import io.kvasir.picker.extproc.ImmediateResponse;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import io.kvasir.pools.LivePools;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams as few gateways and hostile clients make them. */
final class UnusualStreamTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

  private static TestPicker picker;
  private static FakeCells cells;

  @BeforeAll
  static void start() throws Exception {
    picker = new TestPicker(TestPicker.SETTINGS);
    cells = picker.cells;
  }

  @AfterAll
  static void stop() {
    picker.close();
  }

  @AfterEach
  void everythingIsGivenBack() {
    Await.await(() -> cells.open.get() == 0);
    Await.await(() -> picker.metric("kvasir_picker_streams_running") == 0);
    assertThat(cells.closedTwice.get()).isZero();
    cells.workers.clear();
    cells.outcomes.clear();
    cells.requests.clear();
    cells.refuse = false;
    cells.deciding = () -> {};
  }

  @Test
  void forgedHeaders_areRemoved_howeverTheirNamesAreWritten() throws Exception {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    TestStream stream =
        picker.stream()
            .head(
                "POST", CHAT, false, "X-Prefiller-Host-Port", "10.6.6.6:1", "X-Kv-Cache-Source-Host-Port", "10.6.6.6:2",
                "X-Kv-Cache-Source-Host-Port", "10.6.6.6:3")
            .body(BODY, true);

    CommonResponse head = stream.destined();
    assertThat(head.getHeaderMutation().getRemoveHeadersList())
        .contains("x-prefiller-host-port", "x-kv-cache-source-host-port");
    assertThat(TestStream.set(head.getHeaderMutation()))
        .doesNotContainKeys("x-prefiller-host-port", "x-kv-cache-source-host-port");
    stream.cancel();
  }

  @Test
  void proxyThatAnswersByItself_whileThePickerDecides_isLetThrough_andToldNothingElse() throws Exception {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    CountDownLatch answered = new CountDownLatch(1);
    cells.deciding = () -> Await.await(() -> answered.getCount() == 0);
    double before = picker.metric("kvasir_picker_streams", "passed");
    TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true);
    Await.await(() -> !cells.requests.isEmpty());

    stream.responseHead(504, null, false, "content-length", "7");
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    answered.countDown();
    stream.responseBody("timeout", true);
    assertThat(stream.responseEcho()).isEqualTo("timeout");
    stream.halfClose();
    assertThat(stream.end().isOk()).isTrue();
    assertThat(stream.hasReply()).isFalse();
    Await.await(() -> picker.metric("kvasir_picker_streams", "passed") == before + 1);
  }

  /** Envoy looks for the very text that it writes itself, and sends the request anywhere when it finds none. */
  @ParameterizedTest
  @ValueSource(strings = {"[fd00::1]:8000", " [FD00:0::0:1]:8000 ", "fd00::1", "[fd00::1]", "10.0.0.9:1,fd00:0::1"})
  void ipv6_isInBrackets_andShort(String subset) throws Exception {
    cells.worker("four", URI.create("http://10.0.0.1:8000"), "m");
    cells.worker("six", URI.create("http://[fd00:0:0:0:0:0:0:1]:8000"), "m");
    TestStream stream =
        picker.stream()
            .head(
                BodySendMode.FULL_DUPLEX_STREAMED, Value.newBuilder().setStringValue(subset).build(), "POST", CHAT,
                false)
            .body(BODY, true);

    assertThat(TestStream.set(stream.destined().getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "[fd00::1]:8000");
    assertThat(stream.echo()).isEqualTo(BODY);
    stream.responseHead(204, "[fd00:0::1]:8000", true);
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(picker.metric("kvasir_picker_served_elsewhere")).isZero();
  }

  /** Of a response whose body is not shown nobody can say that it is empty. */
  @Test
  void eventsWhoseBodyIsNotShown_areNoFailureOfTheWorker() throws Exception {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    TestStream stream = picker.stream().head(BodySendMode.NONE, null, "POST", "/v1/chat/completions", false);
    stream.destined();
    stream.responseHead(200, null, false, "content-type", "text/event-stream");

    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(cells.outcome()).isEqualTo(new Outcome.Cancelled());
    stream.responseTrailers();
    assertThat(stream.reply().hasResponseTrailers()).isTrue();
    stream.halfClose();
    assertThat(stream.end().isOk()).isTrue();
  }

  @Test
  void clientThatLeavesAmidItsBody_isNoLoad() throws Exception {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    TestStream stream = picker.stream().head("POST", "/v1/unknown", false, "content-type", "text/plain");
    stream.body("half of it", false).halfClose();

    assertThat(stream.end().isOk()).isTrue();
    assertThat(cells.requests).isEmpty();
  }

  @Test
  void answerOfTheProxysOwn_isAllThatThereIs() throws Exception {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    TestStream stream = picker.stream().head("POST", CHAT, false).body("{\"mod", false);
    stream.responseHead(408, null, false, "content-type", "text/plain").responseBody("Timeout", true);
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(stream.responseEcho()).isEqualTo("Timeout");
    Await.await(() -> picker.metric("kvasir_picker_memory_used_bytes") == 0);
    stream.halfClose();

    assertThat(stream.end().isOk()).isTrue();
    assertThat(stream.hasReply()).isFalse();
    assertThat(cells.requests).isEmpty();
  }

  /** With hundreds of workers that would cost more than the decision. */
  @Test
  void workersOfAPool_areFoundOnceForEachRoster() throws Exception {
    Pool pool = new Pool("default", "p", Map.of(), List.of(8000), Set.of(), Set.of(), 0);
    picker.pools.replace(LivePools.Source.KUBERNETES, new PoolSet(List.of(pool), List.of(), List.of()));
    cells.worker("elsewhere", URI.create("http://10.0.0.1:9000"), "m");
    cells.worker("a", URI.create("http://10.0.0.2:8000"), "m");
    assertThat(destination()).isEqualTo("10.0.0.2:8000");
    int listed = cells.listed.get();
    assertThat(destination()).isEqualTo("10.0.0.2:8000");
    assertThat(cells.listed.get()).isEqualTo(listed);

    cells.workers.removeLast();
    cells.worker("b", URI.create("http://10.0.0.3:8000"), "m");
    assertThat(destination()).isEqualTo("10.0.0.3:8000");
    picker.pools.replace(LivePools.Source.KUBERNETES, PoolSet.NONE);
  }

  private static String destination() throws InterruptedException {
    TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true);
    Map<String, String> headers = TestStream.set(stream.destined().getHeaderMutation());
    stream.cancel();
    return headers.getOrDefault("x-gateway-destination-endpoint", "none");
  }

  /** Each decision may be a message to another node. */
  @Test
  void unknownModel_isNotTriedWithEachNameOfAWorker() throws Exception {
    String[] adapters = new String[500];
    for (int i = 0; i < adapters.length; i++) {
      adapters[i] = "adapter-" + i;
    }
    cells.worker("a", URI.create("http://10.0.0.1:8000"), adapters);
    cells.refuse = true;
    TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true);

    assertThat(stream.immediate().getStatus().getCode()).isEqualTo(503);
    assertThat(cells.requests).hasSizeLessThanOrEqualTo(2);
  }

  /** NGINX Gateway Fabric half-closes right after the body, which may still wait for memory then. */
  @Test
  void bodyThatWaitsForMemory_isWhole_whenItsProxyHasHalfClosed() throws Exception {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    MemoryBudget memory = memory();
    MemoryBudget.Account other = memory.open(_ -> {});
    ScriptedCall call = new ScriptedCall();
    try (ExecutorService connection = Executors.newSingleThreadExecutor()) {
      ProxyStream stream = new ProxyStream(call, connection, 9002, message(), picker.services(memory));
      stream.onMessage(
          ProcessingRequest.newBuilder()
              .setRequestHeaders(HttpHeaders.newBuilder().setHeaders(HeaderMap.getDefaultInstance()))
              .build());
      stream.onMessage(piece(BODY.substring(0, 9), false));
      assertThat(other.tryBook((60 << 10) - 4 * 9)).isTrue();
      stream.onMessage(piece(BODY.substring(9), true));
      stream.onHalfClose();
      assertThat(cells.requests).isEmpty();
      other.close();

      assertThat(call.reply().hasRequestHeaders()).isTrue();
      assertThat(call.reply().getRequestBody().getResponse().getBodyMutation().getStreamedResponse().getBody())
          .isEqualTo(ByteString.copyFromUtf8(BODY));
      stream.onCancel();
    }
    Await.await(() -> {
      picker.unseen.endAll();
      return cells.open.get() == 0;
    });
  }

  /** Gateways make a 500 without a word of an error of gRPC. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void bytesThatAreNoMessage_afterABody_areAnsweredInTheApisShape(boolean whole) throws Exception {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    CountDownLatch decide = new CountDownLatch(1);
    cells.deciding = () -> {
      try {
        decide.await();
      } catch (InterruptedException stopping) {
        Thread.currentThread().interrupt();
      }
    };
    ScriptedCall call = new ScriptedCall();
    try (ExecutorService connection = Executors.newSingleThreadExecutor()) {
      ProxyStream stream = new ProxyStream(call, connection, 9002, message(), picker.services(memory()));
      stream.onMessage(
          ProcessingRequest.newBuilder()
              .setRequestHeaders(HttpHeaders.newBuilder().setHeaders(HeaderMap.getDefaultInstance()))
              .build());
      stream.onMessage(piece(BODY, whole));
      stream.onMessage(ProcessMethod.DESCRIPTOR.parseRequest(new ByteArrayInputStream(new byte[] {0x12, -1})));

      ImmediateResponse answer = call.reply().getImmediateResponse();
      assertThat(answer.getStatus().getCode()).isEqualTo(500);
      assertThat(answer.getBody().toStringUtf8()).contains("\"error\"");
      assertThat(call.end.get(20, TimeUnit.SECONDS).isOk()).isTrue();
      decide.countDown();
    }
  }

  private static PartialMessage message() {
    return new PartialMessage(memory(), TestPicker.MAX_BODY);
  }

  private static MemoryBudget memory() {
    return new MemoryBudget(64 << 10, new ManualClock(), new Metrics(new PrometheusRegistry()));
  }

  private static ProcessingRequest piece(String text, boolean last) {
    return ProcessingRequest.newBuilder()
        .setRequestBody(HttpBody.newBuilder().setBody(ByteString.copyFromUtf8(text)).setEndOfStream(last))
        .build();
  }

  /** A call without a connection. */
  private static final class ScriptedCall extends ServerCall<ProcessingRequest, ProcessingResponse> {
    final CompletableFuture<Status> end = new CompletableFuture<>();
    private final BlockingQueue<ProcessingResponse> replies = new LinkedBlockingQueue<>();

    ProcessingResponse reply() throws InterruptedException {
      ProcessingResponse reply = replies.poll(20, TimeUnit.SECONDS);
      if (reply == null) {
        throw new AssertionError("no reply");
      }
      return reply;
    }

    @Override
    public void request(int messages) {}

    @Override
    public void sendHeaders(Metadata headers) {}

    @Override
    public void sendMessage(ProcessingResponse message) {
      replies.add(message);
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void close(Status status, Metadata trailers) {
      end.complete(status);
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public MethodDescriptor<ProcessingRequest, ProcessingResponse> getMethodDescriptor() {
      return ProcessMethod.DESCRIPTOR;
    }
  }
}
