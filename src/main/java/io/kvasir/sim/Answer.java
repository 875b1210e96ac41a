package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.HttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/** The sequences of one job and the way of what they say to the client. Used by the request's thread. */
final class Answer {
  private static final int BREAK_AFTER_TOKENS = 3;
  private static final long LOOK_UP_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final HttpExchange exchange;
  private final Job job;
  private final EngineCore rank;
  private final List<Generation> generations;
  private final Handover handover;
  private final Prose prose;
  private final boolean tellsCached;
  private final int[] shown;
  private final AtomicBoolean gone = new AtomicBoolean();

  Answer(
      HttpExchange exchange,
      Job job,
      EngineCore rank,
      List<Generation> generations,
      Handover handover,
      Prose prose,
      boolean tellsCached) {
    this.exchange = exchange;
    this.job = job;
    this.rank = rank;
    this.generations = generations;
    this.handover = handover;
    this.prose = prose;
    this.tellsCached = tellsCached;
    this.shown = new int[generations.size()];
  }

  /** Submits the sequences, once the other leg has come if they wait for one. */
  void begin(Duration patience) throws IOException, ApiError {
    Thread reader = Thread.currentThread();
    generations.forEach(generation -> generation.readBy(reader));
    handover.begin();
    exchange.onGone(() -> {
      gone.set(true);
      rank.abort(generations);
      LockSupport.unpark(reader);
    });
    CompletableFuture<?> sibling = handover.awaited();
    var _ = sibling.thenRun(() -> LockSupport.unpark(reader));
    long deadline = System.nanoTime() + patience.toNanos();
    while (!sibling.isDone()) {
      if (deadline - System.nanoTime() <= 0) {
        throw ApiError.of(500, "Prefill bootstrap failed: nobody came for the KV within " + patience);
      }
      pause(Math.min(LOOK_UP_NANOS, deadline - System.nanoTime()));
    }
    rank.submit(generations);
    handover.submitted();
  }

  /** Takes what has not ended out of the engine. */
  void close() {
    if (generations.stream().anyMatch(generation -> generation.finish() == null)) {
      rank.abort(generations);
    }
    handover.close();
  }

  void stream(AnswerShape shape, Fault.@Nullable Kind fault) throws IOException {
    exchange.start(200, "text/event-stream; charset=utf-8"); // as vLLM: the head at once, the first event late
    if (fault == Fault.Kind.HANG_AFTER_HEAD) {
      hang();
    }
    awaitFirst();
    StringBuilder out = new StringBuilder(512);
    shape.begin(out);
    exchange.send(out);
    out.setLength(0);
    int open = generations.size();
    boolean[] ended = new boolean[open];
    while (open > 0) {
      boolean news = false;
      for (int i = 0; i < ended.length; i++) {
        if (ended[i] || !hasNews(i)) {
          continue;
        }
        news = true;
        if (failure(i) != null) {
          breakOff(failure(i));
          return;
        }
        ended[i] = show(shape, i, out);
        open -= ended[i] ? 1 : 0;
        exchange.send(out);
        out.setLength(0);
        linger(fault);
      }
      if (fault != null && fault.breaksStreams() && (open == 0 || shown[0] >= BREAK_AFTER_TOKENS)) {
        breakOff(fault);
        return;
      }
      if (!news) {
        pause(LOOK_UP_NANOS);
      }
    }
    if (fault != Fault.Kind.NO_END) {
      shape.end(out, usage());
      exchange.send(out);
    }
    exchange.end();
  }

  void whole(AnswerShape shape, Fault.@Nullable Kind fault) throws IOException, ApiError {
    awaitAll();
    if (fault == Fault.Kind.STREAM_ERROR) {
      throw ApiError.of(500, EngineFailure.MESSAGE);
    }
    if (fault == Fault.Kind.HANG_MIDWAY || fault == Fault.Kind.HANG_AFTER_HEAD) {
      hang();
    }
    linger(fault);
    List<AnswerShape.Choice> choices = new ArrayList<>();
    for (int i = 0; i < generations.size(); i++) {
      String failure = failure(i);
      if (failure != null) {
        throw ApiError.of(500, failure);
      }
      Generation generation = generations.get(i);
      int[] tokens = tokens(generation, 0, generation.delivered());
      choices.add(new AnswerShape.Choice(text(tokens), tokens, finish(generation)));
    }
    JsonNode whole = shape.whole(choices, usage());
    if (whole instanceof ObjectNode answer) {
      handover.tell(answer);
    }
    byte[] body = whole.toString().getBytes(StandardCharsets.UTF_8);
    if (fault == Fault.Kind.CUT || fault == Fault.Kind.NO_END) {
      exchange.start(200, "application/json");
      exchange.send(new String(body, 0, body.length / 2, StandardCharsets.UTF_8));
      exchange.cut();
    } else {
      exchange.reply(200, "application/json", body);
    }
  }

