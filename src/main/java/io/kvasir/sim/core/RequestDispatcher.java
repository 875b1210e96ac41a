package io.kvasir.sim.core;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.enginemodel.EngineModel;
import io.kvasir.enginemodel.KeyChain;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.settings.EngineSettings;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.text.SyntheticText;
import io.kvasir.sim.transfer.ConnectorRequest;
import io.kvasir.sim.transfer.TransferAgent;
import io.kvasir.sim.transfer.TransferRejectedException;
import io.kvasir.sim.transfer.TransferSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;

/**
 * Runs a {@link GenerationRequest} on a rank and writes its answer to the client: reads its transfers with other
 * engines, chooses the rank, makes the sequences, and aborts everything when the client cancels. Called on the
 * request's own virtual thread, which waits for the engine's.
 */
public final class RequestDispatcher {
  private final List<EngineCore> ranks;
  private final SimSettings settings;
  private final SyntheticText syntheticText;
  private final int eos;
  private final byte[] root;
  private final TransferAgent transfer;
  private final RequestTransfer.CopyCost copyCost;
  /** Sequences per rank that were taken and are not finished: fresher than the ranks' own counts. */
  private final AtomicIntegerArray load;
  private final AtomicInteger inFlight = new AtomicInteger();
  private volatile boolean forgetful;

  /** A dispatcher to these ranks. */
  public RequestDispatcher(List<EngineCore> ranks, SimSettings settings, SyntheticText syntheticText, int eos,
      TransferAgent transfer) {
    this.ranks = ranks;
    this.settings = settings;
    this.syntheticText = syntheticText;
    this.eos = eos;
    this.transfer = transfer;
    this.copyCost =
        new RequestTransfer.CopyCost(syntheticText, settings.engine().blockSize(),
            EngineModel.named(settings.engine().coefficients()).kvBytesPerToken(), settings.engine().speed());
    this.load = new AtomicIntegerArray(ranks.size());
    this.root = KeyChain.root(Long.toString(settings.seed()));
  }

  /** Whether nothing is found in a cache from now on. */
  public void setForgetful(boolean on) {
    forgetful = on;
  }

  /** Jobs taken and not finished. */
  public int inFlight() {
    return inFlight.get();
  }

  /**
   * Generates, and answers in {@code format}.
   *
   * @param body as the client sent it
   * @param id the engine's name for the request
   */
  public void dispatch(SimHttpExchange exchange, RequestBody body, String id, GenerationRequest request,
      ResponseFormat format, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    Integer requestedRank = requestedRank(exchange, body);
    GenerationRequest withTransfers =
        request.withTransfers(transferSpecs(exchange, body, ids(id, exchange.path(), request), requestedRank));
    respond(
        exchange,
        withTransfers,
        requestedRank,
        answer -> {
          if (withTransfers.response().stream()) {
            answer.stream(format, fault);
          } else {
            answer.writeBody(format, fault);
          }
        });
  }

  /** Prefills the prompts and generates nothing; returns the usage. */
  public Usage prefillOnly(SimHttpExchange exchange, GenerationRequest request) throws IOException, EngineApiException {
    Usage[] usage = new Usage[1];
    respond(
        exchange,
        request,
        null,
        answer -> {
          answer.awaitAll();
          usage[0] = answer.usage();
        });
    return usage[0];
  }

  /** Computes so many tokens without a prefix that could be shared. */
  public void computeTokens(SimHttpExchange exchange, int tokens, @Nullable String lora)
      throws IOException, EngineApiException {
    int[] random =
        ThreadLocalRandom.current().ints(Math.min(tokens, settings.maxModelLen()), 0, 1 << 20).toArray();
    prefillOnly(
        exchange,
        GenerationRequest.prefill(List.of(random), new GenerationRequest.CacheScope(lora, null)));
  }

  /** Leading chunks of {@code tokens} that some rank has in host memory; they count as used there. */
  public CompletableFuture<Integer> hostChunks(int[] tokens, @Nullable String salt) {
    CompletableFuture<Integer> most = CompletableFuture.completedFuture(0);
    for (EngineCore rank : ranks) {
      KeyChain keys = keys(null, salt);
      GeneratedSequence probe =
          new GeneratedSequence(tokens, keys, syntheticText.writerAfter(tokens, 0), eos,
              GeneratedSequence.SamplingParams.NOTHING, false, null, salt);
      most = most.thenCombine(rank.hostBlocks(probe), Math::max);
    }
    return most.thenApply(blocks -> blocks * settings.engine().blockSize() / HostTierSettings.CHUNK_TOKENS);
  }

