package io.kvasir.sim.core;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.EngineErrors;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.InjectedFault;
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

/** The answer to a generation request: submits its sequences and writes their text. Used by the request's thread. */
final class GenerationResponse {
  private static final int BREAK_AFTER_TOKENS = 3;
  private static final long LOOK_UP_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final SimHttpExchange exchange;
  private final GenerationRequest request;
  private final EngineCore rank;
  private final List<GeneratedSequence> generations;
  private final RequestTransfer transfer;
  private final CachedTokensUsage cachedTokens;
  private final AnswerText[] texts;
  private final AtomicBoolean cancelled = new AtomicBoolean();

  GenerationResponse(
      SimHttpExchange exchange,
      GenerationRequest request,
      EngineCore rank,
      List<GeneratedSequence> generations,
      RequestTransfer transfer,
      CachedTokensUsage cachedTokens) {
    this.exchange = exchange;
    this.request = request;
    this.rank = rank;
    this.generations = generations;
    this.transfer = transfer;
    this.cachedTokens = cachedTokens;
    this.texts = generations.stream().map(AnswerText::new).toArray(AnswerText[]::new);
  }

  /** Submits the sequences, once the receivers have requested their blocks where transfers wait for them. */
  void submit(Duration timeout) throws IOException, EngineApiException {
    Thread reader = Thread.currentThread();
    generations.forEach(generation -> generation.setReader(reader));
    transfer.prepare();
    exchange.onCancelled(() -> {
      cancelled.set(true);
      rank.abort(generations);
      LockSupport.unpark(reader);
    });
    CompletableFuture<?> receiversReady = transfer.receiversReady();
    var _ = receiversReady.thenRun(() -> LockSupport.unpark(reader));
    if (!receiversReady.isDone()) {
      exchange.letLaterPass(); // they do not wait for another engine
    }
    long deadline = System.nanoTime() + timeout.toNanos();
    while (!receiversReady.isDone()) {
      if (deadline - System.nanoTime() <= 0) {
        throw EngineApiException.of(500, "Prefill bootstrap failed: nobody came for the KV within " + timeout);
      }
      pause(Math.min(LOOK_UP_NANOS, deadline - System.nanoTime()));
    }
    rank.submit(generations);
    transfer.startHeartbeats();
  }

  /** Takes what has not ended out of the engine. */
  void close() {
    if (generations.stream().anyMatch(generation -> generation.finish() == null)) {
      rank.abort(generations);
    }
    transfer.close();
  }

  void stream(ResponseFormat format, InjectedFault.@Nullable Kind fault) throws IOException {
    exchange.start(200, "text/event-stream; charset=utf-8"); // as vLLM: the head at once, the first event late
    if (fault == InjectedFault.Kind.HANG_AFTER_HEAD) {
      hang();
    }
    awaitFirst();
    StringBuilder out = new StringBuilder(512);
    format.begin(out);
    exchange.send(out);
    out.setLength(0);
    int open = generations.size();
    boolean[] ended = new boolean[open];
    while (open > 0) {
      boolean news = false;
      for (int i = 0; i < ended.length; i++) {
        if (ended[i] || !hasNewTokens(i)) {
          continue;
        }
        news = true;
        if (failure(i) != null) {
          failStream(failure(i));
          return;
        }
        ended[i] = appendNewTokens(format, i, out);
        open -= ended[i] ? 1 : 0;
        exchange.send(out);
        out.setLength(0);
        delay(fault);
      }
      if (fault != null && fault.breaksStreams() && (open == 0 || texts[0].tokens() >= BREAK_AFTER_TOKENS)) {
        failStream(fault);
        return;
      }
      if (!news) {
        pause(LOOK_UP_NANOS);
      }
    }
    if (fault != InjectedFault.Kind.NO_END) {
      format.end(out, usage());
      exchange.send(out);
    }
    exchange.end();
  }

