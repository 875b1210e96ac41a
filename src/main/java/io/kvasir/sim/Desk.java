package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.engine.EngineModel;
import io.kvasir.sim.engine.KeyChain;
import io.kvasir.sim.http.HttpExchange;
import io.kvasir.sim.transfer.TransferAgent;
import io.kvasir.sim.transfer.Leg;
import io.kvasir.sim.transfer.LegRequest;
import io.kvasir.sim.transfer.Refusal;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;

/**
 * Takes a {@link Job} to a rank and its answer to the client: finds out what the job has to do with other engines,
 * chooses the rank, makes the sequences, and aborts everything when the client leaves. Called on the request's own
 * virtual thread, which waits for the engine's.
 */
final class Desk {
  private final List<EngineCore> ranks;
  private final SimSettings settings;
  private final Prose prose;
  private final int eos;
  private final byte[] root;
  private final TransferAgent transfer;
  private final Handover.Wire wire;
  /** Sequences per rank that were taken and are not finished: fresher than what the ranks tell. */
  private final AtomicIntegerArray load;
  private final AtomicInteger inFlight = new AtomicInteger();

  Desk(List<EngineCore> ranks, SimSettings settings, Prose prose, int eos, TransferAgent transfer) {
    this.ranks = ranks;
    this.settings = settings;
    this.prose = prose;
    this.eos = eos;
    this.transfer = transfer;
    this.wire = new Handover.Wire(prose, EngineModel.named(settings.engine()).kvBytesPerToken(), settings.speed());
    this.load = new AtomicIntegerArray(ranks.size());
    this.root = KeyChain.root(Long.toString(settings.seed()));
  }

  /** Jobs taken and not finished. */
  int inFlight() {
    return inFlight.get();
  }

  /**
   * Generates, and answers in {@code shape}.
   *
   * @param body as the client sent it
   * @param id the engine's name for the request
   */
  void serve(HttpExchange exchange, Body body, String id, Job job, AnswerShape shape, Fault.@Nullable Kind fault)
      throws IOException, ApiError {
    Integer asked = rankAsked(exchange, body);
    Job whole = job.with(legs(exchange, body, ids(id, exchange.path(), job), asked));
    answer(
        exchange,
        whole,
        asked,
        answer -> {
          if (whole.stream()) {
            answer.stream(shape, fault);
          } else {
            answer.whole(shape, fault);
          }
        });
  }

  /** Reads the prompts and nothing more; returns what that cost. */
  Usage read(HttpExchange exchange, Job job) throws IOException, ApiError {
    Usage[] usage = new Usage[1];
    answer(
        exchange,
        job,
        null,
        answer -> {
          answer.awaitAll();
          usage[0] = answer.usage();
        });
    return usage[0];
  }

  /** Computes so many tokens that nobody asks for again. */
  void compute(HttpExchange exchange, int tokens, @Nullable String lora) throws IOException, ApiError {
    int[] random = ThreadLocalRandom.current().ints(Math.min(tokens, settings.modelLen()), 0, 1 << 20).toArray();
    read(
        exchange,
        new Job(
            List.of(random), 1, new Generation.Extent(0, 0, false), false, false, false, false, lora, null,
            Job.alone(1), 0));
  }

  /** Leading chunks of {@code tokens} that some rank has in host memory; they count as used there. */
  CompletableFuture<Integer> hostChunks(int[] tokens, @Nullable String salt) {
    Generation.Extent nothing = new Generation.Extent(0, 0, false);
    CompletableFuture<Integer> most = CompletableFuture.completedFuture(0);
    for (EngineCore rank : ranks) {
      KeyChain keys = new KeyChain(root, settings.blockSize(), null, salt);
      Generation probe = new Generation(tokens, keys, prose.after(tokens, 0), eos, nothing, false, null, salt);
      most = most.thenCombine(rank.hostBlocks(probe), Math::max);
    }
    return most.thenApply(blocks -> blocks * settings.blockSize() / HostTierSettings.CHUNK_TOKENS);
  }

  /** A request was refused before the engine had it: other engines need not keep what it would have fetched. */
  void refused(HttpExchange exchange, Body body) {
    try {
      for (Leg leg : legs(exchange, body, List.of("refused"), null)) {
        if (leg instanceof Leg.Receive receive) {
          Thread.startVirtualThread(() -> transfer.abandon(receive));
        }
      }
    } catch (ApiError e) {
      // refused for that reason
    }
  }

  /** What is done with an answer between its sequences' submission and the end. */
  private interface Use {
    void of(Answer answer) throws IOException, ApiError;
  }

  private void answer(HttpExchange exchange, Job job, @Nullable Integer asked, Use use) throws IOException, ApiError {
    EngineCore rank = rank(asked, job.legs());
    List<Generation> generations = new ArrayList<>();
    for (int[] prompt : job.prompts()) {
      for (int choice = 0; choice < job.choices(); choice++) {
        KeyChain keys = new KeyChain(root, settings.blockSize(), job.lora(), job.salt());
        generations.add(
            new Generation(
                prompt, keys, prose.after(prompt, choice), eos, job.extent(), job.stream(), job.lora(), job.salt()));
      }
    }
    Handover handover = new Handover(transfer, wire, job, rank, generations);
    Answer answer =
        new Answer(exchange, job, rank, generations, handover, prose, settings.reportCachedTokens());
    inFlight.incrementAndGet();
    load.addAndGet(rank.rank(), generations.size());
    try {
      answer.begin(transfer.watchdog());
      use.of(answer);
    } finally {
      inFlight.decrementAndGet();
      load.addAndGet(rank.rank(), -generations.size());
      answer.close();
    }
  }

  private List<Leg> legs(HttpExchange exchange, Body body, List<String> ids, @Nullable Integer rank) throws ApiError {
    try {
      return transfer.legs(new LegRequest(exchange.path(), body.json(), ids, rank));
    } catch (Refusal refused) {
      throw ApiError.of(refused.status(), String.valueOf(refused.getMessage()));
    }
  }

  /** The engine's name for every sequence; text completions number their prompts. */
  private static List<String> ids(String id, String path, Job job) {
    List<String> ids = new ArrayList<>();
    for (int prompt = 0; prompt < job.prompts().size(); prompt++) {
      for (int choice = 0; choice < job.choices(); choice++) {
        String one = path.equals("/v1/completions") ? id + "-" + prompt : id;
        ids.add(choice == 0 ? one : one + "_" + choice);
      }
    }
    return ids;
  }

  private @Nullable Integer rankAsked(HttpExchange exchange, Body body) {
    String header = exchange.header("x-data-parallel-rank");
    if (header != null && header.matches("\\d{1,4}") && Integer.parseInt(header) < ranks.size()) {
      return Integer.valueOf(header);
    }
    JsonNode field = body.json().path("routed_dp_rank");
    return field.isInt() && field.intValue() >= 0 && field.intValue() < ranks.size() ? field.intValue() : null;
  }

  /** The rank that the job's legs or the client name, or the one with the least to do. */
  private EngineCore rank(@Nullable Integer asked, List<Leg> legs) {
    if (legs.getFirst() instanceof Leg.Send send && send.rank() >= 0) {
      return ranks.get(send.rank());
    }
    if (asked != null) {
      return ranks.get(asked);
    }
    int least = 0;
    for (int rank = 1; rank < ranks.size(); rank++) {
      if (load.get(rank) < load.get(least)) {
        least = rank;
      }
    }
    return ranks.get(least);
  }
}
