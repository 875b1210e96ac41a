package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.ClientCalls;
import io.kvasir.Await;
import io.kvasir.gateway.GatewayAccess;
import io.kvasir.picker.extproc.BodySendMode;
import io.kvasir.picker.extproc.HeaderMap;
import io.kvasir.picker.extproc.HttpHeaders;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProtocolConfiguration;
import io.kvasir.time.ManualClock;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What messages take that have come in part, and what becomes of those that are too long, or too many. */
final class PartialMessageTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
  private static final int MESSAGES = 4 << 20;
  private static final int FRAME = 16 << 10;

  private final ManualClock clock = new ManualClock();
  private final TestPicker picker;

  PartialMessageTest() throws Exception {
    PickerSettings settings = TestPicker.SETTINGS;
    picker =
        new TestPicker(
            new PickerSettings(
                settings.listener(), new PickerSettings.Limits(TestPicker.MAX_BODY, 64 << 20, MESSAGES), true, 0, false,
                Duration.ofMillis(300), false, settings.pools()),
            GatewayAccess.open(), clock);
    picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
  }

  @AfterEach
  void stop() {
    Await.await(() -> picker.metric("kvasir_picker_streams_running") == 0);
    Await.await(() -> picker.metric("kvasir_picker_messages_memory_used_bytes") == 0);
    picker.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 1 << 20, 5 << 20})
  void bodyInOneMessage_thatIsTooLong_isAnswered(int excess) throws Exception {
    TestStream stream =
        picker.stream()
            .head(BodySendMode.BUFFERED, null, "POST", CHAT, false)
            .body(ByteString.copyFrom(new byte[TestPicker.MAX_BODY + excess]), true);

    assertThat(stream.reply().hasRequestHeaders()).isTrue();
    assertThat(stream.immediate().getStatus().getCode()).isEqualTo(413);
    assertThat(stream.end().isOk()).isTrue();
  }

  @Test
  void headThatIsTooLong_isAnswered() throws Exception {
    TestStream stream = picker.stream().head("POST", CHAT, false, "x-long", "v".repeat(3 << 20));

    assertThat(stream.immediate().getStatus().getCode()).isEqualTo(413);
    assertThat(stream.end().isOk()).isTrue();
  }

  @Test
  void longestBodyInOneMessage_isTaken() throws Exception {
    String body = BODY + " ".repeat(TestPicker.MAX_BODY - BODY.length());
    TestStream stream = picker.stream().head("POST", CHAT, false).body(body, true);

    stream.destined();
    assertThat(stream.echo()).isEqualTo(body);
    stream.cancel();
  }

  /** They are refused, or give way, before they take more than all may; whoever comes later is served. */
  @ParameterizedTest
  @ValueSource(ints = {FRAME, 100})
  void messagesThatNeverEnd_takeNoMoreThanAllMay_andAreAnswered(int frame) throws Exception {
    try (RawConnection connection = new RawConnection(picker.picker.ports().getFirst())) {
      List<RawConnection.Stream> streams = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        RawConnection.Stream stream = connection.stream().send(message(head()), FRAME);
        // Its end never comes.
        stream.send(message(ByteString.copyFrom(new byte[TestPicker.MAX_BODY])).substring(0, 900 << 10), frame);
        streams.add(stream);
      }
      Await.await(() -> {
        clock.advance(Duration.ofMillis(50));
        return streams.stream().filter(RawConnection.Stream::isOver).count() >= 8;
      });

      assertThat(picker.metric("kvasir_picker_messages_memory_peak_bytes")).isBetween(1.0, (double) MESSAGES);
      for (RawConnection.Stream each : streams) {
        if (each.isOver()) {
          assertThat(each.answered()).isEqualTo(503);
        }
      }
      TestStream other = picker.stream().head("POST", CHAT, false).body(BODY, true);
      other.destined();
      assertThat(other.echo()).isEqualTo(BODY);
      other.cancel();
    }
  }

  @Test
  void messagesOfOtherMethods_areShort() {
    HealthCheckRequest request = HealthCheckRequest.newBuilder().setService("x".repeat(100 << 10)).build();

    StatusRuntimeException refused =
        assertThrows(
            StatusRuntimeException.class,
            () -> ClientCalls.blockingUnaryCall(
                picker.channel(), HealthGrpc.getCheckMethod(), CallOptions.DEFAULT, request));
    assertThat(refused.getStatus().getCode()).isNotEqualTo(Status.Code.NOT_FOUND);
  }

  private static ByteString head() {
    HeaderMap.Builder headers = HeaderMap.newBuilder();
    TestStream.add(headers, ":method", "POST");
    TestStream.add(headers, ":path", CHAT);
    return ProcessingRequest.newBuilder()
        .setRequestHeaders(HttpHeaders.newBuilder().setHeaders(headers))
        .setProtocolConfig(
            ProtocolConfiguration.newBuilder().setRequestBodyMode(BodySendMode.FULL_DUPLEX_STREAMED))
        .build()
        .toByteString();
  }

  /** A message with the prefix of gRPC. */
  private static ByteString message(ByteString bytes) {
    return ByteString.copyFrom(ByteBuffer.allocate(5).put((byte) 0).putInt(bytes.size()).flip()).concat(bytes);
  }
}
