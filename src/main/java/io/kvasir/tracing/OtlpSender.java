package io.kvasir.tracing;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.time.NanoClock;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.common.export.Compressor;
import io.opentelemetry.sdk.common.export.HttpResponse;
import io.opentelemetry.sdk.common.export.HttpSender;
import io.opentelemetry.sdk.common.export.HttpSenderConfig;
import io.opentelemetry.sdk.common.export.MessageWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Sends messages of OTLP over HTTP. One that fails in passing is sent again, when the collector wants it or after a
 * while that grows; a collector's {@code Retry-After} also holds for the messages after it. The SDK's own senders do
 * not regard it, and bring a third HTTP client. Used by one thread, but for {@link #stopRetrying}.
 */
final class OtlpSender implements HttpSender {
  private static final long MAX_ANSWER_BYTES = 64 << 10;
  private static final int MAX_TRIES = 5;
  private static final long FIRST_BACKOFF_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The longest pause that a collector may ask for: one that asks for years would end the traces for good. */
  private static final long MAX_PAUSE_NANOS = TimeUnit.MINUTES.toNanos(5);

  private static final int MAX_REASON = 200;
  private static final int BUFFER = 8192;

  private final HttpSenderConfig config;
  private final HttpCalls http;
  private final NanoClock clock;
  private final CountDownLatch stopped = new CountDownLatch(1);
  private long deadline;
  /** Before this the collector wants nothing. */
  private long notBefore;
  private long rejected;
  private @Nullable String failure;

  OtlpSender(HttpSenderConfig config, NanoClock clock) {
    this.config = config;
    this.http = new HttpCalls(config.getConnectTimeout(), config.getSslContext());
    this.clock = clock;
    this.notBefore = clock.nanos();
  }

  /** Begins a message, which may take that long with all its tries. */
  void begin(Duration timeout) {
    deadline = clock.nanos() + timeout.toNanos();
    rejected = 0;
    failure = null;
  }

  /** Why the latest message was not taken, null when it was. */
  @Nullable String failure() {
    return failure;
  }

  /** How many spans of the latest message the collector says that it did not take: any number. */
  long rejected() {
    return rejected;
  }

  void stopRetrying() {
    stopped.countDown();
  }

  @Override
  public void send(MessageWriter message, Consumer<HttpResponse> onAnswer, Consumer<Throwable> onFailure) {
    try {
      onAnswer.accept(send(request(message)));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      failure = "it was interrupted";
      onFailure.accept(e);
    } catch (IOException | RuntimeException e) {
      failure = reason(String.valueOf(e.getMessage()));
      onFailure.accept(e);
    }
  }

  private HttpCalls.Request request(MessageWriter message) throws IOException {
    HttpCalls.Request request =
        HttpCalls.Request.of("POST", config.getEndpoint(), config.getTimeout())
            .withMaxBytes(MAX_ANSWER_BYTES)
            .withHeader("Content-Type", config.getContentType());
    for (var header : config.getHeadersSupplier().get().entrySet()) {
      for (String value : header.getValue()) {
        request = request.withHeader(header.getKey(), value);
      }
    }
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    Compressor compressor = config.getCompressor();
    if (compressor == null) {
      message.writeMessage(body);
      return request.withBody(body.toByteArray());
    }
    try (OutputStream compressed =
        compressor.getEncoding().equals("gzip") ? new FastGzip(body) : compressor.compress(body)) {
      message.writeMessage(compressed);
    }
    return request.withHeader("Content-Encoding", compressor.getEncoding()).withBody(body.toByteArray());
  }

  private HttpResponse send(HttpCalls.Request request) throws IOException, InterruptedException {
    for (int tries = 1; ; tries++) {
      if (!waited()) {
        throw new IOException(failure == null ? "the collector wants nothing for a while" : failure);
      }
      long backoff = backoff(tries);
      HttpCalls.Reply reply;
      try {
        reply = http.send(request);
      } catch (HttpCallException e) {
        failure = reason(String.valueOf(e.getMessage()));
        notBefore = clock.nanos() + backoff;
        if (tries == MAX_TRIES) {
          throw e;
        }
        continue;
      }
      int status = reply.status();
      if (status / 100 == 2) {
        failure = null;
        rejected = rejected(reply.body());
        return new Answer(status, reply.body());
      }
      failure = "%s answered %d".formatted(request.uri(), status);
      boolean passing = status == 429 || status == 502 || status == 503 || status == 504;
      if (passing) {
        notBefore = clock.nanos() + retryAfter(reply, backoff);
      }
      if (!passing || tries == MAX_TRIES) {
        return new Answer(status, reply.body());
      }
    }
  }

  /** Waits until the collector wants a message; false when that is too late. */
  private boolean waited() throws InterruptedException {
    long wait = notBefore - clock.nanos();
    if (wait <= 0) {
      return true;
    }
    return clock.nanos() + wait - deadline < 0 && !stopped.await(wait, TimeUnit.NANOSECONDS);
  }

  private static long backoff(int tries) {
    return (long) (FIRST_BACKOFF_NANOS * Math.pow(1.5, tries - 1) * ThreadLocalRandom.current().nextDouble(0.8, 1.2));
  }

  private static long retryAfter(HttpCalls.Reply reply, long otherwise) {
    try {
      return reply.header("Retry-After").map(after -> TimeUnit.SECONDS.toNanos(Long.parseLong(after.strip())))
          .filter(nanos -> nanos >= 0).map(nanos -> Math.min(nanos, MAX_PAUSE_NANOS)).orElse(otherwise);
    } catch (NumberFormatException date) {
      return otherwise;
    }
  }

  /** {@code ExportTraceServiceResponse.partial_success.rejected_spans}; 0 without. */
  private static long rejected(byte[] answer) {
    try {
      CodedInputStream response = CodedInputStream.newInstance(answer);
      long sum = 0;
      for (int tag = response.readTag(); tag != 0; tag = response.readTag()) {
        if (tag == (1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED)) {
          sum += rejectedSpans(response.readByteBuffer());
        } else if (!response.skipField(tag)) {
          return sum;
        }
      }
      return sum;
    } catch (IOException unreadable) {
      // It has said that it took them.
      return 0;
    }
  }

  private static long rejectedSpans(ByteBuffer partialSuccess) throws IOException {
    CodedInputStream fields = CodedInputStream.newInstance(partialSuccess);
    for (int tag = fields.readTag(); tag != 0; tag = fields.readTag()) {
      if (tag == (1 << 3 | WireFormat.WIRETYPE_VARINT)) {
        return fields.readInt64();
      }
      if (!fields.skipField(tag)) {
        return 0;
      }
    }
    return 0;
  }

  private static String reason(String text) {
    return text.length() <= MAX_REASON ? text : text.substring(0, MAX_REASON);
  }

  @Override
  public CompletableResultCode shutdown() {
    http.close();
    return CompletableResultCode.ofSuccess();
  }

  /** Spans repeat themselves: more effort makes them little smaller, and takes three times as long. */
  private static final class FastGzip extends GZIPOutputStream {
    FastGzip(OutputStream out) throws IOException {
      super(out, BUFFER);
      def.setLevel(Deflater.BEST_SPEED);
    }
  }

  private record Answer(int status, byte[] body) implements HttpResponse {
    @Override
    public int getStatusCode() {
      return status;
    }

    @Override
    public String getStatusMessage() {
      return "";
    }

    @Override
    public byte[] getResponseBody() {
      return body;
    }
  }
}
