package io.kvasir.sim.core;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.text.SyntheticText;
import io.kvasir.sim.transfer.FetchedBlocks;
import io.kvasir.sim.transfer.FinishedPrefill;
import io.kvasir.sim.transfer.LeasedBlocks;
import io.kvasir.sim.transfer.TransferAgent;
import io.kvasir.sim.transfer.TransferRejectedException;
import io.kvasir.sim.transfer.TransferSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The transfers of one request: what its sequences are to send is offered when they end, what they
 * are to receive is fetched when the engine has blocks for it. Used by the request's thread; fetching has threads of
 * its own, which closing ends.
 */
final class RequestTransfer {
  private static final Logger LOG = LoggerFactory.getLogger(RequestTransfer.class);

  private final TransferAgent transfer;
  private final CopyCost copyCost;
  private final GenerationRequest request;
  private final EngineCore rank;
  private final List<GeneratedSequence> generations;
  private final List<TransferSpec.Send> opened = new ArrayList<>();
  private final Queue<Thread> fetches = new ConcurrentLinkedQueue<>();
  private final Queue<Future<?>> heartbeats = new ConcurrentLinkedQueue<>();
  private final boolean[] offered;

  /**
   * What copying costs.
   *
   * @param blockSize tokens in a block
   * @param bytesPerToken of keys and values
   * @param speed how many times faster than real; 0 for no time at all
   */
  record CopyCost(SyntheticText syntheticText, int blockSize, double bytesPerToken, double speed) {}

  RequestTransfer(TransferAgent transfer, CopyCost copyCost, GenerationRequest request, EngineCore rank,
      List<GeneratedSequence> generations) {
    this.transfer = transfer;
    this.copyCost = copyCost;
    this.request = request;
    this.rank = rank;
    this.generations = generations;
    this.offered = new boolean[generations.size()];
  }

  /** Before the sequences are submitted. */
  void prepare() throws EngineApiException {
    for (int i = 0; i < generations.size(); i++) {
      GeneratedSequence generation = generations.get(i);
      switch (request.transfers().get(i)) {
        case TransferSpec.NoTransfer _ -> { }
        case TransferSpec.Send send -> {
          try {
            transfer.open(send);
          } catch (TransferRejectedException refused) {
            throw EngineApiException.of(refused.status(), String.valueOf(refused.getMessage()));
          }
          opened.add(send);
          generation.retainBlocks(send.keepOnStop());
        }
        case TransferSpec.Pull pull -> {
          int blocks = generation.prompt().length / copyCost.blockSize();
          int held = transfer.held(pull, generation.keys(0, blocks)) * copyCost.blockSize();
          generation.copyPrefix(
              held, (loading, from) -> fetches.add(Thread.startVirtualThread(() -> pullNow(loading, held - from))));
        }
        case TransferSpec.Receive receive -> {
          int variant = i % request.choices();
          generation.copyPrefix(receive.maxTokens(), (loading, from) -> fetch(receive, loading, from, variant));
        }
      }
    }
  }

  /** Completes when the sequences may be computed: when the receivers have requested their blocks. */
  CompletableFuture<?> receiversReady() {
    return CompletableFuture.allOf(
        opened.stream()
            .filter(TransferSpec.Send::awaitsReceiver)
            .map(transfer::requested)
            .toArray(CompletableFuture<?>[]::new));
  }

  /** From when the scheduler has the sequences, their blocks elsewhere are kept alive. */
  void startHeartbeats() {
    for (TransferSpec spec : request.transfers()) {
      if (spec instanceof TransferSpec.Receive receive && !receive.heartbeatInterval().isZero()) {
        heartbeats.add(transfer.startHeartbeats(receive));
      }
    }
  }

