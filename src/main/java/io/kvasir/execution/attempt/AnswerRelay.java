package io.kvasir.execution.attempt;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.execution.stream.BodyFilter;
import io.kvasir.execution.stream.TappedSink;
import io.kvasir.execution.stream.UsageFilter;
import io.kvasir.http.ByteSink;
import io.kvasir.http.DeferringSink;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse;
import java.io.IOException;

/**
 * The body of a worker's stream: goes to the client as it comes, while an {@link AnswerTap} reads along. Where both
 * connections allow it, a thread that relays many streams does it, as long as the client keeps up.
 */
final class AnswerRelay implements StreamingBody {
  private final PodExchange exchange;
  private final Task task;
  private final PodResponse response;
  private final FirstBytes firstBytes;
  private final AnswerTap tap;

  AnswerRelay(PodExchange exchange, Task task, PodResponse response, FirstBytes firstBytes) {
    this.exchange = exchange;
    this.task = task;
    this.response = response;
    this.firstBytes = firstBytes;
    this.tap = exchange.tap();
  }

  @Override
  public void run(ByteSink client) throws IOException {
    Outcome outcome = new Outcome.Cancelled();
    try {
      if (client instanceof DeferringSink deferring && deferring.canOffer() && response.canStream()) {
        stream(deferring);
      } else {
        copy(client);
      }
      outcome = streamed();
    } catch (PodException e) {
      outcome = exchange.failed(e);
      throw e;
    } catch (IOException e) {
      // Not the pod's: the client's socket failed.
      outcome = new Outcome.Cancelled();
      throw e;
    } finally {
      exchange.streamEnded(task, outcome);
    }
  }

  /** Relays piece by piece on the thread that calls, which waits for the worker and for the client. */
  private void copy(ByteSink client) throws IOException {
    BodyFilter sink = sink(client, client);
    byte[] buffer = firstBytes.buffer();
    int read = firstBytes.length();
    while (read >= 0) {
      pass(buffer, read, sink);
      read = response.read(buffer, 0, buffer.length);
    }
    sink.end();
  }

  /** Relays on a thread that does the same for other streams, as long as the client keeps up. */
  private void stream(DeferringSink client) throws IOException {
    BodyFilter sink = sink(client, client::offer);
    pass(firstBytes.buffer(), firstBytes.length(), sink);
    firstBytes.drop();
    do {
      flush(client);
    } while (!response.stream((bytes, length) -> {
      pass(bytes, length, sink);
      return !client.isBehind();
    }));
    sink.end();
    flush(client);
  }

  private void flush(DeferringSink client) throws IOException {
    exchange.deadlines().awaitingClient();
    client.flush();
    exchange.deadlines().awaitingPod();
  }

  private void pass(byte[] buffer, int length, BodyFilter sink) throws IOException {
    exchange.deadlines().awaitingClient();
    sink.write(buffer, 0, length);
    exchange.progressed(task);
    exchange.deadlines().awaitingPod();
  }

  @Override
  public void abandon() {
    exchange.abort(AbortReason.NOT_NEEDED);
    exchange.streamEnded(task, new Outcome.Cancelled());
  }

  /**
   * The sink of the worker's bytes.
   *
   * @param into takes what is for {@code client}, in the way in which it is to be written
   */
  private BodyFilter sink(ByteSink client, ByteSink into) {
    boolean events = tap.form() == AnswerTap.Form.EVENTS;
    boolean strips = task.handling().rules().stripUsage();
    Translation translation = task.handling().translation();
    exchange.relaysTo(null);
    if (translation != null && events) {
      BodyFilter translated = strips ? new UsageFilter(into) : new PassThroughFilter(into);
      return new TappedFilter(tap, new TranslatingFilter(translation.stream(translated), translated));
    }
    if (strips && events) {
      return new UsageFilter(into, tap);
    }
    if (events && client instanceof TappedSink reader) {
      reader.beginStream(tap);
      exchange.relaysTo(reader);
      return new ReaderFilter(reader, into);
    }
    return new TappedFilter(tap, new PassThroughFilter(into));
  }

  private Outcome streamed() {
    if (tap.failed()) {
      return new Outcome.Failed(false, "an error inside the stream");
    }
    if (task.handling().rules().hasTerminator() && tap.form() == AnswerTap.Form.EVENTS && response.status() < 300
        && !tap.ended()) {
      boolean framed = response.contentLength() >= 0 || response.headers().hasToken("Transfer-Encoding", "chunked");
      return new Outcome.Failed(!framed, "a stream without its end");
    }
    return exchange.completed(task);
  }

  private record TappedFilter(AnswerTap tap, BodyFilter next) implements BodyFilter {
    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      tap.accept(bytes, offset, offset + length);
      next.write(bytes, offset, length);
    }

    @Override
    public void end() throws IOException {
      tap.end();
      next.end();
    }
  }

  /** The client's side reads the events itself, with our tap. */
  private record ReaderFilter(TappedSink reader, ByteSink into) implements BodyFilter {
    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      into.write(bytes, offset, length);
    }

    @Override
    public void end() {
      reader.endStream();
    }
  }

  private record PassThroughFilter(ByteSink client) implements BodyFilter {
    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      client.write(bytes, offset, length);
    }

    @Override
    public void end() {}
  }

  private record TranslatingFilter(Translation.Stream stream, BodyFilter next) implements BodyFilter {
    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      stream.accept(bytes, offset, length);
    }

    @Override
    public void end() throws IOException {
      stream.end();
      next.end();
    }
  }
}