  private KeyChain keys(@Nullable String lora, @Nullable String salt) {
    EngineSettings engine = settings.engine();
    return new KeyChain(root, engine.blockSize(), lora, salt, engine.speculation() == Speculation.LOOKAHEAD);
  }

  /** Releases, on other engines, the blocks that a request refused at once would have fetched. */
  public void abandonTransfers(SimHttpExchange exchange, RequestBody body) {
    try {
      for (TransferSpec spec : transferSpecs(exchange, body, List.of("refused"), null)) {
        if (spec instanceof TransferSpec.Receive receive) {
          Thread.startVirtualThread(() -> transfer.abandon(receive));
        }
      }
    } catch (EngineApiException e) {
      // refused for that reason
    }
  }

  /** What is done with an answer between its sequences' submission and the end. */
  private interface ResponseAction {
    void apply(GenerationResponse answer) throws IOException, EngineApiException;
  }

  private void respond(SimHttpExchange exchange, GenerationRequest request, @Nullable Integer requestedRank,
      ResponseAction action)
      throws IOException, EngineApiException {
    exchange.awaitEarlier();
    EngineCore rank = rank(requestedRank, request.transfers());
    List<GeneratedSequence> generations = new ArrayList<>();
    GenerationRequest.CacheScope scope = request.scope();
    for (int[] prompt : request.prompts()) {
      for (int choice = 0; choice < request.choices(); choice++) {
        boolean finds = settings.kv().prefixCaching() && !forgetful;
        String salt = finds ? scope.salt() : UUID.randomUUID().toString();
        KeyChain keys = keys(scope.lora(), salt);
        GeneratedSequence generation =
            new GeneratedSequence(
                prompt, keys, syntheticText.writerAfter(prompt, choice), eos, request.sampling(),
                request.response().stream(),
                scope.lora(), scope.salt());
        generation.keepFor(scope.session());
        generation.plan(request.plan().answer(prompt, choice));
        if (request.response().promptLogprobs()) {
          generation.computeAll();
        }
        generations.add(generation);
      }
    }
    RequestTransfer requestTransfer = new RequestTransfer(transfer, copyCost, request, rank, generations);
    GenerationResponse answer =
        new GenerationResponse(exchange, request, rank, generations, requestTransfer, settings.cachedTokens());
    inFlight.incrementAndGet();
    load.addAndGet(rank.rank(), generations.size());
    try {
      answer.submit(transfer.watchdog());
      exchange.letLaterPass();
      action.apply(answer);
    } finally {
      inFlight.decrementAndGet();
      load.addAndGet(rank.rank(), -generations.size());
      answer.close();
    }
  }

  private List<TransferSpec> transferSpecs(SimHttpExchange exchange, RequestBody body, List<String> ids,
      @Nullable Integer rank) throws EngineApiException {
    try {
      return transfer.specs(new ConnectorRequest(exchange.path(), body.json(), ids, rank));
    } catch (TransferRejectedException refused) {
      throw EngineApiException.of(refused.status(), String.valueOf(refused.getMessage()));
    }
  }

  /** The engine's name for every sequence; text completions number their prompts. */
  private static List<String> ids(String id, String path, GenerationRequest request) {
    List<String> ids = new ArrayList<>();
    for (int prompt = 0; prompt < request.prompts().size(); prompt++) {
      for (int choice = 0; choice < request.choices(); choice++) {
        String one = path.equals("/v1/completions") ? id + "-" + prompt : id;
        ids.add(choice == 0 ? one : one + "_" + choice);
      }
    }
    return ids;
  }

  /** The rank that the client names; as with vLLM, a request to the Responses API names none by the header. */
  private @Nullable Integer requestedRank(SimHttpExchange exchange, RequestBody body) {
    String header = exchange.path().equals("/v1/responses") ? null : exchange.header("x-data-parallel-rank");
    if (header != null && header.matches("\\d{1,4}") && Integer.parseInt(header) < ranks.size()) {
      return Integer.valueOf(header);
    }
    JsonNode field = body.json().path("routed_dp_rank");
    return field.isInt() && field.intValue() >= 0 && field.intValue() < ranks.size() ? field.intValue() : null;
  }

  /** The rank that the request's transfers or the client name, or the one with the fewest sequences. */
  private EngineCore rank(@Nullable Integer requestedRank, List<TransferSpec> specs) {
    if (specs.getFirst() instanceof TransferSpec.Send send && send.rank() >= 0) {
      return ranks.get(send.rank());
    }
    if (requestedRank != null) {
      return ranks.get(requestedRank);
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