  void writeBody(ResponseFormat format, InjectedFault.@Nullable Kind fault) throws IOException, EngineApiException {
    awaitAll();
    if (fault == InjectedFault.Kind.STREAM_ERROR) {
      throw EngineApiException.of(500, EngineErrors.MESSAGE);
    }
    if (fault == InjectedFault.Kind.HANG_MIDWAY || fault == InjectedFault.Kind.HANG_AFTER_HEAD) {
      hang();
    }
    delay(fault);
    List<ResponseFormat.Choice> choices = new ArrayList<>();
    for (int i = 0; i < generations.size(); i++) {
      String failure = failure(i);
      if (failure != null) {
        throw EngineApiException.of(500, failure);
      }
      GeneratedSequence generation = generations.get(i);
      ResponseFormat.End end = end(generation);
      int[] tokens = tokens(generation, 0, generation.delivered());
      String text = texts[i].take(tokens.length, true);
      choices.add(new ResponseFormat.Choice(text, AnswerText.call(generation, text), tokens, end));
    }
    JsonNode whole = format.body(choices, usage());
    if (whole instanceof ObjectNode answer) {
      transfer.addParams(answer);
    }
    byte[] body = whole.toString().getBytes(StandardCharsets.UTF_8);
    if (fault == InjectedFault.Kind.CUT || fault == InjectedFault.Kind.NO_END) {
      exchange.start(200, "application/json");
      exchange.send(new String(body, 0, body.length / 2, StandardCharsets.UTF_8));
      exchange.dropConnection();
    } else {
      exchange.reply(200, "application/json", body);
    }
  }

  void awaitAll() throws IOException {
    for (GeneratedSequence generation : generations) {
      while (generation.finish() == null) {
        pause(LOOK_UP_NANOS);
      }
    }
  }

  Usage usage() {
    return usage(i -> generations.get(i).delivered());
  }

  private Usage usage(IntUnaryOperator completionTokens) {
    int prompt = 0;
    int completion = 0;
    int cached = 0;
    for (int i = 0; i < generations.size(); i++) {
      GeneratedSequence generation = generations.get(i);
      completion += completionTokens.applyAsInt(i);
      if (i % request.choices() == 0) {
        prompt += generation.promptLength();
        cached += Math.max(0, generation.cachedTokens());
      }
    }
    return new Usage(prompt, completion, cachedTokens.reported(cached));
  }

  private void awaitFirst() throws IOException {
    while (generations.stream().noneMatch(generation -> generation.delivered() > 0 || generation.finish() != null)) {
      pause(LOOK_UP_NANOS);
    }
  }

  private boolean hasNewTokens(int i) {
    return generations.get(i).finish() != null || generations.get(i).delivered() > texts[i].tokens();
  }

  private @Nullable String failure(int i) {
    return generations.get(i).finish() == GeneratedSequence.FinishReason.ABORT ? generations.get(i).error() : null;
  }

  /** Appends what is new of a choice; returns whether that was its end. */
  private boolean appendNewTokens(ResponseFormat format, int i, StringBuilder out) {
    GeneratedSequence generation = generations.get(i);
    boolean ended = generation.finish() != null;
    int delivered = generation.delivered();
    int from = texts[i].tokens();
    String text = texts[i].take(delivered, ended);
    format.delta(
        out,
        i,
        new ResponseFormat.Delta(
            text,
            texts[i].callPart(text),
            request.response().tokens() ? tokens(generation, from, delivered) : null,
            ended ? end(generation) : null,
            request.response().continuousUsage() ? usage(of -> texts[of].tokens()) : null));
    return ended;
  }

  private void failStream(InjectedFault.Kind fault) throws IOException {
    switch (fault) {
      case STREAM_ERROR -> failStream(EngineErrors.MESSAGE);
      case HANG_MIDWAY -> hang();
      default -> exchange.dropConnection();
    }
  }

  /** Writes an error as vLLM does after the answer's head. */
  private void failStream(@Nullable String why) throws IOException {
    exchange.send("data: " + EngineErrors.json(500, "InternalServerError", why) + "\n\ndata: [DONE]\n\n");
    exchange.end();
  }

  /** Sends nothing more and waits until the client disconnects. */
  private void hang() throws IOException {
    while (true) {
      pause(LOOK_UP_NANOS);
    }
  }

  private void delay(InjectedFault.@Nullable Kind fault) throws IOException {
    if (fault == InjectedFault.Kind.SLOW) {
      long until = System.nanoTime() + InjectedFault.SLOW_NANOS;
      for (long left = InjectedFault.SLOW_NANOS; left > 0; left = until - System.nanoTime()) {
        pause(left);
      }
    }
  }

  /** Waits for the engine's thread or a cancellation. */
  private void pause(long nanos) throws IOException {
    if (cancelled.get()) {
      throw new IOException("The client left");
    }
    LockSupport.parkNanos(this, nanos);
  }

  private int[] tokens(GeneratedSequence generation, int from, int to) {
    int[] tokens = new int[to - from];
    for (int i = from; i < to; i++) {
      tokens[i - from] = generation.token(i);
    }
    return tokens;
  }

  private static ResponseFormat.End end(GeneratedSequence generation) {
    GeneratedSequence.FinishReason finish = generation.finish();
    return new ResponseFormat.End(
        finish == null ? GeneratedSequence.FinishReason.ABORT : finish, generation.stopReason());
  }
}
