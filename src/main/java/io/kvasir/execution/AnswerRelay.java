package io.kvasir.execution;

import io.kvasir.http.ByteSink;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.dialect.Translation;
import java.io.IOException;

/** Hands a stream to the client as it comes, while an {@link AnswerTap} watches it. Runs once. */
final class AnswerRelay implements Result.Relay {
  private final Attempt attempt;
  private final Task task;
  private final PodResponse answer;
  private final AnswerTap tap;
  private final Beginning beginning;
  private final Deadlines deadlines;

  AnswerRelay(
      Attempt attempt, Task task, PodResponse answer, AnswerTap tap, Beginning beginning, Deadlines deadlines) {
    this.attempt = attempt;
    this.task = task;
    this.answer = answer;
    this.tap = tap;
    this.beginning = beginning;
    this.deadlines = deadlines;
  }

  @Override
  public void run(ByteSink client) throws IOException {
    Outcome outcome = new Outcome.Failed(false, "given up");
    try {
      Passage sink = sink(client);
      byte[] buffer = beginning.buffer();
      int read = beginning.length();
      while (read >= 0) {
        deadlines.notWaiting();
        tap.accept(buffer, 0, read);
        task.chosen().reservation().moved();
        attempt.tell();
        sink.write(buffer, 0, read);
        deadlines.waiting();
        read = answer.read(buffer, 0, buffer.length);
      }
      tap.end();
      sink.end();
      outcome = streamed();
    } catch (PodException e) {
      outcome = attempt.outcomeOfCut(e);
      throw e;
    } catch (IOException e) {
      // Not the pod's: the client's socket took no more.
      outcome = new Outcome.Cancelled();
      throw e;
    } finally {
      attempt.ended(outcome);
    }
  }

  /** Gives up an answer that nobody is going to hand on. */
  void abandon() {
    attempt.abandon();
  }

  private Passage sink(ByteSink client) {
    Translation translation = task.translation();
    if (translation != null && tap.form() == AnswerTap.Form.EVENTS) {
      return new TranslatedSink(translation.stream(client::write));
    }
    return task.withoutUsage() ? new UsageFilter(client) : new PlainSink(client);
  }

  private Outcome streamed() {
    if (tap.failed()) {
      return new Outcome.Failed(false, "an error inside the stream");
    }
    if (task.terminated() && tap.form() == AnswerTap.Form.EVENTS && answer.status() < 300 && !tap.ended()) {
      boolean framed = answer.contentLength() >= 0 || answer.headers().hasToken("Transfer-Encoding", "chunked");
      return new Outcome.Failed(!framed, "a stream without its end");
    }
    return attempt.completed();
  }

  private record PlainSink(ByteSink client) implements Passage {
    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      client.write(bytes, offset, length);
    }

    @Override
    public void end() {}
  }

  private record TranslatedSink(Translation.Stream stream) implements Passage {
    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      stream.accept(bytes, offset, length);
    }

    @Override
    public void end() throws IOException {
      stream.end();
    }
  }
}
