package io.kvasir.gateway.keepalive;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.gateway.error.ApiBoundary;
import io.kvasir.gateway.error.ErrorFormat;
import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import io.kvasir.telemetry.LogIds;
import io.kvasir.time.ManualClock;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a keep-alive is written and when not, on a clock that the test moves. */
final class KeepAliveClockTest {
  private static final Duration SILENCE = Duration.ofSeconds(15);
  private static final String COMMENT = ": keep-alive\n\n";
  private static final String EVENT = "data: {\"choices\":[]}\n\n";
  private static final Headers EVENTS = Headers.of("Content-Type", "text/event-stream");

  private final ManualClock clock = new ManualClock();
  private final ByteArrayOutputStream client = new ByteArrayOutputStream();
  private final List<KeepAlive> ended = new ArrayList<>();
  private final AtomicInteger heads = new AtomicInteger();
  private final KeepAlive keepAlive = new KeepAlive(
      new Streamed(), ErrorFormat.OPENAI, EVENTS, SILENCE, clock, Runnable::run, ended::add,
      _ -> {});

  @Test
  void beforeTheAnswer_theHeadAndACommentAreWritten_onceASilence() {
    pass(SILENCE.minusNanos(1));
    assertThat(heads).hasValue(0);
    pass(Duration.ofNanos(1));
    assertThat(heads).hasValue(1);
    assertThat(client.toString(UTF_8)).isEqualTo(COMMENT);
    pass(SILENCE.minusNanos(1));
    assertThat(client.toString(UTF_8)).isEqualTo(COMMENT);
    pass(Duration.ofNanos(1));
    assertThat(client.toString(UTF_8)).isEqualTo(COMMENT + COMMENT);
    assertThat(heads).hasValue(1);
  }

  @Test
  void whileEventsFlow_nothingIsAdded() throws IOException {
    run(sink -> {
      for (int i = 0; i < 5; i++) {
        write(sink, EVENT);
        pass(SILENCE.dividedBy(2));
        pass(SILENCE.dividedBy(3));
      }
    });
    assertThat(client.toString(UTF_8)).isEqualTo(EVENT.repeat(5));
  }

  @ParameterizedTest
  @ValueSource(strings = {EVENT, "data: a\r\n\r\n", "data: a\n\r\n"})
  void onlyBetweenEvents_isSomethingAdded(String event) throws IOException {
    for (int cut = 1; cut < event.length(); cut++) {
      String first = event.substring(0, cut);
      String second = event.substring(cut);
      client.reset();
      KeepAliveClockTest fresh = new KeepAliveClockTest();
      fresh.run(sink -> {
        write(sink, first);
        fresh.pass(SILENCE);
        fresh.pass(SILENCE);
        write(sink, second);
        fresh.pass(SILENCE);
        fresh.pass(SILENCE);
      });
      assertThat(fresh.client.toString(UTF_8)).as("cut at %d", cut).isEqualTo(event + COMMENT);
    }
  }

  @Test
  void requestThatEndsByAnError_isNotWatched() {
    ApiBoundary boundary = new ApiBoundary(new Streamed(), new LogIds("id-1", null), error -> {});
    AssertionError bug = new AssertionError("a bug");
    assertThatThrownBy(
            () ->
                keepAlive.answer(
                    boundary,
                    () -> {
                      throw bug;
                    }))
        .isSameAs(bug);
    assertThat(ended).containsExactly(keepAlive);
  }

  @Test
  void answerWithoutEvents_isNotWatched() {
    Response json = new Response.Buffered(200, Headers.of("Content-Type", "application/json"), new byte[0]);
    assertThat(keepAlive.wrap(json)).isSameAs(json);
    assertThat(ended).containsExactly(keepAlive);
    pass(SILENCE.multipliedBy(2));
    assertThat(heads).hasValue(0);
  }

  @Test
  void abandonedBody_isAbandonedAndNotWatched() {
    AtomicInteger abandoned = new AtomicInteger();
    StreamingBody body = new StreamingBody() {
      @Override
      public void run(ByteSink sink) {
        throw new AssertionError("abandoned");
      }

      @Override
      public void abandon() {
        abandoned.incrementAndGet();
      }
    };
    Response.Streaming wrapped = (Response.Streaming) keepAlive.wrap(new Response.Streaming(200, EVENTS, body));
    wrapped.body().abandon();
    assertThat(abandoned).hasValue(1);
    assertThat(ended).containsExactly(keepAlive);
  }

  /** Runs a stream of events through the keep-alive. */
  private void run(StreamingBody.Writer writer) throws IOException {
    Response answer = keepAlive.wrap(new Response.Streaming(200, EVENTS, StreamingBody.of(writer)));
    ((Response.Streaming) answer).body().run(client::write);
    assertThat(ended).containsExactly(keepAlive);
  }

  private void pass(Duration time) {
    clock.advance(time);
    keepAlive.check(clock.nanos());
  }

  private static void write(ByteSink sink, String text) throws IOException {
    byte[] bytes = text.getBytes(UTF_8);
    sink.write(bytes, 0, bytes.length);
  }

  private final class Streamed implements Exchange {
    @Override
    public String method() {
      return "POST";
    }

    @Override
    public String target() {
      return "/v1/chat/completions";
    }

    @Override
    public Headers headers() {
      return Headers.EMPTY;
    }

    @Override
    public byte[] body() {
      return new byte[0];
    }

    @Override
    public RequestMemory memory() {
      return RequestMemory.UNCOUNTED;
    }

    @Override
    public InetAddress client() {
      return InetAddress.getLoopbackAddress();
    }

    @Override
    public Cancellation cancellation() {
      return Cancellation.NONE;
    }

    @Override
    public ByteSink sendHead(int status, Headers headers) {
      heads.incrementAndGet();
      return client::write;
    }
  }
}