  /** Offers the blocks of ended sequences; adds the next engine's parameters to an unstreamed answer. */
  void addParams(ObjectNode answer) {
    offer();
    List<FinishedPrefill> sent = new ArrayList<>();
    for (int i = 0; i < generations.size(); i++) {
      GeneratedSequence generation = generations.get(i);
      if (request.transfers().get(i) instanceof TransferSpec.Send spec) {
        int[] blocks = generation.keptBlocks();
        boolean unfinished =
            spec.firstTokenOnly() && request.requestedTokens() > 1
                && generation.finish() == GeneratedSequence.FinishReason.LENGTH;
        sent.add(
            new FinishedPrefill(
                spec, rank.rank(), generation.prompt(), generatedTokens(generation), blocks == null ? new int[0]
                    : blocks,
                blocks != null, unfinished));
      }
    }
    transfer.addParams(answer, sent);
  }

  /** The request is over, however it went. */
  void close() {
    offer();
    fetches.forEach(Thread::interrupt);
    heartbeats.forEach(beat -> beat.cancel(false));
    for (int i = 0; i < generations.size(); i++) {
      switch (request.transfers().get(i)) {
        case TransferSpec.NoTransfer _, TransferSpec.Pull _ -> { }
        case TransferSpec.Send send -> {
          if (!offered[i] && opened.contains(send)) {
            transfer.withdraw(send);
          }
        }
        case TransferSpec.Receive receive -> {
          GeneratedSequence.FinishReason finish = generations.get(i).finish();
          // Without anything fetched, the local cache already had enough.
          if (finish == null || finish == GeneratedSequence.FinishReason.ABORT || fetches.isEmpty()) {
            Thread.startVirtualThread(() -> transfer.abandon(receive));
          }
        }
      }
    }
  }

  private void offer() {
    for (int i = 0; i < generations.size(); i++) {
      GeneratedSequence generation = generations.get(i);
      int[] blocks = generation.finish() == null ? null : generation.keptBlocks();
      if (blocks != null && !offered[i] && request.transfers().get(i) instanceof TransferSpec.Send send) {
        offered[i] = true;
        transfer.offer(
            send,
            new LeasedBlocks(
                generation.prompt(), send.firstTokenOnly() ? generatedTokens(generation) : new int[0], blocks,
                () -> rank.free(generation)));
      }
    }
  }

  private static int[] generatedTokens(GeneratedSequence generation) {
    int[] tokens = new int[generation.delivered()];
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = generation.token(i);
    }
    return tokens;
  }

  /** On the engine's thread. */
  private void fetch(TransferSpec.Receive spec, GeneratedSequence generation, int from, int variant) {
    fetches.add(Thread.startVirtualThread(() -> fetchNow(spec, generation, from, variant)));
  }

  private void fetchNow(TransferSpec.Receive spec, GeneratedSequence generation, int from, int variant) {
    try {
      FetchedBlocks fetched = transfer.fetch(spec);
      copy(Math.max(0, Math.min(fetched.tokens().length, spec.maxTokens()) - from));
      transfer.confirmCopied(spec);
      int[] generated = spec.firstTokens().length > 0 ? spec.firstTokens() : fetched.firstTokens();
      rank.loaded(generation,
          () -> generation.onCopied(fetched.tokens(), generated, copyCost.syntheticText(), variant));
    } catch (IOException e) {
      TransferSpec.RemoteBlocks blocks = spec.remote();
      LOG.warn("KV of {} from {}:{} did not come: {}", blocks.id(), blocks.host(), blocks.port(), e.getMessage());
      transfer.countFailure(transfer.recomputesOnFailure());
      if (transfer.recomputesOnFailure()) {
        rank.loadFailed(generation);
      } else {
        rank.fail(generation, "KV transfer failed: " + e.getMessage());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      heartbeats.forEach(beat -> beat.cancel(false));
    }
  }

  private void pullNow(GeneratedSequence generation, int tokens) {
    try {
      copy(Math.max(0, tokens));
      transfer.countPulled();
      rank.loaded(generation, () -> { });
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void copy(int tokens) throws InterruptedException {
    if (copyCost.speed() > 0) {
      TimeUnit.NANOSECONDS.sleep((long) (transfer.nanosFor(tokens * copyCost.bytesPerToken()) / copyCost.speed()));
    }
  }
}
