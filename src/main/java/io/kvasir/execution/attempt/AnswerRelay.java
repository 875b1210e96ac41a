package io.kvasir.execution.attempt;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.execution.stream.AnswerTap;
import io.kvasir.execution.stream.BodyFilter;
import io.kvasir.execution.stream.UsageFilter;
import io.kvasir.http.ByteSink;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse;
import java.io.IOException;

/** The body of a worker's stream: goes to the client as it comes, while an {@link AnswerTap} reads along. */
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
    Deadlines deadlines = exchange.deadlines();
    try {
      BodyFilter sink = sink(client);
      byte[] buffer = firstBytes.buffer();
      int read = firstBytes.length();
      while (read >= 0) {
        deadlines.awaitingClient();
        tap.accept(buffer, 0, read);
        exchange.progressed(task);
        sink.write(buffer, 0, read);
        deadlines.awaitingPod();
        read = response.read(buffer, 0, buffer.length);
      }
      tap.end();
      sink.end();
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

  @Override
  public void abandon() {
    exchange.abort(AbortReason.NOT_NEEDED);
    exchange.streamEnded(task, new Outcome.Cancelled());
  }

  private BodyFilter sink(ByteSink client) {
    Translation translation = task.handling().translation();
    BodyFilter filter = task.handling().rules().stripUsage()
        ? new UsageFilter(client)
        : new PassThroughFilter(client);
    return translation != null && tap.form() == AnswerTap.Form.EVENTS
        ? new TranslatingFilter(translation.stream(filter), filter)
        : filter;
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