  void awaitAll() throws IOException {
    for (Generation generation : generations) {
      while (generation.finish() == null) {
        pause(LOOK_UP_NANOS);
      }
    }
  }

  Usage usage() {
    return usage(i -> generations.get(i).delivered());
  }

  private Usage usage(IntUnaryOperator said) {
    int prompt = 0;
    int completion = 0;
    int cached = 0;
    for (int i = 0; i < generations.size(); i++) {
      Generation generation = generations.get(i);
      completion += said.applyAsInt(i);
      if (i % job.choices() == 0) {
        prompt += generation.promptLength();
        cached += Math.max(0, generation.cachedTokens());
      }
    }
    return new Usage(prompt, completion, tellsCached ? cached : null);
  }

  private void awaitFirst() throws IOException {
    while (generations.stream().noneMatch(generation -> generation.delivered() > 0 || generation.finish() != null)) {
      pause(LOOK_UP_NANOS);
    }
  }

  private boolean hasNews(int i) {
    return generations.get(i).finish() != null || generations.get(i).delivered() > shown[i];
  }

  private @Nullable String failure(int i) {
    return generations.get(i).finish() == Generation.Finish.ABORT ? generations.get(i).error() : null;
  }

  /** Appends what is new of a choice; returns whether that was its end. */
  private boolean show(AnswerShape shape, int i, StringBuilder out) {
    Generation generation = generations.get(i);
    Generation.Finish finish = generation.finish();
    int delivered = generation.delivered();
    int[] tokens = tokens(generation, shown[i], delivered);
    shown[i] = delivered;
    shape.delta(
        out, i, text(tokens), job.tokenIds() ? tokens : null, finish,
        job.continuousUsage() ? usage(of -> shown[of]) : null);
    return finish != null;
  }

  private void breakOff(Fault.Kind fault) throws IOException {
    switch (fault) {
      case STREAM_ERROR -> breakOff(EngineFailure.MESSAGE);
      case HANG_MIDWAY -> hang();
      default -> exchange.cut();
    }
  }

  /** As vLLM tells of an error when the answer's head is out. */
  private void breakOff(@Nullable String why) throws IOException {
    exchange.send("data: " + EngineFailure.json(500, "InternalServerError", why) + "\n\ndata: [DONE]\n\n");
    exchange.end();
  }

  /** Says nothing more, until the client has enough. */
  private void hang() throws IOException {
    while (true) {
      pause(LOOK_UP_NANOS);
    }
  }

  private void linger(Fault.@Nullable Kind fault) throws IOException {
    if (fault == Fault.Kind.SLOW) {
      long until = System.nanoTime() + Fault.SLOW_NANOS;
      for (long left = Fault.SLOW_NANOS; left > 0; left = until - System.nanoTime()) {
        pause(left);
      }
    }
  }

  /** Waits for the engine's thread or the client's leaving. */
  private void pause(long nanos) throws IOException {
    if (gone.get()) {
      throw new IOException("The client left");
    }
    LockSupport.parkNanos(this, nanos);
  }

  private String text(int[] tokens) {
    StringBuilder text = new StringBuilder();
    for (int token : tokens) {
      text.append(prose.text(token));
    }
    return text.toString();
  }

  private int[] tokens(Generation generation, int from, int to) {
    int[] tokens = new int[to - from];
    for (int i = from; i < to; i++) {
      tokens[i - from] = generation.token(i);
    }
    return tokens;
  }

  private Generation.Finish finish(Generation generation) {
    Generation.Finish finish = generation.finish();
    return finish == null ? Generation.Finish.ABORT : finish;
  }
}
