package io.kvasir.picker;

import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.kvasir.Await;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.execution.FakeCells;
import io.kvasir.picker.extproc.CommonResponse;
import io.kvasir.picker.extproc.ImmediateResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies that are coded, and bodies that nobody can read: each gets an endpoint, and goes on as it came. */
final class OddBodiesTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"n\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

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

  @BeforeEach
  void fleet() {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    cells.worker("b", URI.create("http://10.0.0.2:8000"), "n");
  }

  @AfterEach
  void everythingIsGivenBack() {
    Await.await(() -> cells.open.get() == 0);
    Await.await(() -> picker.metric("kvasir_picker_streams_running") == 0);
    Await.await(() -> picker.metric("kvasir_picker_memory_used_bytes") == 0);
    cells.workers.clear();
    cells.outcomes.clear();
    cells.requests.clear();
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "X-GZIP", "deflate"})
  void codedBody_isRead_andGoesOnAsItCame(String coding) throws Exception {
    double before = unread("");
    byte[] body = coded(coding, BODY.getBytes(UTF_8));
    TestStream stream = picker.stream().head("POST", CHAT, false, "content-encoding", coding);
    stream.body(ByteString.copyFrom(body), true);

    CommonResponse head = stream.destined();
    assertThat(TestStream.set(head.getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.0.2:8000")
        .containsEntry("content-length", Integer.toString(body.length));
    assertThat(head.getHeaderMutation().getRemoveHeadersList()).doesNotContain("content-encoding");
    assertThat(stream.echoedBytes()).isEqualTo(ByteString.copyFrom(body));
    DecisionRequest read = cells.requests.remove();
    assertThat(read.model()).isEqualTo("n");
    assertThat(unread("")).isEqualTo(before);
    stream.cancel();
  }

  /** Of which something has to be removed can only go on in plain. */
  @Test
  void codedBody_thatIsChanged_goesOnInPlain() throws Exception {
    byte[] body = coded("gzip", BODY.replace("}]", "}],\"kv_transfer_params\":{}").getBytes(UTF_8));
    TestStream stream = picker.stream().head("POST", CHAT, false, "content-encoding", "gzip");
    stream.body(ByteString.copyFrom(body), true);

    CommonResponse head = stream.destined();
    assertThat(TestStream.set(head.getHeaderMutation()))
        .containsEntry("content-length", Integer.toString(BODY.length()));
    assertThat(head.getHeaderMutation().getRemoveHeadersList()).contains("content-encoding");
    assertThat(stream.echo()).isEqualTo(BODY);
    stream.cancel();
  }

  @Test
  void codedBody_whoseModelIsRenamed_goesOnInPlain() throws Exception {
    TestStream stream =
        picker.stream()
            .head("POST", CHAT, false, "content-encoding", "gzip", "x-llm-d-model-name-rewrite", "m")
            .body(ByteString.copyFrom(coded("gzip", BODY.getBytes(UTF_8))), true);

    CommonResponse head = stream.destined();
    assertThat(TestStream.set(head.getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.0.1:8000");
    assertThat(head.getHeaderMutation().getRemoveHeadersList()).contains("content-encoding");
    assertThat(stream.echo()).isEqualTo(BODY.replace("\"n\"", "\"m\""));
    stream.cancel();
  }

  static Stream<Arguments> unreadable() throws IOException {
    byte[] gzip = coded("gzip", BODY.getBytes(UTF_8));
    return Stream.of(
        Arguments.of("coding", "br", BODY.getBytes(UTF_8)),
        Arguments.of("coding", "gzip", BODY.getBytes(UTF_8)),
        Arguments.of("coding", "gzip", Arrays.copyOf(gzip, gzip.length - 9)),
        Arguments.of("coding", "deflate", gzip),
        Arguments.of("coding", "gzip, deflate", gzip),
        Arguments.of("coding", "gzip", coded("gzip", new byte[TestPicker.MAX_BODY + 1])),
        Arguments.of("malformed", "identity", BODY.replace("\"hi\"", "NaN").getBytes(UTF_8)),
        Arguments.of("malformed", "identity", "{nope".getBytes(UTF_8)),
        Arguments.of("malformed", "identity", new byte[] {0, 1, 2, 3, -1}),
        Arguments.of("excessive", "identity", BODY.replace("\"hi\"", "[".repeat(2000)).getBytes(UTF_8)),
        Arguments.of("memory", "identity", BODY.replace("\"hi\"", "[" + "{},".repeat(300_000) + "{}]").getBytes(UTF_8)),
        Arguments.of("unfit", "identity", "{\"model\":[[],[],[]],\"messages\":[]}".getBytes(UTF_8)),
        Arguments.of("unfit", "identity", "[[],[]]".getBytes(UTF_8)),
        Arguments.of("empty", "identity", new byte[0]));
  }

  @ParameterizedTest
  @MethodSource("unreadable")
  void bodyThatCannotBeRead_getsAnEndpoint_andTheAnswerSaysWhy(String why, String coding, byte[] body)
      throws Exception {
    double before = unread(why);
    TestStream stream =
        picker.stream()
            .head("POST", CHAT, false, "content-type", "application/json", "content-encoding", coding)
            .body(ByteString.copyFrom(body), true);
    CommonResponse head = stream.destined();
    assertThat(TestStream.set(head.getHeaderMutation()))
        .containsEntry("content-length", Integer.toString(body.length));
    assertThat(stream.echoedBytes()).isEqualTo(ByteString.copyFrom(body));
    DecisionRequest placed = cells.requests.poll(30, TimeUnit.SECONDS);
    assertThat(placed).isNotNull();
    assertThat(placed.prompt().chain().length()).isZero();

    stream.responseHead(400, null, false, "content-type", "application/json").responseBody("{}", true);
    assertThat(TestStream.set(stream.reply().getResponseHeaders().getResponse().getHeaderMutation())
        .get("x-router-reason")).contains("; prompt not read: ");
    assertThat(stream.responseEcho()).isEqualTo("{}");
    assertThat(unread(why)).isEqualTo(before + 1);
  }

  /** What lies before the place where reading ends is not lost. */
  @Test
  void modelOfABodyThatCannotBeRead_isFound() throws Exception {
    TestStream stream =
        picker.stream()
            .head("POST", CHAT, false, "content-type", "application/json")
            .body(BODY.replace("\"hi\"", "[".repeat(2000)), true);

    assertThat(TestStream.set(stream.destined().getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.0.2:8000");
    stream.cancel();
  }

  /** An engine may be more lenient than the router, and nothing can be removed from what is not read. */
  @ParameterizedTest
  @ValueSource(strings = {
    "{\"model\":\"n\",\"kv_transfer_params\":{},\"x\":NaN}",
    "{\"model\":\"n\",\"x\":NaN,\"kv_\\u0074ransfer_params\":{}}",
    "{\"model\":\"n\",\"x\":[NaN],\"vllm_xargs\":{\"y\":\"}\",\"kv_transfer_params\":{}}}",
  })
  void fieldOfTheRoutersOwn_inABodyThatCannotBeRead_isRefused(String body) throws Exception {
    double before = unread("");
    for (byte[] bytes : new byte[][] {body.getBytes(UTF_8), body.getBytes(UTF_16LE)}) {
      ImmediateResponse answer =
          picker.stream()
              .head("POST", CHAT, false, "content-type", "application/json")
              .body(ByteString.copyFrom(bytes), true)
              .immediate();

      assertThat(answer.getStatus().getCode()).isEqualTo(400);
      assertThat(answer.getBody().toStringUtf8()).contains("\"code\":\"reserved_field\"", "kv_transfer_params");
    }
    assertThat(cells.requests).isEmpty();
    assertThat(unread("")).isEqualTo(before);
  }

  /** How many bodies were not read for a reason, or for any. */
  private static double unread(String why) {
    return why.isEmpty() ? picker.metric("kvasir_unread_bodies") : picker.metric("kvasir_unread_bodies", why);
  }

  private static byte[] coded(String coding, byte[] body) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = coding.equals("deflate") ? new DeflaterOutputStream(bytes) : new GZIPOutputStream(bytes)) {
      out.write(body);
    }
    return bytes.toByteArray();
  }
}
