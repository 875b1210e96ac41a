package io.kvasir.sim;

import io.kvasir.sim.engine.KeyChain;
import io.kvasir.sim.http.HttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Takes a {@link Job} to a rank and its answer to the client: chooses the rank, submits the sequences,
 * writes what is delivered, and aborts everything when the client leaves. Called on the request's own
 * virtual thread, which waits for the engine's.
 */
final class Desk {
  private static final int CUT_AFTER_TOKENS = 3;
  private static final long LOOK_UP_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final List<EngineCore> ranks;
  private final SimSettings settings;
  private final Prose prose;
  private final int eos;
  private final byte[] root;
  /** Sequences per rank that were taken and are not finished: fresher than what the ranks tell. */
  private final AtomicIntegerArray load;
  private final AtomicInteger inFlight = new AtomicInteger();

  Desk(List<EngineCore> ranks, SimSettings settings, Prose prose, int eos) {
    this.ranks = ranks;
    this.settings = settings;
    this.prose = prose;
    this.eos = eos;
    this.load = new AtomicIntegerArray(ranks.size());
    this.root = KeyChain.root(Long.toString(settings.seed()));
  }

  /** Jobs taken and not finished. */
  int inFlight() {
    return inFlight.get();
  }

  /** Generates, and answers in {@code shape}. */
  void serve(HttpExchange exchange, Job job, AnswerShape shape, Fault.@Nullable Kind fault)
      throws IOException, ApiError {
    Answer answer = new Answer(exchange, job);
    try {
      answer.begin();
      if (job.stream()) {
        answer.stream(shape, fault);
      } else {
        answer.whole(shape, fault);
      }
    } finally {
      answer.close();
    }
  }

  /** Reads the prompts and nothing more; returns what that cost. */
  Usage read(HttpExchange exchange, Job job) throws IOException {
    Answer answer = new Answer(exchange, job);
    try {
      answer.begin();
      answer.awaitAll();
      return answer.usage();
    } finally {
      answer.close();
    }
  }

  /** The rank the client names, or the one with the least to do. */
  private EngineCore rank(HttpExchange exchange) {
    String asked = exchange.header("x-data-parallel-rank");
    if (asked != null && asked.matches("\\d{1,4}") && Integer.parseInt(asked) < ranks.size()) {
      return ranks.get(Integer.parseInt(asked));
    }
    int least = 0;
    for (int rank = 1; rank < ranks.size(); rank++) {
      if (load.get(rank) < load.get(least)) {
        least = rank;
      }
    }
    return ranks.get(least);
  }

  /** The sequences of one job and where their answers go. */
  private final class Answer {
    private final HttpExchange exchange;
    private final Job job;
    private final EngineCore rank;
    private final List<Generation> generations = new ArrayList<>();
    private final int[] shown;
    private final AtomicBoolean gone = new AtomicBoolean();

    Answer(HttpExchange exchange, Job job) {
      this.exchange = exchange;
      this.job = job;
      this.rank = rank(exchange);
      for (int[] prompt : job.prompts()) {
        for (int choice = 0; choice < job.choices(); choice++) {
          KeyChain keys = new KeyChain(root, settings.blockSize(), job.lora(), job.salt());
          generations.add(
              new Generation(
                  prompt, keys, prose.after(prompt, choice), eos, job.extent(), job.stream(), job.lora(), job.salt()));
        }
      }
      shown = new int[generations.size()];
    }

    void begin() {
      inFlight.incrementAndGet();
      load.addAndGet(rank.rank(), generations.size());
      Thread reader = Thread.currentThread();
      generations.forEach(generation -> generation.readBy(reader));
      rank.submit(generations);
      exchange.onGone(() -> {
        gone.set(true);
        rank.abort(generations);
        LockSupport.unpark(reader);
      });
    }

    /** Takes what has not ended out of the engine. */
    void close() {
      inFlight.decrementAndGet();
      load.addAndGet(rank.rank(), -generations.size());
      if (generations.stream().anyMatch(generation -> generation.finish() == null)) {
        rank.abort(generations);
      }
    }

    void stream(AnswerShape shape, Fault.@Nullable Kind fault) throws IOException {
      exchange.start(200, "text/event-stream; charset=utf-8"); // as vLLM: the head at once, the first event late
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
          ended[i] = show(shape, i, out);
          open -= ended[i] ? 1 : 0;
          exchange.send(out);
          out.setLength(0);
        }
        if (fault != null && (open == 0 || shown[0] >= CUT_AFTER_TOKENS)) {
          breakOff(fault);
          return;
        }
        if (!news) {
          pause();
        }
      }
      shape.end(out, usage());
      exchange.send(out);
      exchange.end();
    }

    void whole(AnswerShape shape, Fault.@Nullable Kind fault) throws IOException, ApiError {
      awaitAll();
      if (fault == Fault.Kind.STREAM_ERROR) {
        throw ApiError.of(500, "EngineCore encountered an issue. See stack trace (above) for the root cause.");
      }
      List<AnswerShape.Choice> choices = new ArrayList<>();
      for (Generation generation : generations) {
        int[] tokens = tokens(generation, 0, generation.delivered());
        choices.add(new AnswerShape.Choice(text(tokens), tokens, finish(generation)));
      }
      byte[] body = shape.whole(choices, usage()).toString().getBytes(StandardCharsets.UTF_8);
      if (fault == Fault.Kind.CUT) {
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
          pause();
        }
      }
    }

    Usage usage() {
      int prompt = 0;
      int completion = 0;
      int cached = 0;
      for (int i = 0; i < generations.size(); i++) {
        Generation generation = generations.get(i);
        completion += generation.delivered();
        if (i % job.choices() == 0) {
          prompt += generation.promptLength();
          cached += Math.max(0, generation.cachedTokens());
        }
      }
      return new Usage(prompt, completion, settings.reportCachedTokens() ? cached : null);
    }

    private void awaitFirst() throws IOException {
      while (generations.stream().noneMatch(generation -> generation.delivered() > 0 || generation.finish() != null)) {
        pause();
      }
    }

    private boolean hasNews(int i) {
      return generations.get(i).finish() != null || generations.get(i).delivered() > shown[i];
    }

    /** Appends what is new of a choice; returns whether that was its end. */
    private boolean show(AnswerShape shape, int i, StringBuilder out) {
      Generation generation = generations.get(i);
      Generation.Finish finish = generation.finish();
      int delivered = generation.delivered();
      int[] tokens = tokens(generation, shown[i], delivered);
      shown[i] = delivered;
      shape.delta(
          out, i, text(tokens), job.tokenIds() ? tokens : null, finish, job.continuousUsage() ? usage() : null);
      return finish != null;
    }

    private void breakOff(Fault.Kind fault) throws IOException {
      if (fault == Fault.Kind.STREAM_ERROR) {
        exchange.send(
            "data: {\"error\":{\"message\":\"EngineCore encountered an issue. See stack trace (above) for the root "
                + "cause.\",\"type\":\"InternalServerError\",\"param\":null,\"code\":500}}\n\ndata: [DONE]\n\n");
        exchange.end();
      } else {
        exchange.cut();
      }
    }

    /** Waits for the engine's thread or the client's leaving. */
    private void pause() throws IOException {
      if (gone.get()) {
        throw new IOException("The client left");
      }
      LockSupport.parkNanos(this, LOOK_UP_NANOS);
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
}
